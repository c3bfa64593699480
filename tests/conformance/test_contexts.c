// SPDX-License-Identifier: Apache-2.0
//
// Device resources, green contexts and execution contexts (CUDA 13.1).
#include "conformance.h"

TestSuite(contexts, .timeout = 60);

#if CUDART_VERSION >= 13010
static const cudaError_t invalid = cudaErrorInvalidValue;

static cudaDevResource device_sms(void)
{
    cudaDevResource sms;
    OK(cudaDeviceGetDevResource(0, &sms, cudaDevResourceTypeSm));
    return sms;
}

// A green context with all multiprocessors of device 0.
static cudaExecutionContext_t green(void)
{
    cudaDevResource sms = device_sms();
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t context;
    OK(cudaDevResourceGenerateDesc(&desc, &sms, 1));
    OK(cudaGreenCtxCreate(&context, desc, 0, 0));
    return context;
}

Test(contexts, resources_of_a_device)
{
    int count = 0;
    cudaDevResource r, s;
    OK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaDeviceGetDevResource(0, &r, cudaDevResourceTypeSm));
    cr_assert(r.type == cudaDevResourceTypeSm && (int)r.sm.smCount == count);
    cr_assert(r.sm.minSmPartitionSize >= 1 && r.sm.smCoscheduledAlignment >= 1);
    OK(cudaDeviceGetDevResource(0, &s, cudaDevResourceTypeWorkqueueConfig));
    cr_assert(s.type == cudaDevResourceTypeWorkqueueConfig && s.wqConfig.device == 0);
    cr_assert(s.wqConfig.wqConcurrencyLimit > 0);
    OK(cudaStreamGetDevResource(0, &s, cudaDevResourceTypeSm));
    cr_assert(s.sm.smCount == r.sm.smCount);
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetDevResource(device_count(), &r, r.type));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetDevResource(-1, &r, r.type));
    EXPECT(invalid, cudaDeviceGetDevResource(0, NULL, cudaDevResourceTypeSm));
    EXPECT(cudaErrorInvalidResourceType,
           cudaDeviceGetDevResource(0, &r, cudaDevResourceTypeInvalid));
    EXPECT(cudaErrorInvalidResourceType,
           cudaDeviceGetDevResource(0, &r, (enum cudaDevResourceType)7));
    EXPECT(invalid, cudaStreamGetDevResource(0, NULL, cudaDevResourceTypeSm));
    EXPECT(cudaErrorInvalidResourceType,
           cudaStreamGetDevResource(0, &s, cudaDevResourceTypeWorkqueue));
    EXPECT(cudaErrorInvalidResourceType,
           cudaStreamGetDevResource(0, &s, cudaDevResourceTypeWorkqueueConfig));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaStreamGetDevResource((cudaStream_t)(void *)0x1234, &s, cudaDevResourceTypeSm));
}

Test(contexts, split_by_count)
{
    cudaDevResource sms = device_sms(), parts[64], rest;
    unsigned total = sms.sm.smCount, groups = 0;
    OK(cudaDevSmResourceSplitByCount(NULL, &groups, &sms, NULL,
                                     cudaDevSmResourceSplitIgnoreSmCoscheduling, 1));
    cr_assert(groups == total, "%u groups of one out of %u", groups, total);
    groups = groups < 64 ? groups : 64;
    unsigned wanted = groups;
    OK(cudaDevSmResourceSplitByCount(parts, &groups, &sms, &rest,
                                     cudaDevSmResourceSplitIgnoreSmCoscheduling, 1));
    cr_assert(groups == wanted && parts[0].sm.smCount == 1);
    cr_assert(total == groups ? rest.type == cudaDevResourceTypeInvalid
                              : rest.sm.smCount == total - groups);
    groups = 1;
    OK(cudaDevSmResourceSplitByCount(parts, &groups, &sms, &rest, 0, total > 1 ? 1 : 0));
    cr_assert(groups == 1 && parts[0].sm.smCount == sms.sm.minSmPartitionSize);
    unsigned left = total - parts[0].sm.smCount;
    cr_assert(left ? rest.type == cudaDevResourceTypeSm && rest.sm.smCount == left
                   : rest.type == cudaDevResourceTypeInvalid);

    EXPECT(invalid, cudaDevSmResourceSplitByCount(parts, NULL, &sms, NULL, 0, 1));
    EXPECT(invalid, cudaDevSmResourceSplitByCount(parts, &groups, NULL, NULL, 0, 1));
    EXPECT(invalid, cudaDevSmResourceSplitByCount(parts, &groups, &sms, NULL, 4, 1));
    EXPECT(cudaErrorInvalidResourceConfiguration,
           cudaDevSmResourceSplitByCount(parts, &groups, &sms, NULL, 0, total + 1));
    EXPECT(cudaErrorInvalidResourceConfiguration,
           cudaDevSmResourceSplitByCount(parts, &groups, &parts[0], NULL, 0, 1));
    groups = 0;
    EXPECT(invalid, cudaDevSmResourceSplitByCount(parts, &groups, &sms, NULL, 0, 1));
    groups = 1;
    cudaDevResource forged = sms;
    forged.sm.smCount++;
    EXPECT(invalid, cudaDevSmResourceSplitByCount(parts, &groups, &forged, NULL, 0, 1));
    OK(cudaDeviceGetDevResource(0, &forged, cudaDevResourceTypeWorkqueueConfig));
    EXPECT(cudaErrorInvalidResourceType,
           cudaDevSmResourceSplitByCount(parts, &groups, &forged, NULL, 0, 1));
}

Test(contexts, split_into_groups)
{
    cudaDevResource sms = device_sms(), parts[2], rest;
    unsigned total = sms.sm.smCount, unit = sms.sm.smCoscheduledAlignment;
    cudaDevSmResourceGroupParams all = {0};
    OK(cudaDevSmResourceSplit(parts, 1, &sms, &rest, 0, &all)); // discovery
    cr_assert(all.smCount == total / unit * unit && all.coscheduledSmCount == unit);
    cr_assert(parts[0].sm.smCount == all.smCount);
    cudaDevSmResourceGroupParams two[2] = {{.smCount = unit}, {0}};
    OK(cudaDevSmResourceSplit(NULL, 2, &sms, NULL, 0, two));
    cr_assert(two[1].smCount == (total - unit) / unit * unit);
    cudaDevSmResourceGroupParams none[2] = {{.smCount = total / unit * unit}, {0}};
    if (total % unit == 0) { // an empty group cannot be a result
        EXPECT(cudaErrorInvalidResourceConfiguration,
               cudaDevSmResourceSplit(parts, 2, &sms, NULL, 0, none));
    }
    cudaDevSmResourceGroupParams bad = {.smCount = total + unit};
    EXPECT(invalid, cudaDevSmResourceSplit(parts, 1, &sms, NULL, 0, &bad));
    bad = (cudaDevSmResourceGroupParams){.coscheduledSmCount = 64};
    EXPECT(invalid, cudaDevSmResourceSplit(parts, 1, &sms, NULL, 0, &bad));
    bad = (cudaDevSmResourceGroupParams){.flags = 2}; // a locality domain
    EXPECT(cudaErrorInvalidResourceConfiguration,
           cudaDevSmResourceSplit(parts, 1, &sms, NULL, 0, &bad));
    EXPECT(invalid, cudaDevSmResourceSplit(parts, 0, &sms, NULL, 0, &all));
    EXPECT(invalid, cudaDevSmResourceSplit(parts, 1, NULL, NULL, 0, &all));
    EXPECT(invalid, cudaDevSmResourceSplit(parts, 1, &sms, NULL, 1, &all));
    EXPECT(invalid, cudaDevSmResourceSplit(parts, 1, &sms, NULL, 0, NULL));
}

Test(contexts, descriptors)
{
    cudaDevResource sms = device_sms(), queues, other, both[2];
    cudaDevResourceDesc_t desc;
    OK(cudaDevResourceGenerateDesc(&desc, &sms, 1));
    EXPECT(invalid, cudaDevResourceGenerateDesc(NULL, &sms, 1));
    EXPECT(invalid, cudaDevResourceGenerateDesc(&desc, NULL, 1));
    EXPECT(invalid, cudaDevResourceGenerateDesc(&desc, &sms, 0));
    OK(cudaDeviceGetDevResource(0, &queues, cudaDevResourceTypeWorkqueueConfig));
    both[0] = sms;
    both[1] = queues;
    OK(cudaDevResourceGenerateDesc(&desc, both, 2));
    both[1] = sms; // the same twice
    EXPECT(cudaErrorInvalidResourceConfiguration, cudaDevResourceGenerateDesc(&desc, both, 2));
    OK(cudaDeviceGetDevResource(1, &other, cudaDevResourceTypeSm));
    both[1] = other; // of another device
    EXPECT(cudaErrorInvalidResourceConfiguration, cudaDevResourceGenerateDesc(&desc, both, 2));
    both[0].type = cudaDevResourceTypeInvalid;
    EXPECT(cudaErrorInvalidResourceType, cudaDevResourceGenerateDesc(&desc, both, 1));
    memset(&other, 0, sizeof other);
    other.type = cudaDevResourceTypeSm;
    EXPECT(invalid, cudaDevResourceGenerateDesc(&desc, &other, 1));
}

Test(contexts, green_contexts)
{
    cudaDevResource sms = device_sms(), mine, part;
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t one, two, primary, again;
    unsigned long long id_one = 0, id_two = 0, id = 0;
    unsigned groups = 1;
    int device = -1;
    OK(cudaDevSmResourceSplitByCount(&part, &groups, &sms, NULL,
                                     cudaDevSmResourceSplitIgnoreSmCoscheduling, 1));
    OK(cudaDevResourceGenerateDesc(&desc, &part, 1));
    EXPECT(invalid, cudaGreenCtxCreate(NULL, desc, 0, 0));
    EXPECT(invalid, cudaGreenCtxCreate(&one, NULL, 0, 0));
    EXPECT(invalid, cudaGreenCtxCreate(&one, (cudaDevResourceDesc_t)(void *)0x1234, 0, 0));
    EXPECT(invalid, cudaGreenCtxCreate(&one, desc, 0, 1));
    EXPECT(cudaErrorInvalidDevice, cudaGreenCtxCreate(&one, desc, device_count(), 0));
    EXPECT(cudaErrorInvalidDevice, cudaGreenCtxCreate(&one, desc, 1, 0));
    OK(cudaGreenCtxCreate(&one, desc, 0, 0));
    OK(cudaGreenCtxCreate(&two, desc, 0, 0));
    OK(cudaExecutionCtxGetDevResource(one, &mine, cudaDevResourceTypeSm));
    cr_assert(mine.sm.smCount == 1);
    EXPECT(cudaErrorInvalidResourceType,
           cudaExecutionCtxGetDevResource(one, &mine, (enum cudaDevResourceType)3));
    EXPECT(invalid, cudaExecutionCtxGetDevResource(one, NULL, cudaDevResourceTypeSm));
    EXPECT(invalid, cudaExecutionCtxGetDevResource(NULL, &mine, cudaDevResourceTypeSm));
    OK(cudaExecutionCtxGetDevice(&device, one));
    cr_assert(device == 0);
    EXPECT(invalid, cudaExecutionCtxGetDevice(NULL, one));
    EXPECT(invalid, cudaExecutionCtxGetDevice(&device, NULL));
    OK(cudaExecutionCtxGetId(one, &id_one));
    OK(cudaExecutionCtxGetId(two, &id_two));
    cr_assert(id_one != id_two);
    EXPECT(invalid, cudaExecutionCtxGetId(one, NULL));
    EXPECT(invalid, cudaExecutionCtxGetId(NULL, &id));

    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    OK(cudaDeviceGetExecutionCtx(&again, 0));
    cr_assert(primary == again && primary != one);
    EXPECT(invalid, cudaDeviceGetExecutionCtx(NULL, 0));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetExecutionCtx(&again, device_count()));
    OK(cudaExecutionCtxGetDevResource(primary, &mine, cudaDevResourceTypeSm));
    cr_assert(mine.sm.smCount == sms.sm.smCount);
    EXPECT(invalid, cudaExecutionCtxDestroy(primary));
    EXPECT(invalid, cudaExecutionCtxDestroy(NULL));
    OK(cudaExecutionCtxDestroy(one));
    EXPECT(invalid, cudaExecutionCtxDestroy(one));
    EXPECT(invalid, cudaExecutionCtxGetId(one, &id));
    EXPECT(invalid, cudaExecutionCtxSynchronize(one));
    OK(cudaExecutionCtxSynchronize(two));
    OK(cudaDeviceReset());
    EXPECT(invalid, cudaExecutionCtxSynchronize(two));
    OK(cudaExecutionCtxSynchronize(primary));
}

Test(contexts, streams_belong_to_a_context)
{
    cudaExecutionContext_t context = green(), primary;
    cudaStream_t stream, plain;
    unsigned flags = 7;
    int priority = 7, device = -1;
    char *data, byte = 0;
    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    EXPECT(invalid, cudaExecutionCtxStreamCreate(NULL, context, 0, 0));
    EXPECT(invalid, cudaExecutionCtxStreamCreate(&stream, NULL, 0, 0));
    EXPECT(invalid, cudaExecutionCtxStreamCreate(&stream, context, 2, 0));
    OK(cudaSetDevice(1)); // the context says which device, not the thread
    OK(cudaExecutionCtxStreamCreate(&stream, context, cudaStreamDefault, -99));
    OK(cudaExecutionCtxStreamCreate(&plain, primary, cudaStreamDefault, 0));
    OK(cudaStreamGetDevice(stream, &device));
    cr_assert(device == 0);
    OK(cudaSetDevice(0));
    OK(cudaStreamGetFlags(stream, &flags));
    cr_assert(flags == cudaStreamNonBlocking);
    OK(cudaStreamGetFlags(plain, &flags));
    cr_assert(flags == cudaStreamDefault);
    OK(cudaStreamGetPriority(stream, &priority));
    int least, greatest;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cr_assert(priority == greatest, "clamped: %d", priority);

    OK(cudaMalloc((void **)&data, 16));
    OK(cudaMemsetAsync(data, 5, 16, stream));
    OK(cudaExecutionCtxSynchronize(context));
    OK(cudaMemcpy(&byte, data + 15, 1, cudaMemcpyDeviceToHost));
    cr_assert(byte == 5);

    // Detached once the context is gone; only destroying is left.
    OK(cudaExecutionCtxDestroy(context));
    EXPECT(cudaErrorStreamDetached, cudaMemsetAsync(data, 5, 16, stream));
    EXPECT(cudaErrorStreamDetached, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorStreamDetached, cudaStreamQuery(stream));
    OK(cudaMemsetAsync(data, 6, 16, plain));
    OK(cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(plain));
}

// A host function that waits until the test lets it go on.
static void CUDART_CB hold(void *flag)
{
    while (__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE) == 0) {
    }
}

static void CUDART_CB count_up(void *count)
{
    __atomic_fetch_add((int *)count, 1, __ATOMIC_RELEASE);
}

Test(contexts, events_of_a_context)
{
    cudaExecutionContext_t context = green(), other = green();
    cudaStream_t a, b, late, outside;
    cudaEvent_t event, elsewhere;
    int flag = 0, count = 0;
    OK(cudaExecutionCtxStreamCreate(&a, context, 0, 0));
    OK(cudaExecutionCtxStreamCreate(&b, context, 0, 0));
    OK(cudaExecutionCtxStreamCreate(&outside, other, 0, 0));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

    // The event holds the work of all streams of the context.
    OK(cudaLaunchHostFunc(b, hold, &flag));
    OK(cudaExecutionCtxRecordEvent(context, event));
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    OK(cudaExecutionCtxSynchronize(other)); // not that of others
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    OK(cudaEventSynchronize(event));
    OK(cudaExecutionCtxSynchronize(context));

    // All work that comes later waits, also in streams that come later.
    flag = 0;
    OK(cudaLaunchHostFunc(outside, hold, &flag));
    OK(cudaEventRecord(event, outside));
    OK(cudaExecutionCtxWaitEvent(context, event));
    OK(cudaExecutionCtxStreamCreate(&late, context, 0, 0));
    OK(cudaLaunchHostFunc(a, count_up, &count));
    OK(cudaLaunchHostFunc(late, count_up, &count));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(a));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(late));
    cr_assert(__atomic_load_n(&count, __ATOMIC_ACQUIRE) == 0);
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    OK(cudaExecutionCtxSynchronize(context));
    cr_assert(count == 2);

    // The device's context means all streams.
    cudaExecutionContext_t primary;
    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    flag = 0;
    OK(cudaLaunchHostFunc(a, hold, &flag));
    OK(cudaExecutionCtxRecordEvent(primary, event));
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    OK(cudaEventSynchronize(event));
    OK(cudaExecutionCtxSynchronize(primary));

    // Not while a stream of the context captures; that ends the capture.
    cudaGraph_t graph;
    enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    const cudaError_t unsupported = cudaErrorStreamCaptureUnsupported;
    OK(cudaStreamBeginCapture(a, relaxed));
    EXPECT(unsupported, cudaExecutionCtxRecordEvent(context, event));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    OK(cudaStreamBeginCapture(a, relaxed));
    EXPECT(unsupported, cudaExecutionCtxWaitEvent(context, event));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(a, &graph));
    OK(cudaStreamBeginCapture(outside, relaxed));
    OK(cudaEventRecord(event, outside));
    EXPECT(unsupported, cudaExecutionCtxWaitEvent(context, event)); // an event of a sequence
    cudaStreamEndCapture(outside, &graph);
    OK(cudaEventRecord(event, a));

    const cudaError_t handle = cudaErrorInvalidResourceHandle;
    EXPECT(handle, cudaExecutionCtxRecordEvent(NULL, event));
    EXPECT(handle, cudaExecutionCtxRecordEvent(context, NULL));
    EXPECT(handle, cudaExecutionCtxWaitEvent(NULL, event));
    EXPECT(handle, cudaExecutionCtxWaitEvent(context, NULL));
    EXPECT(handle, cudaExecutionCtxRecordEvent((cudaExecutionContext_t)(void *)0x77, event));
    OK(cudaSetDevice(1));
    OK(cudaEventCreate(&elsewhere));
    OK(cudaSetDevice(0));
    EXPECT(handle, cudaExecutionCtxRecordEvent(context, elsewhere));
    OK(cudaExecutionCtxWaitEvent(context, elsewhere)); // may be of another device
}

// However many blocks a kernel has: a context of one multiprocessor is one thread.
Test(contexts, blocks_stay_inside, .data = NEEDS("ptx partitions"))
{
    enum { BLOCKS = 4096 };
    cudaDevResource sms = device_sms(), part;
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t context;
    cudaStream_t stream;
    unsigned groups = 1, *device, *host = malloc(BLOCKS * sizeof *host);
    kernels_register();
    OK(cudaDevSmResourceSplitByCount(&part, &groups, &sms, NULL,
                                     cudaDevSmResourceSplitIgnoreSmCoscheduling, 1));
    OK(cudaDevResourceGenerateDesc(&desc, &part, 1));
    OK(cudaGreenCtxCreate(&context, desc, 0, 0));
    OK(cudaExecutionCtxStreamCreate(&stream, context, 0, 0));
    OK(cudaMalloc((void **)&device, BLOCKS * sizeof *device));
    int zero = 0, count = BLOCKS;
    for (int round = 0; round < 5; round++) {
        void *arguments[] = {&device, &zero};
        OK(kernel_launch(KERNEL_SMID, BLOCKS, 32, arguments, 0, stream));
        OK(cudaMemcpyAsync(host, device, BLOCKS * sizeof *host, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        for (int i = 0; i < count; i++) {
            cr_assert(host[i] == host[0], "round %d: block %d ran on %u and block 0 on %u", round,
                      i, host[i], host[0]);
        }
    }
    free(host);
}
#else
Test(contexts, came_with_cuda_13)
{
    cr_assert(CUDART_VERSION < 13010);
}
#endif
