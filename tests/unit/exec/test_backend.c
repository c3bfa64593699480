// SPDX-License-Identifier: Apache-2.0
//
// The module libirt-cpu.so through its one export, with a host that stands in for the shim: devices
// and their environment variables, memory, limits, streams, fork and exit. No compiler is needed.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backends/backend.h"

TestSuite(backend, .timeout = 20);

static const char *env_devices, *env_memory, *env_arch, *env_threads = "2";
static char logged[1024];
static _Atomic int lost_device = -1, lost_error;

static void host_log(const char *subsystem, int level, const char *format, ...)
{
    (void)subsystem;
    (void)level;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(logged, sizeof logged, format, arguments);
    va_end(arguments);
}

static const char *host_env(const char *name)
{
    return strcmp(name, "INFINIRT_CPU_DEVICES") == 0   ? env_devices
           : strcmp(name, "INFINIRT_CPU_MEMORY") == 0  ? env_memory
           : strcmp(name, "INFINIRT_CPU_ARCH") == 0    ? env_arch
           : strcmp(name, "INFINIRT_CPU_THREADS") == 0 ? env_threads
                                                       : NULL;
}

static void host_lost(int device, cudaError_t error)
{
    atomic_store(&lost_device, device);
    atomic_store(&lost_error, (int)error);
}

static const struct irtb_host host = {
    .log = host_log, .env = host_env, .device_lost = host_lost};

static const struct irtb_backend *open_backend(void)
{
    void *module = dlopen(getenv("IRT_CPU_MODULE"), RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(module, "%s", dlerror());
    const struct irtb_backend *(*entry)(void) =
        (const struct irtb_backend *(*)(void))dlsym(module, "irtb_backend_entry");
    cr_assert_not_null(entry);
    const struct irtb_backend *backend = entry();
    cr_assert_eq(backend->abi_version, IRTB_ABI_VERSION);
    cr_assert_eq(backend->struct_size, sizeof *backend);
    return backend;
}

static const struct irtb_backend *ready_backend(void)
{
    const struct irtb_backend *b = open_backend();
    char why[256] = "";
    cr_assert_eq(b->init(&host, why, sizeof why), cudaSuccess, "%s", why);
    return b;
}

static int thread_count(void)
{
    char line[128];
    int count = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "Threads: %d", &count);
    }
    if (file) {
        fclose(file);
    }
    return count;
}

Test(backend, wrong_settings_are_refused_with_a_reason)
{
    static const struct {
        const char **variable, *value, *word;
        cudaError_t want;
    } rows[] = {
        {&env_devices, "x", "INFINIRT_CPU_DEVICES", cudaErrorInitializationError},
        {&env_devices, "0", "INFINIRT_CPU_DEVICES", cudaErrorNoDevice},
        {&env_devices, "1000", "INFINIRT_CPU_DEVICES", cudaErrorInitializationError},
        {&env_memory, "lots", "INFINIRT_CPU_MEMORY", cudaErrorInitializationError},
        {&env_memory, "1K", "INFINIRT_CPU_MEMORY", cudaErrorInitializationError},
        {&env_memory, "99999999999G", "INFINIRT_CPU_MEMORY", cudaErrorInitializationError},
        {&env_arch, "4.2", "INFINIRT_CPU_ARCH", cudaErrorInitializationError},
        {&env_threads, "-1", "INFINIRT_CPU_THREADS", cudaErrorInitializationError},
    };
    const struct irtb_backend *b = open_backend();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *old = *rows[i].variable;
        char why[256] = "";
        *rows[i].variable = rows[i].value;
        cr_expect_eq(b->init(&host, why, sizeof why), rows[i].want, "row %zu", i);
        cr_expect(strstr(why, rows[i].word), "row %zu: %s", i, why);
        *rows[i].variable = old;
    }
}

Test(backend, devices_and_properties_agree)
{
    env_devices = "3";
    env_memory = "2g";
    env_arch = "8.6";
    int before = thread_count();
    const struct irtb_backend *b = ready_backend();
    int count = 0;
    cr_assert_eq(b->device_count(&count), cudaSuccess);
    cr_assert_eq(count, 3);
    for (int d = 0; d < count; d++) {
        struct irtb_device_info info;
        memset(&info, 0xff, sizeof info);
        cr_assert_eq(b->device_info(d, &info), cudaSuccess);
        cr_expect_eq(info.prop.totalGlobalMem, (size_t)2 << 30);
        cr_expect_eq(info.prop.major, 8);
        cr_expect_eq(info.prop.minor, 6);
        cr_expect_eq(info.prop.warpSize, 32);
        cr_expect_eq(info.prop.multiProcessorCount, 2);
        cr_expect_eq(info.prop.maxThreadsPerMultiProcessor, 1536);
        cr_expect_eq(info.prop.sharedMemPerBlockOptin, 99u << 10);
        cr_expect_eq(info.prop.pciBusID, d + 1);
        cr_expect_eq(strncmp(info.prop.name, "InfiniRT CPU (", 14), 0);
        size_t left, total;
        cr_assert_eq(b->device_memory_info(d, &left, &total), cudaSuccess);
        cr_expect_eq(left, total);
        cr_expect_eq(total, info.prop.totalGlobalMem);
        int peer = -1;
        cr_assert_eq(b->device_can_access_peer(d, (d + 1) % count, &peer), cudaSuccess);
        cr_expect_eq(peer, 1);
        cr_assert_eq(b->device_can_access_peer(d, d, &peer), cudaSuccess);
        cr_expect_eq(peer, 0);
    }
    cr_expect_eq(thread_count(), before, "threads before there is work");
}

Test(backend, memory_budgets_are_per_device)
{
    env_devices = "2";
    env_memory = "64M";
    const struct irtb_backend *b = ready_backend();
    void *a, *c, *h;
    cr_assert_eq(b->memory_alloc(0, IRTB_MEMORY_DEVICE, 60u << 20, 0, &a), cudaSuccess);
    cr_expect_eq(b->memory_alloc(0, IRTB_MEMORY_DEVICE, 10u << 20, 0, &c),
                 cudaErrorMemoryAllocation);
    cr_assert_eq(b->memory_alloc(1, IRTB_MEMORY_DEVICE, 60u << 20, 0, &c), cudaSuccess);
    cr_assert_eq(b->memory_alloc(0, IRTB_MEMORY_HOST, 70u << 20, 0, &h), cudaSuccess);
    memset(h, 1, 70u << 20);
    size_t left, total;
    cr_assert_eq(b->device_memory_info(0, &left, &total), cudaSuccess);
    cr_expect_eq(left, 4u << 20);
    cr_expect_eq(b->memory_free(1, IRTB_MEMORY_DEVICE, a), cudaErrorInvalidValue);
    cr_assert_eq(b->memory_free(0, IRTB_MEMORY_DEVICE, a), cudaSuccess);
    cr_assert_eq(b->memory_free(1, IRTB_MEMORY_DEVICE, c), cudaSuccess);
    cr_assert_eq(b->memory_free(0, IRTB_MEMORY_HOST, h), cudaSuccess);
    int on_stack;
    void *device_ptr = NULL;
    cr_expect_eq(b->host_register(0, &on_stack, sizeof on_stack, 0, &device_ptr), cudaSuccess);
    cr_expect_eq(device_ptr, &on_stack);
    cr_expect_eq(b->host_register(0, (void *)0x1000, 4096, 0, &device_ptr), cudaErrorInvalidValue);
}

Test(backend, limits)
{
    const struct irtb_backend *b = ready_backend();
    size_t value = 0;
    cr_assert_eq(b->device_get_limit(0, cudaLimitStackSize, &value), cudaSuccess);
    cr_expect_eq(value, 1024);
    cr_assert_eq(b->device_get_limit(0, cudaLimitMallocHeapSize, &value), cudaSuccess);
    cr_expect_eq(value, 8u << 20);
    cr_assert_eq(b->device_set_limit(0, cudaLimitStackSize, 65536), cudaSuccess);
    cr_assert_eq(b->device_get_limit(0, cudaLimitStackSize, &value), cudaSuccess);
    cr_expect_eq(value, 65536);
    cr_expect_eq(b->device_set_limit(0, cudaLimitStackSize, (size_t)1 << 40),
                 cudaErrorInvalidValue);
    cr_expect_eq(b->device_get_limit(0, (enum cudaLimit)99, &value), cudaErrorUnsupportedLimit);
    cr_expect_eq(b->device_set_limit(0, (enum cudaLimit)99, 1), cudaErrorUnsupportedLimit);
    cr_assert_eq(b->device_reset(0), cudaSuccess);
    cr_assert_eq(b->device_get_limit(0, cudaLimitStackSize, &value), cudaSuccess);
    cr_expect_eq(value, 1024);
}

Test(backend, lost_device_is_told_and_reset_revives_it)
{
    env_devices = "2";
    const struct irtb_backend *b = ready_backend();
    struct irtb_stream *stream, *other;
    cr_assert_eq(b->stream_create(1, 0, &stream), cudaSuccess);
    cr_assert_eq(b->stream_create(0, 0, &other), cudaSuccess);
    struct irtb_fill fill = {
        .dst = (void *)64, .element_size = 1, .width = 4, .height = 1, .depth = 1};
    cr_assert_eq(b->fill(stream, &fill), cudaSuccess);
    cr_expect_eq(b->stream_synchronize(stream), cudaErrorIllegalAddress);
    cr_expect_eq(lost_device, 1);
    cr_expect_eq(lost_error, cudaErrorIllegalAddress);
    cr_expect_eq(b->device_synchronize(0), cudaSuccess);
    cr_expect_eq(b->device_synchronize(1), cudaErrorIllegalAddress);
    b->stream_destroy(stream);
    cr_assert_eq(b->device_reset(1), cudaSuccess);
    cr_expect_eq(b->device_synchronize(1), cudaSuccess);
}

static void sleep_for_ever(void *argument)
{
    atomic_store((_Atomic int *)argument, 1);
    for (;;) {
        pause();
    }
}

// Exit with a host function that never returns, and a fork child that exits at once.
Test(backend, exit_and_fork_do_not_hang)
{
    const struct irtb_backend *b = ready_backend();
    struct irtb_stream *stream;
    _Atomic int entered = 0;
    cr_assert_eq(b->stream_create(0, 0, &stream), cudaSuccess);
    cr_assert_eq(b->host_func(stream, sleep_for_ever, &entered, false), cudaSuccess);
    while (!atomic_load(&entered)) {
    }
    pid_t child = fork();
    if (child == 0) {
        b->at_exit();
        _exit(7);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    b->at_exit();
    clock_gettime(CLOCK_MONOTONIC, &end);
    cr_expect_lt(end.tv_sec - start.tv_sec, 5);
}
