// SPDX-License-Identifier: Apache-2.0
//
// Graphs, nodes and edges as objects: handles, order, circles, copies (graph.h). Source of the
// rules: CUDA Runtime API, "Graph Management".
#include "shim/graph/graph.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "shim/util/handle.h"

struct irt_mutex irt_graph_lock = IRT_MUTEX_INIT(IRT_RANK_GRAPH);

// Objects are freed by irt_graph_release; a handle only finds them, and is closed with the lock
// held.
static struct irt_handle_table graphs = IRT_HANDLE_TABLE(IRT_HANDLE_GRAPH, NULL);
static struct irt_handle_table nodes = IRT_HANDLE_TABLE(IRT_HANDLE_NODE, NULL);

static _Atomic uint64_t last_node_id;
static _Atomic unsigned last_graph_id;
static uint64_t last_visit; // guarded by the lock

// ---- finding ----

cudaError_t irt_graph_find_locked(cudaGraph_t handle, struct irt_graph **ret_graph)
{
    struct irt_graph *graph = irt_handle_get(&graphs, handle);
    if (!graph) {
        return cudaErrorInvalidValue;
    }
    irt_handle_put(&graphs, handle);
    *ret_graph = graph;
    return cudaSuccess;
}

cudaError_t irt_node_find_locked(cudaGraphNode_t handle, struct irt_node **ret_node)
{
    struct irt_node *node = irt_handle_get(&nodes, handle);
    if (!node) {
        return cudaErrorInvalidValue;
    }
    irt_handle_put(&nodes, handle);
    *ret_node = node;
    return cudaSuccess;
}

// ---- making and giving back ----

cudaError_t irt_graph_new(bool visible, struct irt_graph **ret_graph)
{
    struct irt_graph *graph = calloc(1, sizeof(*graph));
    if (!graph) {
        return cudaErrorMemoryAllocation;
    }
    graph->id = atomic_fetch_add_explicit(&last_graph_id, 1, memory_order_relaxed) + 1;
    if (visible) {
        graph->handle = irt_handle_open(&graphs, graph);
        if (!graph->handle) {
            free(graph);
            return cudaErrorMemoryAllocation;
        }
    }
    *ret_graph = graph;
    return cudaSuccess;
}

static struct irt_node *new_node(struct irt_graph *graph, bool visible)
{
    struct irt_node *node = calloc(1, sizeof(*node));
    if (!node) {
        return NULL;
    }
    node->params.type = cudaGraphNodeTypeEmpty;
    node->id = atomic_fetch_add_explicit(&last_node_id, 1, memory_order_relaxed) + 1;
    node->graph = graph;
    if (visible) {
        node->handle = irt_handle_open(&nodes, node);
        if (!node->handle) {
            free(node);
            return NULL;
        }
    }
    return node;
}

static void append(struct irt_graph *graph, struct irt_node *node)
{
    node->previous = graph->last;
    if (graph->last) {
        graph->last->next = node;
    } else {
        graph->first = node;
    }
    graph->last = node;
    graph->node_count++;
}

static void unlink_node(struct irt_graph *graph, struct irt_node *node)
{
    if (node->previous) {
        node->previous->next = node->next;
    } else {
        graph->first = node->next;
    }
    if (node->next) {
        node->next->previous = node->previous;
    } else {
        graph->last = node->previous;
    }
    graph->node_count--;
}

static void free_node(struct irt_node *node)
{
    free(node->in.list);
    free(node->out.list);
    free(node);
}

static void close_params_locked(struct irt_graph *graph, struct irt_params *params)
{
    switch ((int)params->type) {
    case cudaGraphNodeTypeGraph:
        if (params->child) {
            irt_graph_close_locked(params->child);
        }
        break;
    case cudaGraphNodeTypeConditional:
        for (unsigned i = 0; i < params->conditional.count; i++) {
            if (params->conditional.bodies[i]) {
                irt_graph_close_locked(params->conditional.bodies[i]);
            }
        }
        break;
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
        if (graph->handle) {
            irt_graph_forget_memory_locked(graph, params);
        }
        break;
    default:
        break;
    }
}

void irt_graph_close_locked(struct irt_graph *graph)
{
    for (struct irt_node *node = graph->first; node; node = node->next) {
        close_params_locked(graph, &node->params);
        if (node->handle) {
            irt_handle_close(&nodes, node->handle);
            node->handle = NULL;
        }
    }
    if (graph->handle) {
        irt_handle_close(&graphs, graph->handle);
        graph->handle = NULL;
    }
}

void irt_graph_release(struct irt_graph *graph)
{
    for (struct irt_node *node = graph->first, *next; node; node = next) {
        next = node->next;
        irt_params_release(&node->params);
        free_node(node);
    }
    for (size_t i = 0; i < graph->object_count; i++) {
        irt_user_object_unref(graph->objects[i].object, graph->objects[i].count);
    }
    free(graph->objects);
    free(graph->conditions);
    free(graph);
}

// ---- reset of a device ----

struct reset {
    const struct irt_device *device;
    struct irt_graph *closed;
    bool found; // by look_for_device in the graph at hand
};

static void look_for_device(struct irt_node *node, void *context)
{
    struct reset *reset = context;
    enum cudaGraphNodeType type = node->params.type;
    reset->found |= node->params.device == reset->device && type != cudaGraphNodeTypeEmpty &&
                    type != cudaGraphNodeTypeHost && type != cudaGraphNodeTypeGraph;
}

static void close_if_affected(void *handle, void *object, void *context)
{
    struct irt_graph *graph = object;
    struct reset *reset = context;
    (void)handle; // graph->handle may not be written yet: such a graph is still empty
    // Graphs inside others go with them; none is captured where a device can be reset.
    if (graph->owner || graph->capture) {
        return;
    }
    reset->found = false;
    irt_graph_each_locked(graph, look_for_device, reset);
    if (reset->found) {
        irt_graph_close_locked(graph);
        graph->next_closed = reset->closed;
        reset->closed = graph;
    }
}

void irt_graph_reset_device(struct irt_device *device)
{
    struct reset reset = {.device = device};
    irt_mutex_lock(&irt_graph_lock);
    irt_handle_each(&graphs, close_if_affected, &reset);
    irt_mutex_unlock(&irt_graph_lock);
    while (reset.closed) {
        struct irt_graph *graph = reset.closed;
        reset.closed = graph->next_closed;
        irt_graph_release(graph);
    }
}

// ---- edges ----

static bool push_edge(struct irt_edges *edges, struct irt_node *node, const cudaGraphEdgeData *data)
{
    if (edges->count == edges->capacity) {
        size_t capacity = edges->capacity ? edges->capacity * 2 : 4;
        struct irt_edge *list = realloc(edges->list, capacity * sizeof(*list));
        if (!list) {
            return false;
        }
        edges->list = list;
        edges->capacity = capacity;
    }
    edges->list[edges->count++] = (struct irt_edge){node, *data};
    return true;
}

static bool same_data(const cudaGraphEdgeData *one, const cudaGraphEdgeData *other)
{
    return one->from_port == other->from_port && one->to_port == other->to_port &&
           one->type == other->type;
}

static struct irt_edge *find_edge(const struct irt_edges *edges, const struct irt_node *node,
                                  const cudaGraphEdgeData *data)
{
    for (size_t i = edges->count; i-- > 0;) {
        struct irt_edge *edge = &edges->list[i];
        if (edge->node == node && same_data(&edge->data, data)) {
            return edge;
        }
    }
    return NULL;
}

static void drop_edge(struct irt_edges *edges, struct irt_edge *edge)
{
    size_t index = (size_t)(edge - edges->list);
    edges->count--;
    memmove(edge, edge + 1, (edges->count - index) * sizeof(*edge));
}

static bool join(struct irt_node *from, struct irt_node *to, const cudaGraphEdgeData *data)
{
    if (!push_edge(&from->out, to, data)) {
        return false;
    }
    if (!push_edge(&to->in, from, data)) {
        from->out.count--;
        return false;
    }
    return true;
}

static void part(struct irt_node *from, struct irt_node *to, const cudaGraphEdgeData *data)
{
    drop_edge(&from->out, find_edge(&from->out, to, data));
    drop_edge(&to->in, find_edge(&to->in, from, data));
}

// "Only kernel nodes define non-zero ports"; a programmatic edge joins kernels and starts from one
// of the two special ports, and the programmatic port needs it.
static bool edge_allowed(enum cudaGraphNodeType from, enum cudaGraphNodeType to,
                         const cudaGraphEdgeData *data)
{
    static const unsigned char zero[sizeof(data->reserved)];
    if (data->to_port || memcmp(data->reserved, zero, sizeof(zero)) != 0 ||
        data->type > cudaGraphDependencyTypeProgrammatic ||
        data->from_port > cudaGraphKernelNodePortLaunchCompletion ||
        (data->from_port && from != cudaGraphNodeTypeKernel)) {
        return false;
    }
    if (data->type == cudaGraphDependencyTypeProgrammatic) {
        return from == cudaGraphNodeTypeKernel && to == cudaGraphNodeTypeKernel &&
               data->from_port != cudaGraphKernelNodePortDefault;
    }
    return data->from_port != cudaGraphKernelNodePortProgrammatic;
}

// Whether `target` is reached from `start` along edges.
static bool reaches(struct irt_node *start, const struct irt_node *target)
{
    uint64_t visit = ++last_visit;
    start->up = NULL;
    start->step = 0;
    start->visit = visit;
    for (struct irt_node *at = start; at;) {
        if (at == target) {
            return true;
        }
        if (at->step == at->out.count) {
            at = at->up;
            continue;
        }
        struct irt_node *next = at->out.list[at->step++].node;
        if (next->visit != visit) {
            next->visit = visit;
            next->up = at;
            next->step = 0;
            at = next;
        }
    }
    return false;
}

static const cudaGraphEdgeData plain;

cudaError_t irt_graph_connect_locked(struct irt_graph *graph, struct irt_node *const *from,
                                     struct irt_node *const *to, const cudaGraphEdgeData *data,
                                     size_t count)
{
    cudaError_t e = cudaSuccess;
    size_t done = 0;
    for (; done < count && !e; done++) {
        struct irt_node *a = from[done];
        struct irt_node *b = to[done];
        const cudaGraphEdgeData *edge = data ? &data[done] : &plain;
        if (a->graph != graph || b->graph != graph || a == b ||
            !edge_allowed(a->params.type, b->params.type, edge) || find_edge(&b->in, a, edge) ||
            reaches(b, a)) {
            e = cudaErrorInvalidValue;
            break;
        }
        if (!join(a, b, edge)) {
            e = cudaErrorMemoryAllocation;
            break;
        }
    }
    while (e && done > 0) {
        done--;
        part(from[done], to[done], data ? &data[done] : &plain);
    }
    return e;
}

cudaError_t irt_graph_disconnect_locked(struct irt_graph *graph, struct irt_node *const *from,
                                        struct irt_node *const *to, const cudaGraphEdgeData *data,
                                        size_t count)
{
    size_t done = 0;
    for (; done < count; done++) {
        const cudaGraphEdgeData *edge = data ? &data[done] : &plain;
        if (from[done]->graph != graph || to[done]->graph != graph ||
            !find_edge(&to[done]->in, from[done], edge)) {
            break;
        }
        part(from[done], to[done], edge);
    }
    if (done == count) {
        return cudaSuccess;
    }
    while (done > 0) { // the lists have room: nothing fails
        done--;
        join(from[done], to[done], data ? &data[done] : &plain);
    }
    return cudaErrorInvalidValue;
}

// ---- what is where ----

bool irt_graph_has_type_locked(const struct irt_graph *graph, enum cudaGraphNodeType type)
{
    for (const struct irt_node *node = graph->first; node; node = node->next) {
        const struct irt_params *p = &node->params;
        if (p->type == type ||
            (p->type == cudaGraphNodeTypeGraph && irt_graph_has_type_locked(p->child, type))) {
            return true;
        }
        for (unsigned i = 0; p->type == cudaGraphNodeTypeConditional && i < p->conditional.count;
             i++) {
            if (irt_graph_has_type_locked(p->conditional.bodies[i], type)) {
                return true;
            }
        }
    }
    return false;
}

bool irt_graph_has_memory_locked(const struct irt_graph *graph)
{
    return irt_graph_has_type_locked(graph, cudaGraphNodeTypeMemAlloc) ||
           irt_graph_has_type_locked(graph, cudaGraphNodeTypeMemFree);
}

// The conditional node in whose body the graph is, at any depth, or NULL.
static const struct irt_node *conditional_around(const struct irt_graph *graph)
{
    for (; graph->owner; graph = graph->owner->graph) {
        if (graph->owner->params.type == cudaGraphNodeTypeConditional) {
            return graph->owner;
        }
    }
    return NULL;
}

// "Allowed node types are kernel nodes, empty nodes, child graphs, memsets, memcopies, and
// conditionals. This applies recursively"; "all kernels … must belong to the same device context".
static cudaError_t check_in_body(const struct irt_params *params, const struct irt_device *device)
{
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeConditional:
        return params->device == device ? cudaSuccess : cudaErrorInvalidValue;
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeEmpty:
        return cudaSuccess;
    case cudaGraphNodeTypeGraph:
        for (const struct irt_node *n = params->child->first; n; n = n->next) {
            cudaError_t e = check_in_body(&n->params, device);
            if (e) {
                return e;
            }
        }
        return cudaSuccess;
    default:
        return cudaErrorNotSupported;
    }
}

// Whether a node with these parameters may be in the graph.
static cudaError_t check_place(const struct irt_graph *graph, const struct irt_params *params)
{
    const struct irt_node *conditional = conditional_around(graph);
    if (conditional) {
        return check_in_body(params, conditional->params.device);
    }
    if (graph->owner &&
        (params->type == cudaGraphNodeTypeMemAlloc || params->type == cudaGraphNodeTypeMemFree)) {
        return cudaErrorNotSupported; // the embedded graph of a child node
    }
    return cudaSuccess;
}

// The condition with that handle in the graph or one that it is in; NULL without.
static struct irt_condition *find_condition(struct irt_graph *graph,
                                            cudaGraphConditionalHandle handle)
{
    for (;;) {
        for (size_t i = 0; i < graph->condition_count; i++) {
            if (graph->conditions[i].handle == handle) {
                return &graph->conditions[i];
            }
        }
        if (!graph->owner) {
            return NULL;
        }
        graph = graph->owner->graph;
    }
}

// ---- adding, changing, removing ----

// The node has become the owner of the graphs in its parameters (NULL: a copy that failed).
static void own_graphs(struct irt_node *node)
{
    struct irt_params *p = &node->params;
    if (p->type == cudaGraphNodeTypeGraph && p->child) {
        p->child->owner = node;
    }
    for (unsigned i = 0; p->type == cudaGraphNodeTypeConditional && i < p->conditional.count; i++) {
        if (p->conditional.bodies[i]) {
            p->conditional.bodies[i]->owner = node;
        }
    }
}

static cudaError_t check_dependencies(const struct irt_graph *graph,
                                      struct irt_node *const *dependencies,
                                      const cudaGraphEdgeData *data, size_t count,
                                      enum cudaGraphNodeType type)
{
    uint64_t visit = ++last_visit;
    for (size_t i = 0; i < count; i++) {
        struct irt_node *node = dependencies[i];
        if (node->graph != graph || node->visit == visit ||
            (data && !edge_allowed(node->params.type, type, &data[i]))) {
            return cudaErrorInvalidValue;
        }
        node->visit = visit;
    }
    return cudaSuccess;
}

cudaError_t irt_graph_add_locked(struct irt_graph *graph, struct irt_node *const *dependencies,
                                 const cudaGraphEdgeData *data, size_t count,
                                 struct irt_params *params, struct irt_node **ret_node)
{
    struct irt_condition *condition = NULL;
    cudaError_t e = check_dependencies(graph, dependencies, data, count, params->type);
    if (!e) {
        e = check_place(graph, params);
    }
    if (!e && params->type == cudaGraphNodeTypeConditional) {
        condition = find_condition(graph, params->conditional.handle);
        if (!condition || condition->used) {
            e = cudaErrorInvalidValue;
        }
    }
    if (e) {
        return e;
    }
    struct irt_node *node = new_node(graph, graph->handle != NULL);
    if (!node) {
        return cudaErrorMemoryAllocation;
    }
    size_t joined = 0;
    while (joined < count && join(dependencies[joined], node, data ? &data[joined] : &plain)) {
        joined++;
    }
    e = joined < count ? cudaErrorMemoryAllocation : cudaSuccess;
    if (!e &&
        (params->type == cudaGraphNodeTypeMemAlloc || params->type == cudaGraphNodeTypeMemFree)) {
        e = irt_graph_note_memory_locked(graph, params);
    }
    if (e) {
        while (joined > 0) {
            dependencies[--joined]->out.count--;
        }
        if (node->handle) {
            irt_handle_close(&nodes, node->handle);
        }
        free_node(node);
        return e;
    }
    if (condition) {
        condition->used = true;
    }
    node->local_id = graph->next_local_id++;
    node->params = *params;
    *params = (struct irt_params){.type = cudaGraphNodeTypeEmpty};
    own_graphs(node);
    append(graph, node);
    *ret_node = node;
    return cudaSuccess;
}

void irt_node_remove_locked(struct irt_node *node, struct irt_params *ret_params)
{
    struct irt_graph *graph = node->graph;
    for (size_t i = 0; i < node->in.count; i++) {
        const struct irt_edge *edge = &node->in.list[i];
        drop_edge(&edge->node->out, find_edge(&edge->node->out, node, &edge->data));
    }
    for (size_t i = 0; i < node->out.count; i++) {
        const struct irt_edge *edge = &node->out.list[i];
        drop_edge(&edge->node->in, find_edge(&edge->node->in, node, &edge->data));
    }
    close_params_locked(graph, &node->params);
    if (node->params.type == cudaGraphNodeTypeConditional) {
        struct irt_condition *condition = find_condition(graph, node->params.conditional.handle);
        if (condition) {
            condition->used = false;
        }
    }
    if (node->handle) {
        irt_handle_close(&nodes, node->handle);
    }
    unlink_node(graph, node);
    *ret_params = node->params;
    free_node(node);
}

cudaError_t irt_node_exchange_locked(struct irt_node *node, struct irt_params *params)
{
    if (params->type != node->params.type) {
        return cudaErrorInvalidValue;
    }
    if (params->type == cudaGraphNodeTypeMemAlloc || params->type == cudaGraphNodeTypeMemFree ||
        params->type == cudaGraphNodeTypeConditional ||
        (params->type == cudaGraphNodeTypeGraph &&
         irt_graph_has_memory_locked(node->params.child))) { // "Nodes … cannot be deleted"
        return cudaErrorNotSupported;
    }
    cudaError_t e = check_place(node->graph, params);
    if (!e) {
        struct irt_params old = node->params;
        node->params = *params;
        *params = old;
        own_graphs(node);
        if (old.type == cudaGraphNodeTypeGraph) {
            old.child->owner = NULL;
        }
    }
    return e;
}

// ---- order ----

void irt_graph_sort_locked(struct irt_graph *graph, struct irt_node **ret_order)
{
    uint64_t visit = ++last_visit;
    size_t count = 0;
    for (struct irt_node *root = graph->first; root; root = root->next) {
        if (root->visit == visit) {
            continue;
        }
        root->visit = visit;
        root->up = NULL;
        root->step = 0;
        for (struct irt_node *at = root; at;) {
            if (at->step == at->in.count) {
                at->mark = count;
                ret_order[count++] = at;
                at = at->up;
                continue;
            }
            struct irt_node *before = at->in.list[at->step++].node;
            if (before->visit != visit) {
                before->visit = visit;
                before->up = at;
                before->step = 0;
                at = before;
            }
        }
    }
}

void irt_graph_each_locked(struct irt_graph *graph, void (*visit)(struct irt_node *, void *),
                           void *context)
{
    for (struct irt_node *node = graph->first; node; node = node->next) {
        struct irt_params *p = &node->params;
        visit(node, context);
        if (p->type == cudaGraphNodeTypeGraph) {
            irt_graph_each_locked(p->child, visit, context);
        }
        for (unsigned i = 0; p->type == cudaGraphNodeTypeConditional && i < p->conditional.count;
             i++) {
            irt_graph_each_locked(p->conditional.bodies[i], visit, context);
        }
    }
}

// ---- copies ----

static void *copy_of(const void *source, size_t size, bool *ok)
{
    void *copy = size ? malloc(size) : NULL;
    *ok = *ok && (copy || !size);
    return copy ? memcpy(copy, source, size) : NULL;
}

static bool copy_edges(const struct irt_edges *edges, struct irt_node *const *by_mark,
                       struct irt_edges *ret_edges)
{
    bool ok = true;
    ret_edges->list = copy_of(edges->list, edges->count * sizeof(*edges->list), &ok);
    if (!ok) {
        return false;
    }
    ret_edges->count = ret_edges->capacity = edges->count;
    for (size_t i = 0; i < edges->count; i++) {
        ret_edges->list[i].node = by_mark[edges->list[i].node->mark];
    }
    return true;
}

static cudaError_t copy_nodes(struct irt_graph *graph, bool visible, struct irt_node **by_mark,
                              struct irt_graph *copy)
{
    size_t count = 0;
    for (struct irt_node *node = graph->first; node; node = node->next) {
        struct irt_node *made = new_node(copy, visible);
        if (!made) {
            return cudaErrorMemoryAllocation;
        }
        append(copy, made);
        made->origin = node->id;
        made->local_id = node->local_id;
        cudaError_t e = irt_params_copy(&node->params, visible, &made->params);
        own_graphs(made);
        if (e) {
            return e;
        }
        by_mark[count] = made;
        node->mark = count++;
    }
    struct irt_node *made = copy->first;
    for (struct irt_node *node = graph->first; node; node = node->next, made = made->next) {
        if (!copy_edges(&node->in, by_mark, &made->in) ||
            !copy_edges(&node->out, by_mark, &made->out)) {
            return cudaErrorMemoryAllocation;
        }
    }
    return cudaSuccess;
}

cudaError_t irt_graph_copy_locked(struct irt_graph *graph, bool visible,
                                  struct irt_graph **ret_copy)
{
    *ret_copy = NULL;
    struct irt_graph *copy;
    cudaError_t e = irt_graph_new(visible, &copy);
    if (e) {
        return e;
    }
    *ret_copy = copy;
    copy->origin = graph->id;
    copy->next_local_id = graph->next_local_id;
    bool ok = true;
    copy->conditions =
        copy_of(graph->conditions, graph->condition_count * sizeof(*graph->conditions), &ok);
    copy->condition_count = copy->conditions ? graph->condition_count : 0;
    copy->objects = copy_of(graph->objects, graph->object_count * sizeof(*graph->objects), &ok);
    copy->object_count = copy->objects ? graph->object_count : 0;
    for (size_t i = 0; i < copy->object_count; i++) {
        irt_user_object_ref_locked(copy->objects[i].object, copy->objects[i].count);
    }
    struct irt_node **by_mark = calloc(graph->node_count + 1, sizeof(struct irt_node *));
    e = ok && by_mark ? copy_nodes(graph, visible, by_mark, copy) : cudaErrorMemoryAllocation;
    free(by_mark);
    return e;
}

cudaError_t irt_graph_clone(cudaGraph_t handle, bool visible, struct irt_graph **ret_graph)
{
    struct irt_graph *graph;
    struct irt_graph *copy = NULL;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(handle, &graph);
    if (!e && visible &&
        (irt_graph_has_memory_locked(graph) ||
         irt_graph_has_type_locked(graph, cudaGraphNodeTypeConditional))) {
        e = cudaErrorInvalidValue;
    }
    if (!e) {
        e = irt_graph_copy_locked(graph, visible, &copy);
    }
    if (e && copy) {
        irt_graph_close_locked(copy);
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (!e) {
        *ret_graph = copy;
    } else if (copy) {
        irt_graph_release(copy);
    }
    return e;
}
