// SPDX-License-Identifier: Apache-2.0
//
// Nodes that own something: allocations, moved children, conditional nodes with their bodies; the
// functions that take nodes of every type; execution contexts. Nothing is launched here.
#include "graphs.h"

TestSuite(graph_kinds, .timeout = 60);

#if CUDART_VERSION >= 12020
static void CUDART_CB nothing(void *argument)
{
    (void)argument;
}
#endif

// ---- allocations ----

static struct cudaMemAllocNodeParams alloc_params(size_t size)
{
    struct cudaMemAllocNodeParams p;
    memset(&p, 0, sizeof(p));
    p.poolProps.allocType = cudaMemAllocationTypePinned;
    p.poolProps.location.type = cudaMemLocationTypeDevice;
    p.bytesize = size;
    return p;
}

Test(graph_kinds, allocations)
{
    cudaGraph_t graph = new_graph(), other = new_graph(), third = new_graph();
    cudaGraphNode_t a, b, f, node, empty = empty_node(graph, NULL, 0);
    struct cudaMemAllocNodeParams p = alloc_params(1000), q = alloc_params(64), got;
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 1},
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    p.accessDescs = &access;
    p.accessDescCount = 1;
    OK(cudaGraphAddMemAllocNode(&a, graph, &empty, 1, &p));
    OK(cudaGraphAddMemAllocNode(&b, graph, NULL, 0, &q));
    cr_assert(p.dptr && q.dptr && p.dptr != q.dptr);
    OK(cudaGraphMemAllocNodeGetParams(a, &got));
    cr_assert(got.dptr == p.dptr && got.bytesize == 1000 && got.accessDescCount == 1);
    cr_assert(got.accessDescs != &access && got.accessDescs[0].location.id == 1);
    // The address can be used in nodes at once.
    struct cudaMemsetParams fill = {.dst = p.dptr, .elementSize = 1, .width = 1000, .height = 1};
    OK(cudaGraphAddMemsetNode(&node, graph, &a, 1, &fill));
    fill.width = 5000;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, &a, 1, &fill));
    OK(cudaGraphAddMemFreeNode(&f, graph, &node, 1, p.dptr));
    void *freed = NULL;
    OK(cudaGraphMemFreeNodeGetParams(f, &freed));
    cr_assert(freed == p.dptr);
    // Free nodes: once, at home or elsewhere, only such addresses.
    void *memory;
    OK(cudaMalloc(&memory, 64));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, graph, NULL, 0, p.dptr));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, other, NULL, 0, p.dptr));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, graph, NULL, 0, memory));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, graph, NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphAddMemFreeNode(&node, graph, NULL, 0, (char *)q.dptr + 4));
    OK(cudaGraphAddMemFreeNode(&node, other, NULL, 0, q.dptr));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, other, NULL, 0, q.dptr));
    OK(cudaGraphAddMemFreeNode(&node, third, NULL, 0, q.dptr));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, graph, NULL, 0, q.dptr));
    // "Nodes and edges cannot be deleted", no clone, no child.
    cudaGraph_t clone;
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroyNode(a));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroyNode(empty));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroyNode(node)); // a graph with a free node
    EXPECT(cudaErrorInvalidValue, remove_edges(graph, &empty, &a, NULL, 1));
    EXPECT(cudaErrorInvalidValue, cudaGraphClone(&clone, graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphClone(&clone, other));
    cudaGraph_t parent = new_graph();
    EXPECT(cudaErrorInvalidValue, cudaGraphAddChildGraphNode(&node, parent, NULL, 0, graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemAllocNodeGetParams(f, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemAllocNodeGetParams(a, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemFreeNodeGetParams(a, &freed));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemFreeNodeGetParams(f, NULL));
    // Freeing nodes of other graphs can go away again.
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(third));
    OK(cudaGraphAddMemFreeNode(&node, graph, NULL, 0, q.dptr));
    OK(cudaGraphDestroy(graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&node, parent, NULL, 0, q.dptr));
    OK(cudaGraphDestroy(parent));
    OK(cudaFree(memory));
}

Test(graph_kinds, allocation_errors)
{
    cudaGraph_t graph = new_graph(), child;
    cudaGraph_t inner = new_graph();
    cudaGraphNode_t node, embedded;
    struct cudaMemAllocNodeParams p;
    struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = 99},
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, NULL));
    p = alloc_params(0);
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    p = alloc_params(64);
    p.poolProps.allocType = cudaMemAllocationTypeInvalid;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    p = alloc_params(64);
    p.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor; // "IPC is not supported"
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    p = alloc_params(64);
    p.poolProps.location.id = 99;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    p = alloc_params(64);
    p.poolProps.location.type = cudaMemLocationTypeInvalid;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    p = alloc_params(64);
    p.accessDescCount = 1;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    p.accessDescs = &access;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    p.accessDescCount = 1000;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    p = alloc_params((size_t)1 << 60);
    EXPECT(cudaErrorMemoryAllocation, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &p));
    OK(cudaGraphAddChildGraphNode(&embedded, graph, NULL, 0, inner));
    OK(cudaGraphChildGraphNodeGetGraph(embedded, &child));
    p = alloc_params(64);
    EXPECT(cudaErrorNotSupported, cudaGraphAddMemAllocNode(&node, child, NULL, 0, &p));
    cr_assert(node_count(graph) == 1 && node_count(child) == 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(inner));
}

#if CUDART_VERSION >= 13020
// A node may name the execution context of a device instead of the current device.
KERNEL_TEST(graph_kinds, execution_contexts)
{
    kernels_register();
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    cudaExecutionContext_t context;
    cudaGraphConditionalHandle handle;
    OK(cudaDeviceGetExecutionCtx(&context, 1));
    struct cudaGraphNodeParams p = {.type = cudaGraphNodeTypeKernel}, got;
    p.kernel.func = (void *)kernel_stub(KERNEL_EMPTY);
    p.kernel.gridDim = p.kernel.blockDim = dim(1, 1, 1);
    p.kernel.ctx = context;
    p.kernel.functionType = cudaKernelFunctionTypeDeviceEntry;
    OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &p));
    OK(cudaGraphNodeGetParams(node, &got));
    cr_assert(got.kernel.ctx == context);
    cr_assert(got.kernel.functionType == cudaKernelFunctionTypeDeviceEntry);
    p.kernel.functionType = cudaKernelFunctionTypeKernel;
    EXPECT(cudaErrorInvalidDeviceFunction, cudaGraphNodeSetParams(node, &p));
    p.kernel.functionType = (enum cudaKernelFunctionType)4;
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetParams(node, &p));
    p.kernel.functionType = cudaKernelFunctionTypeKernel;
    OK(cudaGetKernel(&p.kernel.kern, kernel_stub(KERNEL_EMPTY)));
    OK(cudaGraphNodeSetParams(node, &p));
    p.kernel.ctx = (cudaExecutionContext_t)graph;
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetParams(node, &p));
    OK(cudaGraphConditionalHandleCreate_v2(&handle, graph, context, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate_v2(
                                      &handle, graph, (cudaExecutionContext_t)graph, 0, 0));
    OK(cudaGraphDestroy(graph));
}
#endif

// ---- one function for all types (CUDA 12.2) ----

#if CUDART_VERSION >= 12020
static cudaGraphNode_t add_given(cudaGraph_t graph, struct cudaGraphNodeParams *params)
{
    cudaGraphNode_t node;
    OK(add_node(&node, graph, NULL, NULL, 0, params));
    return node;
}

Test(graph_kinds, all_types_by_one_function, .data = NEEDS("ptx conditionals"))
{
    kernels_register();
    cudaGraph_t graph = new_graph(), inner = new_graph(), child;
    cudaGraphNode_t n[6], empty;
    void *memory;
    cudaEvent_t event;
    OK(cudaMalloc(&memory, 64));
    OK(cudaEventCreate(&event));
    struct cudaGraphNodeParams p[6] = {
        {.type = cudaGraphNodeTypeKernel},      {.type = cudaGraphNodeTypeMemset},
        {.type = cudaGraphNodeTypeHost},        {.type = cudaGraphNodeTypeGraph},
        {.type = cudaGraphNodeTypeEventRecord}, {.type = cudaGraphNodeTypeMemcpy},
    };
    p[0].kernel.func = (void *)kernel_stub(KERNEL_EMPTY);
    p[0].kernel.gridDim = p[0].kernel.blockDim = dim(1, 1, 1);
    p[1].memset.dst = memory;
    p[1].memset.elementSize = 1;
    p[1].memset.width = p[1].memset.height = 1;
    p[2].host.fn = nothing;
    p[3].graph.graph = inner;
    p[4].eventRecord.event = event;
    p[5].memcpy.copyParams.dstPtr.ptr = memory;
    p[5].memcpy.copyParams.srcPtr.ptr = (char *)memory + 32;
    p[5].memcpy.copyParams.extent.width = 16;
    p[5].memcpy.copyParams.extent.height = p[5].memcpy.copyParams.extent.depth = 1;
    p[5].memcpy.copyParams.kind = cudaMemcpyDefault;
    enum cudaGraphNodeType type;
    for (int i = 0; i < 6; i++) {
        n[i] = add_given(graph, &p[i]);
        OK(cudaGraphNodeGetType(n[i], &type));
        cr_assert(type == p[i].type);
        OK(cudaGraphNodeSetParams(n[i], &p[i]));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetParams(n[i], &p[(i + 1) % 6]));
        // Every unused byte must be zero.
        struct cudaGraphNodeParams dirty = p[i];
        dirty.reserved0[2] = 1;
        EXPECT(cudaErrorInvalidValue, add_node(&empty, graph, NULL, NULL, 0, &dirty));
        dirty = p[i];
        dirty.reserved2 = 1;
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetParams(n[i], &dirty));
        dirty = p[i];
        dirty.reserved1[28] = 1;
        EXPECT(cudaErrorInvalidValue, add_node(&empty, graph, NULL, NULL, 0, &dirty));
#if CUDART_VERSION >= 13020
        struct cudaGraphNodeParams got;
        memset(&got, 0x55, sizeof(got));
        OK(cudaGraphNodeGetParams(n[i], &got));
        cr_assert(got.type == p[i].type && got.reserved2 == 0);
        if (got.type == cudaGraphNodeTypeGraph) {
            cr_assert(got.graph.ownership == cudaGraphChildGraphOwnershipInvalid);
            EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetParams(n[i], &got));
        } else {
            OK(cudaGraphNodeSetParams(n[i], &got));
        }
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetParams(n[i], NULL));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetParams(NULL, &got));
#endif
    }
    struct cudaGraphNodeParams bad = {.type = (enum cudaGraphNodeType)0x0c};
    EXPECT(cudaErrorInvalidValue, add_node(&empty, graph, NULL, NULL, 0, &bad));
    bad.type = (enum cudaGraphNodeType)0x0e; // copies in a batch: by name
    EXPECT(cudaErrorNotSupported, add_node(&empty, graph, NULL, NULL, 0, &bad));
    bad.type = (enum cudaGraphNodeType) - 1;
    EXPECT(cudaErrorInvalidValue, add_node(&empty, graph, NULL, NULL, 0, &bad));
    EXPECT(cudaErrorInvalidValue, add_node(&empty, graph, NULL, NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue, add_node(NULL, graph, NULL, NULL, 0, &p[0]));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetParams(n[0], NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeSetParams(NULL, &p[0]));
    struct cudaGraphNodeParams alloc = {.type = cudaGraphNodeTypeMemAlloc};
    alloc.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
    alloc.alloc.poolProps.location.type = cudaMemLocationTypeDevice;
    alloc.alloc.bytesize = 256;
    empty = add_given(graph, &alloc);
    cr_assert(alloc.alloc.dptr);
    alloc.alloc.dptr = NULL;
    EXPECT(cudaErrorNotSupported, cudaGraphNodeSetParams(empty, &alloc));
    OK(cudaGraphChildGraphNodeGetGraph(n[3], &child));
    cr_assert(child != inner);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(inner));
    OK(cudaFree(memory));
    OK(cudaEventDestroy(event));
}
#endif

#if CUDART_VERSION >= 12090
Test(graph_kinds, child_that_is_moved)
{
    cudaGraph_t graph = new_graph(), inner = new_graph(), got;
    cudaGraphNode_t node, other;
    struct cudaMemAllocNodeParams a = alloc_params(64);
    OK(cudaGraphAddMemAllocNode(&other, inner, NULL, 0, &a));
    struct cudaGraphNodeParams p = {.type = cudaGraphNodeTypeGraph};
    p.graph.graph = inner;
    EXPECT(cudaErrorInvalidValue, add_node(&node, graph, NULL, NULL, 0, &p)); // no clone
    p.graph.ownership = (enum cudaGraphChildGraphNodeOwnership)7;
    EXPECT(cudaErrorInvalidValue, add_node(&node, graph, NULL, NULL, 0, &p));
    p.graph.ownership = cudaGraphChildGraphOwnershipMove;
    EXPECT(cudaErrorInvalidValue, add_node(&node, inner, NULL, NULL, 0, &p)); // into itself
    OK(add_node(&node, graph, NULL, NULL, 0, &p));
    OK(cudaGraphChildGraphNodeGetGraph(node, &got));
    cr_assert(got == inner);
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(inner));
    EXPECT(cudaErrorInvalidValue, add_node(&node, graph, NULL, NULL, 0, &p));
    EXPECT(cudaErrorNotSupported, cudaGraphAddMemAllocNode(&other, inner, NULL, 0, &a));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroyNode(node)); // there is memory in it
    cudaGraph_t plain = new_graph();
    p.graph.graph = plain;
    p.graph.ownership = cudaGraphChildGraphOwnershipClone;
    EXPECT(cudaErrorNotSupported, cudaGraphNodeSetParams(node, &p));
    OK(cudaGraphDestroy(plain));
    OK(cudaGraphDestroy(graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(inner));
}
#endif

// ---- conditional nodes (12.3; else, switch 12.8) ----

#if CUDART_VERSION >= 12080
Test(graph_kinds, conditionals, .data = NEEDS("ptx conditionals"))
{
    kernels_register();
    cudaGraph_t graph = new_graph(), foreign = new_graph(), body;
    cudaGraphConditionalHandle handle, other, third, far;
    cudaGraphNode_t node, inner, switcher;
    OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    OK(cudaGraphConditionalHandleCreate(&other, graph, 0, 0));
    OK(cudaGraphConditionalHandleCreate(&third, graph, 0, 0));
    OK(cudaGraphConditionalHandleCreate(&far, foreign, 0, 0));
    cr_assert(handle && other && handle != other && far != handle);
    EXPECT(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(NULL, graph, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(&far, NULL, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(&far, graph, 0, 2));
    struct cudaGraphNodeParams p = {.type = cudaGraphNodeTypeConditional};
    p.conditional.handle = handle;
    p.conditional.type = cudaGraphCondTypeIf;
    p.conditional.size = 2;
    struct cudaGraphNodeParams bad = p;
    bad.conditional.handle = far;
    EXPECT(cudaErrorInvalidValue, add_node(&node, graph, NULL, NULL, 0, &bad));
    bad.conditional.handle = 0;
    EXPECT(cudaErrorInvalidValue, add_node(&node, graph, NULL, NULL, 0, &bad));
    bad = p;
    bad.conditional.type = (enum cudaGraphConditionalNodeType)3;
    EXPECT(cudaErrorInvalidValue, add_node(&node, graph, NULL, NULL, 0, &bad));
    static const struct {
        enum cudaGraphConditionalNodeType type;
        unsigned size;
    } sizes[] = {{cudaGraphCondTypeIf, 0},
                 {cudaGraphCondTypeIf, 3},
                 {cudaGraphCondTypeWhile, 0},
                 {cudaGraphCondTypeWhile, 2},
                 {cudaGraphCondTypeSwitch, 0}};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        bad = p;
        bad.conditional.type = sizes[i].type;
        bad.conditional.size = sizes[i].size;
        EXPECT(cudaErrorInvalidValue, add_node(&node, graph, NULL, NULL, 0, &bad));
    }
    OK(add_node(&node, graph, NULL, NULL, 0, &p));
    cr_assert(p.conditional.phGraph_out);
    body = p.conditional.phGraph_out[0];
    cr_assert(body && p.conditional.phGraph_out[1] && body != p.conditional.phGraph_out[1]);
    bad = p;
    bad.conditional.phGraph_out = NULL;
    EXPECT(cudaErrorInvalidValue, add_node(&inner, graph, NULL, NULL, 0, &bad)); // used
    EXPECT(cudaErrorNotSupported, cudaGraphNodeSetParams(node, &p));
    // What a body may hold.
    cudaEvent_t event;
    void *memory;
    OK(cudaEventCreate(&event));
    OK(cudaMalloc(&memory, 64));
    struct cudaKernelNodeParams kernel = {.func = (void *)kernel_stub(KERNEL_EMPTY),
                                          .gridDim = dim(1, 1, 1),
                                          .blockDim = dim(1, 1, 1)};
    struct cudaMemsetParams fill = {.dst = memory, .elementSize = 1, .width = 1, .height = 1};
    struct cudaHostNodeParams host = {.fn = nothing};
    struct cudaMemAllocNodeParams alloc = alloc_params(64);
    cudaGraph_t child = new_graph(), with_host = new_graph();
    OK(cudaGraphAddHostNode(&inner, with_host, NULL, 0, &host));
    OK(cudaGraphAddKernelNode(&inner, body, NULL, 0, &kernel));
    OK(cudaGraphAddMemsetNode(&inner, body, &inner, 1, &fill));
    OK(cudaGraphAddMemcpyNode1D(&inner, body, NULL, 0, memory, (char *)memory + 8, 4,
                                cudaMemcpyDeviceToDevice));
    empty_node(body, NULL, 0);
    OK(cudaGraphAddChildGraphNode(&inner, body, NULL, 0, child));
    EXPECT(cudaErrorNotSupported, cudaGraphAddChildGraphNode(&inner, body, NULL, 0, with_host));
    EXPECT(cudaErrorNotSupported, cudaGraphAddHostNode(&inner, body, NULL, 0, &host));
    EXPECT(cudaErrorNotSupported, cudaGraphAddEventRecordNode(&inner, body, NULL, 0, event));
    EXPECT(cudaErrorNotSupported, cudaGraphAddEventWaitNode(&inner, body, NULL, 0, event));
    EXPECT(cudaErrorNotSupported, cudaGraphAddMemAllocNode(&inner, body, NULL, 0, &alloc));
    OK(cudaSetDevice(1)); // "must belong to the same device context"
    EXPECT(cudaErrorInvalidValue, cudaGraphAddKernelNode(&inner, body, NULL, 0, &kernel));
    OK(cudaSetDevice(0));
    // Conditions of the outer graph serve conditional nodes in bodies.
    struct cudaGraphNodeParams w = {.type = cudaGraphNodeTypeConditional};
    w.conditional.handle = other;
    w.conditional.type = cudaGraphCondTypeWhile;
    w.conditional.size = 1;
    OK(add_node(&inner, body, NULL, NULL, 0, &w));
    EXPECT(cudaErrorNotSupported,
           cudaGraphAddHostNode(&inner, w.conditional.phGraph_out[0], NULL, 0, &host));
    struct cudaGraphNodeParams s = {.type = cudaGraphNodeTypeConditional};
    s.conditional.handle = third;
    s.conditional.type = cudaGraphCondTypeSwitch;
    s.conditional.size = 100;
    OK(add_node(&switcher, graph, NULL, NULL, 0, &s));
    // No clone, no child; bodies are the node's.
    cudaGraph_t clone;
    EXPECT(cudaErrorInvalidValue, cudaGraphClone(&clone, graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddChildGraphNode(&inner, foreign, NULL, 0, graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(body));
    // A node that goes lets its handle be used again.
    OK(cudaGraphDestroyNode(switcher));
    size_t count;
    EXPECT(cudaErrorInvalidValue,
           cudaGraphGetNodes(s.conditional.phGraph_out ? child : NULL, NULL, NULL));
    s.conditional.phGraph_out = NULL;
    s.conditional.size = 1;
    OK(add_node(&switcher, graph, NULL, NULL, 0, &s));
    OK(cudaGraphDebugDotPrint(graph, "/dev/null", cudaGraphDebugDotFlagsVerbose));
    OK(cudaGraphDestroy(graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphGetNodes(body, NULL, &count));
    OK(cudaGraphDestroy(foreign));
    OK(cudaGraphDestroy(child));
    OK(cudaGraphDestroy(with_host));
    OK(cudaEventDestroy(event));
    OK(cudaFree(memory));
}
#endif
