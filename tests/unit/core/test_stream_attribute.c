// SPDX-License-Identifier: Apache-2.0
//
// Attributes of streams: what is set is given back and copied, what CUDA refuses is refused, and
// only the member that an attribute names is written.
#include <criterion/criterion.h>
#include <string.h>

#include <cuda_runtime_api.h>

TestSuite(stream_attribute, .timeout = 20);

Test(stream_attribute, set_get_copy)
{
    cudaStream_t first, second;
    cudaLaunchAttributeValue value;
    cr_assert(cudaStreamCreate(&first) == cudaSuccess);
    cr_assert(cudaStreamCreate(&second) == cudaSuccess);
    const cudaLaunchAttributeID policy = cudaLaunchAttributeSynchronizationPolicy;
    cr_assert(cudaStreamGetAttribute(first, policy, &value) == cudaSuccess);
    cr_assert(value.syncPolicy == cudaSyncPolicyAuto);
    value.syncPolicy = cudaSyncPolicyBlockingSync;
    cr_assert(cudaStreamSetAttribute(first, policy, &value) == cudaSuccess);
    memset(&value, 0x5a, sizeof(value));
    cr_assert(cudaStreamGetAttribute(first, policy, &value) == cudaSuccess);
    cr_assert(value.syncPolicy == cudaSyncPolicyBlockingSync);
    cr_assert(value.pad[sizeof(value.syncPolicy)] == 0x5a, "only the member is written");
    cr_assert(cudaStreamCopyAttributes(second, first) == cudaSuccess);
    cr_assert(cudaStreamGetAttribute(second, policy, &value) == cudaSuccess);
    cr_assert(value.syncPolicy == cudaSyncPolicyBlockingSync);
}

Test(stream_attribute, refusals)
{
    cudaStream_t stream;
    cudaLaunchAttributeValue value;
    memset(&value, 0, sizeof(value));
    cr_assert(cudaStreamCreate(&stream) == cudaSuccess);
    const struct {
        cudaLaunchAttributeID id;
        int number; // first member of the value
        cudaError_t error;
    } rows[] = {
        {cudaLaunchAttributeSynchronizationPolicy, 0, cudaErrorInvalidValue},
        {cudaLaunchAttributeSynchronizationPolicy, 5, cudaErrorInvalidValue},
        {cudaLaunchAttributePriority, 0, cudaSuccess},
        {cudaLaunchAttributePriority, 1, cudaErrorInvalidValue},
        {cudaLaunchAttributePriority, -1, cudaErrorNotSupported}, // cannot be changed here
        {cudaLaunchAttributeMemSyncDomain, 1, cudaSuccess},
        {cudaLaunchAttributeMemSyncDomain, 2, cudaErrorInvalidValue},
        {cudaLaunchAttributeCooperative, 1, cudaErrorInvalidValue}, // of launches
        {(cudaLaunchAttributeID)99, 0, cudaErrorInvalidValue},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        value.priority = rows[i].number;
        cudaError_t e = cudaStreamSetAttribute(stream, rows[i].id, &value);
        cr_assert(e == rows[i].error, "row %zu: %s", i, cudaGetErrorName(e));
    }
    cr_assert(cudaStreamGetAttribute(stream, cudaLaunchAttributePriority, NULL) ==
              cudaErrorInvalidValue);
    cr_assert(cudaStreamGetAttribute((cudaStream_t)0x1234, cudaLaunchAttributePriority, &value) ==
              cudaErrorInvalidResourceHandle);
    cr_assert(cudaStreamCopyAttributes(stream, (cudaStream_t)0x1234) ==
              cudaErrorInvalidResourceHandle);
}
