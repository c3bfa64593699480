// SPDX-License-Identifier: Apache-2.0
//
// Capabilities of links: atomic operations (atomics.h), and the flush of remote writes.
#include "shim/core/atomics.h"

#include <stdatomic.h>

#include "api_rules.h"
#include "irt_core.h"
#include "shim/core/device.h"

static unsigned capabilities_of(enum cudaAtomicOperation operation)
{
    enum {
        BOTH = cudaAtomicCapabilitySigned | cudaAtomicCapabilityUnsigned,
        WIDTHS = cudaAtomicCapabilityScalar32 | cudaAtomicCapabilityScalar64,
    };
    switch (operation) {
    case cudaAtomicOperationIntegerAdd:
    case cudaAtomicOperationIntegerMin:
    case cudaAtomicOperationIntegerMax:
        return BOTH | cudaAtomicCapabilityReduction | WIDTHS;
    case cudaAtomicOperationIntegerIncrement:
    case cudaAtomicOperationIntegerDecrement:
        return cudaAtomicCapabilityUnsigned | cudaAtomicCapabilityReduction |
               cudaAtomicCapabilityScalar32;
    case cudaAtomicOperationAnd:
    case cudaAtomicOperationOr:
    case cudaAtomicOperationXOR:
        return BOTH | cudaAtomicCapabilityReduction | WIDTHS;
    case cudaAtomicOperationExchange:
    case cudaAtomicOperationCAS:
        return BOTH | WIDTHS;
    case cudaAtomicOperationFloatAdd:
        return cudaAtomicCapabilitySigned | cudaAtomicCapabilityReduction | WIDTHS;
    case cudaAtomicOperationFloatMin:
    case cudaAtomicOperationFloatMax:
        return 0; // PTX has none on a scalar
    }
    return 0;
}

cudaError_t irt_atomic_capabilities(unsigned int *ret_capabilities,
                                    const enum cudaAtomicOperation *operations, unsigned int count,
                                    int native)
{
    if (!ret_capabilities || !operations || count == 0) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < count; i++) {
        if ((unsigned)operations[i] > cudaAtomicOperationFloatMax) {
            return cudaErrorInvalidValue;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        ret_capabilities[i] = native ? capabilities_of(operations[i]) : 0;
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                                         const enum cudaAtomicOperation *operations,
                                                         unsigned int count, int device)
{
    const struct irt_device *d = irt_device_at(device);
    if (!d) {
        return cudaErrorInvalidDevice;
    }
    return irt_atomic_capabilities(capabilities, operations, count,
                                   d->info.prop.hostNativeAtomicSupported);
}

// A device that offers the flush shares the host's coherent memory: what others wrote is visible
// once this thread's later accesses are ordered behind it.
cudaError_t
irt_core_cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                            enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    if (target != cudaFlushGPUDirectRDMAWritesTargetCurrentDevice ||
        (scope != cudaFlushGPUDirectRDMAWritesToOwner &&
         scope != cudaFlushGPUDirectRDMAWritesToAllDevices)) {
        return cudaErrorInvalidValue;
    }
    if (!(irt_device_current()->info.prop.gpuDirectRDMAFlushWritesOptions &
          cudaFlushGPUDirectRDMAWritesOptionHost)) {
        return irt_unsupported("flushing of GPUDirect RDMA writes");
    }
    atomic_thread_fence(memory_order_seq_cst);
    return cudaSuccess;
}
