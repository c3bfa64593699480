// SPDX-License-Identifier: Apache-2.0
//
// Graphs as structures: nodes, edges, lists, clones, children, destroying in every order, user
// objects, DOT. What nodes of each type hold is in test_graph_nodes.c. Nothing is launched here.
#include "graphs.h"

#include <unistd.h>

TestSuite(graphs, .timeout = 60);

// Handles that are none: NULL, garbage, another kind of object, and one that was destroyed.
static cudaGraph_t bad_graph(int which, cudaStream_t stream)
{
    cudaGraph_t gone;
    switch (which) {
    case 0:
        return NULL;
    case 1:
        return (cudaGraph_t)(uintptr_t)0x1234567890ull;
    case 2:
        return (cudaGraph_t)(void *)stream;
    default:
        gone = new_graph();
        OK(cudaGraphDestroy(gone));
        return gone;
    }
}

static cudaGraphNode_t bad_node(int which, cudaGraph_t graph)
{
    cudaGraphNode_t gone;
    switch (which) {
    case 0:
        return NULL;
    case 1:
        return (cudaGraphNode_t)(uintptr_t)0x1234567890ull;
    case 2:
        return (cudaGraphNode_t)(void *)graph;
    default:
        gone = empty_node(graph, NULL, 0);
        OK(cudaGraphDestroyNode(gone));
        return gone;
    }
}

enum { BAD_COUNT = 4 };

Test(graphs, bad_handles_everywhere)
{
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    cudaGraph_t good = new_graph();
    cudaGraphNode_t node = empty_node(good, NULL, 0);
    for (int i = 0; i < BAD_COUNT; i++) {
        cudaGraph_t g = bad_graph(i, stream);
        cudaGraphNode_t n = bad_node(i, good);
        cudaGraphNode_t out;
        cudaGraph_t other;
        enum cudaGraphNodeType type;
        size_t count = 0;
        EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(g));
        EXPECT(cudaErrorInvalidValue, cudaGraphClone(&other, g));
        EXPECT(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&out, g, NULL, 0));
        EXPECT(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&out, good, &n, 1));
        EXPECT(cudaErrorInvalidValue, cudaGraphAddChildGraphNode(&out, good, NULL, 0, g));
        EXPECT(cudaErrorInvalidValue, cudaGraphGetNodes(g, NULL, &count));
        EXPECT(cudaErrorInvalidValue, cudaGraphGetRootNodes(g, NULL, &count));
        EXPECT(cudaErrorInvalidValue, get_edges(g, NULL, NULL, NULL, &count));
        EXPECT(cudaErrorInvalidValue, get_dependencies(n, NULL, NULL, &count));
        EXPECT(cudaErrorInvalidValue, get_dependents(n, NULL, NULL, &count));
        EXPECT(cudaErrorInvalidValue, add_edges(g, &node, &node, NULL, 1));
        EXPECT(cudaErrorInvalidValue, add_edges(good, &n, &node, NULL, 1));
        EXPECT(cudaErrorInvalidValue, add_edges(good, &node, &n, NULL, 1));
        EXPECT(cudaErrorInvalidValue, remove_edges(good, &node, &n, NULL, 1));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetType(n, &type));
        EXPECT(cudaErrorInvalidValue, cudaGraphDestroyNode(n));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&out, n, good));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&out, node, g));
        EXPECT(cudaErrorInvalidValue, cudaGraphChildGraphNodeGetGraph(n, &other));
        EXPECT(cudaErrorInvalidValue, cudaGraphDebugDotPrint(g, "/dev/null", 0));
        EXPECT(cudaErrorInvalidValue, cudaGraphRetainUserObject(g, NULL, 1, 0));
        EXPECT(cudaErrorInvalidValue, cudaGraphReleaseUserObject(g, NULL, 1));
    }
    cr_assert(node_count(good) == 1);
    OK(cudaGraphDestroy(good));
    OK(cudaStreamDestroy(stream));
}

Test(graphs, null_outputs_and_flags)
{
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node = empty_node(graph, NULL, 0);
    cudaGraphNode_t from[1], to[1];
    size_t count = 1;
    EXPECT(cudaErrorInvalidValue, cudaGraphCreate(NULL, 0));
    cudaGraph_t other;
    EXPECT(cudaErrorInvalidValue, cudaGraphCreate(&other, 1));
    EXPECT(cudaErrorInvalidValue, cudaGraphClone(NULL, graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddEmptyNode(NULL, graph, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddEmptyNode(from, graph, NULL, 1));
    EXPECT(cudaErrorInvalidValue, cudaGraphAddEmptyNode(from, graph, &node, SIZE_MAX / 2));
    EXPECT(cudaErrorInvalidValue, cudaGraphGetNodes(graph, from, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphGetRootNodes(graph, from, NULL));
    EXPECT(cudaErrorInvalidValue, get_edges(graph, from, to, NULL, NULL));
    EXPECT(cudaErrorInvalidValue, get_edges(graph, from, NULL, NULL, &count));
    EXPECT(cudaErrorInvalidValue, get_edges(graph, NULL, to, NULL, &count));
    EXPECT(cudaErrorInvalidValue, get_dependencies(node, from, NULL, NULL));
    EXPECT(cudaErrorInvalidValue, get_dependents(node, from, NULL, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetType(node, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(NULL, node, graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphDebugDotPrint(graph, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaGraphDebugDotPrint(graph, "/dev/null", 1u << 30));
    EXPECT(cudaErrorInvalidValue, cudaGraphChildGraphNodeGetGraph(node, &other)); // another type
    OK(add_edges(graph, NULL, NULL, NULL, 0));
    OK(remove_edges(graph, NULL, NULL, NULL, 0));
    cr_assert(node_count(graph) == 1);
    OK(cudaGraphDestroy(graph));
}

// The protocol of lists: count only, exact, too small, too large.
Test(graphs, lists)
{
    enum { NODES = 4 };
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t n[NODES], list[NODES + 2], from[8], to[8];
    n[0] = empty_node(graph, NULL, 0);
    n[1] = empty_node(graph, NULL, 0);
    n[2] = empty_node(graph, n, 2);
    n[3] = empty_node(graph, &n[2], 1);
    size_t count = 99;
    OK(cudaGraphGetNodes(graph, NULL, &count));
    cr_assert(count == NODES);
    OK(cudaGraphGetRootNodes(graph, NULL, &count));
    cr_assert(count == 2);
    OK(get_edges(graph, NULL, NULL, NULL, &count));
    cr_assert(count == 3);
    count = 2;
    OK(cudaGraphGetNodes(graph, list, &count));
    cr_assert(count == 2 && list[0] == n[0] && list[1] == n[1]);
    count = NODES + 2;
    memset(list, 0x55, sizeof(list));
    OK(cudaGraphGetNodes(graph, list, &count));
    cr_assert(count == NODES && memcmp(list, n, sizeof(n)) == 0 && !list[4] && !list[5]);
    count = 3;
    OK(cudaGraphGetRootNodes(graph, list, &count));
    cr_assert(count == 2 && list[0] == n[0] && list[1] == n[1] && !list[2]);
    count = 8;
    OK(get_edges(graph, from, to, NULL, &count));
    cr_assert(count == 3 && !from[3] && !to[7]);
    for (size_t i = 0; i < count; i++) {
        cr_assert((from[i] == n[0] && to[i] == n[2]) || (from[i] == n[1] && to[i] == n[2]) ||
                  (from[i] == n[2] && to[i] == n[3]));
    }
    count = 1;
    OK(get_edges(graph, from, to, NULL, &count));
    cr_assert(count == 1);
    count = 3;
    OK(get_dependencies(n[2], list, NULL, &count));
    cr_assert(count == 2 && list[0] == n[0] && list[1] == n[1] && !list[2]);
    OK(get_dependents(n[2], NULL, NULL, &count));
    cr_assert(count == 1);
    OK(get_dependents(n[2], list, NULL, &count));
    cr_assert(count == 1 && list[0] == n[3]);
    count = 0;
    OK(get_dependents(n[3], list, NULL, &count));
    cr_assert(count == 0);
    enum cudaGraphNodeType type = (enum cudaGraphNodeType)99;
    OK(cudaGraphNodeGetType(n[3], &type));
    cr_assert(type == cudaGraphNodeTypeEmpty);
    OK(cudaGraphDestroy(graph));
}

Test(graphs, edges_added_and_removed)
{
    cudaGraph_t graph = new_graph();
    cudaGraph_t other = new_graph();
    cudaGraphNode_t n[4], foreign = empty_node(other, NULL, 0);
    size_t count;
    for (int i = 0; i < 4; i++) {
        n[i] = empty_node(graph, NULL, 0);
    }
    EXPECT(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&foreign, graph, &foreign, 1));
    const cudaGraphNode_t twice[] = {n[0], n[1], n[0]};
    cudaGraphNode_t made;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&made, graph, twice, 3));
    OK(add_edges(graph, &n[0], &n[1], NULL, 3)); // 0 → 1 → 2 → 3
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &n[0], &n[1], NULL, 1));
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &n[0], &n[0], NULL, 1));
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &n[3], &n[0], NULL, 1)); // a circle
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &n[0], &foreign, NULL, 1));
    EXPECT(cudaErrorInvalidValue, add_edges(other, &n[0], &n[2], NULL, 1));
    EXPECT(cudaErrorInvalidValue, add_edges(graph, NULL, &n[1], NULL, 1));
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &n[1], NULL, NULL, 1));
    // All or nothing: the first edge of the list is good, the second closes a circle.
    const cudaGraphNode_t from[] = {n[0], n[2]}, to[] = {n[2], n[0]};
    EXPECT(cudaErrorInvalidValue, add_edges(graph, from, to, NULL, 2));
    OK(get_edges(graph, NULL, NULL, NULL, &count));
    cr_assert(count == 3);
    const cudaGraphNode_t gone_from[] = {n[0], n[0]}, gone_to[] = {n[1], n[3]};
    EXPECT(cudaErrorInvalidValue, remove_edges(graph, gone_from, gone_to, NULL, 2));
    OK(get_edges(graph, NULL, NULL, NULL, &count));
    cr_assert(count == 3);
    OK(remove_edges(graph, &n[1], &n[2], NULL, 1));
    EXPECT(cudaErrorInvalidValue, remove_edges(graph, &n[1], &n[2], NULL, 1));
    OK(add_edges(graph, &n[3], &n[0], NULL, 1)); // no circle any more: 2 → 3 → 0 → 1
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &n[1], &n[2], NULL, 1));
    OK(cudaGraphDestroyNode(n[3])); // takes its edges along
    OK(get_edges(graph, NULL, NULL, NULL, &count));
    cr_assert(count == 1);
    OK(add_edges(graph, &n[1], &n[2], NULL, 1));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(graph));
}

// A chain against the order of creation and a wide join: no recursion, no quadratic time.
Test(graphs, large)
{
    enum { NODES = 5000 };
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t *n = malloc(NODES * sizeof(*n));
    for (int i = 0; i < NODES; i++) {
        OK(cudaGraphAddEmptyNode(&n[i], graph, NULL, 0));
    }
    OK(add_edges(graph, &n[1], &n[0], NULL, NODES - 1));
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &n[0], &n[NODES - 1], NULL, 1));
    cudaGraphNode_t join;
    OK(cudaGraphAddEmptyNode(&join, graph, n, NODES));
    cudaGraph_t clone;
    OK(cudaGraphClone(&clone, graph));
    size_t count;
    OK(get_edges(clone, NULL, NULL, NULL, &count));
    cr_assert(count == 2 * NODES - 1);
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(clone));
    free(n);
}

#if EDGE_DATA
KERNEL_TEST(graphs, edge_data)
{
    kernels_register();
    cudaGraph_t graph = new_graph();
    struct cudaKernelNodeParams kernel = {.func = (void *)kernel_stub(KERNEL_EMPTY),
                                          .gridDim = dim(1, 1, 1),
                                          .blockDim = dim(1, 1, 1)};
    cudaGraphNode_t k[2], e[2], from[4], to[4];
    cudaGraphEdgeData data[4];
    size_t count;
    OK(cudaGraphAddKernelNode(&k[0], graph, NULL, 0, &kernel));
    OK(cudaGraphAddKernelNode(&k[1], graph, NULL, 0, &kernel));
    e[0] = empty_node(graph, NULL, 0);
    const cudaGraphEdgeData early = {.from_port = cudaGraphKernelNodePortProgrammatic,
                                     .type = cudaGraphDependencyTypeProgrammatic};
    const cudaGraphEdgeData launched = {.from_port = cudaGraphKernelNodePortLaunchCompletion};
    const cudaGraphEdgeData bad[] = {
        {.from_port = 3},
        {.to_port = 1},
        {.type = 2},
        {.reserved = {0, 0, 0, 0, 1}},
        {.from_port = cudaGraphKernelNodePortProgrammatic}, // needs the type
        {.type = cudaGraphDependencyTypeProgrammatic},      // needs a port
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        EXPECT(cudaErrorInvalidValue, add_edges(graph, &k[0], &k[1], &bad[i], 1));
    }
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &k[0], e, &early, 1));
    EXPECT(cudaErrorInvalidValue, add_edges(graph, e, &k[1], &launched, 1));
    OK(add_edges(graph, &k[0], &k[1], &early, 1));
    OK(add_edges(graph, &k[0], e, &launched, 1));
    EXPECT(cudaErrorInvalidValue, add_edges(graph, &k[0], &k[1], &early, 1));
    // Who does not ask for data must not lose any.
    count = 4;
    EXPECT(cudaErrorLossyQuery, get_edges(graph, from, to, NULL, &count));
    EXPECT(cudaErrorLossyQuery, get_dependencies(k[1], from, NULL, &count));
    EXPECT(cudaErrorLossyQuery, get_dependents(k[0], from, NULL, &count));
    OK(get_edges(graph, NULL, NULL, NULL, &count)); // a count loses nothing
    cr_assert(count == 2);
    EXPECT(cudaErrorInvalidValue, get_edges(graph, NULL, NULL, data, &count));
    EXPECT(cudaErrorInvalidValue, get_dependencies(k[1], NULL, data, &count));
    count = 4;
    memset(data, 0x55, sizeof(data));
    OK(get_edges(graph, from, to, data, &count));
    cr_assert(count == 2 && from[0] == k[0] && to[0] == k[1]);
    cr_assert(memcmp(&data[0], &early, sizeof(early)) == 0);
    cr_assert(memcmp(&data[1], &launched, sizeof(launched)) == 0);
    count = 1;
    OK(get_dependencies(e[0], from, data, &count));
    cr_assert(count == 1 && from[0] == k[0] &&
              data[0].from_port == cudaGraphKernelNodePortLaunchCompletion);
    EXPECT(cudaErrorInvalidValue, remove_edges(graph, &k[0], &k[1], NULL, 1)); // other data
    OK(remove_edges(graph, &k[0], &k[1], &early, 1));
    struct cudaGraphNodeParams empty = {.type = cudaGraphNodeTypeEmpty};
    EXPECT(cudaErrorInvalidValue, add_node(&e[1], graph, &k[1], &early, 1, &empty));
    OK(add_node(&e[1], graph, &k[1], &launched, 1, &empty));
    count = 1;
    OK(get_dependents(k[1], to, data, &count));
    cr_assert(count == 1 && to[0] == e[1] && data[0].from_port == launched.from_port);
    OK(cudaGraphDestroy(graph));
}
#endif

Test(graphs, clones)
{
    cudaGraph_t graph = new_graph(), inner = new_graph(), clone, second, child, child_clone;
    cudaGraphNode_t n[3], in[2], found, again;
    size_t count;
    in[0] = empty_node(inner, NULL, 0);
    in[1] = empty_node(inner, in, 1);
    n[0] = empty_node(graph, NULL, 0);
    OK(cudaGraphAddChildGraphNode(&n[1], graph, n, 1, inner));
    n[2] = empty_node(graph, &n[1], 1);
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphClone(&second, clone));
    cr_assert(node_count(clone) == 3 && node_count(second) == 3);
    for (int i = 0; i < 3; i++) {
        OK(cudaGraphNodeFindInClone(&found, n[i], clone));
        cr_assert(found != n[i]);
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&again, n[i], second));
        OK(cudaGraphNodeFindInClone(&again, found, second));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&again, found, graph));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&again, found, clone));
    }
    // The child was copied twice: into the node, and with it.
    OK(cudaGraphChildGraphNodeGetGraph(n[1], &child));
    cr_assert(child != inner && node_count(child) == 2);
    OK(cudaGraphNodeFindInClone(&found, in[0], child));
    OK(cudaGraphNodeFindInClone(&found, n[1], clone));
    OK(cudaGraphChildGraphNodeGetGraph(found, &child_clone));
    cr_assert(child_clone != child && node_count(child_clone) == 2);
    // Copies go their own ways.
    OK(cudaGraphDestroyNode(in[0]));
    empty_node(child, NULL, 0);
    OK(cudaGraphDestroyNode(n[0]));
    cr_assert(node_count(inner) == 1 && node_count(child) == 3 && node_count(child_clone) == 2);
    cr_assert(node_count(graph) == 2 && node_count(clone) == 3);
    OK(get_edges(clone, NULL, NULL, NULL, &count));
    cr_assert(count == 2);
    // The original node may be gone, but then its handle says nothing any more.
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, n[0], clone));
    // A removed copy is not found.
    OK(cudaGraphNodeFindInClone(&found, n[2], clone));
    OK(cudaGraphDestroyNode(found));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeFindInClone(&found, n[2], clone));
    // An embedded graph is its node's.
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(child));
    OK(cudaGraphDestroyNode(n[1]));
    EXPECT(cudaErrorInvalidValue, cudaGraphGetNodes(child, NULL, &count));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(inner));
    OK(cudaGraphDestroy(second));
    OK(cudaGraphDestroy(clone));
}

// ---- destroying in every order ----

enum { OBJECTS = 5 };

static void destroy_in_order(const int *order, bool with_launch)
{
    // 0: graph, 1: its clone, 2: the graph that was cloned into its child, 3: a node of it, 4: an
    // exec (a clone's clone where nothing can be instantiated)
    cudaGraph_t graph = new_graph(), inner = new_graph(), clone;
    cudaGraphNode_t node = empty_node(graph, NULL, 0), child;
    empty_node(inner, NULL, 0);
    OK(cudaGraphAddChildGraphNode(&child, graph, &node, 1, inner));
    OK(cudaGraphClone(&clone, graph));
    cudaGraphExec_t exec = NULL;
    cudaGraph_t embedded;
    OK(cudaGraphChildGraphNodeGetGraph(child, &embedded));
    if (with_launch) {
        OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
        OK(cudaGraphLaunch(exec, NULL));
    }
    bool graph_gone = false;
    for (int i = 0; i < OBJECTS; i++) {
        switch (order[i]) {
        case 0:
            OK(cudaGraphDestroy(graph));
            graph_gone = true;
            break;
        case 1:
            OK(cudaGraphDestroy(clone));
            break;
        case 2:
            OK(cudaGraphDestroy(inner));
            break;
        case 3:
            EXPECT(graph_gone ? cudaErrorInvalidValue : cudaSuccess, cudaGraphDestroyNode(node));
            break;
        default:
            if (with_launch) {
                OK(cudaGraphLaunch(exec, NULL));
                OK(cudaGraphExecDestroy(exec));
            }
            break;
        }
        size_t count = 0;
        EXPECT(graph_gone ? cudaErrorInvalidValue : cudaSuccess,
               cudaGraphGetNodes(embedded, NULL, &count));
    }
    OK(cudaDeviceSynchronize());
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    EXPECT(cudaErrorInvalidValue, cudaGraphDestroy(clone));
}

static void permute(int *order, int at, bool with_launch)
{
    if (at == OBJECTS) {
        destroy_in_order(order, with_launch);
        return;
    }
    for (int i = at; i < OBJECTS; i++) {
        int kept = order[at];
        order[at] = order[i];
        order[i] = kept;
        permute(order, at + 1, with_launch);
        order[i] = order[at];
        order[at] = kept;
    }
}

Test(graphs, destroyed_in_every_order)
{
    int order[OBJECTS] = {0, 1, 2, 3, 4};
    permute(order, 0, false);
}

Test(graphs, destroyed_in_every_order_with_execs)
{
    int order[OBJECTS] = {0, 1, 2, 3, 4};
    permute(order, 0, true);
}

// ---- user objects ----

static int destroyed[4];

static void CUDART_CB count_destroyed(void *argument)
{
    void *memory;
    cr_expect(cudaMalloc(&memory, 16) == cudaErrorNotPermitted);
    ++*(int *)argument;
}

static cudaUserObject_t new_object(int *counter, unsigned references)
{
    cudaUserObject_t object;
    OK(cudaUserObjectCreate(&object, counter, count_destroyed, references,
                            cudaUserObjectNoDestructorSync));
    return object;
}

Test(graphs, user_object_errors)
{
    cudaUserObject_t o;
    cudaGraph_t graph = new_graph();
    EXPECT(cudaErrorInvalidValue, cudaUserObjectCreate(NULL, NULL, count_destroyed, 1, 1));
    EXPECT(cudaErrorInvalidValue, cudaUserObjectCreate(&o, NULL, NULL, 1, 1));
    EXPECT(cudaErrorInvalidValue, cudaUserObjectCreate(&o, NULL, count_destroyed, 0, 1));
    EXPECT(cudaErrorInvalidValue, cudaUserObjectCreate(&o, NULL, count_destroyed, 1u << 31, 1));
    EXPECT(cudaErrorInvalidValue, cudaUserObjectCreate(&o, NULL, count_destroyed, 1, 0));
    EXPECT(cudaErrorInvalidValue, cudaUserObjectCreate(&o, NULL, count_destroyed, 1, 3));
    o = new_object(&destroyed[0], 2);
    for (int i = 0; i < 2; i++) {
        const unsigned bad = i ? 1u << 31 : 0;
        EXPECT(cudaErrorInvalidValue, cudaUserObjectRetain(o, bad));
        EXPECT(cudaErrorInvalidValue, cudaUserObjectRelease(o, bad));
        EXPECT(cudaErrorInvalidValue, cudaGraphRetainUserObject(graph, o, bad, 0));
        EXPECT(cudaErrorInvalidValue, cudaGraphReleaseUserObject(graph, o, bad));
    }
    EXPECT(cudaErrorInvalidValue, cudaUserObjectRelease(o, 3)); // more than there are
    EXPECT(cudaErrorInvalidValue, cudaGraphRetainUserObject(graph, o, 1, 2));
    EXPECT(cudaErrorInvalidValue, cudaGraphRetainUserObject(graph, o, 3, cudaGraphUserObjectMove));
    EXPECT(cudaErrorInvalidValue, cudaGraphReleaseUserObject(graph, o, 1)); // it has none
    EXPECT(cudaErrorInvalidValue, cudaUserObjectRetain(NULL, 1));
    EXPECT(cudaErrorInvalidValue, cudaUserObjectRelease((cudaUserObject_t)(void *)graph, 1));
    cr_assert(destroyed[0] == 0);
    OK(cudaUserObjectRelease(o, 2));
    cr_assert(destroyed[0] == 1);
    EXPECT(cudaErrorInvalidValue, cudaUserObjectRelease(o, 1));
    EXPECT(cudaErrorInvalidValue, cudaUserObjectRetain(o, 1));
    OK(cudaGraphDestroy(graph));
}

Test(graphs, user_objects_are_destroyed_once)
{
    cudaGraph_t graph = new_graph(), clone, parent = new_graph();
    cudaGraphNode_t child;
    cudaUserObject_t moved = new_object(&destroyed[0], 1);
    cudaUserObject_t shared = new_object(&destroyed[1], 1);
    OK(cudaGraphRetainUserObject(graph, moved, 1, cudaGraphUserObjectMove));
    EXPECT(cudaErrorInvalidValue, cudaUserObjectRelease(moved, 1)); // it is the graph's now
    OK(cudaGraphRetainUserObject(graph, shared, 3, 0));
    OK(cudaGraphReleaseUserObject(graph, shared, 2));
    EXPECT(cudaErrorInvalidValue, cudaGraphReleaseUserObject(graph, shared, 2));
    OK(cudaUserObjectRetain(shared, 4));
    OK(cudaUserObjectRelease(shared, 5));
    cr_assert(destroyed[0] == 0 && destroyed[1] == 0);
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphAddChildGraphNode(&child, parent, NULL, 0, graph));
    OK(cudaGraphDestroy(graph));
    cr_assert(destroyed[0] == 0 && destroyed[1] == 0);
    OK(cudaGraphDestroyNode(child));
    cr_assert(destroyed[0] == 0 && destroyed[1] == 0);
    OK(cudaGraphReleaseUserObject(clone, shared, 1));
    cr_assert(destroyed[0] == 0 && destroyed[1] == 1);
    OK(cudaGraphDestroy(clone));
    cr_assert(destroyed[0] == 1 && destroyed[1] == 1);
    OK(cudaGraphDestroy(parent));
}

// ---- DOT ----

static char *dot_of(cudaGraph_t graph, unsigned flags)
{
    char path[] = "/tmp/irt-dot-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    OK(cudaGraphDebugDotPrint(graph, path, flags));
    enum { LIMIT = 1 << 16 };
    char *text = calloc(1, LIMIT);
    cr_assert(read(fd, text, LIMIT - 1) > 0);
    close(fd);
    unlink(path);
    return text;
}

// Braces match outside of strings, strings end, records have balanced fields, and every edge names
// two nodes that are declared.
static void check_dot(const char *text, int nodes, int edges)
{
    int depth = 0, field = 0, found_nodes = 0, found_edges = 0;
    bool quoted = false;
    cr_assert(strncmp(text, "digraph dot {\n", 14) == 0);
    for (const char *c = text; *c; c++) {
        if (quoted && *c == '\\') {
            cr_assert(*++c);
        } else if (*c == '"') {
            quoted = !quoted;
            cr_assert(field == 0);
        } else if (*c == '{' || *c == '}') {
            int *level = quoted ? &field : &depth;
            *level += *c == '{' ? 1 : -1;
            cr_assert(*level >= 0);
        } else if (!quoted && strncmp(c, " -> ", 4) == 0) {
            found_edges++;
        } else if (!quoted && strncmp(c, "[shape=", 7) == 0) {
            found_nodes++;
        }
    }
    cr_assert(depth == 0 && !quoted && field == 0);
    cr_assert(found_nodes == nodes && found_edges == edges, "%d nodes, %d edges in\n%s",
              found_nodes, found_edges, text);
}

KERNEL_TEST(graphs, dot)
{
    kernels_register();
    cudaGraph_t graph = new_graph(), inner = new_graph();
    cudaGraphNode_t n[5], in;
    void *memory;
    int value = 5, count = 1;
    OK(cudaMalloc(&memory, 256));
    void *arguments[] = {&memory, &value, &count};
    struct cudaKernelNodeParams kernel = {.func = (void *)kernel_stub(KERNEL_FILL),
                                          .gridDim = dim(3, 1, 1),
                                          .blockDim = dim(17, 1, 1),
                                          .kernelParams = arguments};
    struct cudaMemsetParams fill = {
        .dst = memory, .value = 77, .elementSize = 4, .width = 10, .height = 1};
    in = empty_node(inner, NULL, 0);
    OK(cudaGraphAddMemsetNode(&in, inner, &in, 1, &fill));
    OK(cudaGraphAddKernelNode(&n[0], graph, NULL, 0, &kernel));
    OK(cudaGraphAddMemcpyNode1D(&n[1], graph, n, 1, (char *)memory + 128, memory, 64,
                                cudaMemcpyDeviceToDevice));
    OK(cudaGraphAddChildGraphNode(&n[2], graph, &n[1], 1, inner));
    struct cudaHostNodeParams host = {.fn = count_destroyed};
    OK(cudaGraphAddHostNode(&n[3], graph, n, 3, &host));
    static const unsigned flags[] = {
        0,
        cudaGraphDebugDotFlagsVerbose,
        cudaGraphDebugDotFlagsKernelNodeParams,
        cudaGraphDebugDotFlagsMemcpyNodeParams | cudaGraphDebugDotFlagsMemsetNodeParams,
        cudaGraphDebugDotFlagsHostNodeParams | cudaGraphDebugDotFlagsEventNodeParams,
        cudaGraphDebugDotFlagsKernelNodeAttributes | cudaGraphDebugDotFlagsHandles,
        cudaGraphDebugDotFlagsExtSemasSignalNodeParams |
            cudaGraphDebugDotFlagsExtSemasWaitNodeParams,
    };
    for (size_t i = 0; i < LENGTH(flags); i++) {
        char *text = dot_of(graph, flags[i]);
        check_dot(text, 6, 6);
        cr_assert(strstr(text, "k_fill") && strstr(text, "DtoD"));
        cr_assert(!strstr(text, "{17,1,1}") == !(flags[i] == 1 || flags[i] == flags[2]));
        cr_assert(!strstr(text, "{77}") == !(flags[i] == 1 || flags[i] == flags[3]));
        free(text);
    }
    EXPECT(cudaErrorOperatingSystem, cudaGraphDebugDotPrint(graph, "/nonexistent/x.dot", 0));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(inner));
    OK(cudaFree(memory));
}

// ---- numbers ----

#if CUDART_VERSION >= 13010
Test(graphs, numbers)
{
    cudaGraph_t graph = new_graph(), other = new_graph(), clone, containing;
    cudaGraphNode_t n[2] = {empty_node(graph, NULL, 0), empty_node(graph, NULL, 0)}, found;
    unsigned id[3], local[3];
    unsigned long long tools[2];
    OK(cudaGraphGetId(graph, &id[0]));
    OK(cudaGraphGetId(other, &id[1]));
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphGetId(clone, &id[2]));
    cr_assert(id[0] != id[1] && id[0] != id[2] && id[1] != id[2]);
    OK(cudaGraphNodeGetLocalId(n[0], &local[0]));
    OK(cudaGraphNodeGetLocalId(n[1], &local[1]));
    OK(cudaGraphNodeFindInClone(&found, n[1], clone));
    OK(cudaGraphNodeGetLocalId(found, &local[2]));
    cr_assert(local[0] != local[1] && local[1] == local[2]);
    OK(cudaGraphNodeGetToolsId(n[1], &tools[0]));
    OK(cudaGraphNodeGetToolsId(found, &tools[1]));
    cr_assert(tools[0] != tools[1]);
    OK(cudaGraphNodeGetContainingGraph(found, &containing));
    cr_assert(containing == clone);
    char name[64];
    snprintf(name, sizeof(name), "graph_%u_node_%u", id[0], local[1]);
    char *text = dot_of(graph, 0);
    cr_assert(strstr(text, name), "%s", text);
    free(text);
    for (int i = 0; i < BAD_COUNT; i++) {
        cudaGraphNode_t node = bad_node(i, graph);
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetLocalId(node, &local[0]));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetToolsId(node, &tools[0]));
        EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetContainingGraph(node, &containing));
    }
    EXPECT(cudaErrorInvalidValue, cudaGraphGetId(graph, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphGetId(NULL, &id[0]));
    EXPECT(cudaErrorInvalidValue, cudaGraphGetId((cudaGraph_t)(void *)n[0], &id[0]));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetLocalId(n[0], NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetToolsId(n[0], NULL));
    EXPECT(cudaErrorInvalidValue, cudaGraphNodeGetContainingGraph(n[0], NULL));
    OK(cudaGraphDestroy(graph));
    OK(cudaGraphDestroy(other));
    OK(cudaGraphDestroy(clone));
}
#endif

// ---- several threads ----

static void *churn(void *argument)
{
    cudaGraph_t shared = argument, mine;
    for (int i = 0; i < 300; i++) {
        cudaGraphNode_t node, list[16];
        size_t count = LENGTH(list);
        if (cudaGraphAddEmptyNode(&node, shared, NULL, 0) == cudaSuccess && i % 2) {
            cudaGraphDestroyNode(node);
        }
        cudaGraphGetNodes(shared, list, &count);
        cudaGraphDestroyNode(list[0]); // perhaps another thread was faster
        if (cudaGraphClone(&mine, shared) == cudaSuccess) {
            OK(cudaGraphDestroy(mine));
        }
    }
    return NULL;
}

// "Graph objects are not threadsafe": nothing is promised, but that nothing breaks.
Test(graphs, one_graph_from_several_threads)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    cudaGraph_t graph = new_graph();
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, churn, graph);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    OK(cudaGraphDestroy(graph));
}
