// SPDX-License-Identifier: Apache-2.0
//
// Inside of executable graphs: what graph.c and graph_plan.c share. graph_plan.c compiles nodes
// into plans and copies plans, graph.c launches and runs them.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "graph.h"
#include "stream.h"

enum step_kind {
    STEP_NOTHING,
    STEP_LAUNCH,
    STEP_COPY,
    STEP_FILL,
    STEP_HOST,
    STEP_RECORD,
    STEP_WAIT,
    STEP_IF,     // targets: body 0, body 1 (or the end)
    STEP_WHILE,  // targets: body 0, the end
    STEP_SWITCH, // targets: the bodies, then the end
    STEP_JUMP,
};

struct step {
    uint8_t kind;
    bool disabled;
    struct exec_device *device;
    union {
        struct irtb_copy copy;
        struct irtb_fill fill;
        struct {
            void (*run)(void (*function)(void *), void *argument);
            void (*function)(void *);
            void *argument;
        } host;
        struct {
            struct exec_launch shape;
            unsigned char *params; // 16-byte aligned; owned
            uint32_t size;
        } launch;
        struct {
            struct irtb_event *event;
            uint32_t slot;
        } event;
        struct {
            uint32_t condition, count;
            uint32_t *targets; // owned; count + 1
        } choice;
        uint32_t jump;
    };
};

struct exec_plan {
    _Atomic uint32_t refs; // the graph and its launches
    uint32_t count, event_count;
    uint32_t *events; // steps of records and waits, in order
    struct step *steps;
};

struct condition {
    uint64_t handle;
    _Atomic uint32_t initial, value;
    _Atomic bool assign;
};

// A launch by a kernel that has not begun.
struct pending {
    struct pending *next;
    struct irtb_graph *graph; // referenced, with a turn taken; the launching graph itself: neither
};

struct irtb_graph {
    _Atomic uint32_t refs;                      // handle and launches
    uint64_t published;                         // constant once set; 0: kernels cannot launch it
    struct irtb_graph *next_published;          // publish_lock
    struct pending *forgotten, **forgotten_end; // turn_lock; fire and forget, of this launch
    struct pending *tails, **tails_end;         // turn_lock
    bool again;                                 // turn_lock; it is its own tail
    const struct exec_graph_hooks *hooks;
    pthread_mutex_t lock;   // plan, issued, and the order of launches
    struct exec_plan *plan; // lock
    uint64_t issued;        // lock; tickets given out
    pthread_mutex_t turn_lock;
    uint64_t served;             // turn_lock; launches that have ended
    struct irtb_stream *waiting; // turn_lock; through wait_next
    struct irtb_notice *notices; // turn_lock
    uint32_t *step_of;           // node → step
    size_t node_count, condition_count;
    struct condition *conditions;
};

// Compiles all nodes into graph->plan, which is NULL before, and fills in graph->step_of.
cudaError_t exec_plan_compile(struct irtb_graph *graph, const struct irtb_graph_desc *desc);
// A copy that shares nothing; NULL without memory.
struct exec_plan *exec_plan_copy(const struct exec_plan *from);
void exec_plan_unref(struct exec_plan *plan);

// Everything of a step but what other nodes decide (slots, targets); what it owns is given back by
// exec_step_free.
cudaError_t exec_step_fill(const struct irtb_graph *graph, const struct irtb_graph_node *node,
                           struct step *ret_step);
void exec_step_free(struct step *step);
// Whether the node has bodies.
bool exec_node_is_choice(const struct irtb_graph_node *node);
