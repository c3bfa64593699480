// SPDX-License-Identifier: Apache-2.0
//
// Stream capture: what becomes a node and depends on what, forks and joins, modes of threads,
// invalidation, and every error of the 900-908 family.
#include "conformance.h"

TestSuite(capture, .timeout = 60);
TestSuite(capture_errors, .timeout = 60);
TestSuite(capture_modes, .timeout = 60);

enum { N = 256 };

static void setup(void)
{
    kernels_register();
}

static cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(exec, graph, 0);
#else
    return cudaGraphInstantiate(exec, graph, NULL, NULL, 0);
#endif
}

static cudaStream_t stream_new(void)
{
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static cudaEvent_t event_new(void)
{
    cudaEvent_t event;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

static void begin(cudaStream_t stream)
{
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
}

static enum cudaStreamCaptureStatus status(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus value = 77;
    OK(cudaStreamIsCapturing(stream, &value));
    return value;
}

static size_t node_count(cudaGraph_t graph)
{
    size_t count = 99;
    OK(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}

static size_t edge_count(cudaGraph_t graph)
{
    size_t count = 99;
#if CUDART_VERSION >= 13000
    OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
#else
    OK(cudaGraphGetEdges(graph, NULL, NULL, &count));
#endif
    return count;
}

static enum cudaGraphNodeType only_type(cudaGraph_t graph)
{
    cudaGraphNode_t node;
    size_t count = 1;
    enum cudaGraphNodeType type = 99;
    cr_assert(node_count(graph) == 1);
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cudaGraphNodeGetType(node, &type));
    return type;
}

static void add_one(cudaStream_t stream, int *data)
{
    int n = N;
    void *arguments[] = {&data, &n};
    OK(kernel_launch(KERNEL_ADD_ONE, 2, N / 2, arguments, 0, stream));
}

static void run(cudaGraph_t graph, cudaStream_t stream, int times)
{
    cudaGraphExec_t exec;
    OK(instantiate(&exec, graph));
    while (times--) {
        OK(cudaGraphLaunch(exec, stream));
    }
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
}

static void host_add(void *argument)
{
    ++*(int *)argument;
}

KERNEL_TEST(capture, work_is_done_at_launch_only, .init = setup)
{
    int *data, values[N], calls = 0;
    cudaStream_t stream = stream_new();
    cudaGraph_t graph;
    OK(cudaMalloc((void **)&data, sizeof values));
    begin(stream);
    cr_assert(status(stream) == cudaStreamCaptureStatusActive);
    OK(cudaMemsetAsync(data, 0, sizeof values, stream));
    add_one(stream, data);
    add_one(stream, data);
    OK(cudaLaunchHostFunc(stream, host_add, &calls));
    OK(cudaMemcpyAsync(values, data, sizeof values, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    cr_assert(status(stream) == cudaStreamCaptureStatusNone);
    cr_assert(node_count(graph) == 5 && edge_count(graph) == 4);
    OK(cudaDeviceSynchronize());
    cr_assert(calls == 0);
    run(graph, stream, 3);
    cr_assert(calls == 3);
    for (int i = 0; i < N; i++) {
        cr_assert(values[i] == 2, "value %d is %d", i, values[i]);
    }
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(data));
}

Test(capture, memory_is_read_at_launch, .init = setup)
{
    int *data, value = 5, back = 0;
    cudaStream_t stream = stream_new();
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    OK(cudaMalloc((void **)&data, sizeof *data));
    begin(stream);
    OK(cudaMemcpyAsync(data, &value, sizeof value, cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyAsync(&back, data, sizeof back, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(instantiate(&exec, graph));
    OK(cudaGraphDestroy(graph));
    for (value = 7; value < 10; value++) {
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaStreamSynchronize(stream));
        cr_assert(back == value);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(data));
}

Test(capture, each_operation_is_one_node, .init = setup, .data = NEEDS("ptx"))
{
    int *data, host[64];
    size_t pitch;
    char *box;
    cudaStream_t stream = stream_new();
    cudaGraph_t graph;
    void *ptr;
    cudaEvent_t event = event_new();
    OK(cudaMalloc((void **)&data, 64 * sizeof *data));
    OK(cudaMallocPitch((void **)&box, &pitch, 16, 4));
#define NODE(type, call)                          \
    begin(stream);                                \
    OK(call);                                     \
    OK(cudaStreamEndCapture(stream, &graph));     \
    cr_assert(only_type(graph) == (type), #call); \
    OK(cudaGraphDestroy(graph))
    NODE(cudaGraphNodeTypeMemcpy, cudaMemcpyAsync(data, host, 64, cudaMemcpyHostToDevice, stream));
    NODE(cudaGraphNodeTypeMemcpy, cudaMemcpyAsync(data, host, 64, cudaMemcpyDefault, stream));
    NODE(cudaGraphNodeTypeMemcpy,
         cudaMemcpy2DAsync(box, pitch, host, 16, 16, 4, cudaMemcpyHostToDevice, stream));
    NODE(cudaGraphNodeTypeMemcpy,
         cudaMemcpyToSymbolAsync(&device_value_key, host, 4, 0, cudaMemcpyHostToDevice, stream));
    NODE(cudaGraphNodeTypeMemcpy,
         cudaMemcpyFromSymbolAsync(host, &device_value_key, 4, 0, cudaMemcpyDeviceToHost, stream));
    NODE(cudaGraphNodeTypeMemcpy, cudaMemcpyPeerAsync(data, 0, box, 0, 16, stream));
    NODE(cudaGraphNodeTypeMemset, cudaMemsetAsync(data, 1, 64, stream));
    NODE(cudaGraphNodeTypeMemset, cudaMemset2DAsync(box, pitch, 1, 16, 4, stream));
    NODE(cudaGraphNodeTypeHost, cudaLaunchHostFunc(stream, host_add, host));
    NODE(cudaGraphNodeTypeKernel, kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, stream));
    NODE(cudaGraphNodeTypeEventRecord,
         cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    NODE(cudaGraphNodeTypeWaitEvent, cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    NODE(cudaGraphNodeTypeMemAlloc, cudaMallocAsync(&ptr, 100, stream));
    struct cudaMemcpy3DParms parms = {.srcPtr = {host, 16, 16, 2},
                                      .dstPtr = {box, pitch, 16, 2},
                                      .extent = {16, 2, 1},
                                      .kind = cudaMemcpyHostToDevice};
    NODE(cudaGraphNodeTypeMemcpy, cudaMemcpy3DAsync(&parms, stream));
#undef NODE
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(data));
    OK(cudaFree(box));
}

KERNEL_TEST(capture, captured_graph_launch_is_a_child, .init = setup)
{
    int *data, values[N];
    cudaStream_t stream = stream_new();
    cudaGraph_t inner, outer;
    cudaGraphExec_t exec;
    OK(cudaMalloc((void **)&data, sizeof values));
    OK(cudaMemset(data, 0, sizeof values));
    begin(stream);
    add_one(stream, data);
    OK(cudaStreamEndCapture(stream, &inner));
    OK(instantiate(&exec, inner));
    begin(stream);
    OK(cudaGraphLaunch(exec, stream));
    add_one(stream, data);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamEndCapture(stream, &outer));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(inner));
    cr_assert(node_count(outer) == 3);
    run(outer, stream, 2);
    OK(cudaMemcpy(values, data, sizeof values, cudaMemcpyDeviceToHost));
    cr_assert(values[0] == 6 && values[N - 1] == 6);
    OK(cudaGraphDestroy(outer));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(data));
}

KERNEL_TEST(capture, fork_and_join_give_the_edges, .init = setup)
{
    int *a, *b, values[N];
    cudaStream_t first = stream_new(), second = stream_new();
    cudaEvent_t fork = event_new(), join = event_new();
    cudaGraph_t graph;
    OK(cudaMalloc((void **)&a, sizeof values));
    OK(cudaMalloc((void **)&b, sizeof values));
    begin(first);
    OK(cudaMemsetAsync(a, 0, sizeof values, first));
    OK(cudaEventRecord(fork, first));
    cr_assert(status(second) == cudaStreamCaptureStatusNone);
    OK(cudaStreamWaitEvent(second, fork, 0));
    cr_assert(status(second) == cudaStreamCaptureStatusActive);
    add_one(first, a);
    OK(cudaMemsetAsync(b, 0, sizeof values, second));
    add_one(second, b);
    OK(cudaEventRecord(join, second));
    OK(cudaStreamWaitEvent(first, join, 0));
    void *arguments[] = {&b, &a, &(int){N}};
    OK(kernel_launch(KERNEL_COPY, 2, N / 2, arguments, 0, first));
    OK(cudaStreamEndCapture(first, &graph));
    cr_assert(status(second) == cudaStreamCaptureStatusNone);
    // memset a → add a → copy; memset a → memset b → add b → copy
    cr_assert(node_count(graph) == 5 && edge_count(graph) == 5);
    run(graph, second, 2);
    OK(cudaMemcpy(values, b, sizeof values, cudaMemcpyDeviceToHost));
    cr_assert(values[0] == 1 && values[N - 1] == 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    OK(cudaFree(a));
    OK(cudaFree(b));
}

#if CUDART_VERSION >= 12000
KERNEL_TEST(capture, kernels_have_the_priority_of_the_stream, .init = setup)
{
    cudaStream_t urgent;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    size_t count = 1;
    cudaLaunchAttributeValue value = {.priority = 7};
    OK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -2));
    begin(urgent);
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, urgent));
    OK(cudaStreamEndCapture(urgent, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value));
    cr_assert(value.priority == -2);
    run(graph, urgent, 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(urgent));
}
#endif

KERNEL_TEST(capture, per_thread_stream_captures, .init = setup)
{
    cudaGraph_t graph;
    begin(cudaStreamPerThread);
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, cudaStreamPerThread));
    OK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    cr_assert(only_type(graph) == cudaGraphNodeTypeKernel);
    OK(cudaGraphDestroy(graph));
}

static cudaError_t info(cudaStream_t stream, enum cudaStreamCaptureStatus *status_out,
                        unsigned long long *id, cudaGraph_t *graph,
                        const cudaGraphNode_t **dependencies, size_t *count)
{
#if CUDART_VERSION >= 13000
    return cudaStreamGetCaptureInfo(stream, status_out, id, graph, dependencies, NULL, count);
#else
    return cudaStreamGetCaptureInfo_v2(stream, status_out, id, graph, dependencies, count);
#endif
}

static cudaError_t update(cudaStream_t stream, cudaGraphNode_t *nodes, size_t count, unsigned flags)
{
#if CUDART_VERSION >= 13000
    return cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, count, flags);
#else
    return cudaStreamUpdateCaptureDependencies(stream, nodes, count, flags);
#endif
}

KERNEL_TEST(capture, info_and_dependencies, .init = setup)
{
    cudaStream_t stream = stream_new();
    enum cudaStreamCaptureStatus s = 77;
    unsigned long long id = 0, other = 0;
    cudaGraph_t graph = NULL, ended = NULL;
    const cudaGraphNode_t *nodes = NULL;
    cudaGraphNode_t first, mine;
    size_t count = 99;
    OK(info(stream, &s, &id, &graph, &nodes, &count));
    cr_assert(s == cudaStreamCaptureStatusNone && !graph && id == 0);
    EXPECT(cudaErrorInvalidValue, info(stream, NULL, NULL, NULL, NULL, NULL));
    EXPECT(cudaErrorIllegalState, update(stream, NULL, 0, 0));
    begin(stream);
    OK(info(stream, &s, &id, &graph, &nodes, &count));
    cr_assert(s == cudaStreamCaptureStatusActive && id != 0 && graph && count == 0);
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, stream));
    OK(info(stream, &s, &other, &graph, &nodes, &count));
    cr_assert(other == id && count == 1);
    first = nodes[0];
    OK(cudaGraphAddEmptyNode(&mine, graph, NULL, 0));
    OK(update(stream, &mine, 1, cudaStreamAddCaptureDependencies));
    OK(info(stream, &s, NULL, NULL, &nodes, &count));
    cr_assert(count == 2 && nodes[0] == first && nodes[1] == mine);
    OK(update(stream, &mine, 1, cudaStreamSetCaptureDependencies));
    OK(info(stream, &s, NULL, NULL, &nodes, &count));
    cr_assert(count == 1 && nodes[0] == mine);
    EXPECT(cudaErrorInvalidValue, update(stream, &mine, 1, 2));
    EXPECT(cudaErrorInvalidValue, update(stream, NULL, 1, 0));
    cudaGraphNode_t nobody = (cudaGraphNode_t)&count;
    EXPECT(cudaErrorInvalidValue, update(stream, &nobody, 1, 0));
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, stream));
    // The first kernel is not reachable any more; that is the application's will.
    OK(cudaStreamEndCapture(stream, &ended));
    cr_assert(ended == graph && node_count(graph) == 3 && edge_count(graph) == 1);
    OK(cudaGraphDestroy(graph));
    begin(stream);
    OK(info(stream, &s, &other, NULL, NULL, NULL));
    cr_assert(other != id);
    OK(cudaStreamEndCapture(stream, &graph));
    cr_assert(node_count(graph) == 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

#if CUDART_VERSION >= 12030
KERNEL_TEST(capture, to_an_existing_graph, .init = setup)
{
    cudaStream_t stream = stream_new();
    cudaGraph_t graph, other, ended = NULL;
    cudaGraphNode_t node, foreign;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphCreate(&other, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    OK(cudaGraphAddEmptyNode(&foreign, other, NULL, 0));
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    EXPECT(cudaErrorInvalidValue,
           cudaStreamBeginCaptureToGraph(stream, graph, &foreign, NULL, 1, mode));
    EXPECT(cudaErrorInvalidValue,
           cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 1, mode));
    EXPECT(cudaErrorInvalidValue, cudaStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0, mode));
    EXPECT(cudaErrorInvalidValue, cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 3));
    OK(cudaStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, mode));
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, stream));
    OK(cudaStreamEndCapture(stream, &ended));
    cr_assert(ended == graph && node_count(graph) == 2 && edge_count(graph) == 1);
    // A failed capture leaves the application's graph alone.
    OK(cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, mode));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &ended));
    cr_assert(ended == NULL && node_count(graph) == 2);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cudaStreamDestroy(stream));
}
#endif

#if CUDART_VERSION >= 13030
struct seen {
    int calls;
    cudaError_t answer;
    enum cudaGraphRecaptureStatus status;
    enum cudaGraphNodeType type;
};

static cudaError_t see(void *argument, cudaGraphNode_t node,
                       const struct cudaGraphNodeParams *original,
                       const struct cudaGraphNodeParams *recapture,
                       enum cudaGraphRecaptureStatus recapture_status)
{
    struct seen *seen = argument;
    cr_assert(node && original->type == recapture->type);
    seen->calls++;
    seen->status = recapture_status;
    seen->type = original->type;
    return seen->answer;
}

KERNEL_TEST(capture, again_into_the_same_graph, .init = setup)
{
    int *data, values[N];
    cudaStream_t own = stream_new();
    cudaGraph_t graph, again = NULL;
    struct seen seen = {0};
    struct cudaGraphRecaptureCallbackData callback_data = {see, &seen};
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaMalloc((void **)&data, sizeof values));
    begin(own);
    OK(cudaMemsetAsync(data, 0, sizeof values, own));
    add_one(own, data);
    OK(cudaStreamEndCapture(own, &graph));
    // The same, then other parameters: told, and what is launched from now on.
    OK(cudaStreamBeginRecaptureToGraph(own, mode, graph, &callback_data));
    OK(cudaMemsetAsync(data, 0, sizeof values, own));
    add_one(own, data);
    OK(cudaStreamEndCapture(own, &again));
    cr_assert(again == graph && node_count(graph) == 2 && seen.calls == 0);
    OK(cudaStreamBeginRecaptureToGraph(own, mode, graph, &callback_data));
    OK(cudaMemsetAsync(data, 1, sizeof values, own));
    add_one(own, data);
    OK(cudaStreamEndCapture(own, &again));
    cr_assert(seen.calls == 1 && seen.type == cudaGraphNodeTypeMemset &&
              seen.status == cudaGraphRecaptureEligibleForUpdate);
    run(graph, own, 1);
    OK(cudaMemcpy(values, data, sizeof values, cudaMemcpyDeviceToHost));
    cr_assert(values[0] == 0x01010102);
    // The application does not want the change.
    seen.answer = cudaErrorUnknown;
    OK(cudaStreamBeginRecaptureToGraph(own, mode, graph, &callback_data));
    EXPECT(cudaErrorUnknown, cudaMemsetAsync(data, 2, sizeof values, own));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(own, &again));
    cr_assert(again == NULL);
    // Another topology: a node of another type, one too many, one too few.
    OK(cudaStreamBeginRecaptureToGraph(own, mode, graph, NULL));
    void *arguments[] = {&data, &(int){N}};
    EXPECT(cudaErrorInvalidValue, kernel_launch(KERNEL_ADD_ONE, 1, 1, arguments, 0, own));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(own, &again));
    OK(cudaStreamBeginRecaptureToGraph(own, mode, graph, NULL));
    OK(cudaMemsetAsync(data, 0, sizeof values, own));
    add_one(own, data);
    EXPECT(cudaErrorInvalidValue, cudaMemsetAsync(data, 0, sizeof values, own));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(own, &again));
    OK(cudaStreamBeginRecaptureToGraph(own, mode, graph, NULL));
    OK(cudaMemsetAsync(data, 0, sizeof values, own));
    EXPECT(cudaErrorInvalidValue, cudaStreamEndCapture(own, &again));
    cr_assert(status(own) == cudaStreamCaptureStatusNone);
    EXPECT(cudaErrorInvalidValue, cudaStreamBeginRecaptureToGraph(own, mode, NULL, NULL));
    EXPECT(cudaErrorInvalidValue, cudaStreamBeginRecaptureToGraph(own, 3, graph, NULL));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(own));
    OK(cudaFree(data));
}
#endif

KERNEL_TEST(capture, allocation_and_free, .init = setup)
{
    int *data = NULL, values[N];
    cudaStream_t stream = stream_new();
    cudaGraph_t graph;
    begin(stream);
    OK(cudaMallocAsync((void **)&data, sizeof values, stream));
    OK(cudaMemsetAsync(data, 0, sizeof values, stream));
    add_one(stream, data);
    OK(cudaMemcpyAsync(values, data, sizeof values, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(data, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    cr_assert(node_count(graph) == 5);
    run(graph, stream, 3);
    cr_assert(values[0] == 1 && values[N - 1] == 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

// ---- errors ----

// The capture of `stream` has been invalidated; ends it.
static void expect_invalidated(cudaStream_t stream)
{
    cudaGraph_t graph = (cudaGraph_t)&graph;
    cr_assert(status(stream) == cudaStreamCaptureStatusInvalidated);
    EXPECT(cudaErrorStreamCaptureInvalidated, kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, stream));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    cr_assert(graph == NULL);
    cr_assert(status(stream) == cudaStreamCaptureStatusNone);
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, stream)); // usable again
    OK(cudaStreamSynchronize(stream));
}

KERNEL_TEST(capture_errors, begin_and_end, .init = setup)
{
    cudaStream_t stream = stream_new();
    cudaGraph_t graph = (cudaGraph_t)&graph;
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(NULL, 0));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(cudaStreamLegacy, 0));
    EXPECT(cudaErrorInvalidValue, cudaStreamBeginCapture(stream, 3));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamBeginCapture((cudaStream_t)&graph, 0));
    EXPECT(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    begin(stream);
    EXPECT(cudaErrorIllegalState, cudaStreamBeginCapture(stream, 0));
    EXPECT(cudaErrorInvalidValue, cudaStreamIsCapturing(stream, NULL));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    begin(stream);
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, stream));
    OK(cudaStreamEndCapture(stream, NULL)); // the graph is gone
    cr_assert(status(stream) == cudaStreamCaptureStatusNone);
    OK(cudaStreamDestroy(stream));
}

static void callback(cudaStream_t stream, cudaError_t error, void *data)
{
    (void)stream, (void)error, (void)data;
}

KERNEL_TEST(capture_errors, prohibited_on_a_capturing_stream_900, .init = setup)
{
    cudaStream_t stream = stream_new();
    int *managed;
    OK(cudaMallocManaged((void **)&managed, 64, cudaMemAttachGlobal));
#define REFUSED(call)                                \
    begin(stream);                                   \
    EXPECT(cudaErrorStreamCaptureUnsupported, call); \
    expect_invalidated(stream)
    REFUSED(cudaStreamSynchronize(stream));
    REFUSED(cudaStreamQuery(stream));
    REFUSED(cudaStreamAddCallback(stream, callback, NULL, 0));
    REFUSED(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachGlobal));
    REFUSED(cudaDeviceSynchronize());
#undef REFUSED
    OK(cudaFree(managed));
    OK(cudaStreamDestroy(stream));
}

KERNEL_TEST(capture_errors, unsafe_calls_900, .init = setup)
{
    cudaStream_t stream = stream_new();
    cudaEvent_t event = event_new();
    int *data, host = 0;
    void *ptr;
    size_t pitch;
    struct cudaPitchedPtr pitched;
    OK(cudaMalloc((void **)&data, 64));
#define REFUSED(call)                                                     \
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));      \
    EXPECT(cudaErrorStreamCaptureUnsupported, call);                      \
    expect_invalidated(stream);                                           \
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); \
    EXPECT(cudaErrorStreamCaptureUnsupported, call);                      \
    expect_invalidated(stream)
    REFUSED(cudaMalloc(&ptr, 64));
    REFUSED(cudaMallocHost(&ptr, 64));
    REFUSED(cudaHostAlloc(&ptr, 64, 0));
    REFUSED(cudaMallocManaged(&ptr, 64, cudaMemAttachGlobal));
    REFUSED(cudaMallocPitch(&ptr, &pitch, 64, 2));
    REFUSED(cudaMalloc3D(&pitched, (struct cudaExtent){8, 8, 8}));
    REFUSED(cudaFree(data));
    REFUSED(cudaFreeHost(&host));
    REFUSED(cudaMemcpy(data, &host, 4, cudaMemcpyHostToDevice));
    REFUSED(cudaMemset(data, 0, 4));
    REFUSED(cudaEventQuery(event));
#undef REFUSED
    // A relaxed capture leaves such calls alone.
    cudaGraph_t graph;
    begin(stream);
    OK(cudaMalloc(&ptr, 64));
    OK(cudaMemcpy(data, &host, 4, cudaMemcpyHostToDevice));
    OK(cudaFree(ptr));
    OK(cudaEventQuery(event));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaFree(data));
    OK(cudaStreamDestroy(stream));
}

KERNEL_TEST(capture_errors, merge_902, .init = setup)
{
    cudaStream_t first = stream_new(), second = stream_new();
    cudaEvent_t event = event_new();
    begin(first);
    begin(second);
    OK(cudaEventRecord(event, first));
    EXPECT(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(second, event, 0));
    expect_invalidated(first);
    expect_invalidated(second);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
}

KERNEL_TEST(capture_errors, unmatched_903_and_unjoined_904, .init = setup)
{
    cudaStream_t first = stream_new(), second = stream_new();
    cudaEvent_t event = event_new();
    cudaGraph_t graph = (cudaGraph_t)&graph;
    begin(first);
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event, 0));
    EXPECT(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(second, &graph));
    cr_assert(graph == NULL);
    cr_assert(status(second) == cudaStreamCaptureStatusInvalidated);
    expect_invalidated(first);
    cr_assert(status(second) == cudaStreamCaptureStatusNone);

    begin(first);
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event, 0));
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, second));
    graph = (cudaGraph_t)&graph;
    EXPECT(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(first, &graph));
    cr_assert(graph == NULL);
    cr_assert(status(first) == cudaStreamCaptureStatusNone);
    cr_assert(status(second) == cudaStreamCaptureStatusNone);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
}

KERNEL_TEST(capture_errors, isolation_905, .init = setup)
{
    cudaStream_t capturing = stream_new(), other = stream_new();
    cudaEvent_t event = event_new();
    OK(cudaEventRecord(event, other));
    OK(cudaStreamSynchronize(other));
    begin(capturing);
    EXPECT(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(capturing, event, 0));
    expect_invalidated(capturing);
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(capturing));
    OK(cudaStreamDestroy(other));
}

KERNEL_TEST(capture_errors, implicit_906, .init = setup)
{
    cudaStream_t blocking;
    int *data;
    cudaGraph_t graph;
    enum cudaStreamCaptureStatus s;
    OK(cudaStreamCreate(&blocking));
    OK(cudaMalloc((void **)&data, 64));
    begin(blocking);
    EXPECT(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(cudaStreamLegacy, &s));
    EXPECT(cudaErrorStreamCaptureImplicit, info(cudaStreamLegacy, &s, NULL, NULL, NULL, NULL));
    cr_assert(status(blocking) == cudaStreamCaptureStatusActive); // asking harms nothing
    EXPECT(cudaErrorStreamCaptureImplicit, kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, NULL));
    expect_invalidated(blocking);
    begin(blocking);
    EXPECT(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(data, 0, 4, NULL));
    expect_invalidated(blocking);
    begin(blocking);
    void *ptr;
    EXPECT(cudaErrorStreamCaptureImplicit, cudaMallocAsync(&ptr, 64, NULL));
    expect_invalidated(blocking);
    begin(blocking);
    EXPECT(cudaErrorStreamCaptureImplicit, cudaStreamSynchronize(NULL));
    expect_invalidated(blocking);
    begin(blocking);
    EXPECT(cudaErrorStreamCaptureImplicit, cudaMemset(data, 0, 4));
    expect_invalidated(blocking);
    // Other blocking streams and a non-blocking capture do not meet the legacy stream.
    cudaStream_t free_stream = stream_new();
    begin(free_stream);
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, blocking));
    OK(cudaStreamEndCapture(free_stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(data));
    OK(cudaStreamDestroy(blocking));
    OK(cudaStreamDestroy(free_stream));
}

KERNEL_TEST(capture_errors, captured_event_907, .init = setup)
{
    cudaStream_t stream = stream_new(), other = stream_new();
    cudaEvent_t event = event_new(), timed;
    cudaGraph_t graph;
    float ms;
    OK(cudaEventCreate(&timed));
    begin(stream);
    OK(cudaEventRecord(event, stream));
    EXPECT(cudaErrorCapturedEvent, cudaEventQuery(event));
    expect_invalidated(stream);
    begin(stream);
    OK(cudaEventRecord(event, stream));
    EXPECT(cudaErrorCapturedEvent, cudaEventSynchronize(event));
    expect_invalidated(stream);
    begin(stream);
    OK(cudaEventRecord(timed, stream));
    EXPECT(cudaErrorCapturedEvent, cudaEventElapsedTime(&ms, timed, timed));
    expect_invalidated(stream);
    // It stays one until it is recorded for real.
    begin(stream);
    OK(cudaEventRecord(event, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    EXPECT(cudaErrorCapturedEvent, cudaEventSynchronize(event));
    EXPECT(cudaErrorCapturedEvent, cudaStreamWaitEvent(other, event, 0));
    OK(cudaEventRecord(event, other));
    OK(cudaEventSynchronize(event));
    OK(cudaGraphDestroy(graph));
    OK(cudaEventDestroy(event));
    OK(cudaEventDestroy(timed));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
}

Test(capture_errors, external_flags_outside_of_a_capture, .init = setup)
{
    cudaStream_t stream = stream_new();
    cudaEvent_t event = event_new();
    EXPECT(cudaErrorInvalidValue, cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    EXPECT(cudaErrorInvalidValue, cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
    EXPECT(cudaErrorInvalidValue, cudaEventRecordWithFlags(event, stream, 2));
    EXPECT(cudaErrorInvalidValue, cudaStreamWaitEvent(stream, event, 2));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

KERNEL_TEST(capture_errors, destroying_streams, .init = setup)
{
    cudaStream_t first = stream_new(), second = stream_new();
    cudaEvent_t event = event_new();
    cudaGraph_t graph;
    begin(first);
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event, 0));
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, second));
    OK(cudaEventRecord(event, second));
    OK(cudaStreamWaitEvent(first, event, 0));
    OK(cudaStreamDestroy(second)); // joined: it may go
    OK(cudaStreamEndCapture(first, &graph));
    cr_assert(node_count(graph) == 1);
    OK(cudaGraphDestroy(graph));
    second = stream_new();
    begin(first);
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event, 0));
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, second));
    OK(cudaStreamDestroy(second)); // not joined
    EXPECT(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(first, &graph));
    second = stream_new();
    begin(first);
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event, 0));
    OK(cudaStreamDestroy(first)); // nobody can end it any more
    cr_assert(status(second) == cudaStreamCaptureStatusNone);
    OK(cudaDeviceSynchronize());
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(second));
}

// ---- threads ----

struct other {
    cudaStream_t stream;
    cudaError_t malloc_error, end_error;
    enum cudaStreamCaptureMode mode;
};

static void *other_main(void *argument)
{
    struct other *other = argument;
    void *ptr;
    enum cudaStreamCaptureMode mode = other->mode;
    cudaThreadExchangeStreamCaptureMode(&mode);
    other->malloc_error = cudaMalloc(&ptr, 64);
    if (other->stream) {
        cudaGraph_t graph;
        other->end_error = cudaStreamEndCapture(other->stream, &graph);
    }
    return NULL;
}

static struct other in_thread(enum cudaStreamCaptureMode mode, cudaStream_t to_end)
{
    struct other other = {.mode = mode, .stream = to_end};
    pthread_t thread;
    cr_assert(pthread_create(&thread, NULL, other_main, &other) == 0);
    pthread_join(thread, NULL);
    return other;
}

Test(capture_modes, exchange, .init = setup)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    cr_assert(mode == cudaStreamCaptureModeGlobal);
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    cr_assert(mode == cudaStreamCaptureModeRelaxed);
    mode = 3;
    EXPECT(cudaErrorInvalidValue, cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(cudaErrorInvalidValue, cudaThreadExchangeStreamCaptureMode(NULL));
}

KERNEL_TEST(capture_modes, other_threads, .init = setup)
{
    // mode of the capture, mode of the other thread, what its cudaMalloc answers
    const struct {
        enum cudaStreamCaptureMode capture, thread;
        cudaError_t answer;
    } rows[] = {
        {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeGlobal,
         cudaErrorStreamCaptureUnsupported},
        {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaSuccess},
        {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed, cudaSuccess},
        {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal, cudaSuccess},
        {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeThreadLocal, cudaSuccess},
        {cudaStreamCaptureModeRelaxed, cudaStreamCaptureModeGlobal, cudaSuccess},
    };
    cudaStream_t stream = stream_new();
    for (size_t i = 0; i < LENGTH(rows); i++) {
        OK(cudaStreamBeginCapture(stream, rows[i].capture));
        struct other other = in_thread(rows[i].thread, NULL);
        cr_assert(other.malloc_error == rows[i].answer, "row %zu: %d", i, other.malloc_error);
        if (rows[i].answer) {
            expect_invalidated(stream);
        } else {
            cudaGraph_t graph;
            OK(cudaStreamEndCapture(stream, &graph));
            OK(cudaGraphDestroy(graph));
        }
    }
    OK(cudaStreamDestroy(stream));
}

Test(capture_modes, own_thread_relaxed, .init = setup)
{
    cudaStream_t stream = stream_new();
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaGraph_t graph;
    void *ptr;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    OK(cudaMalloc(&ptr, 64));
    OK(cudaFree(ptr));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

Test(capture_modes, wrong_thread_908, .init = setup)
{
    cudaStream_t stream = stream_new();
    cudaGraph_t graph;
    for (int mode = cudaStreamCaptureModeGlobal; mode <= cudaStreamCaptureModeThreadLocal; mode++) {
        OK(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
        struct other other = in_thread(cudaStreamCaptureModeRelaxed, stream);
        EXPECT(cudaErrorStreamCaptureWrongThread, other.end_error);
        OK(cudaStreamEndCapture(stream, &graph));
        OK(cudaGraphDestroy(graph));
    }
    begin(stream);
    OK(in_thread(cudaStreamCaptureModeRelaxed, stream).end_error);
    cr_assert(status(stream) == cudaStreamCaptureStatusNone);
    OK(cudaStreamDestroy(stream));
}

static void *feed(void *argument)
{
    cudaStream_t stream = argument;
    for (int i = 0; i < 100; i++) {
        OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, stream));
    }
    return NULL;
}

KERNEL_TEST(capture_modes, threads_feed_one_capture, .init = setup)
{
    cudaStream_t stream = stream_new();
    pthread_t threads[4];
    cudaGraph_t graph;
    begin(stream);
    for (size_t i = 0; i < LENGTH(threads); i++) {
        cr_assert(pthread_create(&threads[i], NULL, feed, stream) == 0);
    }
    for (size_t i = 0; i < LENGTH(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    OK(cudaStreamEndCapture(stream, &graph));
    cr_assert(node_count(graph) == 400 && edge_count(graph) == 399);
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}
