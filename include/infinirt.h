/* SPDX-License-Identifier: Apache-2.0
 *
 * Providers: libraries that bring kernels of their own. INFINIRT_KERNELS names them, separated by
 * colons. When the program launches a CUDA kernel by a name that a provider has, the provider's
 * kernel is run in its place: on backends that cannot run CUDA code it is the only way, on cpu it
 * overrides the compiled kernel. A provider is a shared object that exports `infinirt_provider`.
 * Plain C, no other header of InfiniRT is needed, nothing to link with.
 *
 *     static int add(const struct infinirt_launch *launch)
 *     {
 *         float *out = *(float *const *)launch->parameters[0].value;
 *         ...
 *         return 0;
 *     }
 *     static const struct infinirt_kernel kernels[] = {
 *         {.name = "add", .kind = INFINIRT_HOST, .function = add}};
 *     static const struct infinirt_provider provider = {
 *         INFINIRT_PROVIDER_VERSION, sizeof(struct infinirt_provider), "example", kernels, 1, 0};
 *     const struct infinirt_provider *infinirt_provider(void) { return &provider; }
 */
#ifndef INFINIRT_H
#define INFINIRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a structure changes in a way that `size` does not tell. */
#define INFINIRT_PROVIDER_VERSION 1u

/* One parameter of a kernel. */
struct infinirt_parameter {
    const void *value;
    size_t size;   /* bytes */
    size_t offset; /* in `packed` */
};

/* One launch. Valid during the call of the kernel's function only. */
struct infinirt_launch {
    size_t size;         /* of this structure as the library has it */
    const char *kernel;  /* mangled name */
    const char *backend; /* "cpu", "ascend", ... */
    void *context;       /* of the struct infinirt_kernel */
    int device;
    int cooperative; /* launched by cudaLaunchCooperativeKernel or its attribute */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t dynamic_shared; /* bytes */
    /* The parameters, laid out as the kernel's PTX says, or as `parameter_sizes` says (each
     * naturally aligned). */
    unsigned parameter_count;
    const struct infinirt_parameter *parameters;
    const void *packed; /* all of them in one block */
    size_t packed_size;
    void *stream; /* INFINIRT_ENQUEUE: the vendor's own handle (aclrtStream, mcStream_t ...) */
    /* Address and size of a __device__ variable of the kernel's module. 0, or 500 without one. */
    int (*variable)(const struct infinirt_launch *launch, const char *name, void **ret_ptr,
                    size_t *ret_size);
    void *internal;
};

/* What is done for a launch. */
enum infinirt_kind {
    /* `function` runs on the host when the stream comes to it, on a thread of the backend; it must
     * not call CUDA. Its result, 0 or a number of cudaError_t, is the error of the kernel: the
     * device is lost, as by a fault of a CUDA kernel. Only where the host can address the memory of
     * the device. */
    INFINIRT_HOST = 1,
    /* `function` is called by the thread that launches and enqueues work on `launch->stream` by the
     * vendor's own functions; the device is current. It must not wait for the work. Its result is
     * the result of the launch. */
    INFINIRT_ENQUEUE = 2,
    /* `handle` is the vendor's handle of a kernel (Ascend: aclrtFuncHandle), launched with packed
     * arguments on grid.x * grid.y * grid.z blocks. */
    INFINIRT_PACKED = 3,
    /* Likewise with an array of pointers to arguments. */
    INFINIRT_ARRAY = 4,
    /* Likewise with CUDA's grid, block and shared memory. */
    INFINIRT_SIMT = 5
};

struct infinirt_kernel {
    /* The mangled name ("_Z3addPf"), or the name as in the source without parameters and template
     * arguments ("ns::add"), which stands for all kernels of that name. */
    const char *name;
    enum infinirt_kind kind;
    int (*function)(const struct infinirt_launch *launch); /* HOST, ENQUEUE */
    void *handle;                                          /* PACKED, ARRAY, SIMT */
    void *context;                                         /* the provider's own */
    /* Sizes of the parameters, for kernels without PTX; NULL: as the PTX says. */
    unsigned parameter_count;
    const size_t *parameter_sizes;
};

struct infinirt_provider {
    uint32_t version; /* INFINIRT_PROVIDER_VERSION */
    uint32_t size;    /* sizeof(struct infinirt_provider) */
    const char *name; /* for messages */
    const struct infinirt_kernel *kernels;
    size_t kernel_count;
    /* For kernels that `kernels` does not list; may be NULL. Asked once per kernel and device,
     * before its first launch; the runtime of the backend has been started. Fills `ret_kernel` and
     * returns 1, or returns 0. `name` need not be set. Any thread. */
    int (*find)(const char *kernel, const char *backend, int device,
                struct infinirt_kernel *ret_kernel);
};

/* The one symbol that a provider exports. */
__attribute__((visibility("default"))) const struct infinirt_provider *infinirt_provider(void);

#ifdef __cplusplus
}
#endif

#endif
