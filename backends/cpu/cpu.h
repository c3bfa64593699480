// SPDX-License-Identifier: Apache-2.0
//
// Inside of the cpu backend's module: the virtual devices and what its files need of each other.
// cpu.c owns the table of operations, device.c the devices, module.c modules and functions.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "arch.h"
#include "debugger.h"
#include "memory.h"
#include "backends/backend.h"
#include "exec/stream.h"

enum { CPU_MAX_DEVICES = 64, CPU_LIMITS = 7 };

struct cpu_device {
    struct exec_device exec;
    struct cpu_heap memory;
    _Atomic size_t limits[CPU_LIMITS]; // by enum cudaLimit
    _Atomic bool heap_used;            // a kernel with device-side malloc has been launched
};

// Set by cpu_devices_init, constant afterwards.
struct cpu_state {
    const struct irtb_host *host;
    const struct cpu_arch *arch;
    int device_count;
    struct cpu_device *devices;
    struct cpu_heap host_memory; // pinned and managed
    char processor[128];         // name of the host's processor
    bool warp_form;              // kernels that can are run 32 lanes in step
    enum cpu_perf perf;          // what is written for perf
};
extern struct cpu_state cpu;

#define CPU_LOG(subsystem, level, ...) cpu.host->log((subsystem), (level), __VA_ARGS__)
enum { CPU_ERROR, CPU_WARN, CPU_INFO, CPU_DEBUG };

// Reads the environment and makes the devices. On failure one line in ret_why.
cudaError_t cpu_devices_init(const struct irtb_host *host, char *ret_why, size_t why_size);

// ---- operations of backend.h, by the file that has them ----
cudaError_t cpu_device_count(int *ret_count);
cudaError_t cpu_device_info(int device, struct irtb_device_info *ret_info);
cudaError_t cpu_device_reset(int device);
cudaError_t cpu_device_get_limit(int device, enum cudaLimit limit, size_t *ret_value);
cudaError_t cpu_device_set_limit(int device, enum cudaLimit limit, size_t value);

cudaError_t cpu_array_create(int device, const struct irtb_array_desc *desc,
                             struct irtb_array **ret_array);
void cpu_array_destroy(struct irtb_array *array);
void cpu_array_level(const struct irtb_array *array, unsigned level,
                     struct irtb_array_view *ret_view);
cudaError_t cpu_texture_create(int device, const struct irtb_image *image,
                               const struct cudaTextureDesc *texture,
                               const struct cudaResourceViewDesc *view, uint64_t *ret_object);
void cpu_texture_destroy(uint64_t object);
cudaError_t cpu_surface_create(int device, const struct irtb_image *image, uint64_t *ret_object);
void cpu_surface_destroy(uint64_t object);

cudaError_t cpu_launch(struct irtb_stream *stream, const struct irtb_launch *launch);
// What cpu_launch hands to the executor but for the values of the arguments.
cudaError_t cpu_launch_prepare(const struct irtb_launch *launch, struct exec_launch *ret_launch,
                               const struct exec_param **ret_params, uint32_t *ret_param_count,
                               uint32_t *ret_params_size);
cudaError_t cpu_module_load(int device, const struct irtb_code_unit *units, size_t count,
                            struct irtb_module **ret_module);
void cpu_module_unload(struct irtb_module *module);
cudaError_t cpu_module_function(struct irtb_module *module, const char *name,
                                struct irtb_function **ret_function);
cudaError_t cpu_module_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                size_t *ret_size, bool *ret_managed);
cudaError_t cpu_module_bind_variable(struct irtb_module *module, const char *name, void *ptr);
const char *cpu_module_function_name(struct irtb_module *module, size_t index);
const char *cpu_module_variable_name(struct irtb_module *module, size_t index);
cudaError_t cpu_function_info(struct irtb_function *function, struct irtb_function_info *ret);
cudaError_t cpu_function_parameter(struct irtb_function *function, unsigned index,
                                   struct irtb_parameter *ret_parameter);
cudaError_t cpu_function_set_attribute(struct irtb_function *function,
                                       enum cudaFuncAttribute attribute, int value);
cudaError_t cpu_function_occupancy(struct irtb_function *function, int block_size,
                                   size_t dynamic_shared, int *ret_blocks);
cudaError_t cpu_function_compile(struct irtb_function *function);
