// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs: life, launching, running, updating, launches by kernels. See graph.h.
//
// Lock order: graph->lock (launching and updating) < stream lock < graph->turn_lock.
#include "graph_plan.h"

#include <stdlib.h>
#include <string.h>

#include "copy.h"
#include "exec_util.h"
#include "fault.h"
#include "host.h"
#include "pool.h"
#include "stream.h"

// ---------------------------------------------------------------- life

static struct irtb_graph *published;
static pthread_mutex_t publish_lock = PTHREAD_MUTEX_INITIALIZER;

static void unpublish(struct irtb_graph *graph)
{
    pthread_mutex_lock(&publish_lock);
    struct irtb_graph **link = &published;
    while (*link && *link != graph) {
        link = &(*link)->next_published;
    }
    if (*link) {
        *link = graph->next_published;
    }
    pthread_mutex_unlock(&publish_lock);
}

static void graph_unref(struct irtb_graph *graph)
{
    if (atomic_fetch_sub(&graph->refs, 1) == 1) {
        exec_plan_unref(graph->plan);
        pthread_mutex_destroy(&graph->lock);
        pthread_mutex_destroy(&graph->turn_lock);
        free(graph->step_of);
        free(graph->conditions);
        free(graph);
    }
}

cudaError_t exec_graph_create(const struct irtb_graph_desc *desc,
                              const struct exec_graph_hooks *hooks, struct irtb_graph **ret_graph)
{
    struct irtb_graph *graph = calloc(1, sizeof *graph);
    if (!graph) {
        return cudaErrorMemoryAllocation;
    }
    atomic_store(&graph->refs, 1);
    graph->hooks = hooks;
    pthread_mutex_init(&graph->lock, NULL);
    pthread_mutex_init(&graph->turn_lock, NULL);
    graph->node_count = desc->node_count;
    graph->condition_count = desc->condition_count;
    graph->step_of = calloc(desc->node_count + 1, sizeof *graph->step_of);
    graph->conditions = calloc(desc->condition_count + 1, sizeof *graph->conditions);
    cudaError_t error = graph->step_of && graph->conditions && desc->node_count < UINT32_MAX / 4
                            ? cudaSuccess
                            : cudaErrorMemoryAllocation;
    if (!error) {
        for (size_t i = 0; i < desc->condition_count; i++) {
            struct condition *condition = &graph->conditions[i];
            condition->handle = desc->conditions[i].handle;
            atomic_store(&condition->initial, desc->conditions[i].initial);
            atomic_store(&condition->value, desc->conditions[i].initial);
            atomic_store(&condition->assign, desc->conditions[i].assign);
        }
        error = exec_plan_compile(graph, desc);
    }
    if (error) {
        graph_unref(graph);
        return error;
    }
    *ret_graph = graph;
    return cudaSuccess;
}

void exec_graph_destroy(struct irtb_graph *graph)
{
    if (graph->published) {
        unpublish(graph);
    }
    graph_unref(graph);
}

void exec_graph_notify(struct irtb_graph *graph, struct irtb_notice *notice)
{
    pthread_mutex_lock(&graph->lock);
    pthread_mutex_lock(&graph->turn_lock);
    bool now = graph->served == graph->issued;
    if (!now) {
        notice->number = graph->issued;
        notice->next = graph->notices;
        graph->notices = notice;
    }
    pthread_mutex_unlock(&graph->turn_lock);
    pthread_mutex_unlock(&graph->lock);
    if (now) {
        notice->function(notice->argument);
    }
}

// The notices that are due, out of the graph's list. Called with turn_lock held.
static struct irtb_notice *take_notices(struct irtb_graph *graph)
{
    struct irtb_notice *due = NULL, **link = &graph->notices;
    while (*link) {
        struct irtb_notice *notice = *link;
        if (notice->number <= graph->served) {
            *link = notice->next;
            notice->next = due;
            due = notice;
        } else {
            link = &notice->next;
        }
    }
    return due;
}

static void give_notices(struct irtb_notice *due)
{
    while (due) {
        struct irtb_notice *next = due->next;
        if (exec_host_call(due->function, due->argument)) {
            due->function(due->argument); // no thread to be had
        }
        due = next;
    }
}

// The plan, for changing it: a copy when a launch still uses it. Called with graph->lock held.
static struct exec_plan *writable_plan(struct irtb_graph *graph)
{
    if (atomic_load(&graph->plan->refs) > 1) {
        struct exec_plan *copy = exec_plan_copy(graph->plan);
        if (!copy) {
            return NULL;
        }
        exec_plan_unref(graph->plan);
        graph->plan = copy;
    }
    return graph->plan;
}

cudaError_t exec_graph_update(struct irtb_graph *graph, size_t index,
                              const struct irtb_graph_node *node)
{
    struct step made;
    cudaError_t error = exec_step_fill(graph, node, &made);
    if (error) {
        return error;
    }
    pthread_mutex_lock(&graph->lock);
    struct exec_plan *plan = writable_plan(graph);
    if (plan) {
        struct step *step = &plan->steps[graph->step_of[index]];
        if (exec_node_is_choice(node)) {
            step->disabled = node->disabled;
        } else {
            if (made.kind == STEP_RECORD || made.kind == STEP_WAIT) {
                made.event.slot = step->event.slot;
            }
            exec_step_free(step);
            *step = made;
        }
    } else {
        exec_step_free(&made);
        error = cudaErrorMemoryAllocation;
    }
    pthread_mutex_unlock(&graph->lock);
    return error;
}

cudaError_t exec_graph_set_default(struct irtb_graph *graph, size_t index,
                                   const struct irtb_graph_condition *condition)
{
    atomic_store(&graph->conditions[index].initial, condition->initial);
    atomic_store(&graph->conditions[index].assign, condition->assign);
    return cudaSuccess;
}

bool exec_graph_set_condition(struct irtb_graph *graph, uint64_t handle, uint32_t value)
{
    for (size_t i = 0; graph && i < graph->condition_count; i++) {
        if (graph->conditions[i].handle == handle) {
            atomic_store(&graph->conditions[i].value, value);
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- launching

cudaError_t exec_graph_launch(struct irtb_graph *graph, struct irtb_stream *stream)
{
    // Held until the launch stands in the stream, so that turns come in the order of the queue.
    pthread_mutex_lock(&graph->lock);
    const struct exec_plan *plan = graph->plan;
    cudaError_t error = cudaSuccess;
    for (uint32_t i = 0; i < plan->event_count && !error; i++) {
        const struct step *step = &plan->steps[plan->events[i]];
        if (step->kind == STEP_WAIT) {
            error = exec_event_wait_foreign(step->event.event, stream);
        }
    }
    if (!error) {
        error = exec_stream_graph(stream, graph);
    }
    pthread_mutex_unlock(&graph->lock);
    return error;
}

uint32_t exec_graph_slots(const struct irtb_graph *graph)
{
    return graph->plan->event_count;
}

cudaError_t exec_graph_begin(struct irtb_graph *graph, struct irtb_stream *stream, uint64_t target,
                             struct exec_record **slots, struct exec_graph_run *ret_run)
{
    struct exec_plan *plan = graph->plan;
    for (uint32_t i = 0; i < plan->event_count; i++) {
        const struct step *step = &plan->steps[plan->events[i]];
        cudaError_t error = cudaSuccess;
        if (step->kind == STEP_RECORD) {
            error = exec_event_promise(step->event.event, stream, target, &slots[i]);
        } else {
            slots[i] = exec_event_current(step->event.event);
        }
        if (error) {
            while (i-- > 0) {
                if (plan->steps[plan->events[i]].kind == STEP_RECORD) {
                    exec_record_complete(slots[i]);
                }
                exec_record_unref(slots[i]);
            }
            return error;
        }
    }
    atomic_fetch_add(&graph->refs, 1);
    atomic_fetch_add(&plan->refs, 1);
    *ret_run = (struct exec_graph_run){
        .graph = graph, .plan = plan, .slots = slots, .ticket = graph->issued++};
    return cudaSuccess;
}

// ---------------------------------------------------------------- running

bool exec_graph_turn(struct exec_graph_run *run, struct irtb_stream *stream)
{
    struct irtb_graph *graph = run->graph;
    pthread_mutex_lock(&graph->turn_lock);
    bool turn = graph->served == run->ticket;
    if (!turn) {
        stream->wait_next = graph->waiting;
        graph->waiting = stream;
    }
    pthread_mutex_unlock(&graph->turn_lock);
    if (turn) {
        run->started = true;
        for (size_t i = 0; i < graph->condition_count; i++) {
            struct condition *condition = &graph->conditions[i];
            if (atomic_load(&condition->assign)) {
                atomic_store(&condition->value, atomic_load(&condition->initial));
            }
        }
    }
    return turn;
}

static void end_record(struct exec_graph_run *run, const struct step *step)
{
    struct exec_record **slot = &run->slots[step->event.slot];
    if (*slot && step->kind == STEP_RECORD) {
        exec_record_complete(*slot);
    }
    exec_record_unref(*slot);
    *slot = NULL;
}

// The launch of a graph has ended: the next one may begin.
static void pass_turn(struct irtb_graph *graph)
{
    pthread_mutex_lock(&graph->turn_lock);
    graph->served++;
    struct irtb_stream *waiting = graph->waiting;
    graph->waiting = NULL;
    struct irtb_notice *due = take_notices(graph);
    pthread_mutex_unlock(&graph->turn_lock);
    while (waiting) {
        struct irtb_stream *next = waiting->wait_next;
        exec_stream_unblock(waiting);
        waiting = next;
    }
    give_notices(due);
}

static void end(struct exec_graph_run *run)
{
    struct irtb_graph *graph = run->graph;
    for (uint32_t i = 0; i < run->plan->event_count; i++) { // those that were not reached
        end_record(run, &run->plan->steps[run->plan->events[i]]);
    }
    exec_plan_unref(run->plan);
    pass_turn(graph);
    graph_unref(graph);
}

// The bytes of a copy or fill are the application's: a fault there ends the launch.
static cudaError_t move_bytes(const struct step *step)
{
    struct exec_fault_frame frame;
    exec_fault_push(&frame);
    if (sigsetjmp(frame.jump, 0) == 0) {
        if (step->kind == STEP_COPY) {
            exec_copy_box(&step->copy);
        } else {
            exec_fill_box(&step->fill);
        }
        exec_fault_pop(&frame);
        return cudaSuccess;
    }
    exec_fault_pop(&frame);
    return frame.error;
}

static uint32_t choose(const struct irtb_graph *graph, const struct step *step)
{
    uint32_t value = atomic_load(&graph->conditions[step->choice.condition].value);
    uint32_t count = step->choice.count;
    uint32_t choice = value;
    if (step->kind == STEP_WHILE) {
        choice = value ? 0 : count;
    } else if (step->kind == STEP_IF) {
        choice = value ? 0 : 1;
    }
    return step->choice.targets[choice < count ? choice : count];
}

void exec_graph_host(struct exec_graph_run *run)
{
    const struct step *step = &run->plan->steps[run->position++];
    step->host.run(step->host.function, step->host.argument);
}

struct exec_record *exec_graph_waits_for(const struct exec_graph_run *run)
{
    return run->slots[run->plan->steps[run->position].event.slot];
}

static void fail(struct exec_graph_run *run, struct exec_device *device, cudaError_t error)
{
    run->aborted = true;
    exec_device_fail(device, error);
}

// ---------------------------------------------------------------- launches by kernels

// Of cuda_device_runtime_api.h.
#define STREAM_TAIL UINT64_C(0x0100000000000000)
#define STREAM_FIRE_AND_FORGET UINT64_C(0x0200000000000000)
#define STREAM_SIBLING UINT64_C(0x0300000000000000)

cudaError_t exec_graph_publish(struct irtb_graph *graph, uint64_t handle)
{
    pthread_mutex_lock(&publish_lock);
    graph->published = handle;
    graph->next_published = published;
    published = graph;
    pthread_mutex_unlock(&publish_lock);
    return cudaSuccess;
}

uint64_t exec_graph_published(const struct irtb_graph *graph)
{
    return graph ? graph->published : 0;
}

// The graph of a number, referenced, with a turn that is its at once; NULL when it is none or busy.
static struct irtb_graph *claim(uint64_t handle)
{
    pthread_mutex_lock(&publish_lock);
    struct irtb_graph *graph = published;
    while (graph && graph->published != handle) {
        graph = graph->next_published;
    }
    if (graph) {
        atomic_fetch_add(&graph->refs, 1);
    }
    pthread_mutex_unlock(&publish_lock);
    if (!graph) {
        return NULL;
    }
    pthread_mutex_lock(&graph->lock);
    pthread_mutex_lock(&graph->turn_lock);
    bool idle = graph->served == graph->issued;
    graph->issued += idle;
    pthread_mutex_unlock(&graph->turn_lock);
    pthread_mutex_unlock(&graph->lock);
    if (!idle) {
        graph_unref(graph);
        return NULL;
    }
    return graph;
}

static void append(struct pending **list, struct pending ***end_of_list, struct pending *pending)
{
    if (!*list) {
        *end_of_list = list;
    }
    **end_of_list = pending;
    *end_of_list = &pending->next;
}

cudaError_t exec_graph_device_launch(struct irtb_graph *from, uint64_t handle, uint64_t stream)
{
    bool tail = stream == STREAM_TAIL;
    if (!from || !handle ||
        (!tail && stream != STREAM_FIRE_AND_FORGET && stream != STREAM_SIBLING)) {
        return cudaErrorInvalidValue;
    }
    if (tail && handle == from->published) {
        pthread_mutex_lock(&from->turn_lock);
        bool first = !from->again;
        from->again = true;
        pthread_mutex_unlock(&from->turn_lock);
        return first ? cudaSuccess : cudaErrorInvalidValue;
    }
    struct irtb_graph *target = claim(handle);
    if (!target) {
        return cudaErrorInvalidValue;
    }
    struct pending *pending = calloc(1, sizeof *pending);
    if (!pending) {
        pass_turn(target);
        graph_unref(target);
        return cudaErrorMemoryAllocation;
    }
    pending->graph = target;
    pthread_mutex_lock(&from->turn_lock);
    if (tail) {
        append(&from->tails, &from->tails_end, pending);
    } else {
        append(&from->forgotten, &from->forgotten_end, pending);
    }
    pthread_mutex_unlock(&from->turn_lock);
    return cudaSuccess;
}

// Takes the next launch of a graph whose steps have ended off its lists; *ret_again: it is the
// graph itself.
static struct pending *take_pending(struct irtb_graph *graph, bool *ret_again)
{
    pthread_mutex_lock(&graph->turn_lock);
    struct pending **list = graph->forgotten ? &graph->forgotten : &graph->tails;
    struct pending *pending = *list;
    *ret_again = false;
    if (pending) {
        *list = pending->next;
    } else {
        *ret_again = graph->again;
        graph->again = false;
    }
    pthread_mutex_unlock(&graph->turn_lock);
    return pending;
}

static bool hopeless(const struct exec_graph_run *run, const struct irtb_stream *stream)
{
    return run->aborted || exec_pool_stopping() ||
           atomic_load_explicit(&stream->device->error, memory_order_acquire);
}

// The steps of a published graph, which never wait: for launches, copies and fills.
static void run_steps(struct exec_graph_run *run, struct irtb_stream *stream)
{
    for (run->position = 0; run->position < run->plan->count && !hopeless(run, stream);
         run->position++) {
        const struct step *step = &run->plan->steps[run->position];
        cudaError_t error = cudaSuccess;
        if (step->disabled) {
            continue;
        }
        if (step->kind == STEP_LAUNCH) {
            error = exec_grid_run(step->device, stream, &step->launch.shape, step->launch.params);
        } else if (step->kind == STEP_COPY || step->kind == STEP_FILL) {
            error = move_bytes(step);
        }
        if (error) {
            fail(run, step->device, error);
        }
    }
}

// What the kernels of a run have launched, and what those launch in turn.
static void run_pending(struct exec_graph_run *run, struct irtb_stream *stream)
{
    bool again;
    struct pending *pending;
    while ((pending = take_pending(run->graph, &again)) || again) {
        if (again) {
            run_steps(run, stream);
            continue;
        }
        struct exec_graph_run child = {.graph = pending->graph, .aborted = run->aborted};
        pthread_mutex_lock(&child.graph->lock);
        child.plan = child.graph->plan;
        atomic_fetch_add(&child.plan->refs, 1);
        pthread_mutex_unlock(&child.graph->lock);
        free(pending);
        run_steps(&child, stream);
        run_pending(&child, stream);
        run->aborted |= child.aborted;
        end(&child);
    }
}

enum exec_graph_result exec_graph_run(struct exec_graph_run *run, struct irtb_stream *stream,
                                      bool worker)
{
    const struct exec_plan *plan = run->plan;
    exec_fault_install();
    exec_fault_thread();
    while (run->position < plan->count && !run->aborted) {
        const struct step *step = &plan->steps[run->position];
        if (atomic_load_explicit(&stream->device->error, memory_order_acquire) ||
            exec_pool_stopping()) {
            break;
        }
        if (worker && exec_pool_better_ready(stream->bucket)) {
            return EXEC_GRAPH_YIELDED;
        }
        uint32_t next = run->position + 1;
        cudaError_t error = cudaSuccess;
        switch (step->disabled ? STEP_NOTHING : (enum step_kind)step->kind) {
        case STEP_NOTHING:
            break;
        case STEP_LAUNCH:
            error = exec_grid_run(step->device, stream, &step->launch.shape, step->launch.params);
            break;
        case STEP_COPY:
        case STEP_FILL:
            error = move_bytes(step);
            break;
        case STEP_HOST:
            return EXEC_GRAPH_HOST;
        case STEP_WAIT:
            if (run->slots[step->event.slot] && !atomic_load(&run->slots[step->event.slot]->done)) {
                return EXEC_GRAPH_RECORD;
            }
            end_record(run, step);
            break;
        case STEP_RECORD:
            end_record(run, step);
            break;
        case STEP_IF:
        case STEP_WHILE:
        case STEP_SWITCH:
            next = choose(run->graph, step);
            break;
        case STEP_JUMP:
            next = step->jump;
            break;
        }
        if (error) {
            fail(run, step->device, error);
        }
        run->position = next;
    }
    run_pending(run, stream);
    end(run);
    return EXEC_GRAPH_DONE;
}
