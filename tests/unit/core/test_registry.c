// SPDX-License-Identifier: Apache-2.0
//
// Registration as nvcc's stubs do it: lazy loading, several modules with one host address, plug-ins
// that come and go, variables and managed variables, images that cannot be used. Kernels are names
// (deferred.h); what is tested is who is found and when code is loaded and unloaded.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "tests/fakes/deferred/deferred.h"
#include "../fatbin/build_fatbin.h"
#include "shim/fatbin/fatbin.h"

TestSuite(registry, .timeout = 20);

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *w);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
                              size_t size, int constant, int global);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);

static const struct deferred_control *control;
static char host_a, host_b, host_c; // addresses stand for host stubs
static int host_variable;

struct module {
    struct build image;
    struct irt_fatbin_wrapper wrapper;
    void **handle;
};

static void start(void)
{
    char path[4096];
    cr_assert(cudaFree(NULL) == cudaSuccess);
    snprintf(path, sizeof(path), "%s/libirt-cpu.so", getenv("INFINIRT_BACKEND_PATH"));
    void *module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    cr_assert(module != NULL);
    control = dlsym(module, "deferred_control");
    cr_assert(control != NULL);
}

static void build_text(struct build *image, unsigned kind, unsigned arch, const char *text)
{
    build_begin(image);
    build_add(image, &(struct build_entry){.kind = (uint16_t)kind,
                                           .arch = arch,
                                           .payload = text,
                                           .payload_size = strlen(text)});
}

static void register_text(struct module *module, const char *text)
{
    build_text(&module->image, IRT_FATBIN_PTX, 80, text);
    module->wrapper =
        (struct irt_fatbin_wrapper){IRT_FATBIN_WRAPPER_MAGIC, 1, module->image.bytes, NULL};
    module->handle = __cudaRegisterFatBinary(&module->wrapper);
    cr_assert(module->handle != NULL);
}

static void register_kernel(struct module *module, const char *host, const char *name)
{
    __cudaRegisterFunction(module->handle, host, (char *)(uintptr_t)name, name, -1, NULL, NULL,
                           NULL, NULL, NULL);
}

static cudaError_t launch(const void *func)
{
    void *none[1] = {NULL};
    return cudaLaunchKernel(func, (dim3){1, 1, 1}, (dim3){1, 1, 1}, none, 0, 0);
}

Test(registry, nothing_is_loaded_before_the_first_use)
{
    static struct module module;
    register_text(&module, ".entry first( .entry second(");
    register_kernel(&module, &host_a, "first");
    register_kernel(&module, &host_b, "second");
    register_kernel(&module, &host_c, "third");
    __cudaRegisterFatBinaryEnd(module.handle);
    start();
    cr_assert(control->modules() == 0);
    cr_assert(launch(&host_b) == cudaSuccess);
    cr_assert(control->modules() == 1);
    cr_assert(strcmp(control->last_kernel(), "second") == 0);
    cr_assert(launch(&host_a) == cudaSuccess);
    cr_assert(strcmp(control->last_kernel(), "first") == 0);
    cr_assert(control->modules() == 1);
    cr_assert(launch(&host_c) == cudaErrorInvalidDeviceFunction, "not in the code");
    cr_assert(cudaGetLastError() == cudaErrorInvalidDeviceFunction);
    cr_assert(cudaSetDevice(1) == cudaSuccess);
    cr_assert(launch(&host_a) == cudaSuccess);
    cr_assert(control->modules() == 2, "one per device");
}

Test(registry, unregistered_kernels_are_gone)
{
    static struct module module;
    cudaKernel_t kernel, again;
    void *none[1] = {NULL};
    const dim3 one = {1, 1, 1};
    start();
    register_text(&module, ".entry first(");
    register_kernel(&module, &host_a, "first");
    cr_assert(__cudaGetKernel(&kernel, &host_a) == cudaSuccess);
    cr_assert(__cudaLaunchKernel(kernel, one, one, none, 0, 0) == cudaSuccess);
    __cudaUnregisterFatBinary(module.handle);
    cr_assert(control->modules() == 0, "unloaded, after the queued launch has run");
    cr_assert(control->pending() == 0);
    cr_assert(__cudaLaunchKernel(kernel, one, one, none, 0, 0) == cudaErrorInvalidDeviceFunction);
    cr_assert(launch(&host_a) == cudaErrorInvalidDeviceFunction);
    cr_assert(__cudaGetKernel(&again, &host_a) == cudaErrorInvalidDeviceFunction);
    __cudaUnregisterFatBinary(module.handle); // twice, and garbage: nothing happens
    __cudaUnregisterFatBinary((void **)0x1234);
    __cudaRegisterFunction((void **)0x1234, &host_a, NULL, "first", -1, NULL, NULL, NULL, NULL,
                           NULL);
    cr_assert(launch(&host_a) == cudaErrorInvalidDeviceFunction);
    register_text(&module, ".entry other(");
    register_kernel(&module, &host_a, "other");
    cr_assert(launch(&host_a) == cudaSuccess);
    cr_assert(strcmp(control->last_kernel(), "other") == 0);
    cr_assert(__cudaGetKernel(&again, &host_a) == cudaSuccess);
    cr_assert(again != kernel);
}

// The last live registration of a host address counts, in whatever order they go.
Test(registry, one_address_in_several_modules)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}};
    static const char *const texts[] = {".entry zero(", ".entry one(", ".entry two("};
    static const char *const names[] = {"zero", "one", "two"};
    static struct module modules[3];
    start();
    for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
        bool live[3] = {true, true, true};
        for (int i = 0; i < 3; i++) {
            register_text(&modules[i], texts[i]);
            register_kernel(&modules[i], &host_a, names[i]);
            cr_assert(launch(&host_a) == cudaSuccess);
            cr_assert(strcmp(control->last_kernel(), names[i]) == 0);
        }
        for (int i = 0; i < 3; i++) {
            __cudaUnregisterFatBinary(modules[orders[o][i]].handle);
            live[orders[o][i]] = false;
            int last = live[2] ? 2 : live[1] ? 1 : live[0] ? 0 : -1;
            cudaError_t e = launch(&host_a);
            cr_assert(e == (last < 0 ? cudaErrorInvalidDeviceFunction : cudaSuccess));
            cr_assert(last < 0 || strcmp(control->last_kernel(), names[last]) == 0);
        }
        cr_assert(control->modules() == 0);
    }
}

Test(registry, variables)
{
    static struct module module;
    void *address[2];
    size_t size;
    int value = 0;
    start();
    register_text(&module, ".entry first( .global number = 42 .");
    __cudaRegisterVar(module.handle, (char *)&host_variable, NULL, "number", 0, sizeof(int), 0, 0);
    cr_assert(cudaGetSymbolSize(&size, &host_variable) == cudaSuccess && size == sizeof(int));
    cr_assert(cudaMemcpyFromSymbol(&value, &host_variable, sizeof(value), 0,
                                   cudaMemcpyDeviceToHost) == cudaSuccess);
    cr_assert(value == 42);
    cr_assert(cudaGetSymbolAddress(&address[0], &host_variable) == cudaSuccess);
    cr_assert(cudaSetDevice(1) == cudaSuccess);
    cr_assert(cudaGetSymbolAddress(&address[1], &host_variable) == cudaSuccess);
    cr_assert(address[0] != address[1], "one per device");
    cr_assert(cudaGetSymbolSize(&size, &value) == cudaErrorInvalidSymbol);
    cr_assert(cudaGetSymbolSize(&size, NULL) == cudaErrorInvalidSymbol);
    struct cudaPointerAttributes attributes;
    cr_assert(cudaPointerGetAttributes(&attributes, address[1]) == cudaSuccess);
    cr_assert(attributes.type == cudaMemoryTypeDevice && attributes.device == 1);
    __cudaUnregisterFatBinary(module.handle);
    cr_assert(cudaGetSymbolSize(&size, &host_variable) == cudaErrorInvalidSymbol);
    cr_assert(cudaPointerGetAttributes(&attributes, address[1]) == cudaSuccess);
    cr_assert(attributes.type == cudaMemoryTypeUnregistered);
}

Test(registry, managed_variables)
{
    static struct module module;
    static void *host_pointer, *other_pointer;
    void *address;
    start();
    register_text(&module,
                  ".entry first( .global managed shared_one = 7 . .global managed two = 8");
    register_kernel(&module, &host_a, "first");
    __cudaRegisterManagedVar(module.handle, &host_pointer, NULL, "shared_one", 0, sizeof(int), 0,
                             0);
    __cudaRegisterManagedVar(module.handle, &other_pointer, NULL, "two", 0, sizeof(int), 0, 0);
    cr_assert(host_pointer == NULL);
    cr_assert(__cudaInitModule(module.handle) != 0);
    cr_assert(host_pointer && *(int *)host_pointer == 7);
    cr_assert(other_pointer && *(int *)other_pointer == 8);
    *(int *)host_pointer = 9;
    cr_assert(cudaSetDevice(1) == cudaSuccess);
    cr_assert(launch(&host_a) == cudaSuccess);
    cr_assert(cudaGetSymbolAddress(&address, &host_pointer) == cudaSuccess);
    cr_assert(address == host_pointer, "devices share the storage");
    cr_assert(cudaGetSymbolAddress(&address, host_pointer) == cudaSuccess);
    cr_assert(address == host_pointer, "named by its storage");
    struct cudaPointerAttributes attributes;
    cr_assert(cudaPointerGetAttributes(&attributes, host_pointer) == cudaSuccess);
    cr_assert(attributes.type == cudaMemoryTypeManaged);
    // A reset of the device that owned the storage: there is new storage with the initial values.
    cr_assert(cudaSetDevice(0) == cudaSuccess);
    cr_assert(cudaDeviceReset() == cudaSuccess);
    cr_assert(*(int *)host_pointer == 7);
    cr_assert(cudaSetDevice(1) == cudaSuccess);
    cr_assert(cudaGetSymbolAddress(&address, &host_pointer) == cudaSuccess);
    cr_assert(address == host_pointer);
    cr_assert(__cudaInitModule((void **)0x99) == 0);
}

Test(registry, code_returns_after_a_reset)
{
    static struct module module;
    int value = 1;
    start();
    register_text(&module, ".entry first( .global number = 42 .");
    register_kernel(&module, &host_a, "first");
    __cudaRegisterVar(module.handle, (char *)&host_variable, NULL, "number", 0, sizeof(int), 0, 0);
    cr_assert(launch(&host_a) == cudaSuccess);
    cr_assert(cudaMemcpyToSymbol(&host_variable, &value, sizeof(value), 0,
                                 cudaMemcpyHostToDevice) == cudaSuccess);
    cr_assert(cudaDeviceReset() == cudaSuccess);
    cr_assert(control->modules() == 0);
    cr_assert(launch(&host_a) == cudaSuccess);
    cr_assert(cudaMemcpyFromSymbol(&value, &host_variable, sizeof(value), 0,
                                   cudaMemcpyDeviceToHost) == cudaSuccess);
    cr_assert(value == 42);
}

Test(registry, linked_units)
{
    static struct module module;
    static struct build units[2];
    build_text(&units[0], IRT_FATBIN_PTX, 80, ".entry first(");
    build_text(&units[1], IRT_FATBIN_PTX, 80, ".entry second(");
    build_begin(&module.image); // linked from PTX only: empty
    const void *linked[] = {units[0].bytes, units[1].bytes, NULL};
    module.wrapper =
        (struct irt_fatbin_wrapper){IRT_FATBIN_WRAPPER_MAGIC, 2, module.image.bytes, linked};
    module.handle = __cudaRegisterFatBinary(&module.wrapper);
    register_kernel(&module, &host_a, "first");
    register_kernel(&module, &host_b, "second");
    start();
    cr_assert(launch(&host_a) == cudaSuccess);
    cr_assert(launch(&host_b) == cudaSuccess);
    cr_assert(control->modules() == 1);
    cr_assert(strcmp(control->last_text(), ".entry first(.entry second(") == 0);
}

Test(registry, images_that_cannot_be_used)
{
    static struct build machine, empty, cut;
    build_text(&machine, IRT_FATBIN_CUBIN, 90, "ELF");
    build_begin(&empty);
    build_text(&cut, IRT_FATBIN_PTX, 80, ".entry first(");
    build_put(&cut, 16 + 8, 1 << 20, 8); // the entry is larger than the fat binary
    const struct {
        struct irt_fatbin_wrapper wrapper;
        cudaError_t error;
    } rows[] = {
        {{IRT_FATBIN_WRAPPER_MAGIC, 1, machine.bytes, NULL}, cudaErrorNoKernelImageForDevice},
        {{IRT_FATBIN_WRAPPER_MAGIC, 1, empty.bytes, NULL}, cudaErrorNoKernelImageForDevice},
        {{IRT_FATBIN_WRAPPER_MAGIC, 1, NULL, NULL}, cudaErrorNoKernelImageForDevice},
        {{IRT_FATBIN_WRAPPER_MAGIC, 2, empty.bytes, (const void *const[]){machine.bytes, NULL}},
         cudaErrorNoKernelImageForDevice},
        {{IRT_FATBIN_WRAPPER_MAGIC, 1, cut.bytes, NULL}, cudaErrorInvalidKernelImage},
        {{IRT_FATBIN_WRAPPER_MAGIC, 1, "garbage in here", NULL}, cudaErrorInvalidKernelImage},
        {{IRT_FATBIN_WRAPPER_MAGIC, 3, machine.bytes, NULL}, cudaErrorInvalidKernelImage},
        {{0x12345678, 1, machine.bytes, NULL}, cudaErrorInvalidKernelImage},
    };
    start();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct module module = {.wrapper = rows[i].wrapper};
        module.handle = __cudaRegisterFatBinary(&module.wrapper);
        cr_assert(module.handle != NULL, "nothing is said at registration");
        register_kernel(&module, &host_a, "first");
        for (int again = 0; again < 2; again++) {
            cudaError_t e = launch(&host_a);
            cr_assert(e == rows[i].error, "row %zu: %s", i, cudaGetErrorName(e));
            cr_assert(cudaGetLastError() == rows[i].error);
        }
        __cudaUnregisterFatBinary(module.handle);
    }
    struct module module = {.wrapper = {0}};
    module.handle = __cudaRegisterFatBinary(NULL);
    register_kernel(&module, &host_a, "first");
    cr_assert(launch(&host_a) == cudaErrorInvalidKernelImage);
}

Test(registry, checks_of_a_launch)
{
    static struct module module;
    void *none[1] = {NULL};
    const dim3 one = {1, 1, 1};
    start();
    register_text(&module, ".entry first(");
    register_kernel(&module, &host_a, "first");
    const struct {
        dim3 grid, block;
        size_t shared;
        cudaError_t error;
    } rows[] = {
        {{0, 1, 1}, one, 0, cudaErrorInvalidConfiguration},
        {{1, 65536, 1}, one, 0, cudaErrorInvalidConfiguration},
        {{2147483648u, 1, 1}, one, 0, cudaErrorInvalidConfiguration},
        {{2147483647u, 65535, 65535}, one, 0, cudaSuccess},
        {one, {0, 1, 1}, 0, cudaErrorInvalidConfiguration},
        {one, {1, 1, 65}, 0, cudaErrorInvalidConfiguration},
        {one, {1024, 2, 1}, 0, cudaErrorInvalidConfiguration},
        {one, {32, 32, 1}, 0, cudaSuccess},
        {one, one, (48 << 10) + 1, cudaErrorInvalidValue},
        {one, one, SIZE_MAX, cudaErrorInvalidValue},
        {one, one, 48 << 10, cudaSuccess},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cudaError_t e =
            cudaLaunchKernel(&host_a, rows[i].grid, rows[i].block, none, rows[i].shared, 0);
        cr_assert(e == rows[i].error, "row %zu: %s", i, cudaGetErrorName(e));
    }
    cr_assert(cudaLaunchCooperativeKernel(&host_a, (dim3){4, 1, 1}, (dim3){1024, 1, 1}, none, 0,
                                          0) == cudaSuccess);
    cr_assert(cudaLaunchCooperativeKernel(&host_a, (dim3){5, 1, 1}, (dim3){1024, 1, 1}, none, 0,
                                          0) == cudaErrorCooperativeLaunchTooLarge);
    cr_assert(cudaLaunchCooperativeKernel(&host_a, (dim3){2147483647, 65535, 65535}, one, none, 0,
                                          0) == cudaErrorCooperativeLaunchTooLarge);
    cudaStream_t stream;
    cr_assert(cudaSetDevice(1) == cudaSuccess && cudaStreamCreate(&stream) == cudaSuccess);
    cr_assert(cudaSetDevice(0) == cudaSuccess);
    cr_assert(cudaLaunchKernel(&host_a, one, one, none, 0, stream) ==
              cudaErrorInvalidResourceHandle);
    cr_assert(launch(NULL) == cudaErrorInvalidDeviceFunction);
    cr_assert(__cudaLaunchKernel(NULL, one, one, none, 0, 0) == cudaErrorInvalidResourceHandle);
    size_t most = 0;
    cr_assert(cudaOccupancyAvailableDynamicSMemPerBlock(&most, &host_a, 3, 128) == cudaSuccess);
    cr_assert(most == (100 << 10) / 3);
    cr_assert(cudaOccupancyAvailableDynamicSMemPerBlock(&most, &host_a, 17, 128) ==
              cudaErrorInvalidValue);
}

Test(registry, launch_attributes)
{
    static struct module module;
    void *none[1] = {NULL};
    cudaEvent_t timed, untimed;
    start();
    register_text(&module, ".entry first(");
    register_kernel(&module, &host_a, "first");
    cr_assert(cudaEventCreate(&timed) == cudaSuccess);
    cr_assert(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
    const struct {
        cudaLaunchAttribute attribute;
        cudaError_t error;
    } rows[] = {
        {{.id = cudaLaunchAttributeIgnore}, cudaSuccess},
        {{.id = cudaLaunchAttributePriority, .val.priority = -1}, cudaSuccess},
        {{.id = cudaLaunchAttributeClusterDimension, .val.clusterDim = {1, 1, 1}}, cudaSuccess},
        {{.id = cudaLaunchAttributeClusterDimension, .val.clusterDim = {2, 1, 1}},
         cudaErrorNotSupported},
        {{.id = cudaLaunchAttributeClusterDimension, .val.clusterDim = {0, 1, 1}},
         cudaErrorInvalidClusterSize},
        {{.id = cudaLaunchAttributeCooperative, .val.cooperative = 1}, cudaSuccess},
        {{.id = cudaLaunchAttributeSynchronizationPolicy}, cudaErrorInvalidValue},
        {{.id = cudaLaunchAttributeDeviceUpdatableKernelNode}, cudaErrorInvalidValue},
        {{.id = cudaLaunchAttributeProgrammaticEvent, .val.programmaticEvent = {.event = untimed}},
         cudaSuccess},
        {{.id = cudaLaunchAttributeProgrammaticEvent, .val.programmaticEvent = {.event = timed}},
         cudaErrorInvalidValue},
        {{.id = (cudaLaunchAttributeID)1000}, cudaErrorNotSupported},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cudaLaunchAttribute attribute = rows[i].attribute;
        cudaLaunchConfig_t config = {
            .gridDim = {2, 1, 1}, .blockDim = {1, 1, 1}, .attrs = &attribute, .numAttrs = 1};
        cudaError_t e = cudaLaunchKernelExC(&config, &host_a, none);
        cr_assert(e == rows[i].error, "row %zu: %s", i, cudaGetErrorName(e));
    }
    cr_assert(cudaEventQuery(untimed) == cudaErrorNotReady, "recorded behind the kernel");
    cr_assert(cudaEventSynchronize(untimed) == cudaSuccess);
}
