// SPDX-License-Identifier: Apache-2.0
//
// Memory of graphs, and conditional nodes set by kernels.
#include "graph_exec.h"

TestSuite(graph_memory, .timeout = 60);
TestSuite(graph_conditions, .timeout = 60, .data = NEEDS("ptx conditionals"));

static uint64_t attribute(enum cudaGraphMemAttributeType type)
{
    uint64_t value = 77;
    OK(cudaDeviceGetGraphMemAttribute(0, type, &value));
    return value;
}

KERNEL_TEST(graph_memory, freed_in_the_graph, .init = setup)
{
    int *ptr;
    cudaGraph_t graph = new_graph();
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
    cudaGraph_t graph = new_graph();
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
    cudaGraph_t graph = new_graph();
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
    cudaGraph_t graph = new_graph(), other = new_graph();
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

Test(graph_conditions, if_node, .init = setup_conditions)
{
    cudaGraph_t graph = new_graph(), body;
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

Test(graph_conditions, while_node_inside_a_while_node, .init = setup_conditions)
{
    cudaGraph_t graph = new_graph(), outer_body, inner_body;
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
Test(graph_conditions, else_and_switch, .init = setup_conditions)
{
    cudaGraph_t graph = new_graph(), two[2], cases[3];
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

Test(graph_conditions, unused_handle, .init = setup_conditions)
{
    cudaGraph_t graph = new_graph();
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
Test(graph_conditions, foreign_handle, .init = setup_conditions)
{
    cudaGraph_t graph = new_graph(), other = new_graph(), body;
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
