// SPDX-License-Identifier: Apache-2.0
//
// Interoperation with OpenGL, EGL and VDPAU on a machine without a display: arguments are checked,
// then the answer is that of CUDA where there is no graphics context, no connection and no surface.
// Nothing can be registered, so every graphics resource is an invalid handle. What an application
// might wait for in vain is named once. Sources: CUDA Runtime API, "OpenGL", "EGL", "VDPAU" and
// "Graphics Interoperability"; cudaGLGetDevices without a context answers 219 (cuda-python issue
// 248).
#include <stdbool.h>
#include <stddef.h>

#include "api_rules.h"
#include "irt_core.h"
#include "irt_fn.h"
#include "shim/core/device.h"
#include "shim/core/stream.h"

enum interop_kind { KIND_GL, KIND_EGL, KIND_VDPAU };

// What CUDA answers to a well-formed call without a display; GL: without a context of this thread.
static const cudaError_t without_display[] = {
    [KIND_GL] = cudaErrorInvalidGraphicsContext,
    [KIND_EGL] = cudaErrorUnknown,
    [KIND_VDPAU] = cudaErrorUnknown,
};

static cudaError_t answer(enum irt_fn fn, enum interop_kind kind, bool valid)
{
    if (!valid) {
        return cudaErrorInvalidValue;
    }
    (void)irt_unsupported(irt_fn_names[fn]);
    return without_display[kind];
}

static bool flags_are_valid(unsigned flags, unsigned known)
{
    return !(flags & ~known);
}

enum {
    REGISTER_BUFFER = cudaGraphicsRegisterFlagsReadOnly | cudaGraphicsRegisterFlagsWriteDiscard,
    REGISTER_IMAGE = REGISTER_BUFFER | cudaGraphicsRegisterFlagsSurfaceLoadStore |
                     cudaGraphicsRegisterFlagsTextureGather,
    MAP_FLAGS = cudaGraphicsMapFlagsReadOnly | cudaGraphicsMapFlagsWriteDiscard,
};

// ---- OpenGL ----

cudaError_t irt_core_cudaGLGetDevices(unsigned int *pCudaDeviceCount, int *pCudaDevices,
                                      unsigned int cudaDeviceCount, cudaGLDeviceList deviceList)
{
    bool valid = pCudaDeviceCount && (pCudaDevices || cudaDeviceCount == 0) &&
                 deviceList >= cudaGLDeviceListAll && deviceList <= cudaGLDeviceListNextFrame;
    return answer(IRT_FN_cudaGLGetDevices, KIND_GL, valid);
}

cudaError_t irt_core_cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource,
                                                  GLuint buffer, unsigned int flags)
{
    (void)buffer;
    return answer(IRT_FN_cudaGraphicsGLRegisterBuffer, KIND_GL,
                  resource && flags_are_valid(flags, REGISTER_BUFFER));
}

cudaError_t irt_core_cudaGraphicsGLRegisterImage(struct cudaGraphicsResource **resource,
                                                 GLuint image, GLenum target, unsigned int flags)
{
    (void)image, (void)target;
    return answer(IRT_FN_cudaGraphicsGLRegisterImage, KIND_GL,
                  resource && flags_are_valid(flags, REGISTER_IMAGE));
}

// Since CUDA 5.0 nothing has to be associated: it selects the device.
cudaError_t irt_core_cudaGLSetGLDevice(int device)
{
    return irt_core_cudaSetDevice(device);
}

cudaError_t irt_core_cudaGLRegisterBufferObject(GLuint bufObj)
{
    (void)bufObj;
    return answer(IRT_FN_cudaGLRegisterBufferObject, KIND_GL, true);
}

// No buffer object is registered.
cudaError_t irt_core_cudaGLUnregisterBufferObject(GLuint bufObj)
{
    (void)bufObj;
    return cudaErrorInvalidResourceHandle;
}

cudaError_t irt_core_cudaGLSetBufferObjectMapFlags(GLuint bufObj, unsigned int flags)
{
    (void)bufObj;
    return flags_are_valid(flags, MAP_FLAGS) ? cudaErrorInvalidResourceHandle
                                             : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaGLMapBufferObject(void **devPtr, GLuint bufObj)
{
    (void)bufObj;
    return devPtr ? cudaErrorMapBufferObjectFailed : cudaErrorInvalidValue;
}

static cudaError_t check_stream(cudaStream_t handle)
{
    struct irt_stream *stream;
    cudaError_t e = irt_stream_get(handle, &stream);
    if (!e) {
        irt_stream_put(stream);
    }
    return e;
}

cudaError_t irt_core_cudaGLMapBufferObjectAsync(void **devPtr, GLuint bufObj, cudaStream_t stream)
{
    cudaError_t e = check_stream(stream);
    return e ? e : irt_core_cudaGLMapBufferObject(devPtr, bufObj);
}

cudaError_t irt_core_cudaGLUnmapBufferObject(GLuint bufObj)
{
    (void)bufObj;
    return cudaErrorUnmapBufferObjectFailed;
}

cudaError_t irt_core_cudaGLUnmapBufferObjectAsync(GLuint bufObj, cudaStream_t stream)
{
    cudaError_t e = check_stream(stream);
    return e ? e : irt_core_cudaGLUnmapBufferObject(bufObj);
}

// ---- resources of all kinds: none is ever registered ----

static cudaError_t resource_error(bool valid)
{
    return valid ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource)
{
    (void)resource;
    return cudaErrorInvalidResourceHandle;
}

cudaError_t irt_core_cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource,
                                                     unsigned int flags)
{
    (void)resource;
    return resource_error(flags_are_valid(flags, MAP_FLAGS));
}

static cudaError_t map(int count, const cudaGraphicsResource_t *resources, cudaStream_t stream)
{
    cudaError_t e = check_stream(stream);
    return e ? e : resource_error(count > 0 && resources);
}

cudaError_t irt_core_cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources,
                                              cudaStream_t stream)
{
    return map(count, resources, stream);
}

cudaError_t irt_core_cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources,
                                                cudaStream_t stream)
{
    return map(count, resources, stream);
}

// `size` may be NULL.
cudaError_t irt_core_cudaGraphicsResourceGetMappedPointer(void **devPtr, size_t *size,
                                                          cudaGraphicsResource_t resource)
{
    (void)size, (void)resource;
    return resource_error(devPtr != NULL);
}

cudaError_t irt_core_cudaGraphicsSubResourceGetMappedArray(cudaArray_t *array,
                                                           cudaGraphicsResource_t resource,
                                                           unsigned int arrayIndex,
                                                           unsigned int mipLevel)
{
    (void)resource, (void)arrayIndex, (void)mipLevel;
    return resource_error(array != NULL);
}

cudaError_t
irt_core_cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                                     cudaGraphicsResource_t resource)
{
    (void)resource;
    return resource_error(mipmappedArray != NULL);
}

cudaError_t irt_core_cudaGraphicsResourceGetMappedEglFrame(cudaEglFrame *eglFrame,
                                                           cudaGraphicsResource_t resource,
                                                           unsigned int index,
                                                           unsigned int mipLevel)
{
    (void)resource, (void)index, (void)mipLevel;
    return resource_error(eglFrame != NULL);
}

// ---- EGL ----

cudaError_t irt_core_cudaGraphicsEGLRegisterImage(struct cudaGraphicsResource **pCudaResource,
                                                  EGLImageKHR image, unsigned int flags)
{
    return answer(IRT_FN_cudaGraphicsEGLRegisterImage, KIND_EGL,
                  pCudaResource && image && flags_are_valid(flags, REGISTER_BUFFER));
}

cudaError_t irt_core_cudaEGLStreamConsumerConnect(cudaEglStreamConnection *conn,
                                                  EGLStreamKHR eglStream)
{
    return answer(IRT_FN_cudaEGLStreamConsumerConnect, KIND_EGL, conn && eglStream);
}

cudaError_t irt_core_cudaEGLStreamConsumerConnectWithFlags(cudaEglStreamConnection *conn,
                                                           EGLStreamKHR eglStream,
                                                           unsigned int flags)
{
    enum { SYSTEM_MEMORY = 0, DEVICE_MEMORY = 1 }; // cudaEglResourceLocationFlags
    return answer(IRT_FN_cudaEGLStreamConsumerConnectWithFlags, KIND_EGL,
                  conn && eglStream && (flags == SYSTEM_MEMORY || flags == DEVICE_MEMORY));
}

cudaError_t irt_core_cudaEGLStreamProducerConnect(cudaEglStreamConnection *conn,
                                                  EGLStreamKHR eglStream, EGLint width,
                                                  EGLint height)
{
    return answer(IRT_FN_cudaEGLStreamProducerConnect, KIND_EGL,
                  conn && eglStream && width > 0 && height > 0);
}

// There is no connection: whatever `conn` points to is none.

cudaError_t irt_core_cudaEGLStreamConsumerDisconnect(cudaEglStreamConnection *conn)
{
    (void)conn;
    return cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaEGLStreamProducerDisconnect(cudaEglStreamConnection *conn)
{
    (void)conn;
    return cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaEGLStreamConsumerAcquireFrame(cudaEglStreamConnection *conn,
                                                       cudaGraphicsResource_t *pCudaResource,
                                                       cudaStream_t *pStream, unsigned int timeout)
{
    (void)conn, (void)pCudaResource, (void)pStream, (void)timeout;
    return cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaEGLStreamConsumerReleaseFrame(cudaEglStreamConnection *conn,
                                                       cudaGraphicsResource_t pCudaResource,
                                                       cudaStream_t *pStream)
{
    (void)conn, (void)pCudaResource, (void)pStream;
    return cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaEGLStreamProducerPresentFrame(cudaEglStreamConnection *conn,
                                                       cudaEglFrame eglframe, cudaStream_t *pStream)
{
    (void)conn, (void)eglframe, (void)pStream;
    return cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaEGLStreamProducerReturnFrame(cudaEglStreamConnection *conn,
                                                      cudaEglFrame *eglframe, cudaStream_t *pStream)
{
    (void)conn, (void)eglframe, (void)pStream;
    return cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaEventCreateFromEGLSync(cudaEvent_t *phEvent, EGLSyncKHR eglSync,
                                                unsigned int flags)
{
    return answer(IRT_FN_cudaEventCreateFromEGLSync, KIND_EGL,
                  phEvent && eglSync && flags_are_valid(flags, cudaEventBlockingSync));
}

// ---- VDPAU ----

cudaError_t irt_core_cudaVDPAUGetDevice(int *device, VdpDevice vdpDevice,
                                        VdpGetProcAddress *vdpGetProcAddress)
{
    (void)vdpDevice;
    return answer(IRT_FN_cudaVDPAUGetDevice, KIND_VDPAU, device && vdpGetProcAddress);
}

cudaError_t irt_core_cudaVDPAUSetVDPAUDevice(int device, VdpDevice vdpDevice,
                                             VdpGetProcAddress *vdpGetProcAddress)
{
    (void)vdpDevice;
    if (!irt_device_at(device)) {
        return cudaErrorInvalidDevice;
    }
    return answer(IRT_FN_cudaVDPAUSetVDPAUDevice, KIND_VDPAU, vdpGetProcAddress != NULL);
}

cudaError_t irt_core_cudaGraphicsVDPAURegisterVideoSurface(struct cudaGraphicsResource **resource,
                                                           VdpVideoSurface vdpSurface,
                                                           unsigned int flags)
{
    (void)vdpSurface;
    return answer(IRT_FN_cudaGraphicsVDPAURegisterVideoSurface, KIND_VDPAU,
                  resource && flags_are_valid(flags, MAP_FLAGS));
}

cudaError_t irt_core_cudaGraphicsVDPAURegisterOutputSurface(struct cudaGraphicsResource **resource,
                                                            VdpOutputSurface vdpSurface,
                                                            unsigned int flags)
{
    (void)vdpSurface;
    return answer(IRT_FN_cudaGraphicsVDPAURegisterOutputSurface, KIND_VDPAU,
                  resource && flags_are_valid(flags, MAP_FLAGS));
}
