// SPDX-License-Identifier: Apache-2.0
//
// Choosing a backend and seeing its devices: what each setting of the environment leads to, fork
// and exit. Each row runs in a child that has made no call yet; the backend is the deferred one.
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(dispatch, .timeout = 20);

// Runs `body` in a child with stderr captured; returns the exit status.
static int in_child(int (*body)(const void *), const void *argument, char *ret_text, size_t size)
{
    int ends[2];
    cr_assert(pipe(ends) == 0);
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        _exit(body(argument));
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while (length + 1 < size && (got = read(ends[0], ret_text + length, size - 1 - length)) > 0) {
        length += (size_t)got;
    }
    ret_text[length] = '\0';
    close(ends[0]);
    int status;
    cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

struct choice {
    const char *backend, *path, *fails;
    cudaError_t expected;
    const char *text; // must appear on stderr; NULL: nothing at all may
};

static void set(const char *name, const char *value)
{
    if (value) {
        setenv(name, value, 1);
    }
}

static int try_choice(const void *argument)
{
    const struct choice *c = argument;
    unsetenv("INFINIRT_BACKEND");
    set("INFINIRT_BACKEND", c->backend);
    set("INFINIRT_BACKEND_PATH", c->path);
    set("DEFERRED_FAILS", c->fails);
    int count = -7;
    void *p = (void *)8;
    cudaError_t error = cudaGetDeviceCount(&count);
    cudaError_t again = cudaMalloc(&p, 16);
    cudaError_t last = cudaGetLastError();
    if (error != again || last != error) {
        return 200;
    }
    if (error && (count != -7 || p != (void *)8 || cudaGetLastError() != error)) {
        return 201; // outputs untouched, the error stays
    }
    return (int)error;
}

Test(dispatch, choices)
{
    static const struct choice rows[] = {
        {"cpu", NULL, NULL, cudaSuccess, NULL},
        {NULL, NULL, NULL, cudaSuccess, "using the cpu backend"},
        {"", NULL, NULL, cudaSuccess, "using the cpu backend"},
        {"nvidia", NULL, NULL, cudaErrorNoDevice, "INFINIRT_BACKEND=nvidia cannot be had"},
        {"abacus", NULL, NULL, cudaErrorNoDevice, "no such backend"},
        {"cpu", "/nonexistent", NULL, cudaErrorNoDevice, "/nonexistent/libirt-cpu.so"},
        {NULL, "/nonexistent", NULL, cudaErrorNoDevice, "no backend can be had"},
        {"cpu", NULL, "the device is asleep", cudaErrorNoDevice, "the device is asleep"},
    };
    char text[4096];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = in_child(try_choice, &rows[i], text, sizeof text);
        cr_assert(status == (int)rows[i].expected, "row %zu: %d, %s", i, status, text);
        cr_assert(rows[i].text ? strstr(text, rows[i].text) != NULL : text[0] == '\0',
                  "row %zu: %s", i, text);
        char *newline = strchr(text, '\n');
        cr_assert(!newline || newline[1] == '\0', "row %zu: more than one line: %s", i, text);
    }
}

struct visible {
    const char *list;
    const char *names; // last characters of the devices' names in order; "": no device
};

static int try_visible(const void *argument)
{
    const struct visible *v = argument;
    setenv("CUDA_VISIBLE_DEVICES", v->list, 1);
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (v->names[0] == '\0') {
        return error == cudaErrorNoDevice ? 0 : 1;
    }
    if (error || count != (int)strlen(v->names)) {
        return 2;
    }
    for (int i = 0; i < count; i++) {
        struct cudaDeviceProp prop;
        if (cudaGetDeviceProperties(&prop, i) || prop.name[strlen(prop.name) - 1] != v->names[i]) {
            return 3;
        }
        // Memory really comes from that device.
        struct cudaPointerAttributes attributes;
        size_t before, after, total;
        void *p;
        if (cudaSetDevice(i) || cudaMemGetInfo(&before, &total) || cudaMalloc(&p, 4096) ||
            cudaMemGetInfo(&after, &total) || after != before - 4096 ||
            cudaPointerGetAttributes(&attributes, p) || attributes.device != i ||
            cudaMemset(p, 0, 4096) || cudaDeviceSynchronize()) {
            return 4;
        }
    }
    return cudaSetDevice(count) == cudaErrorInvalidDevice ? 0 : 5;
}

Test(dispatch, visible_devices)
{
    static const struct visible rows[] = {
        {"0", "0"},
        {"1", "1"},
        {"0,1", "01"},
        {"1,0", "10"},
        {" 1 , 0 ", "10"},
        {"", ""},
        {"-1", ""},
        {"2", ""},
        {"1,7,0", "1"},
        {"0,-1,1", "0"},
        {"0,,1", "0"},
        {"0,0", ""},
        {"NoDevFiles", ""},
        {"GPU-a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1", "1"},
        {"GPU-a1,GPU-a0", "10"},
        {"GPU-A1,0", "10"},
        {"GPU-a", ""}, // not unique
        {"GPU-b0", ""},
        {"GPU-", ""},
    };
    char text[4096];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int status = in_child(try_visible, &rows[i], text, sizeof text);
        cr_assert(status == 0, "\"%s\": %d, %s", rows[i].list, status, text);
    }
}

static int use_in_fork_child(const void *argument)
{
    (void)argument;
    int count = -7;
    cudaError_t error = cudaGetDeviceCount(&count);
    return error == cudaErrorInitializationError && count == -7 &&
                   cudaGetLastError() == cudaErrorInitializationError
               ? 0
               : 1;
}

Test(dispatch, fork_child_of_an_initialised_process)
{
    char text[256];
    int count;
    cr_assert(cudaGetDeviceCount(&count) == cudaSuccess);
    cr_assert(in_child(use_in_fork_child, NULL, text, sizeof text) == 0);
    cr_assert(cudaGetDeviceCount(&count) == cudaSuccess, "the parent goes on");
}

static int code_at_exit = 99;

static void call_at_exit(void)
{
    int count;
    code_at_exit = (int)cudaGetDeviceCount(&count);
    _exit(code_at_exit);
}

static int call_after_exit_began(const void *argument)
{
    int count;
    atexit(call_at_exit); // registered before ours, so called after it
    if (argument) {
        cudaGetDeviceCount(&count);
    }
    exit(77);
}

Test(dispatch, calls_during_exit)
{
    char text[256];
    int status = in_child(call_after_exit_began, "", text, sizeof text);
    cr_assert(status == cudaErrorCudartUnloading, "%d %s", status, text);
}

static void *first_call(void *result)
{
    int count = 0;
    *(cudaError_t *)result = cudaGetDeviceCount(&count);
    return NULL;
}

Test(dispatch, many_first_calls_at_once)
{
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    cudaError_t results[THREADS];
    for (int i = 0; i < THREADS; i++) {
        results[i] = cudaErrorUnknown;
        cr_assert(pthread_create(&threads[i], NULL, first_call, &results[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        cr_assert(pthread_join(threads[i], NULL) == 0);
        cr_assert(results[i] == cudaSuccess);
    }
}

Test(dispatch, set_valid_devices)
{
    int order[] = {1, 0}, wrong[] = {0, 5}, device = -1;
    cr_assert(cudaSetValidDevices(order, 2) == cudaSuccess);
    cr_assert(cudaGetDevice(&device) == cudaSuccess && device == 1);
    cr_assert(cudaSetValidDevices(wrong, 2) == cudaErrorInvalidDevice);
    cr_assert(cudaSetValidDevices(order, 3) == cudaErrorInvalidValue);
    cr_assert(cudaSetValidDevices(NULL, 1) == cudaErrorInvalidValue);
    cr_assert(cudaSetValidDevices(NULL, 0) == cudaSuccess);
    cr_assert(cudaGetDevice(&device) == cudaSuccess && device == 0);
}

Test(dispatch, pci_bus_ids)
{
    static const struct {
        const char *text;
        cudaError_t error;
        int device;
    } rows[] = {
        {"0000:01:00.0", cudaSuccess, 0},
        {"0000:02:00.0", cudaSuccess, 1},
        {"0:2:0", cudaSuccess, 1},
        {"02:00.0", cudaSuccess, 1},
        {"00000000:02:00.7", cudaSuccess, 1},
        {"0000:03:00.0", cudaErrorInvalidDevice, 0},
        {"0001:01:00.0", cudaErrorInvalidDevice, 0},
        {"", cudaErrorInvalidValue, 0},
        {"02:00", cudaErrorInvalidValue, 0},
        {"0000:01:00.", cudaErrorInvalidValue, 0},
        {"0000:01:00.0x", cudaErrorInvalidValue, 0},
        {"0000:01:00.0 ", cudaErrorInvalidValue, 0},
        {"0:0:0:0.0", cudaErrorInvalidValue, 0},
        {"-1:01:00.0", cudaErrorInvalidValue, 0},
        {"gpu", cudaErrorInvalidValue, 0},
        {NULL, cudaErrorInvalidValue, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int device = -7;
        cudaError_t error = cudaDeviceGetByPCIBusId(&device, rows[i].text);
        cr_assert(error == rows[i].error, "row %zu: %d", i, (int)error);
        cr_assert(device == (error ? -7 : rows[i].device), "row %zu: device %d", i, device);
    }
    char text[16];
    cr_assert(cudaDeviceGetPCIBusId(text, 12, 0) == cudaErrorInvalidValue);
    cr_assert(cudaDeviceGetPCIBusId(text, 13, 1) == cudaSuccess);
    cr_assert_str_eq(text, "0000:02:00.0");
}
