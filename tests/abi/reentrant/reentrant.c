// SPDX-License-Identifier: Apache-2.0
//
// A backend that calls the runtime while the runtime is choosing it, from its constructor and from
// its init, as a vendor library with a libcudart of its own might. Both calls must be refused at
// once. What they answered goes into the environment for the test; then init fails.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/backend.h"

static int in_constructor = -1;

static int call(void)
{
    void *front = dlopen(getenv("IRT_FRONT_12"), RTLD_NOW | RTLD_NOLOAD);
    int (*function)(void **, size_t) =
        front ? (int (*)(void **, size_t))dlsym(front, "cudaMalloc") : NULL;
    void *memory = NULL;
    return function ? function(&memory, 16) : -2;
}

__attribute__((constructor)) static void constructor(void)
{
    in_constructor = call();
}

static cudaError_t init(const struct irtb_host *host, char *ret_why, size_t why_size)
{
    char results[32];
    (void)host;
    snprintf(results, sizeof(results), "%d %d", in_constructor, call());
    setenv("IRT_REENTRANT", results, 1);
    snprintf(ret_why, why_size, "it only calls back");
    return cudaErrorNoDevice;
}

__attribute__((visibility("default"))) const struct irtb_backend *irtb_backend_entry(void)
{
    static const struct irtb_backend backend = {.abi_version = IRTB_ABI_VERSION,
                                                .struct_size = sizeof(struct irtb_backend),
                                                .name = "cpu",
                                                .init = init};
    return &backend;
}
