// SPDX-License-Identifier: Apache-2.0
//
// Functions of CUDA 11 and 12 around devices, pointers and kernels whose structs are not those of
// CUDA 13, or that CUDA 13 dropped. Each calls the core function with CUDA 13's types and
// translates the result. Called by the generated wrappers only.
#include "irt_core.h"
#include "major.h"

// Bytes of CUDA 11's struct cudaDeviceProp. Source: layouts.tsv.
#define PROPERTIES_SIZE_11 728

// Members that CUDA 13 has only as attributes.
static const struct {
    enum cudaDeviceAttr attribute;
    size_t offset; // of an int
} attribute_members[] = {
#define MEMBER(name) offsetof(struct OLD(cudaDeviceProp), name)
    {cudaDevAttrClockRate, MEMBER(clockRate)},
    {cudaDevAttrGpuOverlap, MEMBER(deviceOverlap)},
    {cudaDevAttrKernelExecTimeout, MEMBER(kernelExecTimeoutEnabled)},
    {cudaDevAttrComputeMode, MEMBER(computeMode)},
    {cudaDevAttrMaxTexture1DLinearWidth, MEMBER(maxTexture1DLinear)},
    {cudaDevAttrMemoryClockRate, MEMBER(memoryClockRate)},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, MEMBER(singleToDoublePrecisionPerfRatio)},
#undef MEMBER
};

#define ATTRIBUTE_MEMBERS (sizeof(attribute_members) / sizeof(attribute_members[0]))

// Fills *prop, padding with zeros; on an error nothing is written. The attributes are read before
// *prop is touched: pointers into a local struct that is then copied away are what gcc 12 gets
// wrong (its RTL dead store elimination drops the last assignment).
static cudaError_t properties(struct OLD(cudaDeviceProp) *prop, int device)
{
    struct cudaDeviceProp core;
    int values[ATTRIBUTE_MEMBERS];
    cudaError_t e = irt_core_cudaGetDeviceProperties(&core, device);
    for (size_t i = 0; !e && i < ATTRIBUTE_MEMBERS; i++) {
        e = irt_core_cudaDeviceGetAttribute(&values[i], attribute_members[i].attribute, device);
    }
    if (e) {
        return e;
    }
    CONVERT(cudaDeviceProp, from_13)(prop, &core);
    for (size_t i = 0; i < ATTRIBUTE_MEMBERS; i++) {
        memcpy((char *)prop + attribute_members[i].offset, &values[i], sizeof(values[i]));
    }
    prop->cooperativeMultiDeviceLaunch = prop->cooperativeLaunch;
    return cudaSuccess;
}

// The plain name serves binaries that were built for CUDA 11 conventions: it writes the bytes that
// CUDA 11's struct has, which are the beginning of CUDA 12's.
cudaError_t COMPAT(cudaGetDeviceProperties)(struct OLD(cudaDeviceProp) *prop, int device)
{
    struct OLD(cudaDeviceProp) own;
    if (!prop) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = properties(&own, device);
    if (!e) {
        memcpy(prop, &own, PROPERTIES_SIZE_11);
    }
    return e;
}

#if IRT_MAJOR == 12
cudaError_t COMPAT(cudaGetDeviceProperties_v2)(struct OLD(cudaDeviceProp) *prop, int device)
{
    struct OLD(cudaDeviceProp) own;
    if (!prop) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = properties(&own, device);
    if (!e) {
        memcpy(prop, &own, sizeof(own)); // padding included
    }
    return e;
}
#endif

cudaError_t COMPAT(cudaChooseDevice)(int *device, const struct OLD(cudaDeviceProp) *prop)
{
    struct cudaDeviceProp core;
    if (!prop) {
        return irt_core_cudaChooseDevice(device, NULL);
    }
    CONVERT(cudaDeviceProp, to_13)(&core, prop);
    return irt_core_cudaChooseDevice(device, &core);
}

cudaError_t COMPAT(cudaPointerGetAttributes)(struct OLD(cudaPointerAttributes) *attributes,
                                             const void *ptr)
{
    struct cudaPointerAttributes core;
    if (!attributes) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_core_cudaPointerGetAttributes(&core, ptr);
    if (!e) {
        CONVERT(cudaPointerAttributes, from_13)(attributes, &core);
    }
    return e;
}

// Devices that compute in double precision leave host doubles as they are, and ours all do.
// NOLINTNEXTLINE(readability-non-const-parameter): the signature is CUDA's
cudaError_t COMPAT(cudaSetDoubleForDevice)(double *d)
{
    return d ? cudaSuccess : cudaErrorInvalidValue;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the signature is CUDA's
cudaError_t COMPAT(cudaSetDoubleForHost)(double *d)
{
    return d ? cudaSuccess : cudaErrorInvalidValue;
}
