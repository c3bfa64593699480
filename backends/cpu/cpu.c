// SPDX-License-Identifier: Apache-2.0
//
// Table of operations of the cpu backend, its one export, and the small operations that only pick
// the device or stream. Everything else is in device.c, memory.c, module.c and exec/.
#include "cpu.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "virtual.h"
#include "exec/graph.h"
#include "exec/partition.h"
#include "exec/pool.h"
#include "exec/print.h"
#include "share.h"

#define EXPORT __attribute__((visibility("default")))

static cudaError_t init(const struct irtb_host *host, char *ret_why, size_t why_size)
{
    return cpu_devices_init(host, ret_why, why_size);
}

static void at_exit(void)
{
    // Long enough for a block to notice; the process must end whatever a kernel does.
    exec_pool_stop(200);
}

static void flush_prints(int device)
{
    exec_printf_flush(cpu.devices[device].exec.printf);
}

static cudaError_t device_synchronize(int device)
{
    cudaError_t error = exec_device_synchronize(&cpu.devices[device].exec);
    flush_prints(device);
    return error;
}

static cudaError_t memory_info(int device, size_t *ret_free, size_t *ret_total)
{
    cpu_heap_info(&cpu.devices[device].memory, ret_free, ret_total);
    return cudaSuccess;
}

static cudaError_t can_access_peer(int device, int peer, int *ret_can)
{
    *ret_can = device != peer; // one address space
    return cudaSuccess;
}

static cudaError_t enable_peer(int device, int peer)
{
    return device == peer ? cudaErrorInvalidDevice : cudaSuccess;
}

static struct cpu_heap *heap_of(int device, enum irtb_memory_kind kind)
{
    return kind == IRTB_MEMORY_DEVICE ? &cpu.devices[device].memory : &cpu.host_memory;
}

static cudaError_t memory_alloc(int device, enum irtb_memory_kind kind, size_t size, unsigned flags,
                                void **ret_ptr)
{
    // Portable, mapped and write-combined memory is the same memory here.
    (void)flags;
    return cpu_heap_alloc(heap_of(device, kind), size, ret_ptr);
}

static cudaError_t memory_free(int device, enum irtb_memory_kind kind, void *ptr)
{
    return cpu_heap_free(heap_of(device, kind), ptr);
}

static cudaError_t host_register(int device, void *ptr, size_t size, unsigned flags,
                                 void **ret_device_ptr)
{
    (void)device;
    (void)flags;
    if (!cpu_range_mapped(ptr, size)) {
        return cudaErrorInvalidValue;
    }
    *ret_device_ptr = ptr;
    return cudaSuccess;
}

static cudaError_t host_unregister(int device, void *ptr)
{
    (void)device;
    (void)ptr;
    return cudaSuccess;
}

static cudaError_t memory_export(int device, void *ptr, size_t size, struct irtb_share *ret_share)
{
    struct cpu_share share;
    cudaError_t error = cpu_heap_export(&cpu.devices[device].memory, ptr, size, &share);
    if (!error) {
        memcpy(ret_share, &share, sizeof share);
    }
    return error;
}

static cudaError_t shared_map(int device, int fd, uint64_t offset, size_t size, bool owner,
                              void **ret_ptr)
{
    struct cpu_heap *heap = &cpu.devices[device].memory;
    struct stat status;
    if (size == 0 || offset > (uint64_t)INT64_MAX - size || fstat(fd, &status)) {
        return cudaErrorInvalidValue;
    }
    bool outside = offset + size > (uint64_t)status.st_size;
    if (outside && !owner) {
        return cudaErrorInvalidValue;
    }
    if (owner && !cpu_heap_charge(heap, size)) {
        return cudaErrorMemoryAllocation;
    }
    *ret_ptr = NULL;
    if (!outside || ftruncate(fd, (off_t)(offset + size)) == 0) {
        *ret_ptr = cpu_shared_place(fd, offset, size);
    }
    if (!*ret_ptr && owner) {
        cpu_heap_uncharge(heap, size);
    }
    return *ret_ptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t shared_unmap(int device, void *ptr, size_t size, bool owner)
{
    cpu_shared_remove(ptr, size, owner);
    if (owner) {
        cpu_heap_uncharge(&cpu.devices[device].memory, size);
    }
    return cudaSuccess;
}

static cudaError_t event_import(int device, const struct irtb_share *share, struct irtb_event **ret)
{
    (void)device;
    return exec_event_import(share, ret);
}

static cudaError_t stream_create(int device, int priority, struct irtb_stream **ret_stream)
{
    return exec_stream_create(&cpu.devices[device].exec, priority, ret_stream);
}

static cudaError_t partition_create(int device, unsigned processors,
                                    struct irtb_partition **ret_partition)
{
    (void)device;
    return exec_partition_create(processors, ret_partition);
}

static cudaError_t stream_synchronize(struct irtb_stream *stream)
{
    struct exec_device *device = stream->device;
    cudaError_t error = exec_stream_synchronize(stream);
    exec_printf_flush(device->printf);
    return error;
}

static cudaError_t event_create(int device, bool timing, bool blocking, struct irtb_event **ret)
{
    (void)device;
    return exec_event_create(timing, blocking, ret);
}

static cudaError_t event_synchronize(struct irtb_event *event)
{
    cudaError_t error = exec_event_synchronize(event);
    for (int i = 0; i < cpu.device_count; i++) {
        flush_prints(i);
    }
    return error;
}

static struct exec_device *exec_device(int device)
{
    return &cpu.devices[device].exec;
}

static cudaError_t graph_create(const struct irtb_graph_desc *desc, struct irtb_graph **ret_graph)
{
    static const struct exec_graph_hooks hooks = {.device = exec_device,
                                                  .launch = cpu_launch_prepare};
    return exec_graph_create(desc, &hooks, ret_graph);
}

static const struct irtb_backend backend = {
    .abi_version = IRTB_ABI_VERSION,
    .struct_size = sizeof backend,
    .name = "cpu",
    .init = init,
    .at_exit = at_exit,
    .device_count = cpu_device_count,
    .device_info = cpu_device_info,
    .device_synchronize = device_synchronize,
    .device_reset = cpu_device_reset,
    .device_get_limit = cpu_device_get_limit,
    .device_set_limit = cpu_device_set_limit,
    .device_memory_info = memory_info,
    .device_can_access_peer = can_access_peer,
    .device_enable_peer = enable_peer,
    .device_disable_peer = enable_peer,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .memory_export = memory_export,
    .memory_import = cpu_memory_import,
    .shared_create = cpu_shared_create,
    .shared_map = shared_map,
    .shared_unmap = shared_unmap,
    .array_create = cpu_array_create,
    .array_destroy = cpu_array_destroy,
    .array_level = cpu_array_level,
    .texture_create = cpu_texture_create,
    .texture_destroy = cpu_texture_destroy,
    .surface_create = cpu_surface_create,
    .surface_destroy = cpu_surface_destroy,
    .physical_create = cpu_physical_create,
    .physical_release = cpu_physical_release,
    .physical_import = cpu_physical_import,
    .virtual_reserve = cpu_virtual_reserve,
    .virtual_free = cpu_virtual_free,
    .virtual_map = cpu_virtual_map,
    .virtual_unmap = cpu_virtual_unmap,
    .virtual_protect = cpu_virtual_protect,
    .stream_create = stream_create,
    .stream_destroy = exec_stream_destroy,
    .stream_set_priority = exec_stream_set_priority,
    .partition_create = partition_create,
    .partition_destroy = exec_partition_unref,
    .stream_join_partition = exec_partition_join,
    .stream_query = exec_stream_query,
    .stream_synchronize = stream_synchronize,
    .event_create = event_create,
    .event_destroy = exec_event_destroy,
    .event_record = exec_event_record,
    .event_query = exec_event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = exec_event_elapsed,
    .stream_wait_event = exec_stream_wait_event,
    .event_export = exec_event_export,
    .event_import = event_import,
    .copy = exec_stream_copy,
    .fill = exec_stream_fill,
    .host_func = exec_stream_host,
    .launch = cpu_launch,
    .stream_write_value = exec_stream_write_value,
    .stream_wait_value = exec_stream_wait_value,
    .graph_create = graph_create,
    .graph_update = exec_graph_update,
    .graph_set_default = exec_graph_set_default,
    .graph_launch = exec_graph_launch,
    .graph_publish = exec_graph_publish,
    .graph_notify = exec_graph_notify,
    .graph_destroy = exec_graph_destroy,
    .module_load = cpu_module_load,
    .module_unload = cpu_module_unload,
    .module_function = cpu_module_function,
    .module_variable = cpu_module_variable,
    .module_bind_variable = cpu_module_bind_variable,
    .module_function_name = cpu_module_function_name,
    .module_variable_name = cpu_module_variable_name,
    .failure_text = cpu_program_failure,
    .function_info = cpu_function_info,
    .function_parameter = cpu_function_parameter,
    .function_set_attribute = cpu_function_set_attribute,
    .function_occupancy = cpu_function_occupancy,
    .function_compile = cpu_function_compile,
};

EXPORT const struct irtb_backend *irtb_backend_entry(void)
{
    return &backend;
}
