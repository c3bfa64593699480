// SPDX-License-Identifier: Apache-2.0
//
// Small tools of the executor: futex, pause, monotonic time, alignment. No state. Used by exec/ and
// by the device operations of the cpu backend; never by compiled code.
#pragma once

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void exec_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// CLOCK_MONOTONIC in nanoseconds.
static inline uint64_t exec_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Sleeps while *word == value, at most `ns` nanoseconds (0: without limit). May return early.
static inline void exec_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec limit = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    syscall(SYS_futex, (void *)word, FUTEX_WAIT_PRIVATE, value, ns ? &limit : NULL, NULL, 0);
}

static inline void exec_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, (void *)word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline size_t exec_align(size_t value, size_t alignment) // alignment: a power of two
{
    return (value + alignment - 1) & ~(alignment - 1);
}
