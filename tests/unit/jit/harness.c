// SPDX-License-Identifier: Apache-2.0
//
// See harness.h. The scheduler runs each thread of a block until it suspends and serves requests
// when nobody can run: barriers when all live threads wait, warp operations when all named lanes
// do.
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cpu/kernel_abi.h"

struct harness {
    struct jit_program *program;
    const struct jit_function *function;
    struct jit_kernel *kernel, *warp; // one-lane form, warp form or NULL
    bool one_lane;                    // even if there is a warp form
    void **symbols;
    size_t symbol_count;
    char printed[4096];
};

struct exec_block {
    sigjmp_buf leave;
    struct harness *h;
};

static _Thread_local char message[1024];
static bool quick_compiles;
static unsigned warp_lanes = 32;

void harness_warp_lanes(unsigned lanes)
{
    warp_lanes = lanes;
}

void harness_quick(bool quick)
{
    quick_compiles = quick;
}

const char *harness_message(void)
{
    return message;
}

const struct jit_kernel *harness_kernel(const struct harness *h)
{
    return h->kernel;
}

const char *harness_printed(const struct harness *h)
{
    return h->printed;
}

void harness_choose(struct harness *h, unsigned lanes)
{
    h->one_lane = lanes == 1;
}

void harness_free(struct harness *h)
{
    if (h == NULL) {
        return;
    }
    for (size_t i = 0; h->symbols != NULL && i < h->symbol_count; i++) {
        free(h->symbols[i]);
    }
    free(h->symbols);
    jit_engine_table.kernel_unref(h->kernel);
    jit_engine_table.kernel_unref(h->warp);
    jit_engine_table.program_destroy(h->program);
    free(h);
}

static int make_variables(struct harness *h)
{
    const struct jit_variable *v = jit_engine_table.variables(h->program, &h->symbol_count);
    h->symbols = calloc(h->symbol_count + 1, sizeof(*h->symbols));
    for (size_t i = 0; i < h->symbol_count; i++) {
        if (!v[i].is_shared) {
            size_t align = v[i].align > 16 ? v[i].align : 16;
            h->symbols[i] = aligned_alloc(align, (v[i].size + align) / align * align);
        }
    }
    for (size_t i = 0; i < h->symbol_count; i++) {
        if (!v[i].is_shared &&
            jit_engine_table.variable_init(h->program, (uint32_t)i, h->symbols, h->symbols[i],
                                           message, sizeof(message)) != 0) {
            return -1;
        }
    }
    return 0;
}

// Warp form: 0, or -1 when there is none.
static int compile_warp(struct harness *h, uint32_t index)
{
    struct jit_options options = {.lanes = warp_lanes, .quick = quick_compiles};
    return jit_engine_table.compile(h->program, index, &options, &h->warp, message,
                                    sizeof(message));
}

struct harness *harness_compile_warp(const char *ptx, const char *name)
{
    struct harness *h = harness_compile(ptx, name);
    size_t count;
    if (h == NULL || h->warp != NULL) {
        return h;
    }
    const struct jit_function *f = jit_engine_table.functions(h->program, &count);
    if (compile_warp(h, (uint32_t)(h->function - f)) != 0) {
        harness_free(h);
        return NULL;
    }
    return h;
}

struct harness *harness_compile(const char *ptx, const char *name)
{
    message[0] = '\0';
    struct harness *h = calloc(1, sizeof(*h));
    struct jit_source source = {ptx, strlen(ptx), "test.ptx"};
    if (jit_engine_table.program_create(&source, 1, &h->program, message, sizeof(message)) != 0) {
        harness_free(h);
        return NULL;
    }
    size_t count;
    const struct jit_function *f = jit_engine_table.functions(h->program, &count);
    for (size_t i = 0; i < count && h->function == NULL; i++) {
        if (f[i].is_entry && (name == NULL || strcmp(name, f[i].name) == 0)) {
            h->function = &f[i];
            struct jit_options options = {.lanes = 1, .quick = quick_compiles};
            if (jit_engine_table.compile(h->program, (uint32_t)i, &options, &h->kernel, message,
                                         sizeof(message)) != 0) {
                harness_free(h);
                return NULL;
            }
            const char *lanes = getenv("HARNESS_LANES");
            if (lanes != NULL && strcmp(lanes, "32") == 0 && compile_warp(h, (uint32_t)i) != 0) {
                h->warp = NULL;
                if (strncmp(message, "ptx", 3) == 0 || strstr(message, "warp form:") == NULL) {
                    harness_free(h); // not refused: it went wrong
                    return NULL;
                }
            }
        }
    }
    if (h->function == NULL) {
        snprintf(message, sizeof(message), "no such entry");
    }
    if (h->function == NULL || make_variables(h) != 0) {
        harness_free(h);
        return NULL;
    }
    return h;
}

void *harness_variable(struct harness *h, const char *name)
{
    size_t count;
    const struct jit_variable *v = jit_engine_table.variables(h->program, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(v[i].name, name) == 0) {
            return h->symbols[i];
        }
    }
    return NULL;
}

// ---------------------------------------------------------------- runtime

static int32_t rt_vprintf(struct exec_ctx *ctx, const char *format, const void *arguments)
{
    (void)arguments;
    char *out = ctx->block->h->printed;
    size_t used = strlen(out);
    snprintf(out + used, sizeof(ctx->block->h->printed) - used, "%s", format);
    return 0;
}

static void *rt_malloc(struct exec_ctx *ctx, uint64_t size)
{
    (void)ctx;
    return malloc(size);
}

static void rt_free(struct exec_ctx *ctx, void *ptr)
{
    (void)ctx;
    free(ptr);
}

static void rt_assert(struct exec_ctx *ctx, const char *text, const char *file, uint32_t line,
                      const char *function) __attribute__((noreturn));
static void rt_trap(struct exec_ctx *ctx, const char *reason) __attribute__((noreturn));

static void rt_assert(struct exec_ctx *ctx, const char *text, const char *file, uint32_t line,
                      const char *function)
{
    snprintf(message, sizeof(message), "%s:%u: %s: assertion %s, thread %u", file, line, function,
             text, ctx->current);
    siglongjmp(ctx->block->leave, 1);
}

static void rt_trap(struct exec_ctx *ctx, const char *reason)
{
    snprintf(message, sizeof(message), "trap: %s, thread %u", reason, ctx->current);
    siglongjmp(ctx->block->leave, 1);
}

static void rt_arrive(struct exec_ctx *ctx, uint32_t id, uint32_t count)
{
    (void)count;
    char text[64];
    snprintf(text, sizeof(text), "arrive %u;", id);
    rt_vprintf(ctx, text, NULL);
}

static uint64_t rt_clock(struct exec_ctx *ctx)
{
    (void)ctx;
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// ---------------------------------------------------------------- scheduler

struct run {
    struct exec_ctx *ctx;
    struct exec_thread *threads;
    int *waiting; // 0 runs, 1 suspended, 2 exited
    uint32_t count;
};

static void serve_barrier(struct run *r)
{
    uint32_t sum = 0, waiting = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->waiting[i] == 1 && r->threads[i].request.kind == EXEC_REQ_BARRIER) {
            waiting++;
            sum += r->threads[i].request.c != 0;
        }
    }
    for (uint32_t i = 0; i < r->count; i++) {
        struct exec_request *q = &r->threads[i].request;
        if (r->waiting[i] == 1 && q->kind == EXEC_REQ_BARRIER) {
            q->result = q->op == EXEC_BAR_RED_POPC  ? sum
                        : q->op == EXEC_BAR_RED_AND ? sum == waiting
                                                    : sum != 0;
            r->waiting[i] = 0;
        }
    }
}

static uint32_t shuffle_source(const struct exec_request *q, uint32_t lane, bool *ret_valid)
{
    uint32_t clamp = q->c & 31, segment = q->c >> 8 & 31, b = q->b & 31;
    uint32_t max = (lane & segment) | (clamp & ~segment), min = lane & segment;
    int32_t j;
    switch (q->op) {
    case EXEC_SHFL_UP:
        j = (int32_t)lane - (int32_t)b;
        *ret_valid = j >= (int32_t)max;
        break;
    case EXEC_SHFL_DOWN:
        j = (int32_t)(lane + b);
        *ret_valid = j <= (int32_t)max;
        break;
    case EXEC_SHFL_BFLY:
        j = (int32_t)(lane ^ b);
        *ret_valid = j <= (int32_t)max;
        break;
    default:
        j = (int32_t)(min | (b & ~segment));
        *ret_valid = j <= (int32_t)max;
        break;
    }
    return *ret_valid ? (uint32_t)j : lane;
}

static bool all_match(const uint64_t *value, uint32_t mask)
{
    uint32_t first = (uint32_t)__builtin_ctz(mask);
    for (uint32_t k = 0; k < 32; k++) {
        if ((mask >> k & 1) && value[k] != value[first]) {
            return false;
        }
    }
    return true;
}

// Integer operations of redux.sync.
static uint32_t reduce(uint32_t op, const uint64_t *value, uint32_t mask)
{
    uint32_t sum = (uint32_t)value[__builtin_ctz(mask)];
    for (uint32_t left = mask & (mask - 1); left != 0; left &= left - 1) {
        uint32_t v = (uint32_t)value[__builtin_ctz(left)];
        switch (op) {
        case EXEC_REDUX_ADD:
            sum += v;
            break;
        case EXEC_REDUX_MIN_S:
            sum = (int32_t)v < (int32_t)sum ? v : sum;
            break;
        case EXEC_REDUX_MAX_S:
            sum = (int32_t)v > (int32_t)sum ? v : sum;
            break;
        case EXEC_REDUX_MIN_U:
            sum = v < sum ? v : sum;
            break;
        case EXEC_REDUX_MAX_U:
            sum = v > sum ? v : sum;
            break;
        case EXEC_REDUX_AND:
            sum &= v;
            break;
        case EXEC_REDUX_OR:
            sum |= v;
            break;
        default:
            sum ^= v;
            break;
        }
    }
    return sum;
}

// Serves a warp whose named lanes all wait with the same kind of request.
static void serve_warp(struct run *r, uint32_t first, uint32_t mask, uint32_t kind)
{
    uint64_t value[32] = {0};
    uint32_t ballot = 0;
    for (uint32_t l = 0; l < 32 && first + l < r->count; l++) {
        value[l] = r->threads[first + l].request.a;
        ballot |= (mask >> l & 1) && value[l] != 0 ? 1u << l : 0;
    }
    for (uint32_t l = 0; l < 32 && first + l < r->count; l++) {
        struct exec_request *q = &r->threads[first + l].request;
        if (!(mask >> l & 1)) {
            continue;
        }
        uint64_t result = 0;
        bool p = true;
        switch (kind) {
        case EXEC_REQ_SHFL: { // from a lane that takes no part: undefined; exec/ gives the own one
            uint32_t from = shuffle_source(q, l, &p);
            result = value[(mask >> from & 1) ? from : l];
            break;
        }
        case EXEC_REQ_MATCH:
            for (uint32_t k = 0; k < 32; k++) {
                result |= (mask >> k & 1) && value[k] == value[l] ? UINT32_C(1) << k : 0;
            }
            if (q->op == 1) {
                p = all_match(value, mask);
                result = p ? mask : 0;
            }
            break;
        case EXEC_REQ_VOTE:
            result = q->op == EXEC_VOTE_ALL   ? ballot == mask
                     : q->op == EXEC_VOTE_ANY ? ballot != 0
                     : q->op == EXEC_VOTE_UNI ? ballot == 0 || ballot == mask
                                              : ballot;
            break;
        case EXEC_REQ_REDUX:
            result = reduce(q->op, value, mask);
            break;
        case EXEC_REQ_ELECT:
            result = (uint32_t)__builtin_ctz(mask);
            p = result == l;
            break;
        case EXEC_REQ_ACTIVEMASK:
            result = mask;
            break;
        default:
            break;
        }
        q->result = result;
        q->result_pred = p;
        r->waiting[first + l] = 0;
    }
}

static bool serve_warps(struct run *r)
{
    bool served = false;
    for (uint32_t first = 0; first < r->count; first += 32) {
        for (uint32_t l = 0; l < 32 && first + l < r->count; l++) {
            struct exec_request *q = &r->threads[first + l].request;
            if (r->waiting[first + l] != 1 || q->kind == EXEC_REQ_BARRIER) {
                continue;
            }
            uint32_t there = 0, live = 0;
            for (uint32_t k = 0; k < 32 && first + k < r->count; k++) {
                const struct exec_thread *t = &r->threads[first + k];
                live |= r->waiting[first + k] != 2 ? 1u << k : 0;
                there |= r->waiting[first + k] == 1 && t->request.kind == q->kind &&
                                 t->request.site == q->site
                             ? 1u << k
                             : 0;
            }
            bool alone = q->kind == EXEC_REQ_YIELD || q->kind == EXEC_REQ_NANOSLEEP;
            uint32_t mask = alone                            ? 1u << l
                            : q->kind == EXEC_REQ_ACTIVEMASK ? there
                                                             : q->mask & live;
            if ((there & mask) == mask && mask != 0) {
                serve_warp(r, first, mask, q->kind);
                served = true;
            }
        }
    }
    return served;
}

static int schedule(struct run *r, const struct jit_kernel *kernel)
{
    for (;;) {
        bool ran = false, all_exited = true, all_at_barrier = true;
        for (uint32_t i = 0; i < r->count; i++) {
            if (r->waiting[i] == 0) {
                ran = true;
                r->ctx->current = i;
                r->waiting[i] = kernel->thread(r->ctx, &r->threads[i]) == EXEC_SUSPEND ? 1 : 2;
            }
            all_exited = all_exited && r->waiting[i] == 2;
            all_at_barrier = all_at_barrier &&
                             (r->waiting[i] == 2 || r->threads[i].request.kind == EXEC_REQ_BARRIER);
        }
        if (all_exited) {
            return 0;
        }
        if (all_at_barrier) {
            serve_barrier(r);
        } else if (!serve_warps(r) && !ran) {
            snprintf(message, sizeof(message), "deadlock");
            return -1;
        }
    }
}

// Warp form: all warps to the next barrier or the end, again and again.
static int schedule_warps(struct exec_ctx *ctx, const struct jit_kernel *kernel,
                          struct exec_thread *warps, uint32_t count)
{
    bool *ended = calloc(count, sizeof(*ended));
    for (uint32_t left = count; left > 0;) {
        uint32_t sum = 0, waiting = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (ended[i]) {
                continue;
            }
            ctx->current = warps[i].linear;
            if (kernel->thread(ctx, &warps[i]) == EXEC_EXIT) {
                ended[i] = true;
                left--;
                continue;
            }
            sum += (uint32_t)__builtin_popcount(warps[i].request.c & warps[i].request.mask);
            waiting += (uint32_t)__builtin_popcount(warps[i].request.mask);
        }
        for (uint32_t i = 0; i < count; i++) {
            struct exec_request *q = &warps[i].request;
            q->result = q->op == EXEC_BAR_RED_POPC  ? sum
                        : q->op == EXEC_BAR_RED_AND ? sum == waiting
                                                    : sum != 0;
            q->result_pred = q->result != 0;
        }
    }
    free(ended);
    return 0;
}

static int run_warps(struct harness *h, struct exec_ctx *ctx)
{
    uint32_t lanes = h->warp->lanes, n = (ctx->block_threads + lanes - 1) / lanes;
    struct exec_thread *warps = calloc(n, sizeof(struct exec_thread));
    size_t local = (h->warp->local_size + 127) / 64 * 64;
    size_t frame = ((size_t)h->warp->frame_size + 127) / 64 * 64;
    unsigned char *memory = aligned_alloc(64, n * (local + frame));
    memset(memory, 0xa5, n * (local + frame));
    for (uint32_t i = 0; i < n; i++) {
        struct exec_thread *t = &warps[i];
        t->linear = lanes * i;
        t->tid[0] = t->linear % ctx->ntid[0];
        t->tid[1] = t->linear / ctx->ntid[0] % ctx->ntid[1];
        t->tid[2] = t->linear / ctx->ntid[0] / ctx->ntid[1];
        t->local = memory + i * (local + frame);
        t->frame = t->local + local;
    }
    int result = schedule_warps(ctx, h->warp, warps, n);
    free(warps);
    free(memory);
    return result;
}

static int run_threads(struct harness *h, struct exec_ctx *ctx)
{
    uint32_t n = ctx->block_threads;
    struct run r = {ctx, calloc(n, sizeof(struct exec_thread)), calloc(n, sizeof(int)), n};
    size_t local = (h->kernel->local_size + 31) / 16 * 16;
    size_t frame = ((size_t)h->kernel->frame_size + 31) / 16 * 16;
    unsigned char *memory = aligned_alloc(16, n * (local + frame));
    memset(memory, 0xa5, n * (local + frame));
    for (uint32_t i = 0; i < n; i++) {
        struct exec_thread *t = &r.threads[i];
        t->linear = i;
        t->tid[0] = i % ctx->ntid[0];
        t->tid[1] = i / ctx->ntid[0] % ctx->ntid[1];
        t->tid[2] = i / ctx->ntid[0] / ctx->ntid[1];
        t->local = memory + i * (local + frame);
        t->frame = t->local + local;
    }
    int result = schedule(&r, h->kernel);
    free(r.threads);
    free(r.waiting);
    free(memory);
    return result;
}

static int run_block(struct harness *h, struct exec_ctx *ctx)
{
    struct exec_block block = {.h = h};
    ctx->block = &block;
    if (sigsetjmp(block.leave, 0) != 0) {
        return -1;
    }
    bool rows = h->warp != NULL &&
                (ctx->ntid[0] % h->warp->lanes == 0 || ctx->ntid[1] * ctx->ntid[2] == 1);
    if (h->warp != NULL && rows && !h->one_lane) {
        if (h->warp->block == NULL) {
            return run_warps(h, ctx);
        }
        h->warp->block(ctx);
        return 0;
    }
    if (h->kernel->block != NULL) {
        h->kernel->block(ctx);
        return 0;
    }
    return run_threads(h, ctx);
}

int harness_run(struct harness *h, const struct harness_launch *launch, const void *params)
{
    const struct exec_runtime rt = {
        .vprintf = rt_vprintf,
        .device_malloc = rt_malloc,
        .device_free = rt_free,
        .assert_fail = rt_assert,
        .trap = rt_trap,
        .barrier_arrive = rt_arrive,
        .globaltimer = rt_clock,
        .clock64 = rt_clock,
        .helpers = jit_engine_table.helpers(),
    };
    struct exec_ctx ctx = {.params = params, .symbols = h->symbols, .rt = &rt, .nsmid = 1};
    for (unsigned i = 0; i < 3; i++) {
        ctx.nctaid[i] = launch->grid[i] != 0 ? launch->grid[i] : 1;
        ctx.ntid[i] = launch->block[i] != 0 ? launch->block[i] : 1;
        ctx.cluster_nctaid[i] = 1;
    }
    ctx.block_threads = ctx.ntid[0] * ctx.ntid[1] * ctx.ntid[2];
    ctx.static_shared = h->kernel->static_shared;
    ctx.dynamic_shared_size = launch->dynamic_shared;
    ctx.shared_size = h->kernel->dynamic_shared_offset + launch->dynamic_shared;
    if (ctx.shared_size < ctx.static_shared) {
        ctx.shared_size = ctx.static_shared;
    }
    ctx.shared = aligned_alloc(1024, (ctx.shared_size + 1024) / 1024 * 1024);
    memset(ctx.shared, 0x5a, (ctx.shared_size + 1024) / 1024 * 1024); // the same in every run
    int result = 0;
    h->printed[0] = '\0';
    for (uint32_t z = 0; z < ctx.nctaid[2] && result == 0; z++) {
        for (uint32_t y = 0; y < ctx.nctaid[1] && result == 0; y++) {
            for (uint32_t x = 0; x < ctx.nctaid[0] && result == 0; x++) {
                ctx.ctaid[0] = x;
                ctx.ctaid[1] = y;
                ctx.ctaid[2] = z;
                result = run_block(h, &ctx);
            }
        }
    }
    free(ctx.shared);
    return result;
}

// ---------------------------------------------------------------- one operation on arrays

struct text {
    char data[8192];
    size_t used;
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->data + t->used, sizeof(t->data) - t->used, format, ap);
    va_end(ap);
    t->used += n > 0 ? (size_t)n : 0;
}

static unsigned bytes_of(const char *type)
{
    return strcmp(type, "pred") == 0 ? 1 : (unsigned)atoi(type + 1) / 8;
}

static const char *register_type(const char *type)
{
    return strcmp(type, "b8") == 0 ? "b16" : type;
}

static void put_access(struct text *t, const char *type, char name, unsigned param, bool store)
{
    put(t, "ld.param.u64 %%addr, [k_param_%u];\nmad.wide.u32 %%addr, %%i, %u, %%addr;\n", param,
        bytes_of(type));
    if (!store) {
        put(t, "ld.global.%s %c, [%%addr];\n", type, name);
    } else if (strcmp(type, "pred") == 0) {
        put(t, "selp.u16 %%byte, 1, 0, %c;\nst.global.u8 [%%addr], %%byte;\n", name);
    } else {
        put(t, "st.global.%s [%%addr], %c;\n", type, name);
    }
}

int harness_map(const struct harness_op *op, size_t count, const void *a, const void *b,
                const void *c, void *d, void *e)
{
    const char *types[5] = {op->a, op->b, op->c, op->d, op->e};
    struct text *t = calloc(1, sizeof(*t));
    put(t, ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(");
    for (unsigned i = 0; i < 5; i++) {
        put(t, ".param .u64 k_param_%u, ", i);
    }
    put(t, ".param .u32 k_param_5)\n{\n.reg .pred %%p<8>, %%end; .reg .b16 %%h<16>, %%byte;\n"
           ".reg .b32 %%r<16>, %%i, %%n, %%s<3>; .reg .b64 %%x<16>, %%addr;\n");
    for (unsigned i = 0; i < 5; i++) {
        if (types[i] != NULL) {
            put(t, ".reg .%s %c;\n", register_type(types[i]), "abcde"[i]);
        }
    }
    put(t, "mov.u32 %%s0, %%ctaid.x;\nmov.u32 %%s1, %%ntid.x;\nmov.u32 %%s2, %%tid.x;\n"
           "mad.lo.u32 %%i, %%s0, %%s1, %%s2;\nld.param.u32 %%n, [k_param_5];\n"
           "setp.ge.u32 %%end, %%i, %%n;\n@%%end bra DONE;\n");
    for (unsigned i = 0; i < 3; i++) {
        if (types[i] != NULL) {
            put_access(t, types[i], "abcde"[i], i, false);
        }
    }
    put(t, "%s\n", op->body);
    for (unsigned i = 3; i < 5; i++) {
        if (types[i] != NULL) {
            put_access(t, types[i], "abcde"[i], i, true);
        }
    }
    put(t, "DONE:\nret;\n}\n");
    struct harness *h = harness_compile(t->data, NULL);
    free(t);
    if (h == NULL) {
        return -1;
    }
    struct {
        const void *a, *b, *c;
        void *d, *e;
        uint32_t n;
    } params = {a, b, c, d, e, (uint32_t)count};
    struct harness_launch launch = {.grid = {(uint32_t)((count + 127) / 128)}, .block = {128}};
    int r = harness_run(h, &launch, &params);
    harness_free(h);
    return r;
}
