// SPDX-License-Identifier: Apache-2.0
//
// Plans: the nodes of a graph compiled into a list of steps, with a jump behind each body of a
// conditional node. See graph_plan.h.
#include "graph_plan.h"

#include <stdlib.h>
#include <string.h>

#include "exec_util.h"

// ---------------------------------------------------------------- plans

void exec_step_free(struct step *step)
{
    if (step->kind == STEP_LAUNCH) {
        free(step->launch.params);
    } else if (step->kind == STEP_IF || step->kind == STEP_WHILE || step->kind == STEP_SWITCH) {
        free(step->choice.targets);
    }
}

void exec_plan_unref(struct exec_plan *plan)
{
    if (plan && atomic_fetch_sub(&plan->refs, 1) == 1) {
        for (uint32_t i = 0; i < plan->count; i++) {
            exec_step_free(&plan->steps[i]);
        }
        free(plan->steps);
        free(plan->events);
        free(plan);
    }
}

static void *copy_of(const void *bytes, size_t size)
{
    size_t room = exec_align(size ? size : 1, 16);
    void *made = aligned_alloc(16, room);
    if (made && size) {
        memcpy(made, bytes, size);
    }
    return made;
}

// *to owns its parts even when this fails half way.
static bool step_copy(struct step *to, const struct step *from)
{
    *to = *from;
    if (from->kind == STEP_LAUNCH) {
        to->launch.params = copy_of(from->launch.params, from->launch.size);
        return to->launch.params != NULL;
    }
    if (from->kind == STEP_IF || from->kind == STEP_WHILE || from->kind == STEP_SWITCH) {
        to->choice.targets =
            copy_of(from->choice.targets, (from->choice.count + 1) * sizeof(uint32_t));
        return to->choice.targets != NULL;
    }
    return true;
}

static struct exec_plan *plan_create(uint32_t count, uint32_t event_count)
{
    struct exec_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        return NULL;
    }
    atomic_store(&plan->refs, 1);
    plan->steps = calloc(count ? count : 1, sizeof *plan->steps);
    plan->events = calloc(event_count ? event_count : 1, sizeof *plan->events);
    if (!plan->steps || !plan->events) {
        exec_plan_unref(plan);
        return NULL;
    }
    plan->count = count;
    plan->event_count = event_count;
    return plan;
}

struct exec_plan *exec_plan_copy(const struct exec_plan *from)
{
    struct exec_plan *plan = plan_create(from->count, from->event_count);
    for (uint32_t i = 0; plan && i < from->count; i++) {
        if (!step_copy(&plan->steps[i], &from->steps[i])) {
            plan->count = i + 1;
            exec_plan_unref(plan);
            plan = NULL;
        }
    }
    if (plan) {
        memcpy(plan->events, from->events, from->event_count * sizeof *plan->events);
    }
    return plan;
}

// ---------------------------------------------------------------- compiling

static enum step_kind kind_of(enum irtb_graph_node_kind kind)
{
    switch (kind) {
    case IRTB_GRAPH_EMPTY:
        return STEP_NOTHING;
    case IRTB_GRAPH_LAUNCH:
        return STEP_LAUNCH;
    case IRTB_GRAPH_COPY:
        return STEP_COPY;
    case IRTB_GRAPH_FILL:
        return STEP_FILL;
    case IRTB_GRAPH_HOST:
        return STEP_HOST;
    case IRTB_GRAPH_RECORD:
        return STEP_RECORD;
    case IRTB_GRAPH_WAIT:
        return STEP_WAIT;
    case IRTB_GRAPH_IF:
        return STEP_IF;
    case IRTB_GRAPH_WHILE:
        return STEP_WHILE;
    case IRTB_GRAPH_SWITCH:
        return STEP_SWITCH;
    }
    return STEP_NOTHING;
}

static cudaError_t fill_launch(const struct irtb_graph *graph, const struct irtb_launch *launch,
                               struct step *ret_step)
{
    const struct exec_param *params;
    uint32_t count, size;
    cudaError_t error =
        graph->hooks->launch(launch, &ret_step->launch.shape, &params, &count, &size);
    if (error) {
        return error;
    }
    unsigned char *block = aligned_alloc(16, exec_align(size ? size : 1, 16));
    if (!block) {
        return cudaErrorMemoryAllocation;
    }
    for (uint32_t i = 0; i < count; i++) {
        memcpy(block + params[i].offset, launch->arguments[i], params[i].size);
    }
    ret_step->launch.params = block;
    ret_step->launch.size = size;
    ret_step->launch.shape.graph = (struct irtb_graph *)graph;
    return cudaSuccess;
}

cudaError_t exec_step_fill(const struct irtb_graph *graph, const struct irtb_graph_node *node,
                           struct step *ret_step)
{
    struct step step = {.kind = (uint8_t)kind_of(node->kind),
                        .disabled = node->disabled,
                        .device = graph->hooks->device(node->device)};
    cudaError_t error = cudaSuccess;
    switch (node->kind) {
    case IRTB_GRAPH_LAUNCH:
        error = fill_launch(graph, &node->launch, &step);
        break;
    case IRTB_GRAPH_COPY:
        step.copy = node->copy;
        break;
    case IRTB_GRAPH_FILL:
        step.fill = node->fill;
        break;
    case IRTB_GRAPH_HOST:
        step.host.run = node->host.run;
        step.host.function = node->host.function;
        step.host.argument = node->host.argument;
        break;
    case IRTB_GRAPH_RECORD:
    case IRTB_GRAPH_WAIT:
        step.event.event = node->event;
        break;
    default:
        break;
    }
    if (!error) {
        *ret_step = step;
    }
    return error;
}

struct compiler {
    struct irtb_graph *graph;
    const struct irtb_graph_node *nodes;
    struct exec_plan *plan;
    uint32_t next_step, next_event;
};

bool exec_node_is_choice(const struct irtb_graph_node *node)
{
    return node->kind == IRTB_GRAPH_IF || node->kind == IRTB_GRAPH_WHILE ||
           node->kind == IRTB_GRAPH_SWITCH;
}

static uint32_t extent(const struct irtb_graph_node *node)
{
    uint32_t size = 1;
    for (uint32_t i = 0; exec_node_is_choice(node) && i < node->conditional.body_count; i++) {
        size += node->conditional.body_sizes[i];
    }
    return size;
}

static cudaError_t compile_range(struct compiler *compiler, uint32_t first, uint32_t end);

// The choice, then each body with a jump behind it: back for WHILE, else to the end.
static cudaError_t compile_choice(struct compiler *compiler, uint32_t index)
{
    const struct irtb_graph_node *node = &compiler->nodes[index];
    uint32_t count = node->conditional.body_count;
    uint32_t *targets = calloc(count + 2, sizeof *targets);
    if (!targets) {
        return cudaErrorMemoryAllocation;
    }
    uint32_t self = compiler->next_step++;
    struct step *steps = compiler->plan->steps;
    steps[self] = (struct step){
        .kind = (uint8_t)kind_of(node->kind),
        .choice = {.condition = node->conditional.condition, .count = count, .targets = targets}};
    compiler->graph->step_of[index] = self;
    uint32_t first = index + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end = first + node->conditional.body_sizes[i];
        targets[i] = compiler->next_step;
        cudaError_t error = compile_range(compiler, first, end);
        if (error) {
            return error;
        }
        steps[compiler->next_step] = (struct step){.kind = STEP_JUMP, .jump = self};
        compiler->next_step++;
        first = end;
    }
    targets[count] = compiler->next_step;
    for (uint32_t i = 0; i < count && node->kind != IRTB_GRAPH_WHILE; i++) {
        steps[targets[i + 1] - 1].jump = compiler->next_step;
    }
    return cudaSuccess;
}

static cudaError_t compile_range(struct compiler *compiler, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i += extent(&compiler->nodes[i])) {
        const struct irtb_graph_node *node = &compiler->nodes[i];
        if (exec_node_is_choice(node)) {
            cudaError_t error = compile_choice(compiler, i);
            if (error) {
                return error;
            }
            continue;
        }
        struct step *step = &compiler->plan->steps[compiler->next_step];
        cudaError_t error = exec_step_fill(compiler->graph, node, step);
        if (error) {
            return error;
        }
        if (step->kind == STEP_RECORD || step->kind == STEP_WAIT) {
            step->event.slot = compiler->next_event;
            compiler->plan->events[compiler->next_event++] = compiler->next_step;
        }
        compiler->graph->step_of[i] = compiler->next_step++;
    }
    return cudaSuccess;
}

cudaError_t exec_plan_compile(struct irtb_graph *graph, const struct irtb_graph_desc *desc)
{
    uint32_t steps = 0, events = 0;
    for (size_t i = 0; i < desc->node_count; i++) {
        const struct irtb_graph_node *node = &desc->nodes[i];
        steps += 1 + (exec_node_is_choice(node) ? node->conditional.body_count : 0);
        events += node->kind == IRTB_GRAPH_RECORD || node->kind == IRTB_GRAPH_WAIT;
    }
    graph->plan = plan_create(steps, events);
    if (!graph->plan) {
        return cudaErrorMemoryAllocation;
    }
    struct compiler compiler = {.graph = graph, .nodes = desc->nodes, .plan = graph->plan};
    return compile_range(&compiler, 0, (uint32_t)desc->node_count);
}
