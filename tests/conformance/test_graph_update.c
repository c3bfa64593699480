// SPDX-License-Identifier: Apache-2.0
//
// Changes of instantiated graphs: node by node, as a whole with every result code, enabling.
#include "graph_exec.h"

TestSuite(graph_update, .timeout = 60);

KERNEL_TEST(graph_update, kernel_node, .init = setup)
{
    cudaGraph_t graph = new_graph(), foreign = new_graph();
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
    cudaGraph_t graph = new_graph();
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

Test(graph_update, copy_set_host_nodes, .init = setup, .data = NEEDS("ptx"))
{
    int *values, one = 0, two = 0;
    cudaGraph_t graph = new_graph();
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
    cudaGraph_t graph = new_graph(), child = new_graph(), next = new_graph(), longer = new_graph();
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
    cudaGraph_t graph = new_graph();
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
    cudaGraph_t graph = new_graph(), next = new_graph();
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
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first = add_fill(graph, NULL, data, 5), copy;
    OK(cudaGraphAddMemcpyNode1D(&copy, graph, &first, 1, data, pinned, 4, cudaMemcpyHostToDevice));
    OK(instantiate(&exec, graph));

    // Another number of nodes.
    cudaGraph_t next = new_graph();
    first = add_fill(next, NULL, data, 6);
    refused(exec, next, cudaGraphExecUpdateErrorTopologyChanged, NULL);
    // As many, but without the edge.
    OK(cudaGraphAddMemcpyNode1D(&copy, next, NULL, 0, data, pinned, 4, cudaMemcpyHostToDevice));
    refused(exec, next, cudaGraphExecUpdateErrorTopologyChanged, copy);
    OK(cudaGraphDestroy(next));
    // Another type.
    next = new_graph();
    first = add_fill(next, NULL, data, 6);
    OK(cudaGraphAddEmptyNode(&empty, next, &first, 1));
    refused(exec, next, cudaGraphExecUpdateErrorNodeTypeChanged, empty);
    OK(cudaGraphDestroy(next));
    // Memory of another kind.
    next = new_graph();
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

Test(graph_update, cooperative_attribute, .init = setup, .data = NEEDS("kernels cooperative"))
{
#if CUDART_VERSION >= 11080
    cudaGraph_t graph = adding(), next = new_graph();
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

// Where a kernel runs, and the address of an allocation, are fixed.
KERNEL_TEST(graph_update, other_device_and_other_memory, .init = setup)
{
    cudaGraph_t graph = adding(), next = new_graph();
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
    graph = new_graph();
    next = new_graph();
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
