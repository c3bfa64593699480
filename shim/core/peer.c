// SPDX-License-Identifier: Apache-2.0
//
// Access from one device to another's memory: what is possible, switching it on and off.
#include "irt_core.h"
#include "shim/core/atomics.h"
#include "shim/core/device.h"
#include "shim/dispatch/backend.h"

static cudaError_t can_access(const struct irt_device *from, const struct irt_device *to,
                              int *ret_can)
{
    if (from == to) {
        *ret_can = 0;
        return cudaSuccess;
    }
    return irt_backend()->device_can_access_peer(from->id, to->id, ret_can);
}

cudaError_t irt_core_cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    if (!canAccessPeer) {
        return cudaErrorInvalidValue;
    }
    const struct irt_device *from = irt_device_at(device);
    const struct irt_device *to = irt_device_at(peerDevice);
    if (!from || !to) {
        return cudaErrorInvalidDevice;
    }
    return can_access(from, to, canAccessPeer);
}

cudaError_t irt_core_cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    struct irt_device *from = irt_device_current();
    const struct irt_device *to = irt_device_at(peerDevice);
    int can = 0;
    if (!to) {
        return cudaErrorInvalidDevice;
    }
    if (flags != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = can_access(from, to, &can);
    if (error || !can) {
        return error ? error : cudaErrorInvalidDevice;
    }
    unsigned long long bit = 1ull << to->ordinal;
    irt_mutex_lock(&from->lock);
    if (from->peers & bit) {
        error = cudaErrorPeerAccessAlreadyEnabled;
    } else {
        error = irt_backend()->device_enable_peer(from->id, to->id);
        from->peers |= error ? 0 : bit;
    }
    irt_mutex_unlock(&from->lock);
    return error;
}

cudaError_t irt_core_cudaDeviceDisablePeerAccess(int peerDevice)
{
    struct irt_device *from = irt_device_current();
    const struct irt_device *to = irt_device_at(peerDevice);
    if (!to) {
        return cudaErrorInvalidDevice;
    }
    unsigned long long bit = 1ull << to->ordinal;
    cudaError_t error = cudaErrorPeerAccessNotEnabled;
    irt_mutex_lock(&from->lock);
    if (from->peers & bit) {
        error = irt_backend()->device_disable_peer(from->id, to->id);
        from->peers &= error ? ~0ull : ~bit;
    }
    irt_mutex_unlock(&from->lock);
    return error;
}

cudaError_t irt_core_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr,
                                               int srcDevice, int dstDevice)
{
    const struct irt_device *from = irt_device_at(srcDevice);
    const struct irt_device *to = irt_device_at(dstDevice);
    if (!value) {
        return cudaErrorInvalidValue;
    }
    if (!from || !to || from == to) {
        return cudaErrorInvalidDevice;
    }
    int can = 0;
    cudaError_t error = can_access(from, to, &can);
    if (error) {
        return error;
    }
    switch (attr) {
    case cudaDevP2PAttrPerformanceRank:
        *value = 0;
        return cudaSuccess;
    case cudaDevP2PAttrAccessSupported:
        *value = can;
        return cudaSuccess;
    case cudaDevP2PAttrNativeAtomicSupported:
        *value = can && from->info.prop.hostNativeAtomicSupported;
        return cudaSuccess;
    case cudaDevP2PAttrCudaArrayAccessSupported:
    case cudaDevP2PAttrOnlyPartialNativeAtomicSupported:
        *value = 0;
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                                        const enum cudaAtomicOperation *operations,
                                                        unsigned int count, int srcDevice,
                                                        int dstDevice)
{
    const struct irt_device *from = irt_device_at(srcDevice);
    const struct irt_device *to = irt_device_at(dstDevice);
    if (!capabilities || !operations || count == 0) {
        return cudaErrorInvalidValue;
    }
    if (!from || !to || from == to) {
        return cudaErrorInvalidDevice;
    }
    int can = 0;
    cudaError_t error = can_access(from, to, &can);
    if (error) {
        return error;
    }
    return irt_atomic_capabilities(capabilities, operations, count,
                                   can && from->info.prop.hostNativeAtomicSupported);
}
