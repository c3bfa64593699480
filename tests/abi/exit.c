// SPDX-License-Identifier: Apache-2.0
//
// A program that goes on calling while the process ends: other threads are in the middle of calls
// when main returns, atexit functions and ELF destructors call, and calls follow the unregistration
// of the only module, as with static C++ objects. It must end by itself, with exit code 0: neither
// hang nor crash. The argument is the library; every answer is allowed, but nonsense is not.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int (*allocate)(void **, size_t);
    int (*release)(void *);
    int (*copy)(void *, const void *, size_t, int);
    int (*synchronize)(void);
    int (*last)(void);
    int (*count)(int *);
    int (*stream)(void **);
    int (*event)(void **);
    int (*record)(void *, void *);
    int (*copy_async)(void *, const void *, size_t, int, void *);
    const char *(*name)(int);
    void **(*begin)(const void *);
    void (*end)(void **);
    void (*drop)(void **);
} cuda;

static const int wrapper[6] = {0x466243b1, 1};
static void **module;

static void call_everything(const char *when)
{
    void *memory = NULL;
    char byte = 1;
    int devices = -1;
    int results[] = {cuda.count(&devices),
                     cuda.allocate(&memory, 64),
                     memory ? cuda.copy(memory, &byte, 1, 1) : 0,
                     cuda.release(memory),
                     cuda.synchronize(),
                     cuda.last()};
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        if (!strcmp(cuda.name(results[i]), "unrecognized error code")) {
            fprintf(stderr, "%s: call %zu answered %d\n", when, i, results[i]);
            _exit(3);
        }
    }
}

static void at_exit(void)
{
    call_everything("atexit");
}

static void unregister(void)
{
    cuda.drop(module);
    call_everything("after unregistration");
}

__attribute__((destructor)) static void destructor(void)
{
    if (cuda.name) {
        call_everything("destructor");
    }
}

// Live streams and events, and copies in flight, that nobody ever waits for.
static void *busy(void *argument)
{
    enum { SIZE = 1 << 20 };
    void *stream = NULL, *event = NULL, *memory = NULL;
    char *host = calloc(1, SIZE);
    (void)argument;
    int e = cuda.stream(&stream);
    e = e ? e : cuda.event(&event);
    e = e ? e : cuda.allocate(&memory, SIZE);
    if (e == 4) {
        free(host);
        return NULL; // cudaErrorCudartUnloading: main was faster
    }
    if (e || !host) {
        fprintf(stderr, "a thread could not start: %d\n", e);
        _exit(4);
    }
    for (;;) {
        cuda.copy_async(memory, host, SIZE, 1, stream);
        cuda.record(event, stream);
        call_everything("thread");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const struct {
        const char *name;
        void *where;
    } symbols[] = {
        {"cudaMalloc", &cuda.allocate},
        {"cudaFree", &cuda.release},
        {"cudaMemcpy", &cuda.copy},
        {"cudaDeviceSynchronize", &cuda.synchronize},
        {"cudaGetLastError", &cuda.last},
        {"cudaGetDeviceCount", &cuda.count},
        {"cudaGetErrorName", &cuda.name},
        {"cudaStreamCreate", &cuda.stream},
        {"cudaEventCreate", &cuda.event},
        {"cudaEventRecord", &cuda.record},
        {"cudaMemcpyAsync", &cuda.copy_async},
        {"__cudaRegisterFatBinary", &cuda.begin},
        {"__cudaRegisterFatBinaryEnd", &cuda.end},
        {"__cudaUnregisterFatBinary", &cuda.drop},
    };
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *found = handle ? dlsym(handle, symbols[i].name) : NULL;
        if (!found) {
            fprintf(stderr, "no %s: %s\n", symbols[i].name, dlerror());
            _exit(2);
        }
        memcpy(symbols[i].where, &found, sizeof(found));
    }
    alarm(50);
    atexit(at_exit); // runs last: after the unregistration
    module = cuda.begin(wrapper);
    cuda.end(module);
    atexit(unregister);
    call_everything("main");
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, busy, NULL) == 0) {
            pthread_detach(thread);
        }
    }
    usleep(20000);
    return 0;
}
