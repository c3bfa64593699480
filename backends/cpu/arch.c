// SPDX-License-Identifier: Apache-2.0
//
// The table of compute capabilities and the occupancy rule (programming guide; the granularities
// are those of NVIDIA's cuda_occupancy.h). A test compares the results with that header.
#include "arch.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { K = 1024 };

static const struct cpu_arch archs[] = {
    {5, 0, 2048, 32, 64 * K, 48 * K, 0, 256, 2048},
    {5, 2, 2048, 32, 96 * K, 48 * K, 0, 256, 2048},
    {5, 3, 2048, 32, 64 * K, 48 * K, 0, 256, 256},
    {6, 0, 2048, 32, 64 * K, 48 * K, 0, 256, 4096},
    {6, 1, 2048, 32, 96 * K, 48 * K, 0, 256, 2048},
    {6, 2, 2048, 32, 64 * K, 48 * K, 0, 256, 512},
    {7, 0, 2048, 32, 96 * K, 96 * K, 0, 256, 6144},
    {7, 2, 2048, 32, 96 * K, 96 * K, 0, 256, 512},
    {7, 5, 1024, 16, 64 * K, 64 * K, 0, 256, 4096},
    {8, 0, 2048, 32, 164 * K, 163 * K, 1 * K, 128, 40960},
    {8, 6, 1536, 16, 100 * K, 99 * K, 1 * K, 128, 6144},
    {8, 7, 1536, 16, 164 * K, 163 * K, 1 * K, 128, 4096},
    {8, 9, 1536, 24, 100 * K, 99 * K, 1 * K, 128, 73728},
    {9, 0, 2048, 32, 228 * K, 227 * K, 1 * K, 128, 51200},
    {10, 0, 2048, 32, 228 * K, 227 * K, 1 * K, 128, 129024},
    {10, 3, 2048, 32, 228 * K, 227 * K, 1 * K, 128, 129024},
    {11, 0, 1536, 24, 228 * K, 227 * K, 1 * K, 128, 32768},
    {12, 0, 1536, 24, 100 * K, 99 * K, 1 * K, 128, 98304},
    {12, 1, 1536, 24, 100 * K, 99 * K, 1 * K, 128, 24576},
};
enum { ARCH_COUNT = sizeof archs / sizeof *archs };

const struct cpu_arch *cpu_arch_find(const char *text)
{
    static const char *const prefixes[] = {"sm_", "compute_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0) {
            text += strlen(prefixes[i]);
            break;
        }
    }
    if (!isdigit((unsigned char)*text)) {
        return NULL;
    }
    char *end;
    long major = strtol(text, &end, 10), minor;
    if (*end == '.') {
        if (!isdigit((unsigned char)end[1])) {
            return NULL;
        }
        minor = strtol(end + 1, &end, 10);
    } else {
        minor = major % 10;
        major /= 10;
    }
    if (*end == 'a' || *end == 'f') {
        end++;
    }
    if (*end) {
        return NULL;
    }
    for (size_t i = 0; i < ARCH_COUNT; i++) {
        if (archs[i].major == major && archs[i].minor == minor) {
            return &archs[i];
        }
    }
    return NULL;
}

const char *cpu_arch_list(void)
{
    return "5.0, 5.2, 5.3, 6.0, 6.1, 6.2, 7.0, 7.2, 7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, "
           "11.0, "
           "12.0, 12.1";
}

static int round_up(int value, int step)
{
    return (value + step - 1) / step * step;
}

int cpu_arch_occupancy(const struct cpu_arch *arch, int block_size, int registers,
                       size_t static_shared, size_t dynamic_shared)
{
    if (block_size <= 0 || block_size > CPU_THREADS_PER_BLOCK ||
        static_shared + dynamic_shared > (size_t)arch->shared_per_block) {
        return 0;
    }
    int warps = (block_size + 31) / 32;
    int limit = arch->blocks_per_sm;
    int by_warps = arch->threads_per_sm / 32 / warps;
    limit = by_warps < limit ? by_warps : limit;
    if (registers > 0) {
        // Registers are given out per warp in steps of 256, in four parts of the multiprocessor.
        int per_warp = round_up(registers * 32, 256);
        int fitting = CPU_REGISTERS_PER_SM / 4 / per_warp * 4;
        int by_registers = fitting / warps;
        limit = by_registers < limit ? by_registers : limit;
    }
    int shared = round_up((int)(static_shared + dynamic_shared) + arch->shared_reserved,
                          arch->shared_granularity);
    if (shared > 0) {
        int by_shared = arch->shared_per_sm / shared;
        limit = by_shared < limit ? by_shared : limit;
    }
    return limit;
}
