// SPDX-License-Identifier: Apache-2.0
//
// From the clone of a graph to the list of nodes that a backend gets: children written out, bodies
// behind their conditional node, everything in an order that respects the edges.
#include <stdlib.h>

#include "shim/core/api_rules.h"
#include "shim/core/external.h"
#include "shim/graph/graph_exec.h"
#include "shim/core/stream.h"

// ---- one node ----

static enum irtb_graph_node_kind conditional_kind(enum cudaGraphConditionalNodeType type)
{
    switch (type) {
    case cudaGraphCondTypeIf:
        return IRTB_GRAPH_IF;
    case cudaGraphCondTypeWhile:
        return IRTB_GRAPH_WHILE;
    case cudaGraphCondTypeSwitch:
        return IRTB_GRAPH_SWITCH;
    }
    return IRTB_GRAPH_IF;
}

static void compile_kernel(const struct irt_kernel_params *params, struct irtb_graph_node *node)
{
    node->kind = IRTB_GRAPH_LAUNCH;
    node->launch = (struct irtb_launch){
        .function = params->loaded->function,
        .grid = {params->grid.x, params->grid.y, params->grid.z},
        .block = {params->block.x, params->block.y, params->block.z},
        .cluster = {params->cluster.x, params->cluster.y, params->cluster.z},
        .dynamic_shared = params->shared,
        .cooperative = params->cooperative,
        .arguments = params->arguments,
    };
}

// For functions that are not the application's.
static void call(void (*function)(void *), void *argument)
{
    function(argument);
}

cudaError_t irt_exec_node_compile(const struct irt_exec_node *owner,
                                  struct irtb_graph_node *ret_node)
{
    const struct irt_params *params = &owner->node->params;
    struct irtb_graph_node node = {
        .kind = IRTB_GRAPH_EMPTY, .disabled = owner->disabled, .device = params->device->id};
    switch (params->type) {
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeMemAlloc: // graph_memory.h does what there is to do
    case cudaGraphNodeTypeMemFree:
        break;
    case cudaGraphNodeTypeKernel:
        compile_kernel(&params->kernel, &node);
        break;
    case cudaGraphNodeTypeMemcpy:
        if (params->copy.box.width) {
            node.kind = IRTB_GRAPH_COPY;
            node.copy = params->copy.box;
        }
        break;
    case cudaGraphNodeTypeMemset:
        if (params->fill.box.width && params->fill.box.height && params->fill.box.depth) {
            node.kind = IRTB_GRAPH_FILL;
            node.fill = params->fill.box;
        }
        break;
    case cudaGraphNodeTypeHost:
        node.kind = IRTB_GRAPH_HOST;
        node.host.run = irt_run_host_function;
        node.host.function = params->host.function;
        node.host.argument = params->host.argument;
        break;
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        node.kind =
            params->type == cudaGraphNodeTypeEventRecord ? IRTB_GRAPH_RECORD : IRTB_GRAPH_WAIT;
        node.event = params->event->backend;
        break;
    case cudaGraphNodeTypeConditional:
        node.kind = conditional_kind(params->conditional.type);
        break;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        node.kind = IRTB_GRAPH_HOST;
        node.host.run = call;
        node.host.function = irt_semaphore_operation_run;
        node.host.argument = params->fence.operation;
        break;
    default:
        return irt_unsupported("a graph node of a new type");
    }
    *ret_node = node;
    return cudaSuccess;
}

// ---- the list ----

static void count_node(struct irt_node *node, void *context)
{
    (void)node;
    ++*(size_t *)context;
}

static size_t condition_index(const struct irt_exec_list *list, cudaGraphConditionalHandle handle)
{
    size_t i = 0;
    while (i < list->condition_count && list->conditions[i].handle != handle) {
        i++;
    }
    return i;
}

static cudaError_t add_conditions(struct irt_exec_list *list, const struct irt_graph *graph)
{
    size_t total = list->condition_count + graph->condition_count;
    if (!graph->condition_count) {
        return cudaSuccess;
    }
    struct irtb_graph_condition *made = realloc(list->conditions, total * sizeof *made);
    if (!made) {
        return cudaErrorMemoryAllocation;
    }
    list->conditions = made;
    for (size_t i = 0; i < graph->condition_count; i++) {
        const struct irt_condition *condition = &graph->conditions[i];
        if (condition_index(list, condition->handle) == list->condition_count) {
            made[list->condition_count++] =
                (struct irtb_graph_condition){.handle = condition->handle,
                                              .initial = condition->value,
                                              .assign = condition->assign};
        }
    }
    return cudaSuccess;
}

static cudaError_t add_graph(struct irt_exec_list *list, struct irt_graph *graph);

// The bodies follow their node; how many nodes each has is known afterwards.
static cudaError_t add_bodies(struct irt_exec_list *list, size_t index,
                              const struct irt_conditional_params *params)
{
    uint32_t *sizes = calloc(params->count + 1, sizeof *sizes);
    if (!sizes) {
        return cudaErrorMemoryAllocation;
    }
    list->nodes[index].conditional.body_sizes = sizes;
    list->nodes[index].conditional.body_count = params->count;
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < params->count && !error; i++) {
        size_t before = list->count;
        error = add_graph(list, params->bodies[i]);
        sizes[i] = (uint32_t)(list->count - before);
    }
    return error;
}

static cudaError_t add_node(struct irt_exec_list *list, struct irt_node *node)
{
    struct irt_params *params = &node->params;
    if (params->type == cudaGraphNodeTypeGraph) {
        return add_graph(list, params->child);
    }
    size_t index = list->count;
    list->owners[index] =
        (struct irt_exec_node){.node = node, .origin = node->origin, .index = (uint32_t)index};
    cudaError_t error = irt_exec_node_compile(&list->owners[index], &list->nodes[index]);
    if (error) {
        return error;
    }
    list->count++;
    if (params->type == cudaGraphNodeTypeMemAlloc || params->type == cudaGraphNodeTypeMemFree) {
        bool alloc = params->type == cudaGraphNodeTypeMemAlloc;
        list->memory[list->memory_count++] = (struct irt_graph_memory_step){
            .ptr = alloc ? params->alloc.given.dptr : params->free, .alloc = alloc};
    }
    if (params->type == cudaGraphNodeTypeEventRecord) {
        list->records[list->record_count++] = (uint32_t)index;
    }
    if (params->type == cudaGraphNodeTypeConditional) {
        error = add_bodies(list, index, &params->conditional);
    }
    return error;
}

static cudaError_t add_graph(struct irt_exec_list *list, struct irt_graph *graph)
{
    struct irt_node **order = malloc((graph->node_count + 1) * sizeof *order);
    if (!order) {
        return cudaErrorMemoryAllocation;
    }
    cudaError_t error = add_conditions(list, graph);
    irt_graph_sort_locked(graph, order);
    for (size_t i = 0; i < graph->node_count && !error; i++) {
        error = add_node(list, order[i]);
    }
    free(order);
    return error;
}

void irt_exec_list_free(struct irt_exec_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->owners[i].node->params.type == cudaGraphNodeTypeConditional) {
            free((void *)list->nodes[i].conditional.body_sizes);
        }
    }
    free(list->nodes);
    free(list->owners);
    free(list->conditions);
    free(list->memory);
    free(list->records);
    free(list->sorted);
    *list = (struct irt_exec_list){.nodes = NULL};
}

static int by_origin(const void *a, const void *b, void *context)
{
    const struct irt_exec_list *list = context;
    uint64_t left = list->owners[*(const uint32_t *)a].origin;
    uint64_t right = list->owners[*(const uint32_t *)b].origin;
    return (left > right) - (left < right);
}

void irt_exec_list_sort(struct irt_exec_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        list->sorted[i] = (uint32_t)i;
    }
    qsort_r(list->sorted, list->count, sizeof *list->sorted, by_origin, list);
}

struct irt_exec_node *irt_exec_list_find(const struct irt_exec_list *list, uint64_t id)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list->owners[list->sorted[middle]].origin < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < list->count && list->owners[list->sorted[low]].origin == id) {
        return &list->owners[list->sorted[low]];
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->owners[i].updated == id) {
            return &list->owners[i];
        }
    }
    return NULL;
}

cudaError_t irt_exec_list_make_locked(struct irt_graph *clone, struct irt_exec_list *ret_list)
{
    struct irt_exec_list list = {.nodes = NULL};
    size_t count = 1;
    irt_graph_each_locked(clone, count_node, &count);
    list.nodes = calloc(count, sizeof *list.nodes);
    list.owners = calloc(count, sizeof *list.owners);
    list.memory = calloc(count, sizeof *list.memory);
    list.records = calloc(count, sizeof *list.records);
    list.sorted = calloc(count, sizeof *list.sorted);
    cudaError_t error = list.nodes && list.owners && list.memory && list.records && list.sorted
                            ? add_graph(&list, clone)
                            : cudaErrorMemoryAllocation;
    // A handle may stand in a graph further out than its node: known only now.
    for (size_t i = 0; i < list.count && !error; i++) {
        const struct irt_params *params = &list.owners[i].node->params;
        if (params->type == cudaGraphNodeTypeConditional) {
            size_t index = condition_index(&list, params->conditional.handle);
            list.nodes[i].conditional.condition = (uint32_t)index;
            error = index < list.condition_count ? cudaSuccess : cudaErrorInvalidValue;
        }
    }
    if (error) {
        irt_exec_list_free(&list);
        return error;
    }
    irt_exec_list_sort(&list);
    *ret_list = list;
    return cudaSuccess;
}
