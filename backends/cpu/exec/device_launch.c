// SPDX-License-Identifier: Apache-2.0
//
// The work that grids start: lists under one lock per grid, run when the grid's blocks have ended.
#include "device_launch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "copy.h"
#include "exec_util.h"
#include "fault.h"
#include "runtime.h"
#include "stream.h"

enum {
    MAX_DEPTH = 24, // nested launches, as CUDA's compute capabilities say
    TAIL_STREAM = 3, // cudaStreamTailLaunch of cuda_device_runtime_api.h
};

struct exec_child {
    struct exec_child *next;
    enum { CHILD_RESERVED, CHILD_LAUNCH, CHILD_COPY, CHILD_FILL } kind;
    bool launched;
    union {
        struct exec_launch launch;
        struct irtb_copy copy;
        struct irtb_fill fill;
    };
    uint32_t params_size;
    _Alignas(16) unsigned char params[];
};

// The last device-side error of a CUDA thread that had one.
struct thread_error {
    struct thread_error *next;
    uint64_t thread; // across the grid
    cudaError_t error;
};

struct exec_children {
    pthread_mutex_t lock;
    struct exec_child_list work, tails;
    struct exec_child *reserved; // buffers that nothing was launched with yet
    struct thread_error *errors;
};

bool exec_stream_is_tail(uint64_t stream)
{
    return stream == TAIL_STREAM;
}

static void list_append(struct exec_child_list *list, struct exec_child *child)
{
    child->next = NULL;
    *(list->first ? list->end : &list->first) = child;
    list->end = &child->next;
}

static struct exec_child *list_take(struct exec_child_list *list)
{
    struct exec_child *child = list->first;
    if (child) {
        list->first = child->next;
    }
    return child;
}

static struct exec_children *children_of(struct exec_grid *grid)
{
    struct exec_children *children = atomic_load(&grid->children);
    if (children) {
        return children;
    }
    struct exec_children *made = calloc(1, sizeof *made);
    if (!made) {
        return NULL;
    }
    pthread_mutex_init(&made->lock, NULL);
    if (atomic_compare_exchange_strong(&grid->children, &children, made)) {
        return made;
    }
    pthread_mutex_destroy(&made->lock);
    free(made);
    return children;
}

// ---------------------------------------------------------------- device-side errors

static uint64_t thread_number(const struct exec_ctx *ctx)
{
    uint64_t block = ((uint64_t)ctx->ctaid[2] * ctx->nctaid[1] + ctx->ctaid[1]) * ctx->nctaid[0] +
                     ctx->ctaid[0];
    return block * ctx->block_threads + ctx->current;
}

cudaError_t exec_children_note(struct exec_ctx *ctx, cudaError_t error)
{
    struct exec_children *children = error ? children_of(ctx->block->grid) : NULL;
    if (!children) {
        return error;
    }
    uint64_t thread = thread_number(ctx);
    pthread_mutex_lock(&children->lock);
    struct thread_error *e = children->errors;
    while (e && e->thread != thread) {
        e = e->next;
    }
    if (!e) {
        e = malloc(sizeof *e);
        if (e) {
            e->thread = thread;
            e->next = children->errors;
            children->errors = e;
        }
    }
    if (e) {
        e->error = error;
    }
    pthread_mutex_unlock(&children->lock);
    return error;
}

cudaError_t exec_children_error(struct exec_ctx *ctx, bool reset)
{
    struct exec_children *children = atomic_load(&ctx->block->grid->children);
    if (!children) {
        return cudaSuccess;
    }
    cudaError_t error = cudaSuccess;
    uint64_t thread = thread_number(ctx);
    pthread_mutex_lock(&children->lock);
    for (struct thread_error *e = children->errors; e; e = e->next) {
        if (e->thread == thread) {
            error = e->error;
            e->error = reset ? cudaSuccess : error;
        }
    }
    pthread_mutex_unlock(&children->lock);
    return error;
}

// ---------------------------------------------------------------- starting work

static struct exec_child *child_new(struct exec_children *children, size_t size)
{
    if (!children || size > UINT32_MAX) {
        return NULL;
    }
    struct exec_child *child = aligned_alloc(16, exec_align(sizeof *child + size, 16));
    if (child) {
        memset(child, 0, sizeof *child);
        child->params_size = (uint32_t)size;
    }
    return child;
}

static cudaError_t resolve(struct exec_ctx *ctx, uint64_t address, const struct exec_launch *shape,
                           struct exec_launch *ret_launch, uint32_t *ret_size)
{
    struct exec_grid *grid = ctx->block->grid;
    struct exec_module *module = grid->launch->module;
    if (!module) {
        return cudaErrorNotSupported;
    }
    if (grid->depth + 1 >= MAX_DEPTH) {
        return cudaErrorLaunchMaxDepthExceeded;
    }
    *ret_launch = *shape;
    return module->launch(module, address, ret_launch, ret_size);
}

void *exec_children_buffer(struct exec_ctx *ctx, uint64_t address, const struct exec_launch *shape,
                           uint32_t size)
{
    struct exec_launch launch = {0};
    cudaError_t error = address ? resolve(ctx, address, shape, &launch, &size) : cudaSuccess;
    struct exec_children *children = error ? NULL : children_of(ctx->block->grid);
    struct exec_child *child = error ? NULL : child_new(children, size);
    if (!child) {
        exec_children_note(ctx, error ? error : cudaErrorLaunchPendingCountExceeded);
        return NULL;
    }
    child->kind = address ? CHILD_LAUNCH : CHILD_RESERVED;
    child->launch = launch;
    pthread_mutex_lock(&children->lock);
    child->next = children->reserved;
    children->reserved = child;
    pthread_mutex_unlock(&children->lock);
    return child->params;
}

// Takes the child of a buffer off the list of reserved ones; NULL when it is none.
static struct exec_child *claim(struct exec_children *children, const void *buffer)
{
    struct exec_child **at = children ? &children->reserved : NULL;
    while (at && *at && (*at)->params != buffer) {
        at = &(*at)->next;
    }
    struct exec_child *child = at ? *at : NULL;
    if (child) {
        *at = child->next;
    }
    return child;
}

static void append_locked(struct exec_children *children, struct exec_child *child, uint64_t stream)
{
    list_append(exec_stream_is_tail(stream) ? &children->tails : &children->work, child);
}

cudaError_t exec_children_launch(struct exec_ctx *ctx, void *buffer, uint64_t stream)
{
    struct exec_children *children = atomic_load(&ctx->block->grid->children);
    if (!children) {
        return exec_children_note(ctx, cudaErrorInvalidValue);
    }
    pthread_mutex_lock(&children->lock);
    struct exec_child *child = claim(children, buffer);
    bool fine = child && child->kind == CHILD_LAUNCH;
    if (fine) {
        append_locked(children, child, stream);
    } else if (child) {
        child->next = children->reserved;
        children->reserved = child;
    }
    pthread_mutex_unlock(&children->lock);
    return fine ? cudaSuccess : exec_children_note(ctx, cudaErrorInvalidValue);
}

cudaError_t exec_children_launch_as(struct exec_ctx *ctx, void *buffer, uint64_t address,
                                    const struct exec_launch *shape, uint64_t stream)
{
    struct exec_launch launch;
    uint32_t size;
    cudaError_t error = resolve(ctx, address, shape, &launch, &size);
    struct exec_children *children = atomic_load(&ctx->block->grid->children);
    if (!error) {
        error = cudaErrorInvalidValue;
        if (children) {
            pthread_mutex_lock(&children->lock);
            struct exec_child *child = claim(children, buffer);
            if (child && child->params_size >= size) {
                child->kind = CHILD_LAUNCH;
                child->launch = launch;
                append_locked(children, child, stream);
                error = cudaSuccess;
            } else if (child) {
                child->next = children->reserved;
                children->reserved = child;
            }
            pthread_mutex_unlock(&children->lock);
        }
    }
    return exec_children_note(ctx, error);
}

static cudaError_t start(struct exec_ctx *ctx, const struct exec_child *what, uint64_t stream)
{
    struct exec_children *children = children_of(ctx->block->grid);
    struct exec_child *child = child_new(children, 0);
    if (!child) {
        return exec_children_note(ctx, cudaErrorMemoryAllocation);
    }
    child->kind = what->kind;
    if (what->kind == CHILD_COPY) {
        child->copy = what->copy;
    } else {
        child->fill = what->fill;
    }
    pthread_mutex_lock(&children->lock);
    append_locked(children, child, stream);
    pthread_mutex_unlock(&children->lock);
    return cudaSuccess;
}

cudaError_t exec_children_copy(struct exec_ctx *ctx, const struct irtb_copy *copy, uint64_t stream)
{
    return start(ctx, &(struct exec_child){.kind = CHILD_COPY, .copy = *copy}, stream);
}

cudaError_t exec_children_fill(struct exec_ctx *ctx, const struct irtb_fill *fill, uint64_t stream)
{
    return start(ctx, &(struct exec_child){.kind = CHILD_FILL, .fill = *fill}, stream);
}

// ---------------------------------------------------------------- running

static cudaError_t move_bytes(const struct exec_child *child)
{
    struct exec_fault_frame frame;
    exec_fault_push(&frame);
    if (sigsetjmp(frame.jump, 0) == 0) {
        if (child->kind == CHILD_COPY) {
            exec_copy_box(&child->copy);
        } else {
            exec_fill_box(&child->fill);
        }
    }
    exec_fault_pop(&frame);
    return frame.error;
}

// Runs one piece of work; a grid with everything it starts in turn, but its tail launches are
// handed to the caller, who runs them next.
static cudaError_t run_child(struct exec_grid *parent, struct exec_child *child, uint32_t depth,
                             struct exec_child_list *ret_tails)
{
    if (child->kind != CHILD_LAUNCH) {
        return move_bytes(child);
    }
    if (!exec_grid_may_run_here()) {
        EXEC_LOG(0, "kernel %s, started by a kernel: no stack left on this thread",
                 child->launch.kernel->name);
        return cudaErrorLaunchOutOfResources;
    }
    return exec_grid_run_nested(parent, &child->launch, child->params, depth, ret_tails);
}

// Empties the list; tail launches of what is run come directly behind it.
static cudaError_t run_list(struct exec_grid *grid, struct exec_children *children,
                            struct exec_child_list *list, uint32_t depth)
{
    cudaError_t error = cudaSuccess;
    for (;;) {
        pthread_mutex_lock(&children->lock);
        struct exec_child *child = list_take(list);
        pthread_mutex_unlock(&children->lock);
        if (!child) {
            return error;
        }
        struct exec_child_list tails = {0};
        if (!error) {
            error = run_child(grid, child, depth, &tails);
        }
        free(child);
        if (tails.first) {
            pthread_mutex_lock(&children->lock);
            *tails.end = list->first;
            if (!list->first) {
                list->end = tails.end;
            }
            list->first = tails.first;
            pthread_mutex_unlock(&children->lock);
        }
    }
}

cudaError_t exec_children_synchronize(struct exec_ctx *ctx)
{
    struct exec_grid *grid = ctx->block->grid;
    struct exec_children *children = atomic_load(&grid->children);
    if (!children) {
        return cudaSuccess;
    }
    cudaError_t error = run_list(grid, children, &children->work, grid->depth + 1);
    if (error) {
        exec_fault_leave(error, "a grid that the kernel started has failed");
    }
    return cudaSuccess;
}

static void free_list(struct exec_child *child)
{
    while (child) {
        struct exec_child *next = child->next;
        free(child);
        child = next;
    }
}

cudaError_t exec_children_finish(struct exec_grid *grid, bool failed)
{
    struct exec_children *children = atomic_load(&grid->children);
    if (!children) {
        return cudaSuccess;
    }
    cudaError_t error = cudaSuccess;
    if (!failed) {
        error = run_list(grid, children, &children->work, grid->depth + 1);
        if (!error && grid->tails) { // the caller runs them
            *grid->tails = children->tails;
            children->tails.first = NULL;
        } else if (!error) {
            error = run_list(grid, children, &children->tails, grid->depth + 1);
        }
    }
    free_list(children->work.first);
    free_list(children->tails.first);
    free_list(children->reserved);
    while (children->errors) {
        struct thread_error *next = children->errors->next;
        free(children->errors);
        children->errors = next;
    }
    pthread_mutex_destroy(&children->lock);
    free(children);
    atomic_store(&grid->children, NULL);
    return error;
}
