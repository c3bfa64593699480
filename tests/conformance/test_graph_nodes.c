// SPDX-License-Identifier: Apache-2.0
//
// Nodes of every type: what adding them checks and copies, what GetParams gives back, what
// SetParams may change, attributes of kernel nodes. Allocations, graphs in nodes and
// cudaGraphAddNode are in test_graph_kinds.c.
#include "graphs.h"

#include <sys/eventfd.h>

TestSuite(graph_nodes, .timeout = 60);

// ---- kernels ----

static struct cudaKernelNodeParams fill_params(void **arguments)
{
    return (struct cudaKernelNodeParams){.func = (void *)kernel_stub(KERNEL_FILL),
                                         .gridDim = dim(2, 1, 1),
                                         .blockDim = dim(64, 1, 1),
                                         .kernelParams = arguments};
}

KERNEL_TEST(graph_nodes, kernel_arguments_are_copied)
{
    kernels_register();
    cudaGraph_t graph = new_graph(), clone;
    cudaGraphNode_t node, cloned;
    struct cudaKernelNodeParams got;
    void *memory;
    int value = 5, count = 100;
    OK(cudaMalloc(&memory, 1024));
    void *arguments[] = {&memory, &value, &count};
    struct cudaKernelNodeParams params = fill_params(arguments);
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphClone(&clone, graph));
    void *const kept = memory;
    memory = NULL;
    value = count = -1;
    memset(arguments, 0, sizeof(arguments));
    OK(cudaGraphNodeFindInClone(&cloned, node, clone));
    for (int i = 0; i < 2; i++) {
        OK(cudaGraphKernelNodeGetParams(i ? cloned : node, &got));
        cr_assert(got.func == params.func && got.gridDim.x == 2 && got.blockDim.x == 64);
        cr_assert(!got.extra && got.kernelParams && got.sharedMemBytes == 0);
        cr_assert(*(void **)got.kernelParams[0] == kept);
        cr_assert(*(int *)got.kernelParams[1] == 5 && *(int *)got.kernelParams[2] == 100);
    }
    // What was given back can be set again, also in the other form.
    OK(cudaGraphKernelNodeSetParams(node, &got));
    struct {
        void *memory;
        int value, count;
    } packed = {kept, 7, 8};
    size_t size = sizeof(packed);
    void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
    params.kernelParams = NULL;
    params.extra = extra;
    OK(cudaGraphKernelNodeSetParams(node, &params));
    memset(&packed, 0xff, sizeof(packed));
    OK(cudaGraphKernelNodeGetParams(node, &got));
    cr_assert(!got.kernelParams && got.extra && got.extra != extra);
    const int *back = NULL;
    for (int i = 0; got.extra[i]; i += 2) {
        if (got.extra[i] == (void *)1) {
            back = got.extra[i + 1];
        } else {
            cr_assert(got.extra[i] == (void *)2 && *(size_t *)got.extra[i + 1] == 16);
        }
    }
    cr_assert(back && back[2] == 7 && back[3] == 8);
    OK(cudaGraphKernelNodeSetParams(node, &got));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphKernelNodeGetParams(cloned, &got));
    cr_assert(*(int *)got.kernelParams[1] == 5);
    OK(cudaGraphDestroy(clone));
    OK(cudaFree(kept));
}

KERNEL_TEST(graph_nodes, kernel_errors)
{
    kernels_register();
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node, good, empty = empty_node(graph, NULL, 0);
    void *memory = &memory;
    int value = 0, count = 0;
    void *arguments[] = {&memory, &value, &count};
    struct cudaKernelNodeParams params = fill_params(arguments), p, got;
    OK(cudaGraphAddKernelNode(&good, graph, NULL, 0, &params));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddKernelNode(NULL, graph, NULL, 0, &params));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(good, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(empty, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(NULL, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeSetParams(empty, &params));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeSetParams(good, NULL));
    p = params;
    p.func = NULL;
    EXPECT(cudaErrorInvalidDeviceFunction, cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    p.func = &p;
    EXPECT(cudaErrorInvalidDeviceFunction, cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    EXPECT(cudaErrorInvalidDeviceFunction, cudaGraphKernelNodeSetParams(good, &p));
    p = params;
    p.gridDim.y = 0;
    EXPECT(cudaErrorInvalidConfiguration, cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    p = params;
    p.blockDim.x = 1 << 20;
    EXPECT(cudaErrorInvalidConfiguration, cudaGraphKernelNodeSetParams(good, &p));
    p = params;
    p.sharedMemBytes = 1u << 30;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    p = params;
    p.kernelParams = NULL;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    void *holes[] = {&memory, NULL, &count};
    p.kernelParams = holes;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    // Both forms, lists without end, buffers that are too short.
    char buffer[16];
    size_t size = sizeof(buffer), small = 15;
    void *extra[] = {(void *)1, buffer, (void *)2, &size, NULL};
    void *unknown[] = {(void *)7, buffer, NULL};
    void *no_size[] = {(void *)1, buffer, NULL};
    void *too_small[] = {(void *)1, buffer, (void *)2, &small, NULL};
    void *null_size[] = {(void *)1, buffer, (void *)2, NULL, NULL};
    p = params;
    p.extra = extra;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    void **const bad[] = {unknown, no_size, too_small, null_size};
    p.kernelParams = NULL;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        p.extra = bad[i];
        EXPECT(cudaErrorInvalidValue, cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
    }
    OK(cudaGraphKernelNodeGetParams(good, &got)); // as it was
    cr_assert(got.gridDim.x == 2 && got.func == params.func);
    cr_assert(node_count(graph) == 2);
    OK(cudaGraphDestroy(graph));
}

Test(graph_nodes, kernel_attributes, .data = NEEDS("kernels cooperative"))
{
    kernels_register();
    cudaGraph_t graph = new_graph(), clone;
    cudaGraphNode_t n[2], cloned, empty = empty_node(graph, NULL, 0);
    struct cudaKernelNodeParams params = {.func = (void *)kernel_stub(KERNEL_EMPTY),
                                          .gridDim = dim(2, 1, 1),
                                          .blockDim = dim(32, 1, 1)};
    OK(cudaGraphAddKernelNode(&n[0], graph, NULL, 0, &params));
    OK(cudaGraphAddKernelNode(&n[1], graph, NULL, 0, &params));
    cudaKernelNodeAttrValue value, got;
    memset(&value, 0, sizeof(value));
    memset(&got, 0x55, sizeof(got));
    OK(cudaGraphKernelNodeGetAttribute(n[0], cudaKernelNodeAttributeCooperative, &got));
    cr_assert(got.cooperative == 0);
    // Callers of CUDA 11.0 to 11.7 have 32 bytes only.
    const unsigned char *bytes = (const unsigned char *)&got;
    for (size_t i = sizeof(int); i < sizeof(got); i++) {
        cr_assert(bytes[i] == 0x55, "byte %zu was written", i);
    }
    value.cooperative = 1;
    OK(cudaGraphKernelNodeSetAttribute(n[0], cudaKernelNodeAttributeCooperative, &value));
    value.cooperative = 2;
    EXPECT(cudaErrorInvalidValue,
           cudaGraphKernelNodeSetAttribute(n[0], cudaKernelNodeAttributeCooperative, &value));
    OK(cudaGraphKernelNodeGetAttribute(n[0], cudaKernelNodeAttributeCooperative, &got));
    cr_assert(got.cooperative == 1);
    // A cooperative grid must fit the device, whichever of both comes first.
    struct cudaKernelNodeParams large = params;
    large.gridDim = dim(1u << 20, 1, 1);
    EXPECT(cudaErrorCooperativeLaunchTooLarge, cudaGraphKernelNodeSetParams(n[0], &large));
    OK(cudaGraphKernelNodeSetParams(n[1], &large));
    value.cooperative = 1;
    EXPECT(cudaErrorCooperativeLaunchTooLarge,
           cudaGraphKernelNodeSetAttribute(n[1], cudaKernelNodeAttributeCooperative, &value));
    EXPECT(cudaErrorCooperativeLaunchTooLarge, cudaGraphKernelNodeCopyAttributes(n[1], n[0]));
    OK(cudaGraphKernelNodeGetAttribute(n[1], cudaKernelNodeAttributeCooperative, &got));
    cr_assert(got.cooperative == 0);
    OK(cudaGraphKernelNodeSetParams(n[1], &params));
    OK(cudaGraphKernelNodeCopyAttributes(n[1], n[0]));
    OK(cudaGraphKernelNodeGetAttribute(n[1], cudaKernelNodeAttributeCooperative, &got));
    cr_assert(got.cooperative == 1);
    // The window: kept as it is, checked for its ranges.
    memset(&value, 0, sizeof(value));
    value.accessPolicyWindow.hitRatio = 0.5f;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    OK(cudaGraphKernelNodeSetAttribute(n[0], cudaKernelNodeAttributeAccessPolicyWindow, &value));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&cloned, n[0], clone));
    OK(cudaGraphKernelNodeGetAttribute(cloned, cudaKernelNodeAttributeAccessPolicyWindow, &got));
    cr_assert(got.accessPolicyWindow.hitRatio == 0.5f);
    value.accessPolicyWindow.hitRatio = 1.5f;
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeSetAttribute(
                                      n[0], cudaKernelNodeAttributeAccessPolicyWindow, &value));
#if CUDART_VERSION >= 11070
    value.priority = -1;
    OK(cudaGraphKernelNodeSetAttribute(n[0], cudaKernelNodeAttributePriority, &value));
    OK(cudaGraphKernelNodeGetAttribute(n[0], cudaKernelNodeAttributePriority, &got));
    cr_assert(got.priority == -1);
    value.priority = 99;
    EXPECT(cudaErrorInvalidValue,
           cudaGraphKernelNodeSetAttribute(n[0], cudaKernelNodeAttributePriority, &value));
#endif
#if CUDART_VERSION >= 13020
    memset(&value, 0, sizeof(value));
    value.portableClusterSizeMode = cudaLaunchPortableClusterModeAllowNonPortable;
    OK(cudaGraphKernelNodeSetAttribute(n[0], cudaLaunchAttributePortableClusterSizeMode, &value));
    OK(cudaGraphKernelNodeGetAttribute(n[0], cudaLaunchAttributePortableClusterSizeMode, &got));
    cr_assert(got.portableClusterSizeMode == value.portableClusterSizeMode);
    value.portableClusterSizeMode = (enum cudaLaunchAttributePortableClusterMode)3;
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeSetAttribute(
                                      n[0], cudaLaunchAttributePortableClusterSizeMode, &value));
    EXPECT(cudaErrorNotSupported,
           cudaGraphKernelNodeSetAttribute(n[0], cudaLaunchAttributeSharedMemoryMode, &value));
#endif
    const cudaKernelNodeAttrID bad[] = {(cudaKernelNodeAttrID)0, (cudaKernelNodeAttrID)3,
                                        (cudaKernelNodeAttrID)999};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeGetAttribute(n[0], bad[i], &got));
        EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeSetAttribute(n[0], bad[i], &value));
    }
    const cudaKernelNodeAttrID id = cudaKernelNodeAttributeCooperative;
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeGetAttribute(n[0], id, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeSetAttribute(n[0], id, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeGetAttribute(empty, id, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeSetAttribute(NULL, id, &value));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeCopyAttributes(n[0], empty));
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeCopyAttributes(empty, n[0]));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(clone));
}

// The code outlives its registration as long as a node needs it.
KERNEL_TEST(graph_nodes, kernel_of_an_unregistered_module)
{
    kernels_register();
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    struct cudaKernelNodeParams params = {.func = (void *)kernel_stub(KERNEL_EMPTY),
                                          .gridDim = dim(1, 1, 1),
                                          .blockDim = dim(1, 1, 1)};
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    kernels_unregister();
    struct cudaKernelNodeParams got;
    OK(cudaGraphKernelNodeGetParams(node, &got));
    OK(cudaGraphDestroy(graph));
}

// What the reset of a device takes along: graphs with nodes of that device.
KERNEL_TEST(graph_nodes, device_reset)
{
    kernels_register();
    cudaGraph_t graph = new_graph(), plain = new_graph(), parent = new_graph(), elsewhere;
    cudaGraphNode_t node, child, other;
    struct cudaKernelNodeParams params = {.func = (void *)kernel_stub(KERNEL_EMPTY),
                                          .gridDim = dim(1, 1, 1),
                                          .blockDim = dim(1, 1, 1)},
                                got;
    cudaKernelNodeAttrValue value;
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphAddChildGraphNode(&child, parent, NULL, 0, graph));
    other = empty_node(plain, NULL, 0);
    elsewhere = new_graph();
    OK(cudaSetDevice(1));
    OK(cudaGraphAddKernelNode(&other, elsewhere, NULL, 0, &params));
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    EXPECT(cudaErrorInvalidValue, cudaGraphKernelNodeGetParams(node, &got));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphKernelNodeGetAttribute(node, cudaKernelNodeAttributeCooperative, &value));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(parent));
    cr_assert(node_count(plain) == 1);
    OK(cudaGraphKernelNodeGetAttribute(other, cudaKernelNodeAttributeCooperative, &value));
    OK(cudaGraphDestroy(elsewhere));
    OK(cudaGraphAddKernelNode(&node, plain, NULL, 0, &params));
    OK(cudaGraphDestroy(plain));
}

// ---- copies ----

Test(graph_nodes, copies, .data = NEEDS("ptx"))
{
    kernels_register();
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node, node_3d, empty = empty_node(graph, NULL, 0);
    struct cudaMemcpy3DParms got, box = {0};
    char host[256];
    void *memory, *symbol;
    OK(cudaMalloc(&memory, 4096));
    OK(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, memory, host, 256, cudaMemcpyDefault));
    OK(cudaGraphMemcpyNodeGetParams(node, &got));
    cr_assert(got.dstPtr.ptr == memory && got.srcPtr.ptr == host && got.extent.width == 256);
    cr_assert(got.extent.height == 1 && got.extent.depth == 1 && got.kind == cudaMemcpyDefault);
    OK(cudaGraphMemcpyNodeSetParams1D(node, host, memory, 16, cudaMemcpyDeviceToHost));
    OK(cudaGraphMemcpyNodeGetParams(node, &got));
    cr_assert(got.dstPtr.ptr == host && got.extent.width == 16);
    OK(cudaGetSymbolAddress(&symbol, &device_value_key));
    OK(cudaGraphMemcpyNodeSetParamsToSymbol(node, &device_value_key, host, 2, 2,
                                            cudaMemcpyHostToDevice));
    OK(cudaGraphMemcpyNodeGetParams(node, &got));
    cr_assert(got.dstPtr.ptr == (char *)symbol + 2 && got.srcPtr.ptr == host);
    OK(cudaGraphMemcpyNodeSetParamsFromSymbol(node, host, &constant_value_key, 4, 0,
                                              cudaMemcpyDefault));
    OK(cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, &device_value_key, memory, 4, 0,
                                      cudaMemcpyDeviceToDevice));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&node, graph, &node, 1, host, &device_value_key, 4, 0,
                                        cudaMemcpyDeviceToHost));
    box.dstPtr.ptr = (char *)memory + 64;
    box.dstPtr.pitch = 128;
    box.dstPtr.xsize = 100;
    box.dstPtr.ysize = 4;
    box.srcPtr.ptr = host;
    box.srcPtr.pitch = 16;
    box.srcPtr.ysize = 4;
    box.extent.width = 10;
    box.extent.height = 3;
    box.extent.depth = 2;
    box.kind = cudaMemcpyHostToDevice;
    box.srcPos.x = 1;
    OK(cudaGraphAddMemcpyNode(&node_3d, graph, NULL, 0, &box));
    OK(cudaGraphMemcpyNodeGetParams(node_3d, &got));
    cr_assert(got.srcPos.x == 1 && got.dstPtr.pitch == 128 && got.extent.depth == 2);
    got.extent.depth = 1;
    OK(cudaGraphMemcpyNodeSetParams(node_3d, &got));

    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&node, graph, NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemcpyNodeGetParams(node, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemcpyNodeGetParams(empty, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemcpyNodeSetParams(node_3d, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemcpyNodeSetParams(empty, &box));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphMemcpyNodeSetParams1D(empty, memory, host, 1, cudaMemcpyHostToDevice));
    EXPECT(
        cudaErrorInvalidMemcpyDirection,
        cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, memory, host, 1, (enum cudaMemcpyKind)9));
    EXPECT(cudaErrorInvalidMemcpyDirection,
           cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, &device_value_key, host, 4, 0,
                                          cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidMemcpyDirection,
           cudaGraphMemcpyNodeSetParamsFromSymbol(node, host, &device_value_key, 4, 0,
                                                  cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidSymbol, cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, host, host,
                                                                  4, 0, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, // four bytes only
           cudaGraphMemcpyNodeSetParamsToSymbol(node, &device_value_key, host, 4, 1,
                                                cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, // out of the allocation
           cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, memory, host, 4097,
                                    cudaMemcpyHostToDevice));
    EXPECT(
        cudaErrorInvalidValue, // not the direction of these addresses
        cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, host, memory, 16, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, NULL, host, 16, cudaMemcpyDefault));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
}

Test(graph_nodes, copies_with_arrays, .data = NEEDS("arrays"))
{
    cudaGraph_t graph = new_graph(), clone;
    cudaGraphNode_t node, cloned;
    struct cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaMemcpy3DParms got, box = {0};
    cudaArray_t array;
    float host[64];
    OK(cudaMallocArray(&array, &format, 8, 8, 0));
    box.dstArray = array;
    box.srcPtr.ptr = host;
    box.srcPtr.pitch = 8 * sizeof(float);
    box.srcPtr.ysize = 8;
    box.extent.width = box.extent.height = 8;
    box.extent.depth = 1;
    box.kind = cudaMemcpyHostToDevice;
    OK(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &box));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&cloned, node, clone));
    OK(cudaGraphMemcpyNodeGetParams(cloned, &got));
    cr_assert(got.dstArray == array && got.extent.width == 8 && got.srcPtr.ptr == host);
    box.extent.width = 9;
    EXPECT(cudaErrorInvalidValue, cudaGraphMemcpyNodeSetParams(node, &box));
    box.extent.width = 8;
    box.dstPtr.ptr = host;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &box));
    OK(cudaGraphDestroy(graph));
    OK(cudaFreeArray(array)); // the clone's node still names it
    OK(cudaGraphDestroy(clone));
}

// ---- fills, host functions, events ----

Test(graph_nodes, fills)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node, empty = empty_node(graph, NULL, 0);
    struct cudaMemsetParams got, p;
    void *memory;
    char host[16];
    OK(cudaMalloc(&memory, 1024));
    const struct cudaMemsetParams good = {
        .dst = memory, .value = 0x12345678, .elementSize = 4, .width = 8, .height = 4, .pitch = 64};
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &good));
    OK(cudaGraphMemsetNodeGetParams(node, &got));
    cr_assert(memcmp(&got, &good, sizeof(got)) == 0);
    got.value = 1;
    got.height = 1;
    got.pitch = 0;
    OK(cudaGraphMemsetNodeSetParams(node, &got));
    struct {
        struct cudaMemsetParams p;
    } bad[] = {{good}, {good}, {good}, {good}, {good}, {good}, {good}, {good}, {good}};
    bad[0].p.elementSize = 3;
    bad[1].p.elementSize = 8;
    bad[2].p.dst = (char *)memory + 2;
    bad[3].p.pitch = 31;
    bad[4].p.width = 0;
    bad[5].p.height = 0;
    bad[6].p.height = 100; // out of the allocation
    bad[7].p.dst = host;
    bad[8].p.elementSize = 1; // the value does not fit
    for (size_t i = 0; i < LENGTH(bad); i++) {
        EXPECT(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&empty, graph, NULL, 0, &bad[i].p));
        EXPECT(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(node, &bad[i].p));
    }
    p = good;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemsetNode(&node, graph, NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(node, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemsetNodeSetParams(empty, &p));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemsetNodeGetParams(empty, &p));
    EXPECT(cudaErrorInvalidValue, cudaGraphMemsetNodeGetParams(node, NULL));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
}

static void CUDART_CB nothing(void *argument)
{
    (void)argument;
}

Test(graph_nodes, host_functions)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node, empty = empty_node(graph, NULL, 0);
    struct cudaHostNodeParams p = {.fn = nothing, .userData = &graph}, got;
    OK(cudaGraphAddHostNode(&node, graph, NULL, 0, &p));
    OK(cudaGraphHostNodeGetParams(node, &got));
    cr_assert(got.fn == nothing && got.userData == &graph);
    p.userData = NULL;
    OK(cudaGraphHostNodeSetParams(node, &p));
    OK(cudaGraphHostNodeGetParams(node, &got));
    cr_assert(!got.userData);
    p.fn = NULL;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddHostNode(&node, graph, NULL, 0, &p));
    EXPECT(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(node, &p));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddHostNode(&node, graph, NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(node, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphHostNodeGetParams(node, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphHostNodeGetParams(empty, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphHostNodeSetParams(empty, &got));
    OK(cudaGraphDestroy(graph));
}

Test(graph_nodes, events)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t record, wait, empty = empty_node(graph, NULL, 0);
    cudaEvent_t a, b, got;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaGraphAddEventRecordNode(&record, graph, NULL, 0, a));
    OK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, a));
    OK(cudaGraphEventRecordNodeGetEvent(record, &got));
    cr_assert(got == a);
    OK(cudaGraphEventWaitNodeSetEvent(wait, b));
    OK(cudaGraphEventWaitNodeGetEvent(wait, &got));
    cr_assert(got == b);
    OK(cudaGraphEventRecordNodeSetEvent(record, b));
    EXPECT(cudaErrorInvalidValue, cudaGraphEventRecordNodeGetEvent(wait, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphEventWaitNodeGetEvent(record, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphEventWaitNodeGetEvent(empty, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphEventRecordNodeGetEvent(record, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphEventWaitNodeGetEvent(wait, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphEventRecordNodeSetEvent(wait, a));
    EXPECT(cudaErrorInvalidValue, cudaGraphEventWaitNodeSetEvent(record, a));
    OK(cudaEventDestroy(a));
    const cudaEvent_t bad[] = {NULL, a, (cudaEvent_t)(uintptr_t)0x77777777, (cudaEvent_t)graph};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        EXPECT(cudaErrorInvalidValue, cudaGraphAddEventRecordNode(&empty, graph, NULL, 0, bad[i]));
        EXPECT(cudaErrorInvalidValue, cudaGraphAddEventWaitNode(&empty, graph, NULL, 0, bad[i]));
        EXPECT(cudaErrorInvalidValue, cudaGraphEventRecordNodeSetEvent(record, bad[i]));
        EXPECT(cudaErrorInvalidValue, cudaGraphEventWaitNodeSetEvent(wait, bad[i]));
    }
    OK(cudaEventDestroy(b)); // the nodes still have it
    OK(cudaGraphEventRecordNodeGetEvent(record, &got));
    OK(cudaGraphDestroy(graph));
}

Test(graph_nodes, external_semaphores, .data = NEEDS("external"))
{
    cudaGraph_t graph = new_graph(), clone;
    cudaGraphNode_t node[2], other, empty = empty_node(graph, NULL, 0);
    cudaGraphExec_t exec;
    cudaExternalSemaphore_t semaphore;
    struct cudaExternalSemaphoreHandleDesc desc;
    memset(&desc, 0, sizeof(desc));
    desc.type = cudaExternalSemaphoreHandleTypeOpaqueFd;
    desc.handle.fd = eventfd(0, 0);
    OK(cudaImportExternalSemaphore(&semaphore, &desc));
    struct cudaExternalSemaphoreSignalParams up[2];
    struct cudaExternalSemaphoreWaitParams down[2];
    memset(up, 0, sizeof(up));
    memset(down, 0, sizeof(down));
    up[1].params.fence.value = 7;
    cudaExternalSemaphore_t both[2] = {semaphore, semaphore}, bad[2] = {semaphore, NULL};
    struct cudaExternalSemaphoreSignalNodeParams signal = {both, up, 2}, got;
    struct cudaExternalSemaphoreWaitNodeParams wait = {both, down, 1}, got_wait;
    OK(cudaGraphAddExternalSemaphoresSignalNode(&node[0], graph, NULL, 0, &signal));
    OK(cudaGraphAddExternalSemaphoresWaitNode(&node[1], graph, node, 1, &wait));
    OK(cudaGraphExternalSemaphoresSignalNodeGetParams(node[0], &got));
    cr_assert(got.numExtSems == 2 && got.extSemArray != both && got.extSemArray[1] == semaphore);
    cr_assert(got.paramsArray[1].params.fence.value == 7);
    OK(cudaGraphExternalSemaphoresWaitNodeGetParams(node[1], &got_wait));
    cr_assert(got_wait.numExtSems == 1 && got_wait.extSemArray[0] == semaphore);
    OK(cudaGraphExternalSemaphoresSignalNodeSetParams(node[0], &got));
    OK(cudaGraphExternalSemaphoresWaitNodeSetParams(node[1], &wait));
    signal.extSemArray = bad;
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaGraphAddExternalSemaphoresSignalNode(&other, graph, NULL, 0, &signal));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaGraphExternalSemaphoresSignalNodeSetParams(node[0], &signal));
    signal.extSemArray = both;
    up[0].flags = 99;
    EXPECT(cudaErrorInvalidValue,
           cudaGraphAddExternalSemaphoresSignalNode(&other, graph, NULL, 0, &signal));
    up[0].flags = 0;
    signal.numExtSems = 0;
    EXPECT(cudaErrorInvalidValue,
           cudaGraphAddExternalSemaphoresSignalNode(&other, graph, NULL, 0, &signal));
    wait.paramsArray = NULL;
    EXPECT(cudaErrorInvalidValue,
           cudaGraphAddExternalSemaphoresWaitNode(&other, graph, NULL, 0, &wait));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphAddExternalSemaphoresSignalNode(&other, graph, NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue,
           cudaGraphAddExternalSemaphoresWaitNode(&other, graph, NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphExternalSemaphoresSignalNodeGetParams(node[1], &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphExternalSemaphoresWaitNodeGetParams(empty, &got_wait));
    EXPECT(cudaErrorInvalidValue, cudaGraphExternalSemaphoresSignalNodeSetParams(empty, &got));
    EXPECT(cudaErrorInvalidValue, cudaGraphExternalSemaphoresWaitNodeSetParams(node[1], NULL));
    // Two signals and one wait that takes the count: nothing is left.
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphInstantiateWithFlags(&exec, clone, 0));
    OK(cudaGraphDestroy(clone));
    OK(cudaDestroyExternalSemaphore(semaphore)); // the nodes keep it
    for (int i = 0; i < 3; i++) {
        OK(cudaGraphLaunch(exec, NULL));
    }
    OK(cudaDeviceSynchronize());
    OK(cudaGraphExecDestroy(exec));
}
