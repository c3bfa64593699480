// SPDX-License-Identifier: Apache-2.0
//
// The cpu backend's heaps and the table of compute capabilities with its occupancy, the latter
// against NVIDIA's own calculator (cuda_occupancy.h).
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_occupancy.h>

#include "backends/cpu/arch.h"
#include "backends/cpu/memory.h"

TestSuite(memory, .timeout = 20);

Test(memory, alignment_budget_and_accounting)
{
    struct cpu_heap heap;
    cpu_heap_init(&heap, 64 << 20);
    static const size_t sizes[] = {1, 511, 512, 513, 4096, 100000, 131072, 131073, 3 << 20};
    void *ptrs[sizeof sizes / sizeof *sizes];
    size_t sum = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cr_assert_eq(cpu_heap_alloc(&heap, sizes[i], &ptrs[i]), cudaSuccess);
        cr_expect_eq((uintptr_t)ptrs[i] % 512, 0);
        memset(ptrs[i], (int)i, sizes[i]);
        sum += sizes[i];
    }
    size_t left, total;
    cpu_heap_info(&heap, &left, &total);
    cr_expect_eq(total, 64u << 20);
    cr_expect_leq(left, total - sum);
    cr_expect_geq(left, total - sum - (sum / 3 + 16384));
    void *big;
    cr_expect_eq(cpu_heap_alloc(&heap, left + 1, &big), cudaErrorMemoryAllocation);
    cr_expect_eq(cpu_heap_alloc(&heap, SIZE_MAX, &big), cudaErrorMemoryAllocation);
    cr_expect_eq(cpu_heap_alloc(&heap, SIZE_MAX - 4095, &big), cudaErrorMemoryAllocation);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cr_expect_eq(((unsigned char *)ptrs[i])[sizes[i] - 1], i);
        cr_expect_eq(cpu_heap_free(&heap, (char *)ptrs[i] + 1), cudaErrorInvalidValue);
        cr_expect_eq(cpu_heap_free(&heap, ptrs[i]), cudaSuccess);
        cr_expect_eq(cpu_heap_free(&heap, ptrs[i]), cudaErrorInvalidValue);
    }
    cpu_heap_info(&heap, &left, &total);
    cr_expect_eq(left, total);
    cr_assert_eq(cpu_heap_alloc(&heap, 64 << 20, &big), cudaSuccess);
    cpu_heap_clear(&heap);
    cpu_heap_info(&heap, &left, &total);
    cr_expect_eq(left, total);
}

Test(memory, pieces_do_not_overlap)
{
    struct cpu_heap heap;
    cpu_heap_init(&heap, (size_t)1 << 30);
    enum { N = 3000 };
    static unsigned char *pieces[N];
    static size_t sizes[N];
    unsigned seed = 7;
    for (int round = 0; round < 30000; round++) {
        seed = seed * 1103515245u + 12345u;
        unsigned i = (seed >> 8) % N;
        if (pieces[i]) {
            cr_assert_eq(pieces[i][0], (unsigned char)i);
            cr_assert_eq(pieces[i][sizes[i] - 1], (unsigned char)(i >> 3));
            cr_assert_eq(cpu_heap_free(&heap, pieces[i]), cudaSuccess);
            pieces[i] = NULL;
            continue;
        }
        sizes[i] = 2 + (seed >> 16) % (i % 50 ? 3000 : 300000);
        void *ptr;
        cr_assert_eq(cpu_heap_alloc(&heap, sizes[i], &ptr), cudaSuccess);
        pieces[i] = ptr;
        pieces[i][0] = (unsigned char)i;
        pieces[i][sizes[i] - 1] = (unsigned char)(i >> 3);
    }
    cpu_heap_clear(&heap);
}

#ifdef __SANITIZE_ADDRESS__
Test(memory, far_overrun_of_a_large_allocation_faults, .exit_code = 1) // how ASan ends a process
#else
Test(memory, far_overrun_of_a_large_allocation_faults, .signal = SIGSEGV)
#endif
{
    struct cpu_heap heap;
    cpu_heap_init(&heap, 64 << 20);
    void *ptr;
    cr_assert_eq(cpu_heap_alloc(&heap, 4 << 20, &ptr), cudaSuccess);
    ((volatile char *)ptr)[(4 << 20) + 4096] = 1;
}

Test(memory, mapped_ranges)
{
    char local[100] = "";
    cr_expect(cpu_range_mapped(local, sizeof local));
    cr_expect(!cpu_range_mapped((void *)0x10000, 10));
    cr_expect(!cpu_range_mapped((void *)(UINTPTR_MAX - 10), 100));
}

Test(memory, capabilities_are_parsed)
{
    static const char *const good[] = {"8.0", "80", "sm_80", "compute_80", "9.0a", "sm_120", "7.5"};
    static const char *const bad[] = {"", "8", "8.", "4.0", "x", "8.0.1", "sm_", "-8.0", "8.0b"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_expect_not_null(cpu_arch_find(good[i]), "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_null(cpu_arch_find(bad[i]), "%s", bad[i]);
    }
    cr_expect_eq(cpu_arch_find("sm_120")->major, 12);
}

Test(memory, occupancy_agrees_with_cuda)
{
    static const char *const archs[] = {"7.0", "7.5", "8.0", "8.6", "8.9", "9.0"};
    static const int shared[] = {0, 1, 1000, 16384, 40000, 49152, 60000, 100000, 166912};
    static const int registers[] = {16, 32, 40, 64, 128, 255};
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++) {
        const struct cpu_arch *arch = cpu_arch_find(archs[a]);
        struct cudaOccDeviceProp prop = {
            .computeMajor = arch->major,
            .computeMinor = arch->minor,
            .maxThreadsPerBlock = CPU_THREADS_PER_BLOCK,
            .maxThreadsPerMultiprocessor = arch->threads_per_sm,
            .regsPerBlock = CPU_REGISTERS_PER_SM,
            .regsPerMultiprocessor = CPU_REGISTERS_PER_SM,
            .warpSize = 32,
            .sharedMemPerBlock = CPU_SHARED_PER_BLOCK,
            .sharedMemPerMultiprocessor = (size_t)arch->shared_per_sm,
            .numSms = 4,
            .sharedMemPerBlockOptin = (size_t)arch->shared_per_block,
            .reservedSharedMemPerBlock = (size_t)arch->shared_reserved,
        };
        for (int block = 1; block <= 1024; block += block < 64 ? 1 : 37) {
            for (size_t s = 0; s < sizeof shared / sizeof *shared; s++) {
                for (size_t r = 0; r < sizeof registers / sizeof *registers; r++) {
                    if (shared[s] > arch->shared_per_block) {
                        continue;
                    }
                    struct cudaOccFuncAttributes function = {
                        .maxThreadsPerBlock = 1024,
                        .numRegs = registers[r],
                        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
                        .maxDynamicSharedSizeBytes = (size_t)arch->shared_per_block,
                    };
                    struct cudaOccDeviceState state = {.carveoutConfig =
                                                           SHAREDMEM_CARVEOUT_MAX_SHARED};
                    struct cudaOccResult result;
                    cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
                        &result, &prop, &function, &state, block, (size_t)shared[s]);
                    int got = cpu_arch_occupancy(arch, block, registers[r], 0, (size_t)shared[s]);
                    cr_assert_eq(error, CUDA_OCC_SUCCESS);
                    cr_assert_eq(got, result.activeBlocksPerMultiprocessor,
                                 "%s: %d threads, %d registers, %d shared: %d, CUDA says %d",
                                 archs[a], block, registers[r], shared[s], got,
                                 result.activeBlocksPerMultiprocessor);
                }
            }
        }
    }
}
