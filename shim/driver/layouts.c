// SPDX-License-Identifier: Apache-2.0
//
// What driver.tsv relies on where it says `same:`: structures of both APIs are laid out alike and
// numbers mean the same. Checked by the compiler against NVIDIA's own declarations; no code.
#include <cuda.h>

#include <driver_types.h>

#define SAME_SIZE(driver_, runtime_) _Static_assert(sizeof(driver_) == sizeof(runtime_), #driver_)
#define SAME_PLACE(driver_, one_, runtime_, other_) \
    _Static_assert(offsetof(driver_, one_) == offsetof(runtime_, other_), #driver_ "." #one_)
#define SAME_VALUE(driver_, runtime_) _Static_assert((int)(driver_) == (int)(runtime_), #driver_)

#include <stddef.h>

SAME_SIZE(CUmemPoolProps, struct cudaMemPoolProps);
SAME_PLACE(CUmemPoolProps, location, struct cudaMemPoolProps, location);
SAME_PLACE(CUmemPoolProps, maxSize, struct cudaMemPoolProps, maxSize);
SAME_PLACE(CUmemPoolProps, usage, struct cudaMemPoolProps, usage);
SAME_SIZE(CUmemAccessDesc, struct cudaMemAccessDesc);
SAME_PLACE(CUmemAccessDesc, flags, struct cudaMemAccessDesc, flags);
SAME_SIZE(CUmemLocation, struct cudaMemLocation);
SAME_SIZE(CUmemPoolPtrExportData, struct cudaMemPoolPtrExportData);
SAME_SIZE(CUmemcpyAttributes, struct cudaMemcpyAttributes);
SAME_PLACE(CUmemcpyAttributes, srcLocHint, struct cudaMemcpyAttributes, srcLocHint);
SAME_PLACE(CUmemcpyAttributes, flags, struct cudaMemcpyAttributes, flags);
SAME_SIZE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, struct cudaExternalMemoryHandleDesc);
SAME_PLACE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size, struct cudaExternalMemoryHandleDesc, size);
SAME_PLACE(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags, struct cudaExternalMemoryHandleDesc, flags);
SAME_SIZE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, struct cudaExternalMemoryBufferDesc);
SAME_PLACE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size, struct cudaExternalMemoryBufferDesc, size);
SAME_PLACE(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags, struct cudaExternalMemoryBufferDesc, flags);
SAME_SIZE(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, struct cudaExternalSemaphoreHandleDesc);
SAME_PLACE(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, flags, struct cudaExternalSemaphoreHandleDesc,
           flags);
SAME_SIZE(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, struct cudaExternalSemaphoreSignalParams);
SAME_PLACE(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, flags, struct cudaExternalSemaphoreSignalParams,
           flags);
SAME_SIZE(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, struct cudaExternalSemaphoreWaitParams);
SAME_PLACE(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params.keyedMutex.timeoutMs,
           struct cudaExternalSemaphoreWaitParams, params.keyedMutex.timeoutMs);
SAME_PLACE(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, flags, struct cudaExternalSemaphoreWaitParams,
           flags);
SAME_SIZE(CUipcMemHandle, cudaIpcMemHandle_t);
SAME_SIZE(CUipcEventHandle, cudaIpcEventHandle_t);
SAME_SIZE(CUDA_HOST_NODE_PARAMS, struct cudaHostNodeParams);
SAME_PLACE(CUDA_HOST_NODE_PARAMS, userData, struct cudaHostNodeParams, userData);
SAME_SIZE(CUDA_GRAPH_INSTANTIATE_PARAMS, cudaGraphInstantiateParams);
SAME_PLACE(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out, cudaGraphInstantiateParams, result_out);
SAME_SIZE(CUgraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo);
SAME_PLACE(CUgraphExecUpdateResultInfo, errorFromNode, cudaGraphExecUpdateResultInfo,
           errorFromNode);
SAME_SIZE(CUgraphEdgeData, cudaGraphEdgeData);
SAME_SIZE(CUDA_MEM_ALLOC_NODE_PARAMS, struct cudaMemAllocNodeParams);
SAME_PLACE(CUDA_MEM_ALLOC_NODE_PARAMS, dptr, struct cudaMemAllocNodeParams, dptr);
SAME_SIZE(CUlaunchAttribute, cudaLaunchAttribute);
SAME_SIZE(CUlaunchAttributeValue, cudaLaunchAttributeValue);

SAME_VALUE(CU_STREAM_CAPTURE_STATUS_INVALIDATED, cudaStreamCaptureStatusInvalidated);
SAME_VALUE(CU_STREAM_CAPTURE_MODE_RELAXED, cudaStreamCaptureModeRelaxed);
SAME_VALUE(CU_MEM_ADVISE_UNSET_ACCESSED_BY, cudaMemAdviseUnsetAccessedBy);
SAME_VALUE(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
           cudaMemRangeAttributeLastPrefetchLocationId);
SAME_VALUE(CU_MEMPOOL_ATTR_USED_MEM_HIGH, cudaMemPoolAttrUsedMemHigh);
SAME_VALUE(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, cudaMemHandleTypePosixFileDescriptor);
SAME_VALUE(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, cudaMemAccessFlagsProtReadWrite);
SAME_VALUE(CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED,
           cudaDevP2PAttrCudaArrayAccessSupported);
SAME_VALUE(CU_GRAPH_NODE_TYPE_CONDITIONAL, cudaGraphNodeTypeConditional);
SAME_VALUE(CU_GRAPH_NODE_TYPE_MEM_FREE, cudaGraphNodeTypeMemFree);
SAME_VALUE(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED,
           cudaGraphExecUpdateErrorAttributesChanged);
SAME_VALUE(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY, cudaGraphInstantiateFlagUseNodePriority);
SAME_VALUE(CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED,
           cudaGraphInstantiateMultipleDevicesNotSupported);
SAME_VALUE(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES, cudaGraphDebugDotFlagsHandles);
SAME_VALUE(CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, cudaUserObjectNoDestructorSync);
SAME_VALUE(CU_GRAPH_USER_OBJECT_MOVE, cudaGraphUserObjectMove);
SAME_VALUE(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, cudaGraphMemAttrReservedMemHigh);
SAME_VALUE(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
           cudaLaunchAttributePreferredSharedMemoryCarveout);
SAME_VALUE(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
           cudaFuncAttributeClusterSchedulingPolicyPreference);
SAME_VALUE(CU_MEMCPY_SRC_ACCESS_ORDER_ANY, cudaMemcpySrcAccessOrderAny);
SAME_VALUE(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE, cudaMemcpyFlagPreferOverlapWithCompute);
SAME_VALUE(CU_ATOMIC_OPERATION_CAS, cudaAtomicOperationCAS);
SAME_VALUE(CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, cudaExternalMemoryHandleTypeOpaqueFd);
SAME_VALUE(CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD,
           cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd);
SAME_VALUE(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES,
           cudaFlushGPUDirectRDMAWritesToAllDevices);
SAME_VALUE(CU_EVENT_RECORD_EXTERNAL, cudaEventRecordExternal);
SAME_VALUE(CU_EVENT_WAIT_EXTERNAL, cudaEventWaitExternal);
SAME_VALUE(CU_MEMHOSTREGISTER_READ_ONLY, cudaHostRegisterReadOnly);
SAME_VALUE(CU_MEMHOSTALLOC_WRITECOMBINED, cudaHostAllocWriteCombined);
SAME_VALUE(CU_MEM_ATTACH_SINGLE, cudaMemAttachSingle);
SAME_VALUE(CU_STREAM_NON_BLOCKING, cudaStreamNonBlocking);
SAME_VALUE(CU_EVENT_INTERPROCESS, cudaEventInterprocess);
SAME_VALUE(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, cudaLimitPersistingL2CacheSize);
SAME_VALUE(CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, cudaDevAttrHostNumaId);
SAME_VALUE(CU_JIT_OVERRIDE_DIRECTIVE_VALUES, cudaJitOverrideDirectiveValues);
SAME_VALUE(CU_LIBRARY_BINARY_IS_PRESERVED, cudaLibraryBinaryIsPreserved);
SAME_VALUE(CU_CTX_SYNC_MEMOPS, cudaDeviceSyncMemops);
