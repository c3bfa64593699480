// SPDX-License-Identifier: Apache-2.0
//
// Instantiated graphs: all forms of instantiation, launches on any stream and from many threads,
// order, events as nodes.
#include "graph_exec.h"

TestSuite(graph_exec, .timeout = 60);

KERNEL_TEST(graph_exec, forms_of_instantiation, .init = setup)
{
    cudaGraph_t graph = adding();
    cudaGraphExec_t exec;
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphUpload(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    cr_assert(first_value(data) == 3);
    EXPECT(cudaErrorInvalidValue, cudaGraphInstantiateWithFlags(&exec, graph, 1ull << 20));
    EXPECT(cudaErrorInvalidValue, cudaGraphInstantiateWithFlags(NULL, graph, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphInstantiateWithFlags(&exec, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphInstantiateWithFlags(&exec, (cudaGraph_t)&exec, 0));
#if CUDART_VERSION >= 12000
    cudaGraphInstantiateParams params = {.flags = cudaGraphInstantiateFlagUpload |
                                                  cudaGraphInstantiateFlagUseNodePriority,
                                         .uploadStream = stream,
                                         .result_out = 77};
    unsigned long long flags = 0;
    OK(cudaGraphInstantiateWithParams(&exec, graph, &params));
    cr_assert(params.result_out == cudaGraphInstantiateSuccess && params.errNode_out == NULL);
    OK(cudaGraphExecGetFlags(exec, &flags));
    cr_assert(flags == params.flags);
    EXPECT(cudaErrorInvalidValue, cudaGraphExecGetFlags(exec, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecGetFlags(NULL, &flags));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 4);
    OK(cudaGraphExecDestroy(exec));
    EXPECT(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, NULL));
    params.flags = cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagAutoFreeOnLaunch;
    EXPECT(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
    cr_assert(params.result_out == cudaGraphInstantiateError && params.errNode_out == NULL);
    params.flags = cudaGraphInstantiateFlagUpload;
    params.uploadStream = (cudaStream_t)&params;
    EXPECT(cudaErrorInvalidResourceHandle, cudaGraphInstantiateWithParams(&exec, graph, &params));
#endif
    OK(cudaGraphDestroy(graph));
}

KERNEL_TEST(graph_exec, wrong_handles, .init = setup)
{
    cudaGraph_t graph = adding();
    cudaGraphExec_t exec;
    OK(instantiate(&exec, graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(NULL, stream));
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch((cudaGraphExec_t)&exec, stream));
    EXPECT(cudaErrorInvalidValue, cudaGraphUpload(NULL, stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaGraphLaunch(exec, (cudaStream_t)&exec));
    EXPECT(cudaErrorInvalidResourceHandle, cudaGraphUpload(exec, (cudaStream_t)&exec));
    OK(cudaGraphExecDestroy(exec));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecDestroy(exec));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecDestroy(NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
    OK(cudaGraphDestroy(graph));
}

Test(graph_exec, empty_graph, .init = setup)
{
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

// The graph may change or go; the exec does what it did when it was made.
KERNEL_TEST(graph_exec, independent_of_its_graph, .init = setup)
{
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    struct fill_arguments arguments;
    cudaGraphNode_t node = add_fill(graph, NULL, data, 5);
    OK(instantiate(&exec, graph));
    struct cudaKernelNodeParams params = fill_params(&arguments, data, 6);
    OK(cudaGraphKernelNodeSetParams(node, &params));
    add_one(graph, &node, data);
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 5);
    OK(cudaGraphDestroy(graph));
    OK(cudaMemsetAsync(data, 0, BYTES, stream));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 5);
    OK(cudaGraphExecDestroy(exec));
}

KERNEL_TEST(graph_exec, every_stream, .init = setup)
{
    cudaGraph_t graph = adding();
    cudaGraphExec_t exec;
    cudaStream_t streams[] = {NULL, cudaStreamLegacy, cudaStreamPerThread, stream, NULL};
    OK(cudaStreamCreate(&streams[4]));
    OK(instantiate(&exec, graph));
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < LENGTH(streams); i++) {
            OK(cudaGraphLaunch(exec, streams[i])); // one after the other, whatever the stream
        }
    }
    OK(cudaDeviceSynchronize());
    cr_assert(first_value(data) == 100);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(streams[4]));
}

// Launches of one exec do not overlap: this kernel would lose additions if they did.
static void *launch_often(void *argument)
{
    cudaGraphExec_t exec = argument;
    cudaStream_t own;
    OK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    for (int i = 0; i < 50; i++) {
        OK(cudaGraphLaunch(exec, own));
    }
    OK(cudaStreamSynchronize(own));
    OK(cudaStreamDestroy(own));
    return NULL;
}

KERNEL_TEST(graph_exec, many_threads, .init = setup)
{
    cudaGraph_t graph = adding();
    cudaGraphExec_t exec;
    pthread_t threads[6];
    OK(instantiate(&exec, graph));
    for (size_t i = 0; i < LENGTH(threads); i++) {
        cr_assert(pthread_create(&threads[i], NULL, launch_often, exec) == 0);
    }
    for (size_t i = 0; i < LENGTH(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    cr_assert(first_value(data) == 300);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

KERNEL_TEST(graph_exec, destroyed_while_it_runs, .init = setup)
{
    struct gate gate = {0};
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    cudaGraphNode_t host;
    struct cudaHostNodeParams params = {.fn = wait_for_gate, .userData = &gate};
    OK(cudaGraphAddHostNode(&host, graph, NULL, 0, &params));
    add_one(graph, &host, data);
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    gate.open = 1;
    cr_assert(first_value(data) == 2);
    cr_assert(gate.calls == 2);
}

static void calls_cuda(void *argument)
{
    int count;
    *(cudaError_t *)argument = cudaGetDeviceCount(&count);
}

Test(graph_exec, host_nodes_may_not_call_cuda, .init = setup)
{
    cudaError_t answer = cudaSuccess;
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    cudaGraphNode_t host;
    struct cudaHostNodeParams params = {.fn = calls_cuda, .userData = &answer};
    OK(cudaGraphAddHostNode(&host, graph, NULL, 0, &params));
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(cudaErrorNotPermitted, answer);
    OK(cudaGetLastError());
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

KERNEL_TEST(graph_exec, legacy_stream_order, .init = setup)
{
    struct gate gate = {0};
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    cudaGraphNode_t host;
    cudaStream_t blocking;
    int value = -1;
    struct cudaHostNodeParams params = {.fn = wait_for_gate, .userData = &gate};
    OK(cudaStreamCreate(&blocking));
    OK(cudaGraphAddHostNode(&host, graph, NULL, 0, &params));
    add_fill(graph, &host, data, 9);
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, NULL));
    int *pinned;
    OK(cudaMallocHost((void **)&pinned, sizeof value));
    *pinned = -1;
    OK(cudaMemcpyAsync(pinned, data, sizeof value, cudaMemcpyDeviceToHost, blocking));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(blocking)); // ordered behind the legacy stream
    gate.open = 1;
    OK(cudaStreamSynchronize(blocking));
    cr_assert(*pinned == 9);
    OK(cudaFreeHost(pinned));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(blocking));
}

KERNEL_TEST(graph_exec, event_nodes, .init = setup)
{
    struct gate gate = {0};
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    cudaGraphNode_t host, record, wait;
    cudaEvent_t before, after;
    cudaStream_t second;
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreate(&before));
    OK(cudaEventCreate(&after));
    struct cudaHostNodeParams params = {.fn = wait_for_gate, .userData = &gate};
    OK(cudaGraphAddEventWaitNode(&wait, graph, NULL, 0, before));
    cudaGraphNode_t add = add_one(graph, &wait, data);
    OK(cudaGraphAddEventRecordNode(&record, graph, &add, 1, after));
    OK(cudaGraphAddHostNode(&host, graph, NULL, 0, &params));
    OK(instantiate(&exec, graph));
    gate.open = 1;
    OK(cudaGraphLaunch(exec, stream)); // `before` was never recorded: no wait
    OK(cudaEventSynchronize(after));
    cr_assert(first_value(data) == 1);
    gate.open = 0;
    OK(cudaLaunchHostFunc(second, wait_for_gate, &gate));
    OK(cudaEventRecord(before, second));
    OK(cudaGraphLaunch(exec, stream)); // waits for that record
    EXPECT(cudaErrorNotReady, cudaEventQuery(after));
    gate.open = 1;
    OK(cudaEventSynchronize(after));
    cr_assert(first_value(data) == 2);
    float ms = -1;
    OK(cudaEventElapsedTime(&ms, before, after));
    cr_assert(ms >= 0);
    // Other events for later launches.
    cudaEvent_t third;
    OK(cudaEventCreateWithFlags(&third, cudaEventDisableTiming));
    OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, third));
    OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, third));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecEventWaitNodeSetEvent(exec, record, third));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphExecEventRecordNodeSetEvent(exec, record, (cudaEvent_t)&third));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaEventSynchronize(third));
    cr_assert(first_value(data) == 3);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(before));
    OK(cudaEventDestroy(after));
    OK(cudaEventDestroy(third));
    OK(cudaStreamDestroy(second));
}

KERNEL_TEST(graph_exec, gone_after_a_reset, .init = setup)
{
    cudaGraph_t graph = adding();
    cudaGraphExec_t exec;
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaDeviceReset());
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(exec, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecDestroy(exec));
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, NULL));
    OK(cudaDeviceSynchronize());
}

Test(graph_exec, a_fault_ends_the_launch, .init = setup, .data = NEEDS("ptx faults"))
{
    struct gate gate = {.open = 1};
    cudaGraph_t graph = new_graph();
    cudaGraphExec_t exec;
    cudaGraphNode_t fault, host;
    struct cudaKernelNodeParams params = {
        .func = (void *)kernel_stub(KERNEL_FAULT), .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    struct cudaHostNodeParams host_params = {.fn = wait_for_gate, .userData = &gate};
    OK(cudaGraphAddKernelNode(&fault, graph, NULL, 0, &params));
    OK(cudaGraphAddHostNode(&host, graph, &fault, 1, &host_params));
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    EXPECT(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    cr_assert(gate.calls == 0);
    EXPECT(cudaErrorIllegalAddress, cudaGraphLaunch(exec, stream));
}
