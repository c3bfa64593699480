// SPDX-License-Identifier: Apache-2.0
//
// The contract between compiled kernels (made by jit/) and the code that runs them (exec/): the
// structures that both read, the calls a kernel may make, and the requests with which a CUDA
// thread suspends. Included by jit/ (which emits the offsets, asserted with offsetof) and exec/.
// Compiled code reaches everything through `struct exec_ctx *`, so an object has no external
// relocations and can be kept in a cache on disk.
//
// One-lane form (W = 1). A kernel compiles to a *thread function*: it runs one CUDA thread until
// the thread exits or suspends. A kernel without suspension points also has a *block function*
// that runs all threads of a block in a loop. Registers that live across a suspension are kept in
// the thread's frame; `state` says where to resume (a resumable state machine, design.md 7).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image_ops.h"

#define EXEC_KERNEL_ABI 3u
#define EXEC_WARP_SIZE 32u
#define EXEC_BARRIERS 16u
// The number of the barrier of a cluster (barrier.cluster) among those of EXEC_REQ_BARRIER.
#define EXEC_CLUSTER_BARRIER 0xc1050000u

// Why a thread function returned.
enum exec_status {
    EXEC_EXIT = 0,    // the CUDA thread has exited (ret/exit of the entry)
    EXEC_SUSPEND = 1, // thread->request says what it waits for; call again after it is served
};

// What a suspended thread waits for. Operands and results: see struct exec_request.
enum exec_request_kind {
    EXEC_REQ_NONE = 0,
    EXEC_REQ_BARRIER,     // bar.sync / barrier.sync / bar.red: op = exec_barrier_op, a = barrier id,
                          // b = thread count (0: all threads of the block), c = predicate (0/1) of
                          // .red; result = .red result (popc count, or 0/1)
    EXEC_REQ_WARP_SYNC,   // bar.warp.sync: mask
    EXEC_REQ_SHFL,        // shfl.sync: op = exec_shfl_op, a = value, b = lane/delta operand, c = clamp
                          // and segment mask operand, mask; result = value, result_pred = p
    EXEC_REQ_VOTE,        // vote.sync: op = exec_vote_op, a = predicate, mask; result
    EXEC_REQ_MATCH,       // match.sync: op 0 any, 1 all; width 32/64 in b; a = value, mask;
                          // result = mask, result_pred (all)
    EXEC_REQ_REDUX,       // redux.sync: op = exec_redux_op, a = value, mask; result
    EXEC_REQ_ELECT,       // elect.sync: mask; result = leader lane, result_pred = is leader
    EXEC_REQ_ACTIVEMASK,  // activemask: result = lanes of the warp that wait at the same site
    EXEC_REQ_CONVERGED,   // non-.sync vote/shfl of old PTX (see `inner`): mask = converged lanes at
                          // the same site, then as the inner kind
    EXEC_REQ_YIELD,       // a loop that can spin: let other threads, warps and blocks go on
    EXEC_REQ_NANOSLEEP,   // a = nanoseconds; a yield that may sleep
    EXEC_REQ_CALL_DEPTH,  // internal: out of frame stack; becomes a launch failure
    EXEC_REQ_WARP_OP,     // warp-wide operation on memory or fragments (mma, ldmatrix …):
                          // op = index into a table of the runtime, a = pointer to operands
};

// Functions of the device runtime (device_api.def).
enum exec_device_api {
#define DEVICE_API(name) EXEC_DEVICE_##name,
#include "device_api.def"
#undef DEVICE_API
    EXEC_DEVICE_API_COUNT
};

enum exec_barrier_op { EXEC_BAR_SYNC, EXEC_BAR_RED_POPC, EXEC_BAR_RED_AND, EXEC_BAR_RED_OR };
enum exec_shfl_op { EXEC_SHFL_UP, EXEC_SHFL_DOWN, EXEC_SHFL_BFLY, EXEC_SHFL_IDX };
enum exec_vote_op { EXEC_VOTE_ALL, EXEC_VOTE_ANY, EXEC_VOTE_UNI, EXEC_VOTE_BALLOT };
enum exec_redux_op {
    EXEC_REDUX_ADD, EXEC_REDUX_MIN_S, EXEC_REDUX_MAX_S, EXEC_REDUX_MIN_U, EXEC_REDUX_MAX_U,
    EXEC_REDUX_AND, EXEC_REDUX_OR, EXEC_REDUX_XOR,
    EXEC_REDUX_MIN_F, EXEC_REDUX_MAX_F, EXEC_REDUX_MIN_F_NAN, EXEC_REDUX_MAX_F_NAN,
    EXEC_REDUX_MIN_F_ABS, EXEC_REDUX_MAX_F_ABS, EXEC_REDUX_MIN_F_ABS_NAN, EXEC_REDUX_MAX_F_ABS_NAN,
};

struct exec_request {
    uint32_t kind;        // enum exec_request_kind
    uint32_t op;
    uint32_t mask;        // membermask of warp operations
    uint32_t inner;       // EXEC_REQ_CONVERGED: the kind to perform on the converged lanes
    uint32_t site;        // identity of the instruction in the kernel (converged grouping)
    uint32_t b, c;
    uint32_t result_pred; // out: predicate result, 0 or 1
    uint64_t a;
    uint64_t result;      // out
};

// One CUDA thread. exec/ owns the array; a thread's frame follows it in memory.
struct exec_thread {
    uint32_t tid[3];
    uint32_t linear;      // tid.x + ntid.x * (tid.y + ntid.y * tid.z); lane = linear % 32
    uint32_t state;       // 0: not started; else resume point, written by the thread function
    uint32_t depth;       // bytes of `frame` in use by active calls (called functions' frames)
    struct exec_request request;
    unsigned char *local; // this thread's .local memory, 16-byte aligned
    unsigned char *frame; // live registers across suspensions, 16-byte aligned
};

struct exec_ctx;

// Calls of a kernel into the runtime. All are reached through ctx->rt; none may unwind except
// where noted. `thread` may be NULL in block functions (ctx->current is then the linear id).
struct exec_runtime {
    // vprintf: PTX calling convention of CUDA: format and argument buffer (8-byte aligned slots as
    // nvcc packs them: natural alignment). Returns the number of arguments or -1. Ordered per launch.
    int32_t (*vprintf)(struct exec_ctx *ctx, const char *format, const void *arguments);
    void *(*device_malloc)(struct exec_ctx *ctx, uint64_t size); // NULL when the heap is exhausted
    void (*device_free)(struct exec_ctx *ctx, void *ptr);
    // These do not return: they leave the kernel by siglongjmp to the block driver.
    void (*assert_fail)(struct exec_ctx *ctx, const char *message, const char *file, uint32_t line,
                        const char *function) __attribute__((noreturn));
    void (*trap)(struct exec_ctx *ctx, const char *reason) __attribute__((noreturn));
    // bar.arrive / barrier.arrive: counts the thread in without waiting.
    void (*barrier_arrive)(struct exec_ctx *ctx, uint32_t id, uint32_t count);
    // A function of the device runtime (enum exec_device_api); the blocks of arguments and results
    // are laid out as those of the PTX function.
    void (*device_call)(struct exec_ctx *ctx, uint32_t function, const void *arguments,
                        void *results);
    uint64_t (*globaltimer)(struct exec_ctx *ctx); // ns since the epoch
    uint64_t (*clock64)(struct exec_ctx *ctx);     // monotonic counter of the virtual SM clock
    const struct exec_image_functions *images;     // texture and surface instructions
    // Slow exact helpers by index (jit/helpers.def names them: directed rounding, fp8 …).
    void *const *helpers;
};

// One running block, as compiled code sees it. exec/ owns it.
struct exec_ctx {
    const unsigned char *params;      // packed kernel parameters (.param space of the entry)
    unsigned char *shared;            // base of the block's shared window, 1024-byte aligned
    uint32_t shared_size;             // static + dynamic, bytes
    uint32_t static_shared;           // bytes; dynamic shared memory starts here, rounded by jit's
                                      // layout (struct jit_kernel.dynamic_shared_offset)
    void *const *symbols;             // address of each module variable on this device, by index
    const struct exec_runtime *rt;
    uint32_t ctaid[3], nctaid[3], ntid[3];
    uint32_t cluster_ctaid[3], cluster_nctaid[3];
    uint32_t dynamic_shared_size;
    uint32_t smid, nsmid;
    uint32_t current;                 // linear id of the running thread, for fault messages
    uint32_t block_threads;           // ntid.x * ntid.y * ntid.z
    uint64_t gridid;
    uint64_t envreg[4];               // %envreg0..: cooperative groups' grid workspace (1: high, 2: low)
    struct exec_block *block;         // exec/'s own state, opaque to compiled code
    // The block's window in the shared address space: 0 but for kernels with jit_kernel.uses_cluster
    // in a cluster, where `shared` is the start of the windows of all its blocks.
    uint32_t shared_origin;
    uint32_t shared_stride;           // from window to window; more than a window without a cluster
    uint64_t graph_exec;              // %current_graph_exec: of a graph that kernels may launch, or 0
};

// Compiled entry points of one kernel.
typedef int (*exec_thread_fn)(struct exec_ctx *ctx, struct exec_thread *thread);
typedef void (*exec_block_fn)(struct exec_ctx *ctx);
