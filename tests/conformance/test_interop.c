// SPDX-License-Identifier: Apache-2.0
//
// Interoperation with OpenGL, EGL and VDPAU where there is no display: arguments first, then the
// answer of a machine without one. The functions are declared here because the headers of the
// three are not installed everywhere.
#include "conformance.h"

TestSuite(interop, .timeout = 30);

typedef unsigned int GLuint;
extern cudaError_t cudaGLGetDevices(unsigned *count, int *devices, unsigned room, int list);
extern cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **r, GLuint b,
                                                unsigned f);
extern cudaError_t cudaGraphicsGLRegisterImage(struct cudaGraphicsResource **r, GLuint i, GLuint t,
                                               unsigned f);
extern cudaError_t cudaGLSetGLDevice(int device);
extern cudaError_t cudaGLRegisterBufferObject(GLuint buffer);
extern cudaError_t cudaGLUnregisterBufferObject(GLuint buffer);
extern cudaError_t cudaGLMapBufferObject(void **ptr, GLuint buffer);
extern cudaError_t cudaGLMapBufferObjectAsync(void **ptr, GLuint buffer, cudaStream_t stream);
extern cudaError_t cudaGLUnmapBufferObject(GLuint buffer);
extern cudaError_t cudaGLUnmapBufferObjectAsync(GLuint buffer, cudaStream_t stream);
extern cudaError_t cudaGLSetBufferObjectMapFlags(GLuint buffer, unsigned flags);
extern cudaError_t cudaEGLStreamConsumerConnect(void **connection, void *stream);
extern cudaError_t cudaEGLStreamConsumerDisconnect(void **connection);
extern cudaError_t cudaEGLStreamProducerConnect(void **connection, void *stream, int w, int h);
extern cudaError_t cudaGraphicsEGLRegisterImage(struct cudaGraphicsResource **r, void *i,
                                                unsigned f);
extern cudaError_t cudaEventCreateFromEGLSync(cudaEvent_t *event, void *sync, unsigned flags);
extern cudaError_t cudaVDPAUGetDevice(int *device, uint32_t vdp, void *get_proc_address);
extern cudaError_t cudaVDPAUSetVDPAUDevice(int device, uint32_t vdp, void *get_proc_address);

static const cudaError_t invalid = cudaErrorInvalidValue;
static const cudaError_t no_handle = cudaErrorInvalidResourceHandle;
static const cudaError_t no_context = cudaErrorInvalidGraphicsContext;

Test(interop, opengl)
{
    unsigned count = 7;
    int devices[2];
    struct cudaGraphicsResource *resource = NULL;
    void *ptr;
    EXPECT(no_context, cudaGLGetDevices(&count, devices, 2, 1));
    cr_assert(count == 7);
    EXPECT(invalid, cudaGLGetDevices(NULL, devices, 2, 1));
    EXPECT(invalid, cudaGLGetDevices(&count, NULL, 2, 1));
    EXPECT(invalid, cudaGLGetDevices(&count, devices, 2, 0));
    EXPECT(no_context, cudaGraphicsGLRegisterBuffer(&resource, 1, cudaGraphicsRegisterFlagsNone));
    EXPECT(invalid, cudaGraphicsGLRegisterBuffer(NULL, 1, cudaGraphicsRegisterFlagsNone));
    EXPECT(invalid, cudaGraphicsGLRegisterBuffer(&resource, 1, 0x1000));
    EXPECT(no_context, cudaGraphicsGLRegisterImage(&resource, 1, 0x0DE1, 0));
    EXPECT(invalid, cudaGraphicsGLRegisterImage(NULL, 1, 0x0DE1, 0));
    cr_assert(resource == NULL);
    OK(cudaGLSetGLDevice(0));
    EXPECT(cudaErrorInvalidDevice, cudaGLSetGLDevice(99));
    EXPECT(no_context, cudaGLRegisterBufferObject(1));
    EXPECT(no_handle, cudaGLUnregisterBufferObject(1));
    EXPECT(cudaErrorMapBufferObjectFailed, cudaGLMapBufferObject(&ptr, 1));
    EXPECT(cudaErrorMapBufferObjectFailed, cudaGLMapBufferObjectAsync(&ptr, 1, 0));
    EXPECT(invalid, cudaGLMapBufferObject(NULL, 1));
    EXPECT(no_handle, cudaGLMapBufferObjectAsync(&ptr, 1, (cudaStream_t)(void *)0x77));
    EXPECT(cudaErrorUnmapBufferObjectFailed, cudaGLUnmapBufferObject(1));
    EXPECT(cudaErrorUnmapBufferObjectFailed, cudaGLUnmapBufferObjectAsync(1, 0));
    EXPECT(no_handle, cudaGLSetBufferObjectMapFlags(1, cudaGraphicsMapFlagsReadOnly));
    EXPECT(invalid, cudaGLSetBufferObjectMapFlags(1, 99));
}

Test(interop, resources)
{
    cudaGraphicsResource_t resource = (cudaGraphicsResource_t)(void *)0x1234;
    void *ptr;
    size_t size;
    cudaArray_t array;
    cudaMipmappedArray_t mipmap;
    EXPECT(no_handle, cudaGraphicsUnregisterResource(NULL));
    EXPECT(no_handle, cudaGraphicsUnregisterResource(resource));
    EXPECT(no_handle, cudaGraphicsMapResources(1, &resource, 0));
    EXPECT(invalid, cudaGraphicsMapResources(0, &resource, 0));
    EXPECT(invalid, cudaGraphicsMapResources(1, NULL, 0));
    EXPECT(no_handle, cudaGraphicsMapResources(1, &resource, (cudaStream_t)(void *)0x77));
    EXPECT(no_handle, cudaGraphicsUnmapResources(1, &resource, 0));
    EXPECT(invalid, cudaGraphicsUnmapResources(-1, &resource, 0));
    EXPECT(no_handle, cudaGraphicsResourceSetMapFlags(resource, cudaGraphicsMapFlagsNone));
    EXPECT(invalid, cudaGraphicsResourceSetMapFlags(resource, 99));
    EXPECT(no_handle, cudaGraphicsResourceGetMappedPointer(&ptr, &size, resource));
    EXPECT(invalid, cudaGraphicsResourceGetMappedPointer(NULL, &size, resource));
    EXPECT(no_handle, cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0));
    EXPECT(invalid, cudaGraphicsSubResourceGetMappedArray(NULL, resource, 0, 0));
    EXPECT(no_handle, cudaGraphicsResourceGetMappedMipmappedArray(&mipmap, resource));
    EXPECT(invalid, cudaGraphicsResourceGetMappedMipmappedArray(NULL, resource));
}

Test(interop, egl_and_vdpau)
{
    void *connection = NULL, *handle = &connection;
    struct cudaGraphicsResource *resource = NULL;
    cudaEvent_t event;
    int device;
    EXPECT(cudaErrorUnknown, cudaEGLStreamConsumerConnect(&connection, handle));
    EXPECT(invalid, cudaEGLStreamConsumerConnect(NULL, handle));
    EXPECT(invalid, cudaEGLStreamConsumerConnect(&connection, NULL));
    EXPECT(invalid, cudaEGLStreamConsumerDisconnect(&connection));
    EXPECT(cudaErrorUnknown, cudaEGLStreamProducerConnect(&connection, handle, 8, 8));
    EXPECT(invalid, cudaEGLStreamProducerConnect(&connection, handle, 0, 8));
    EXPECT(cudaErrorUnknown, cudaGraphicsEGLRegisterImage(&resource, handle, 0));
    EXPECT(invalid, cudaGraphicsEGLRegisterImage(NULL, handle, 0));
    EXPECT(cudaErrorUnknown, cudaEventCreateFromEGLSync(&event, handle, 0));
    EXPECT(invalid, cudaEventCreateFromEGLSync(&event, NULL, 0));
    EXPECT(cudaErrorUnknown, cudaVDPAUGetDevice(&device, 0, handle));
    EXPECT(invalid, cudaVDPAUGetDevice(NULL, 0, handle));
    EXPECT(cudaErrorInvalidDevice, cudaVDPAUSetVDPAUDevice(99, 0, handle));
    EXPECT(invalid, cudaVDPAUSetVDPAUDevice(0, 0, NULL));
}
