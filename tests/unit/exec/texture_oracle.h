// SPDX-License-Identifier: Apache-2.0
//
// What the tests of textures and surfaces share: images that end at pages without access, so that
// every read outside is a fault, and a sampler in double precision that follows the text of the
// CUDA Programming Guide without any thought of speed.
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/cpu/exec/fault.h"
#include "backends/cpu/exec/texture.h"

// `size` bytes with pages without access before and behind; the end touches them.
static inline unsigned char *oracle_guarded(size_t size)
{
    size_t page = 4096, room = (size + page - 1) / page * page;
    unsigned char *all = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, room, PROT_READ | PROT_WRITE)) {
        abort();
    }
    return all + page + room - size;
}

static inline void oracle_unguard(unsigned char *at, size_t size)
{
    size_t page = 4096, room = (size + page - 1) / page * page;
    munmap(at + size - room - page, room + 2 * page);
}

static inline uint32_t oracle_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

// One call of exec_image_functions as device work.
struct oracle_call {
    enum {
        ORACLE_TEXTURE,
        ORACLE_1D,
        ORACLE_2D,
        ORACLE_3D,
        ORACLE_FETCH,
        ORACLE_QUERY,
        ORACLE_SURFACE
    } what;
    uint64_t object, sampler;
    const uint32_t *words;
    uint32_t op; // also: what is queried
    float at[3];
    int32_t x; // also: the level
    struct exec_words result;
    uint32_t answer;
};

// cudaSuccess, or what the call left the kernel with.
static __attribute__((noinline)) cudaError_t oracle_perform(struct oracle_call *call)
{
    const struct exec_image_functions *f = &exec_image_functions;
    struct exec_fault_frame frame;
    exec_fault_install();
    exec_fault_push(&frame);
    if (sigsetjmp(frame.jump, 0) == 0) {
        switch (call->what) {
        case ORACLE_TEXTURE:
            call->result = f->texture(call->object, call->sampler, call->words, call->op);
            break;
        case ORACLE_1D:
            call->result = f->texture_1d(call->object, call->at[0]);
            break;
        case ORACLE_2D:
            call->result = f->texture_2d(call->object, call->at[0], call->at[1]);
            break;
        case ORACLE_3D:
            call->result = f->texture_3d(call->object, call->at[0], call->at[1], call->at[2]);
            break;
        case ORACLE_FETCH:
            call->result = f->texture_fetch(call->object, call->x);
            break;
        case ORACLE_QUERY:
            call->answer = f->query(call->object, call->op, (uint32_t)call->x);
            break;
        case ORACLE_SURFACE:
            call->result = f->surface(call->object, call->words, call->op);
            break;
        }
    }
    exec_fault_pop(&frame);
    return frame.error;
}

static inline double oracle_half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 0 ? ldexp(m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}

static inline double oracle_clamped(double x)
{
    return x < -1 ? -1 : x;
}

// Channel c of the texel at x, y, z as the Programming Guide defines read modes.
static inline double oracle_texel(const struct exec_texture *t, const struct exec_image_level *l,
                                  int64_t x, int64_t y, int64_t z, unsigned c)
{
    if (c >= t->channels) {
        return c == 3;
    }
    const unsigned char *at =
        l->base + z * (int64_t)l->slice_pitch + y * (int64_t)l->row_pitch + x * t->element_size;
    bool norm = t->normalized_read;
    switch (t->channel) {
    case EXEC_CHANNEL_U8:
        return norm ? at[c] / 255.0 : at[c];
    case EXEC_CHANNEL_UNORM8:
        return at[c] / 255.0;
    case EXEC_CHANNEL_S8:
        return norm ? oracle_clamped((int8_t)at[c] / 127.0) : (int8_t)at[c];
    case EXEC_CHANNEL_SNORM8:
        return oracle_clamped((int8_t)at[c] / 127.0);
    case EXEC_CHANNEL_U16:
        return ((const uint16_t *)(const void *)at)[c] / (norm ? 65535.0 : 1);
    case EXEC_CHANNEL_UNORM16:
        return ((const uint16_t *)(const void *)at)[c] / 65535.0;
    case EXEC_CHANNEL_S16:
        return norm ? oracle_clamped(((const int16_t *)(const void *)at)[c] / 32767.0)
                    : ((const int16_t *)(const void *)at)[c];
    case EXEC_CHANNEL_SNORM16:
        return oracle_clamped(((const int16_t *)(const void *)at)[c] / 32767.0);
    case EXEC_CHANNEL_U32:
        return ((const uint32_t *)(const void *)at)[c];
    case EXEC_CHANNEL_S32:
        return ((const int32_t *)(const void *)at)[c];
    case EXEC_CHANNEL_F16:
        return oracle_half(((const uint16_t *)(const void *)at)[c]);
    case EXEC_CHANNEL_UNORM10_10_10_2: {
        uint32_t w = *(const uint32_t *)(const void *)at;
        return (w >> 10 * c & (c == 3 ? 3 : 1023)) / (c == 3 ? 3.0 : 1023.0);
    }
    default:
        return (double)((const float *)(const void *)at)[c];
    }
}

// The index that an address mode gives to index i of n texels; -1: border.
static inline int64_t oracle_index(int64_t i, int64_t n, unsigned mode, bool normalized)
{
    if (i >= 0 && i < n) {
        return i;
    }
    if (mode == EXEC_ADDRESS_BORDER) {
        return -1;
    }
    if (normalized && mode == EXEC_ADDRESS_WRAP) {
        return ((i % n) + n) % n;
    }
    if (normalized && mode == EXEC_ADDRESS_MIRROR) {
        int64_t k = ((i % (2 * n)) + 2 * n) % (2 * n);
        return k < n ? k : 2 * n - 1 - k;
    }
    return i < 0 ? 0 : n - 1;
}

// Channel c of a sample at texel coordinates u (not folded), by the formulas of "Linear Filtering".
static inline double oracle_sample(const struct exec_texture *t, const struct exec_image_level *l,
                                   unsigned dimensions, const double u[3], uint32_t layer,
                                   unsigned c, bool linear)
{
    int64_t index[3][2] = {{0, 0}, {0, 0}, {layer, layer}};
    double weight[3][2] = {{1, 0}, {1, 0}, {1, 0}};
    const int64_t size[3] = {l->width, l->height, l->depth};
    for (unsigned d = 0; d < dimensions; d++) {
        int64_t low = (int64_t)floor(u[d]);
        if (linear) {
            double fixed = floor((u[d] - 0.5) * 256 + 0.5) / 256; // 8 bits of fraction
            low = (int64_t)floor(fixed);
            weight[d][1] = fixed - (double)low;
            weight[d][0] = 1 - weight[d][1];
        }
        for (int k = 0; k < 2; k++) {
            index[d][k] = oracle_index(low + k, size[d], t->address[d], t->normalized_coords);
        }
    }
    double sum = 0;
    for (unsigned n = 0; n < (1u << dimensions); n++) {
        int64_t i[3];
        double w = 1;
        for (unsigned d = 0; d < 3; d++) {
            i[d] = index[d][n >> d & 1];
            w *= weight[d][n >> d & 1];
        }
        if (w != 0) {
            sum += w * (i[0] < 0 || i[1] < 0 || i[2] < 0 ? (double)t->border[c]
                                                         : oracle_texel(t, l, i[0], i[1], i[2], c));
        }
    }
    return sum;
}

// Does `got` agree with the sample at u or within a rounding of the coordinates around it?
static inline bool oracle_agrees(const struct exec_texture *t, const struct exec_image_level *l,
                                 unsigned dimensions, const double u[3], uint32_t layer, unsigned c,
                                 bool linear, double got)
{
    unsigned total = 1;
    for (unsigned d = 0; d < dimensions; d++) {
        total *= 3;
    }
    for (unsigned n = 0; n < total; n++) {
        double moved[3];
        unsigned rest = n;
        for (unsigned d = 0; d < dimensions; d++, rest /= 3) {
            static const double by[3] = {0, -1, 1};
            moved[d] = u[d] + by[rest % 3] * (1e-6 + fabs(u[d]) * 3e-7);
        }
        double want = oracle_sample(t, l, dimensions, moved, layer, c, linear);
        if (fabs(want - got) <= 2e-6 * (1 + fabs(want)) + 1e-6 || (isnan(want) && isnan(got))) {
            return true;
        }
    }
    return false;
}
