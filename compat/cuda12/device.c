// SPDX-License-Identifier: Apache-2.0
//
// Functions of CUDA 12 around devices, pointers and kernels whose structs are not those of CUDA 13,
// or that CUDA 13 dropped. Each calls the core function with CUDA 13's types and translates the
// result. Called by the generated wrappers only.
#include "irt_compat12.h"
#include "irt_core.h"

// Members that CUDA 13 has only as attributes.
static cudaError_t old_properties(struct irt12_cudaDeviceProp *prop, int device)
{
    const struct {
        enum cudaDeviceAttr attribute;
        int *value;
    } rows[] = {
        {cudaDevAttrClockRate, &prop->clockRate},
        {cudaDevAttrGpuOverlap, &prop->deviceOverlap},
        {cudaDevAttrKernelExecTimeout, &prop->kernelExecTimeoutEnabled},
        {cudaDevAttrComputeMode, &prop->computeMode},
        {cudaDevAttrMaxTexture1DLinearWidth, &prop->maxTexture1DLinear},
        {cudaDevAttrMemoryClockRate, &prop->memoryClockRate},
        {cudaDevAttrSingleToDoublePrecisionPerfRatio, &prop->singleToDoublePrecisionPerfRatio},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cudaError_t e = irt_core_cudaDeviceGetAttribute(rows[i].value, rows[i].attribute, device);
        if (e) {
            return e;
        }
    }
    prop->cooperativeMultiDeviceLaunch = prop->cooperativeLaunch;
    return cudaSuccess;
}

static cudaError_t properties(struct irt12_cudaDeviceProp *prop, int device)
{
    struct cudaDeviceProp core;
    cudaError_t e = irt_core_cudaGetDeviceProperties(&core, device);
    if (e) {
        return e;
    }
    irt12_cudaDeviceProp_from_13(prop, &core);
    return old_properties(prop, device);
}

// The plain name serves binaries that were built for CUDA 11 conventions: it writes the 728 bytes
// that CUDA 11's struct has, which are the beginning of CUDA 12's.
cudaError_t irt_compat12_cudaGetDeviceProperties(struct irt12_cudaDeviceProp *prop, int device)
{
    struct irt12_cudaDeviceProp own;
    if (!prop) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = properties(&own, device);
    if (!e) {
        memcpy(prop, &own, offsetof(struct irt12_cudaDeviceProp, hostRegisterSupported));
    }
    return e;
}

cudaError_t irt_compat12_cudaGetDeviceProperties_v2(struct irt12_cudaDeviceProp *prop, int device)
{
    struct irt12_cudaDeviceProp own;
    if (!prop) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = properties(&own, device);
    if (!e) {
        *prop = own;
    }
    return e;
}

cudaError_t irt_compat12_cudaChooseDevice(int *device, const struct irt12_cudaDeviceProp *prop)
{
    struct cudaDeviceProp core;
    if (!prop) {
        return irt_core_cudaChooseDevice(device, NULL);
    }
    irt12_cudaDeviceProp_to_13(&core, prop);
    return irt_core_cudaChooseDevice(device, &core);
}

cudaError_t irt_compat12_cudaPointerGetAttributes(struct irt12_cudaPointerAttributes *attributes,
                                                  const void *ptr)
{
    struct cudaPointerAttributes core;
    if (!attributes) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_core_cudaPointerGetAttributes(&core, ptr);
    if (!e) {
        irt12_cudaPointerAttributes_from_13(attributes, &core);
    }
    return e;
}

// Devices that compute in double precision leave host doubles as they are, and ours all do.
// NOLINTNEXTLINE(readability-non-const-parameter): the signature is CUDA's
cudaError_t irt_compat12_cudaSetDoubleForDevice(double *d)
{
    return d ? cudaSuccess : cudaErrorInvalidValue;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the signature is CUDA's
cudaError_t irt_compat12_cudaSetDoubleForHost(double *d)
{
    return d ? cudaSuccess : cudaErrorInvalidValue;
}
