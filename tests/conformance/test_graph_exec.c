// SPDX-License-Identifier: Apache-2.0
//
// Instantiated graphs: all forms of instantiation, launches on any stream and from many threads,
// order, updates node by node and as a whole with every result code, enabling, memory of graphs,
// events as nodes.
#include "conformance.h"

#include "ptx_module.h"

TestSuite(graph_exec, .timeout = 60);
TestSuite(graph_update, .timeout = 60);
TestSuite(graph_memory, .timeout = 60);
TestSuite(graph_conditions, .timeout = 60);

enum { N = 256, BYTES = N * sizeof(int) };

static cudaStream_t stream;
static int *data, *other_data;

static void setup(void)
{
    kernels_register();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&data, BYTES));
    OK(cudaMalloc((void **)&other_data, BYTES));
    OK(cudaMemset(data, 0, BYTES));
    OK(cudaMemset(other_data, 0, BYTES));
    OK(cudaDeviceSynchronize()); // the stream does not wait for the legacy one
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(exec, graph, 0);
#else
    cudaGraphNode_t node = (cudaGraphNode_t)exec;
    char log[16] = "x";
    cudaError_t error = cudaGraphInstantiate(exec, graph, &node, log, sizeof log);
    cr_assert(node == NULL && log[0] == '\0');
    return error;
#endif
}

static cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph,
                          enum cudaGraphExecUpdateResult *result, cudaGraphNode_t *node)
{
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    *result = info.result;
    *node = info.errorNode;
    return error;
#else
    return cudaGraphExecUpdate(exec, graph, node, result);
#endif
}

static int first_value(const int *from)
{
    int value = -1;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

struct fill_arguments {
    int *data, value, n;
    void *list[3];
};

static struct cudaKernelNodeParams fill_params(struct fill_arguments *arguments, int *to, int value)
{
    *arguments = (struct fill_arguments){.data = to, .value = value, .n = N};
    arguments->list[0] = &arguments->data;
    arguments->list[1] = &arguments->value;
    arguments->list[2] = &arguments->n;
    return (struct cudaKernelNodeParams){.func = (void *)kernel_stub(KERNEL_FILL),
                                         .gridDim = {2, 1, 1},
                                         .blockDim = {N / 2, 1, 1},
                                         .kernelParams = arguments->list};
}

static cudaGraphNode_t add_fill(cudaGraph_t graph, const cudaGraphNode_t *after, int *to, int value)
{
    struct fill_arguments arguments;
    struct cudaKernelNodeParams params = fill_params(&arguments, to, value);
    cudaGraphNode_t node;
    OK(cudaGraphAddKernelNode(&node, graph, after, after != NULL, &params));
    return node;
}

static cudaGraphNode_t add_one(cudaGraph_t graph, const cudaGraphNode_t *after, int *to)
{
    int n = N;
    void *list[] = {&to, &n};
    struct cudaKernelNodeParams params = {.func = (void *)kernel_stub(KERNEL_ADD_ONE),
                                          .gridDim = {2, 1, 1},
                                          .blockDim = {N / 2, 1, 1},
                                          .kernelParams = list};
    cudaGraphNode_t node;
    OK(cudaGraphAddKernelNode(&node, graph, after, after != NULL, &params));
    return node;
}

static cudaGraph_t graph_new(void)
{
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    return graph;
}

// A graph that adds one to every element.
static cudaGraph_t adding(void)
{
    cudaGraph_t graph = graph_new();
    add_one(graph, NULL, data);
    return graph;
}

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
    cudaGraph_t graph = graph_new();
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
    cudaGraph_t graph = graph_new();
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

struct gate {
    _Atomic int open, calls;
};

static void wait_for_gate(void *argument)
{
    struct gate *gate = argument;
    while (!gate->open) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    gate->calls++;
}

KERNEL_TEST(graph_exec, destroyed_while_it_runs, .init = setup)
{
    struct gate gate = {0};
    cudaGraph_t graph = graph_new();
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
    cudaGraph_t graph = graph_new();
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
    cudaGraph_t graph = graph_new();
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
    cudaGraph_t graph = graph_new();
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

KERNEL_TEST(graph_exec, a_fault_ends_the_launch, .init = setup)
{
    struct gate gate = {.open = 1};
    cudaGraph_t graph = graph_new();
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

// ---- changing an exec ----

KERNEL_TEST(graph_update, kernel_node, .init = setup)
{
    cudaGraph_t graph = graph_new(), foreign = graph_new();
    cudaGraphExec_t exec;
    struct fill_arguments arguments;
    cudaGraphNode_t node = add_fill(graph, NULL, data, 5),
                    stranger = add_fill(foreign, NULL, data, 1);
    OK(instantiate(&exec, graph));
    struct cudaKernelNodeParams params = fill_params(&arguments, data, 8);
    OK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 8);
    int *from = data;
    int n = N;
    void *list[] = {&from, &n};
    params.func = (void *)kernel_stub(KERNEL_ADD_ONE); // another function
    params.kernelParams = list;
    OK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 9);
    EXPECT(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, stranger, &params));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, node, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(NULL, node, &params));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(exec, NULL, &params));
    params.func = NULL;
    cr_assert(cudaGraphExecKernelNodeSetParams(exec, node, &params) != cudaSuccess);
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 10); // nothing has changed
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(foreign));
}

KERNEL_TEST(graph_update, launches_under_way_are_not_affected, .init = setup)
{
    struct gate gate = {0};
    cudaGraph_t graph = graph_new();
    cudaGraphExec_t exec;
    cudaGraphNode_t host;
    struct fill_arguments arguments;
    struct cudaHostNodeParams host_params = {.fn = wait_for_gate, .userData = &gate};
    OK(cudaGraphAddHostNode(&host, graph, NULL, 0, &host_params));
    cudaGraphNode_t first = add_fill(graph, &host, data, 1);
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    struct cudaKernelNodeParams params = fill_params(&arguments, other_data, 2);
    OK(cudaGraphExecKernelNodeSetParams(exec, first, &params));
    OK(cudaGraphLaunch(exec, stream));
    gate.open = 1;
    cr_assert(first_value(data) == 1);
    cr_assert(first_value(other_data) == 2);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

static struct cudaMemcpy3DParms line(void *dst, const void *src, size_t size,
                                     enum cudaMemcpyKind kind)
{
    return (struct cudaMemcpy3DParms){.srcPtr = {(void *)src, size, size, 1},
                                      .dstPtr = {dst, size, size, 1},
                                      .extent = {size, 1, 1},
                                      .kind = kind};
}

KERNEL_TEST(graph_update, copy_set_host_nodes, .init = setup)
{
    int *values, one = 0, two = 0;
    cudaGraph_t graph = graph_new();
    cudaGraphExec_t exec;
    cudaGraphNode_t copy, set, host, symbol;
    OK(cudaMallocHost((void **)&values, BYTES));
    values[0] = 11;
    values[1] = 22;
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, NULL, 0, data, &values[0], 4,
                                cudaMemcpyHostToDevice));
    struct cudaMemsetParams set_params = {
        .dst = data + 1, .value = 7, .elementSize = 4, .width = 1, .height = 1};
    OK(cudaGraphAddMemsetNode(&set, graph, &copy, 1, &set_params));
    struct gate gate_one = {.open = 1}, gate_two = {.open = 1};
    struct cudaHostNodeParams host_params = {.fn = wait_for_gate, .userData = &gate_one};
    OK(cudaGraphAddHostNode(&host, graph, &set, 1, &host_params));
    OK(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, &host, 1, &device_value_key, &values[0], 4, 0,
                                      cudaMemcpyHostToDevice));
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 11 && first_value(data + 1) == 7);
    OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copy, data, &values[1], 4, cudaMemcpyHostToDevice));
    set_params.value = 9;
    set_params.dst = data + 2;
    OK(cudaGraphExecMemsetNodeSetParams(exec, set, &set_params));
    host_params.userData = &gate_two;
    OK(cudaGraphExecHostNodeSetParams(exec, host, &host_params));
    OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, symbol, &device_value_key, &values[1], 4, 0,
                                                cudaMemcpyHostToDevice));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 22 && first_value(data + 2) == 9);
    cr_assert(gate_one.calls == 1 && gate_two.calls == 1);
    OK(cudaMemcpyFromSymbol(&one, &device_value_key, 4, 0, cudaMemcpyDeviceToHost));
    cr_assert(one == 22);
    struct cudaMemcpy3DParms parms = line(data, &values[0], 4, cudaMemcpyHostToDevice);
    OK(cudaGraphExecMemcpyNodeSetParams(exec, copy, &parms));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 11);
    // Another kind of memory on a side, more dimensions, nothing at all, a node of another type.
    EXPECT(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams1D(exec, copy, data, data + 4, 4,
                                                                     cudaMemcpyDeviceToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphExecMemcpyNodeSetParams1D(exec, copy, data, values, 0, cudaMemcpyHostToDevice));
    parms.extent = (struct cudaExtent){4, 2, 1};
    parms.srcPtr.ysize = parms.dstPtr.ysize = 2;
    EXPECT(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams(exec, copy, &parms));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecMemcpyNodeSetParams(exec, copy, NULL));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphExecMemcpyNodeSetParams1D(exec, set, data, values, 4, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecMemsetNodeSetParams(exec, copy, &set_params));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecMemsetNodeSetParams(exec, set, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecHostNodeSetParams(exec, host, NULL));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, copy, &two, &device_value_key, 4, 0,
                                                      cudaMemcpyDeviceToHost));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeHost(values));
}

KERNEL_TEST(graph_update, child_graph, .init = setup)
{
    cudaGraph_t graph = graph_new(), child = graph_new(), next = graph_new(), longer = graph_new();
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    add_fill(child, NULL, data, 3);
    add_fill(next, NULL, data, 4);
    cudaGraphNode_t first = add_fill(longer, NULL, data, 5);
    add_one(longer, &first, data);
    OK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 3);
    OK(cudaGraphExecChildGraphNodeSetParams(exec, node, next));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 4);
    EXPECT(cudaErrorInvalidValue, cudaGraphExecChildGraphNodeSetParams(exec, node, longer));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecChildGraphNodeSetParams(exec, node, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphExecChildGraphNodeSetParams(exec, NULL, next));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 4);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(next));
    OK(cudaGraphDestroy(longer));
}

#if CUDART_VERSION >= 11060
KERNEL_TEST(graph_update, enabling, .init = setup)
{
    cudaGraph_t graph = graph_new();
    cudaGraphExec_t exec;
    cudaGraphNode_t first = add_fill(graph, NULL, data, 5), second = add_one(graph, &first, data);
    cudaGraphNode_t empty;
    unsigned enabled = 7;
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    OK(instantiate(&exec, graph));
    OK(cudaGraphNodeGetEnabled(exec, second, &enabled));
    cr_assert(enabled == 1);
    OK(cudaGraphNodeSetEnabled(exec, second, 0));
    OK(cudaGraphNodeGetEnabled(exec, second, &enabled));
    cr_assert(enabled == 0);
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 5);
    OK(cudaGraphNodeSetEnabled(exec, second, 1));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 6);
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(exec, empty, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetEnabled(exec, empty, &enabled));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetEnabled(exec, second, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(NULL, second, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetEnabled(exec, NULL, 0));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}
#endif

// ---- cudaGraphExecUpdate ----

static void refused(cudaGraphExec_t exec, cudaGraph_t graph, enum cudaGraphExecUpdateResult code,
                    cudaGraphNode_t culprit)
{
    enum cudaGraphExecUpdateResult result = 77;
    cudaGraphNode_t node = (cudaGraphNode_t)&node;
    EXPECT(cudaErrorGraphExecUpdateFailure, update(exec, graph, &result, &node));
    cr_assert(result == code, "result %d, expected %d", result, code);
    cr_assert(node == culprit);
}

KERNEL_TEST(graph_update, whole_graph, .init = setup)
{
    enum cudaGraphExecUpdateResult result = 77;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    cudaGraph_t graph = graph_new(), next = graph_new();
    cudaGraphNode_t first = add_fill(graph, NULL, data, 5), last = add_one(graph, &first, data);
    OK(instantiate(&exec, graph));
    cudaGraphNode_t again = add_fill(next, NULL, data, 30);
    add_one(next, &again, data);
    OK(update(exec, next, &result, &node));
    cr_assert(result == cudaGraphExecUpdateSuccess && node == NULL);
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 31);
    // Both graphs' nodes name the nodes of the exec.
    struct fill_arguments arguments;
    struct cudaKernelNodeParams params = fill_params(&arguments, data, 40);
    OK(cudaGraphExecKernelNodeSetParams(exec, first, &params));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 41);
    params = fill_params(&arguments, data, 50);
    OK(cudaGraphExecKernelNodeSetParams(exec, again, &params));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 51);
#if CUDART_VERSION >= 11060
    OK(cudaGraphNodeSetEnabled(exec, last, 0));
    OK(update(exec, graph, &result, &node));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 5); // a switched-off node stays off
#else
    (void)last;
#endif
    OK(cudaGraphDestroy(next));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(exec));
}

KERNEL_TEST(graph_update, result_codes, .init = setup)
{
    enum cudaGraphExecUpdateResult result = 77;
    cudaGraphNode_t node, empty;
    cudaGraphExec_t exec;
    int *pinned;
    OK(cudaMallocHost((void **)&pinned, BYTES));
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t first = add_fill(graph, NULL, data, 5), copy;
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &first, 1, data, pinned, 4, cudaMemcpyHostToDevice));
    OK(instantiate(&exec, graph));

    // Another number of nodes.
    cudaGraph_t next = graph_new();
    first = add_fill(next, NULL, data, 6);
    refused(exec, next, cudaGraphExecUpdateErrorTopologyChanged, NULL);
    // As many, but without the edge.
    OK(cudaGraphAddMemcpyNode1D(&copy, next, NULL, 0, data, pinned, 4, cudaMemcpyHostToDevice));
    refused(exec, next, cudaGraphExecUpdateErrorTopologyChanged, copy);
    OK(cudaGraphDestroy(next));
    // Another type.
    next = graph_new();
    first = add_fill(next, NULL, data, 6);
    OK(cudaGraphAddEmptyNode(&empty, next, &first, 1));
    refused(exec, next, cudaGraphExecUpdateErrorNodeTypeChanged, empty);
    OK(cudaGraphDestroy(next));
    // Memory of another kind.
    next = graph_new();
    first = add_fill(next, NULL, data, 6);
    OK(cudaGraphAddMemcpyNode1D(&copy, next, &first, 1, data, other_data, 4,
                                cudaMemcpyDeviceToDevice));
    refused(exec, next, cudaGraphExecUpdateErrorParametersChanged, copy);
    OK(cudaGraphDestroy(next));
    // No graph.
    cr_assert(update(exec, NULL, &result, &node) == cudaErrorInvalidValue);
    cr_assert(update(NULL, graph, &result, &node) == cudaErrorInvalidValue);
#if CUDART_VERSION >= 12000
    EXPECT(cudaErrorInvalidValue, cudaGraphExecUpdate(exec, graph, NULL));
#endif
    // After all that the exec is what it was.
    pinned[0] = 77;
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(first_value(data) == 77 && first_value(data + 1) == 5);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaFreeHost(pinned));
}

KERNEL_TEST(graph_update, cooperative_attribute, .init = setup)
{
#if CUDART_VERSION >= 11080
    cudaGraph_t graph = adding(), next = graph_new();
    cudaGraphExec_t exec;
    cudaGraphNode_t node = add_one(next, NULL, data);
    cudaLaunchAttributeValue value = {.cooperative = 1};
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeCooperative, &value));
    OK(instantiate(&exec, graph));
    refused(exec, next, cudaGraphExecUpdateErrorAttributesChanged, node);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(next));
#endif
}

// ---- memory of graphs ----

static cudaGraphNode_t add_alloc(cudaGraph_t graph, size_t size, int **ret_ptr)
{
    struct cudaMemAllocNodeParams params = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice, .id = 0}},
        .bytesize = size};
    cudaGraphNode_t node;
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    *ret_ptr = params.dptr;
    return node;
}

static uint64_t attribute(enum cudaGraphMemAttributeType type)
{
    uint64_t value = 77;
    OK(cudaDeviceGetGraphMemAttribute(0, type, &value));
    return value;
}

// Where a kernel runs, and the address of an allocation, are fixed.
KERNEL_TEST(graph_update, other_device_and_other_memory, .init = setup)
{
    cudaGraph_t graph = adding(), next = graph_new();
    cudaGraphExec_t exec;
    if (device_count() > 1) {
        OK(instantiate(&exec, graph));
        OK(cudaSetDevice(1));
        cudaGraphNode_t node = add_one(next, NULL, data);
        OK(cudaSetDevice(0));
        refused(exec, next, cudaGraphExecUpdateErrorUnsupportedFunctionChange, node);
        OK(cudaGraphExecDestroy(exec));
    }
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(next));

    enum cudaGraphExecUpdateResult result = 77;
    cudaGraphNode_t none;
    int *ptr;
    graph = graph_new();
    next = graph_new();
    add_alloc(graph, BYTES, &ptr);
    cudaGraphNode_t other = add_alloc(next, BYTES, &ptr);
    OK(instantiate(&exec, graph));
    refused(exec, next, cudaGraphExecUpdateErrorNotSupported, other);
    OK(update(exec, graph, &result, &none)); // its own
    cr_assert(result == cudaGraphExecUpdateSuccess);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(next));
}

KERNEL_TEST(graph_memory, freed_in_the_graph, .init = setup)
{
    int *ptr;
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t node = add_alloc(graph, BYTES, &ptr), copy, free_node;
    cudaGraphExec_t exec, second;
    node = add_fill(graph, &node, ptr, 5);
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &node, 1, data, ptr, BYTES,
                                cudaMemcpyDeviceToDevice));
    OK(cudaGraphAddMemFreeNode(&free_node, graph, &copy, 1, ptr));
    OK(instantiate(&exec, graph));
    cr_assert(instantiate(&second, graph) != cudaSuccess); // one exec at a time
    for (int i = 0; i < 3; i++) {
        OK(cudaGraphLaunch(exec, stream));
    }
    cr_assert(first_value(data) == 5);
    cr_assert(attribute(cudaGraphMemAttrUsedMemCurrent) >= BYTES); // stays with the graph
    cr_assert(attribute(cudaGraphMemAttrUsedMemHigh) >= BYTES);
    cr_assert(attribute(cudaGraphMemAttrReservedMemCurrent) >= BYTES);
    OK(cudaGraphExecDestroy(exec));
    OK(instantiate(&second, graph));
    OK(cudaGraphExecDestroy(second));
    OK(cudaGraphDestroy(graph));
    OK(cudaDeviceGraphMemTrim(0));
    cr_assert(attribute(cudaGraphMemAttrReservedMemCurrent) == 0);
}

KERNEL_TEST(graph_memory, freed_outside, .init = setup)
{
    int *ptr;
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t node = add_alloc(graph, BYTES, &ptr);
    cudaGraphExec_t exec;
    add_fill(graph, &node, ptr, 5);
    OK(instantiate(&exec, graph));
    EXPECT(cudaErrorInvalidValue, cudaFree(ptr)); // not allocated yet
    OK(cudaGraphLaunch(exec, stream));
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream)); // still allocated
    cr_assert(first_value(ptr) == 5);
    OK(cudaFreeAsync(ptr, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaFree(ptr));
    EXPECT(cudaErrorInvalidValue, cudaFree(ptr));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(attribute(cudaGraphMemAttrUsedMemCurrent) == BYTES);
    // The memory outlives graph and exec until it is freed.
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    cr_assert(first_value(ptr) == 5);
    OK(cudaFreeAsync(ptr, stream));
    OK(cudaStreamSynchronize(stream));
    EXPECT(cudaErrorInvalidValue, cudaFree(ptr));
    OK(cudaDeviceGraphMemTrim(0));
    cr_assert(attribute(cudaGraphMemAttrUsedMemCurrent) == 0);
}

KERNEL_TEST(graph_memory, auto_free_on_launch, .init = setup)
{
    int *ptr;
    cudaGraph_t graph = graph_new();
    cudaGraphNode_t node = add_alloc(graph, BYTES, &ptr);
    cudaGraphExec_t exec;
    add_fill(graph, &node, ptr, 5);
    OK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    for (int i = 0; i < 5; i++) {
        OK(cudaGraphLaunch(exec, stream));
    }
    cr_assert(first_value(ptr) == 5);
    cr_assert(attribute(cudaGraphMemAttrUsedMemCurrent) == BYTES);
    OK(cudaFree(ptr));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

KERNEL_TEST(graph_memory, freed_in_another_graph, .init = setup)
{
    int *ptr;
    cudaGraph_t graph = graph_new(), other = graph_new();
    cudaGraphNode_t node = add_alloc(graph, BYTES, &ptr), free_node;
    cudaGraphExec_t exec, freeing;
    add_fill(graph, &node, ptr, 5);
    OK(cudaGraphAddMemFreeNode(&free_node, other, NULL, 0, ptr));
    OK(instantiate(&exec, graph));
    OK(instantiate(&freeing, other));
    EXPECT(cudaErrorInvalidValue, cudaGraphLaunch(freeing, stream)); // nothing to free
    for (int i = 0; i < 3; i++) {
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaGraphLaunch(freeing, stream));
    }
    OK(cudaStreamSynchronize(stream));
    OK(cudaDeviceGraphMemTrim(0));
    cr_assert(attribute(cudaGraphMemAttrUsedMemCurrent) == 0);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphExecDestroy(freeing));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
}

Test(graph_memory, attributes, .init = setup)
{
    uint64_t value = 0;
    EXPECT(cudaErrorInvalidDevice,
           cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &value));
    EXPECT(cudaErrorInvalidValue,
           cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, NULL));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetGraphMemAttribute(0, 99, &value));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &value));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &value));
    EXPECT(cudaErrorInvalidValue,
           cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &value));
    value = 5;
    EXPECT(cudaErrorInvalidValue,
           cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &value));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGraphMemTrim(99));
    OK(cudaDeviceGraphMemTrim(0));
}

// ---- conditional nodes ----
#if CUDART_VERSION >= 12030

static const char condition_ptx[] =
    ".version 8.3\n.target sm_80\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    // (handle, const int *from): the condition becomes *from
    ".visible .entry k_set(.param .u64 p0, .param .u64 p1)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %rd<3>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.global.u32 %r1, [%rd2];\n"
    " { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd1; st.param.b32 [b], %r1;\n"
    " call.uni cudaGraphSetConditional, (a, b); }\n ret;\n}\n"
    // (handle, int *counter): takes one off; the condition becomes what is left
    ".visible .entry k_less(.param .u64 p0, .param .u64 p1)\n{\n"
    " .reg .b32 %r<2>; .reg .b64 %rd<3>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.global.u32 %r1, [%rd2];\n"
    " add.s32 %r1, %r1, -1; st.global.u32 [%rd2], %r1;\n"
    " { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd1; st.param.b32 [b], %r1;\n"
    " call.uni cudaGraphSetConditional, (a, b); }\n ret;\n}\n";
static const char *const condition_names[] = {"k_set", "k_less"};
static struct ptx_module *conditions;

static void setup_conditions(void)
{
    conditions = ptx_module_register(condition_ptx, condition_names, 2);
    ptx_module_end(conditions);
    setup();
}

static cudaGraphNode_t add_condition_kernel(cudaGraph_t graph, const cudaGraphNode_t *after,
                                            size_t index, cudaGraphConditionalHandle handle,
                                            int *number)
{
    void *list[] = {&handle, &number};
    struct cudaKernelNodeParams params = {.func = (void *)ptx_module_stub(conditions, index),
                                          .gridDim = {1, 1, 1},
                                          .blockDim = {1, 1, 1},
                                          .kernelParams = list};
    cudaGraphNode_t node;
    OK(cudaGraphAddKernelNode(&node, graph, after, after != NULL, &params));
    return node;
}

static cudaGraphNode_t add_conditional(cudaGraph_t graph, const cudaGraphNode_t *after,
                                       cudaGraphConditionalHandle handle, int type, unsigned size,
                                       cudaGraph_t *bodies)
{
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
    params.conditional.handle = handle;
    params.conditional.type = (enum cudaGraphConditionalNodeType)type;
    params.conditional.size = size;
    cudaGraphNode_t node;
#if CUDART_VERSION >= 13000
    OK(cudaGraphAddNode(&node, graph, after, NULL, after != NULL, &params));
#else
    OK(cudaGraphAddNode(&node, graph, after, after != NULL, &params));
#endif
    memcpy(bodies, params.conditional.phGraph_out, size * sizeof *bodies);
    return node;
}

static void set_number(int *to, int value)
{
    OK(cudaMemcpyAsync(to, &value, sizeof value, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
}

KERNEL_TEST(graph_conditions, if_node, .init = setup_conditions)
{
    cudaGraph_t graph = graph_new(), body;
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle handle;
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault));
    cudaGraphNode_t set = add_condition_kernel(graph, NULL, 0, handle, other_data);
    add_conditional(graph, &set, handle, cudaGraphCondTypeIf, 1, &body);
    add_one(body, NULL, data);
    OK(instantiate(&exec, graph));
    const int numbers[] = {0, 1, 5, 0};
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        set_number(other_data, numbers[i]);
        OK(cudaGraphLaunch(exec, stream));
    }
    cr_assert(first_value(data) == 2);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

KERNEL_TEST(graph_conditions, while_node_inside_a_while_node, .init = setup_conditions)
{
    cudaGraph_t graph = graph_new(), outer_body, inner_body;
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle outer, inner;
    int *outer_count = other_data, *inner_count = other_data + 1, *start = other_data + 2;
    OK(cudaGraphConditionalHandleCreate(&outer, graph, 1, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&inner, graph, 1, cudaGraphCondAssignDefault));
    add_conditional(graph, NULL, outer, cudaGraphCondTypeWhile, 1, &outer_body);
    cudaGraphNode_t copy;
    OK(cudaGraphAddMemcpyNode1D(&copy, outer_body, NULL, 0, inner_count, start, 4,
                                cudaMemcpyDeviceToDevice));
    cudaGraphNode_t set = add_condition_kernel(outer_body, &copy, 0, inner, inner_count);
    cudaGraphNode_t loop =
        add_conditional(outer_body, &set, inner, cudaGraphCondTypeWhile, 1, &inner_body);
    cudaGraphNode_t node = add_one(inner_body, NULL, data);
    add_condition_kernel(inner_body, &node, 1, inner, inner_count);
    add_condition_kernel(outer_body, &loop, 1, outer, outer_count);
    OK(instantiate(&exec, graph));
    for (int round = 1; round <= 2; round++) {
        set_number(outer_count, 4);
        set_number(start, 3);
        OK(cudaGraphLaunch(exec, stream));
        cr_assert(first_value(data) == 12 * round, "%d", first_value(data));
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

#if CUDART_VERSION >= 12080
KERNEL_TEST(graph_conditions, else_and_switch, .init = setup_conditions)
{
    cudaGraph_t graph = graph_new(), two[2], cases[3];
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle branch, choice;
    OK(cudaGraphConditionalHandleCreate(&branch, graph, 0, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&choice, graph, 0, cudaGraphCondAssignDefault));
    cudaGraphNode_t node = add_condition_kernel(graph, NULL, 0, branch, other_data);
    node = add_condition_kernel(graph, &node, 0, choice, other_data);
    node = add_conditional(graph, &node, branch, cudaGraphCondTypeIf, 2, two);
    add_fill(two[0], NULL, data, 1);
    add_fill(two[1], NULL, data, 2);
    add_conditional(graph, &node, choice, cudaGraphCondTypeSwitch, 3, cases);
    add_one(cases[1], NULL, data);
    node = add_one(cases[2], NULL, data);
    add_one(cases[2], &node, data);
    OK(instantiate(&exec, graph));
    const int expected[] = {2, 2, 3, 1}; // of the numbers 0 to 3
    for (int number = 0; number < 4; number++) {
        set_number(other_data, number);
        OK(cudaGraphLaunch(exec, stream));
        cr_assert(first_value(data) == expected[number], "%d: %d", number, first_value(data));
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}
#endif

KERNEL_TEST(graph_conditions, unused_handle, .init = setup_conditions)
{
    cudaGraph_t graph = graph_new();
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle handle;
    cudaGraphInstantiateParams params = {.flags = 0};
    add_one(graph, NULL, data);
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphInstantiateWithParams(&exec, graph, &params));
#if CUDART_VERSION >= 12080
    cr_assert(params.result_out == cudaGraphInstantiateConditionalHandleUnused);
#endif
    OK(cudaGraphDestroy(graph));
}

// A handle means something only in the graph that it was made for.
KERNEL_TEST(graph_conditions, foreign_handle, .init = setup_conditions)
{
    cudaGraph_t graph = graph_new(), other = graph_new(), body;
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle handle;
    OK(cudaGraphConditionalHandleCreate(&handle, other, 0, 0));
    add_conditional(other, NULL, handle, cudaGraphCondTypeIf, 1, &body);
    add_condition_kernel(graph, NULL, 0, handle, other_data);
    OK(instantiate(&exec, graph));
    OK(cudaGraphLaunch(exec, stream));
    EXPECT(cudaErrorLaunchFailure, cudaStreamSynchronize(stream));
}
#endif
