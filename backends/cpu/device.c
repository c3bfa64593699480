// SPDX-License-Identifier: Apache-2.0
//
// The virtual devices: how many, how big, what they say about themselves. Properties that describe
// hardware follow the compute capability (arch.c); those that describe what the runtime can do say
// what this backend does.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cpu.h"
#include "exec/heap.h"
#include "exec/pool.h"
#include "exec/print.h"

struct cpu_state cpu;

static const size_t limit_defaults[CPU_LIMITS] = {
    [cudaLimitStackSize] = 1024,
    [cudaLimitPrintfFifoSize] = 1 << 20,
    [cudaLimitMallocHeapSize] = 8 << 20,
    [cudaLimitDevRuntimeSyncDepth] = 2,
    [cudaLimitDevRuntimePendingLaunchCount] = 2048,
    [cudaLimitMaxL2FetchGranularity] = 64,
    [cudaLimitPersistingL2CacheSize] = 0,
};

// "512M", "8G", "1073741824" …; 0 when it is not a size.
static size_t parse_size(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || errno || *text == '-') {
        return 0;
    }
    static const char *const units = "KMGT";
    unsigned shift = 0;
    if (*end) {
        const char *unit = strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end);
        if (!unit) {
            return 0;
        }
        shift = 10 * (unsigned)(unit - units + 1);
        end++;
        if (strcasecmp(end, "iB") == 0) {
            end += 2;
        } else if (strcasecmp(end, "B") == 0) {
            end++;
        }
    }
    if (*end || value > SIZE_MAX >> shift) {
        return 0;
    }
    return (size_t)value << shift;
}

// 0 with a value in [low, high] or `standard` when the variable is not set; -1 otherwise.
static int read_number(const char *name, long low, long high, long standard, long *ret_value)
{
    const char *text = cpu.host->env(name);
    if (!text || !*text) {
        *ret_value = standard;
        return 0;
    }
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < low || value > high) {
        return -1;
    }
    *ret_value = value;
    return 0;
}

static void read_processor_name(void)
{
    snprintf(cpu.processor, sizeof cpu.processor, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) {
        return;
    }
    char line[256];
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon && colon[1]) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(cpu.processor, sizeof cpu.processor, "%.*s", (int)sizeof cpu.processor - 1,
                     colon + 2);
            break;
        }
    }
    fclose(file);
}

static void device_lost(struct exec_device *device, cudaError_t error)
{
    cpu.host->device_lost(device->ordinal, error);
}

cudaError_t cpu_devices_init(const struct irtb_host *host, char *ret_why, size_t why_size)
{
    cpu.host = host;
    exec_log_hook = host->log;
    long count, threads;
    if (read_number("INFINIRT_CPU_DEVICES", 0, CPU_MAX_DEVICES, 1, &count)) {
        snprintf(ret_why, why_size, "INFINIRT_CPU_DEVICES is not a number from 0 to %d",
                 CPU_MAX_DEVICES);
        return cudaErrorInitializationError;
    }
    if (count == 0) {
        snprintf(ret_why, why_size, "INFINIRT_CPU_DEVICES is 0");
        return cudaErrorNoDevice;
    }
    if (read_number("INFINIRT_CPU_THREADS", 1, 4096, 0, &threads)) {
        snprintf(ret_why, why_size, "INFINIRT_CPU_THREADS is not a number from 1 to 4096");
        return cudaErrorInitializationError;
    }
    const char *form = host->env("INFINIRT_CPU_FORM");
    cpu.warp_form = form && strcmp(form, "warp") == 0;
    if (form && *form && !cpu.warp_form && strcmp(form, "lane") != 0) {
        snprintf(ret_why, why_size, "INFINIRT_CPU_FORM is neither lane nor warp");
        return cudaErrorInitializationError;
    }
    const char *perf = host->env("INFINIRT_PERF");
    cpu.perf = !perf || !*perf             ? CPU_PERF_OFF
               : strcmp(perf, "dump") == 0 ? CPU_PERF_DUMP
                                           : CPU_PERF_MAP;
    if (cpu.perf == CPU_PERF_MAP && strcmp(perf, "map") != 0) {
        snprintf(ret_why, why_size, "INFINIRT_PERF is neither map nor dump");
        return cudaErrorInitializationError;
    }
    const char *arch = host->env("INFINIRT_CPU_ARCH");
    cpu.arch = cpu_arch_find(arch && *arch ? arch : "8.0");
    if (!cpu.arch) {
        snprintf(ret_why, why_size, "INFINIRT_CPU_ARCH is not one of %s", cpu_arch_list());
        return cudaErrorInitializationError;
    }
    size_t machine = cpu_machine_memory();
    size_t budget = machine / 4 * 3 / (size_t)count;
    const char *memory = host->env("INFINIRT_CPU_MEMORY");
    if (memory && *memory) {
        budget = parse_size(memory);
        if (budget < 1 << 20) {
            snprintf(ret_why, why_size,
                     "INFINIRT_CPU_MEMORY is not a size of at least 1M (like 512M or 8G)");
            return cudaErrorInitializationError;
        }
    }
    budget &= ~(size_t)((1 << 20) - 1);
    cpu.devices = calloc((size_t)count, sizeof *cpu.devices);
    if (!cpu.devices) {
        snprintf(ret_why, why_size, "out of memory");
        return cudaErrorMemoryAllocation;
    }
    cpu.device_count = (int)count;
    exec_pool_setup((unsigned)threads);
    read_processor_name();
    cpu_heap_init(&cpu.host_memory, machine);
    for (int i = 0; i < cpu.device_count; i++) {
        struct cpu_device *device = &cpu.devices[i];
        exec_device_init(&device->exec, i);
        device->exec.lost = device_lost;
        cpu_heap_init(&device->memory, budget);
        for (int limit = 0; limit < CPU_LIMITS; limit++) {
            atomic_store(&device->limits[limit], limit_defaults[limit]);
        }
        device->exec.printf = exec_printf_create(limit_defaults[cudaLimitPrintfFifoSize]);
        device->exec.heap = exec_heap_create(limit_defaults[cudaLimitMallocHeapSize]);
        if (!device->exec.printf || !device->exec.heap) {
            snprintf(ret_why, why_size, "out of memory");
            return cudaErrorMemoryAllocation;
        }
    }
    return cudaSuccess;
}

cudaError_t cpu_device_count(int *ret_count)
{
    *ret_count = cpu.device_count;
    return cudaSuccess;
}

static int read_clock_khz(void)
{
    size_t khz = cpu_number_in("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    return khz > 0 && khz < 100000000 ? (int)khz : 2000000;
}

static void set3(int *values, int x, int y, int z)
{
    values[0] = x;
    values[1] = y;
    values[2] = z;
}

static void texture_limits(struct cudaDeviceProp *prop)
{
    prop->textureAlignment = 512;
    prop->texturePitchAlignment = 32;
    prop->surfaceAlignment = 512;
    prop->maxTexture1D = 131072;
    prop->maxTexture1DMipmap = 32768;
    prop->maxTexture2D[0] = 131072;
    prop->maxTexture2D[1] = 65536;
    prop->maxTexture2DMipmap[0] = prop->maxTexture2DMipmap[1] = 32768;
    set3(prop->maxTexture2DLinear, 131072, 65000, 2097120);
    prop->maxTexture2DGather[0] = prop->maxTexture2DGather[1] = 32768;
    set3(prop->maxTexture3D, 16384, 16384, 16384);
    set3(prop->maxTexture3DAlt, 8192, 8192, 32768);
    prop->maxTextureCubemap = 32768;
    prop->maxTexture1DLayered[0] = 32768;
    prop->maxTexture1DLayered[1] = 2048;
    set3(prop->maxTexture2DLayered, 32768, 32768, 2048);
    prop->maxTextureCubemapLayered[0] = 32768;
    prop->maxTextureCubemapLayered[1] = 2046;
    prop->maxSurface1D = 32768;
    prop->maxSurface2D[0] = 131072;
    prop->maxSurface2D[1] = 65536;
    set3(prop->maxSurface3D, 16384, 16384, 16384);
    prop->maxSurface1DLayered[0] = 32768;
    prop->maxSurface1DLayered[1] = 2048;
    set3(prop->maxSurface2DLayered, 32768, 32768, 2048);
    prop->maxSurfaceCubemap = 32768;
    prop->maxSurfaceCubemapLayered[0] = 32768;
    prop->maxSurfaceCubemapLayered[1] = 2046;
}

static void identity(int device, struct cudaDeviceProp *prop)
{
    snprintf(prop->name, sizeof prop->name, "InfiniRT CPU (%s)", cpu.processor);
    // Stable from run to run on one machine, different for each device: FNV-1a of the name.
    uint64_t hash = 14695981039346656037u;
    for (const char *c = prop->name; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    }
    memcpy(prop->uuid.bytes, &hash, 8);
    memcpy(prop->uuid.bytes + 8, "irt-cpu", 7);
    prop->uuid.bytes[15] = (char)device;
    prop->pciDomainID = 0;
    prop->pciBusID = device + 1;
    prop->pciDeviceID = 0;
}

cudaError_t cpu_device_info(int device, struct irtb_device_info *ret_info)
{
    const struct cpu_arch *arch = cpu.arch;
    struct irtb_device_info info;
    memset(&info, 0, sizeof info);
    struct cudaDeviceProp *prop = &info.prop;
    identity(device, prop);
    prop->totalGlobalMem = cpu.devices[device].memory.budget;
    prop->sharedMemPerBlock = CPU_SHARED_PER_BLOCK;
    prop->sharedMemPerBlockOptin = (size_t)arch->shared_per_block;
    prop->sharedMemPerMultiprocessor = (size_t)arch->shared_per_sm;
    prop->reservedSharedMemPerBlock = (size_t)arch->shared_reserved;
    prop->regsPerBlock = CPU_REGISTERS_PER_SM;
    prop->regsPerMultiprocessor = CPU_REGISTERS_PER_SM;
    prop->warpSize = 32;
    prop->memPitch = 2147483647;
    prop->maxThreadsPerBlock = CPU_THREADS_PER_BLOCK;
    set3(prop->maxThreadsDim, 1024, 1024, 64);
    set3(prop->maxGridSize, 2147483647, 65535, 65535);
    prop->maxThreadsPerMultiProcessor = arch->threads_per_sm;
    prop->maxBlocksPerMultiProcessor = arch->blocks_per_sm;
    prop->totalConstMem = 65536;
    prop->major = arch->major;
    prop->minor = arch->minor;
    prop->multiProcessorCount = (int)exec_pool_size();
    prop->integrated = 0;
    prop->canMapHostMemory = 1;
    texture_limits(prop);
    prop->concurrentKernels = 1;
    prop->asyncEngineCount = 2;
    prop->unifiedAddressing = 1;
    prop->memoryBusWidth = 128;
    prop->l2CacheSize = arch->l2_kb << 10;
    prop->streamPrioritiesSupported = 1;
    prop->globalL1CacheSupported = 1;
    prop->localL1CacheSupported = 1;
    prop->managedMemory = 1;
    prop->multiGpuBoardGroupID = device;
    prop->hostNativeAtomicSupported = 1;
    prop->pageableMemoryAccess = 1;
    prop->pageableMemoryAccessUsesHostPageTables = 1;
    prop->concurrentManagedAccess = 1;
    prop->directManagedMemAccessFromHost = 1;
    prop->computePreemptionSupported = 1;
    prop->canUseHostPointerForRegisteredMem = 1;
    prop->cooperativeLaunch = arch->major >= 6;
    prop->clusterLaunch = arch->major >= 9;
    // Who writes to memory does so through the same coherent caches: nothing has to be flushed.
    prop->gpuDirectRDMAFlushWritesOptions = cudaFlushGPUDirectRDMAWritesOptionHost;
    prop->gpuDirectRDMAWritesOrdering = cudaGPUDirectRDMAWritesOrderingAllDevices;
    // Hints about lines that are to stay in the second level cache, from 8.0 on.
    if (arch->major >= 8) {
        prop->persistingL2CacheMaxSize = prop->l2CacheSize / 4 * 3;
        prop->accessPolicyMaxWindowSize = 128 << 20;
    }
    prop->hostRegisterSupported = 1;
    prop->hostRegisterReadOnlySupported = 1;
    prop->hostNumaId = -1;
    prop->deviceNumaId = -1;
    info.clock_rate_khz = read_clock_khz();
    info.memory_clock_rate_khz = 1600000;
    info.compute_mode = cudaComputeModeDefault;
    info.gpu_overlap = 1;
    info.single_to_double_perf_ratio = 2;
    info.max_dynamic_shared_optin = arch->shared_per_block;
    *ret_info = info;
    return cudaSuccess;
}

cudaError_t cpu_device_reset(int device)
{
    struct cpu_device *d = &cpu.devices[device];
    exec_device_synchronize(&d->exec);
    exec_printf_flush(d->exec.printf);
    cpu_heap_clear(&d->memory);
    exec_heap_reset(d->exec.heap, limit_defaults[cudaLimitMallocHeapSize]);
    exec_printf_set_limit(d->exec.printf, limit_defaults[cudaLimitPrintfFifoSize]);
    for (int limit = 0; limit < CPU_LIMITS; limit++) {
        atomic_store(&d->limits[limit], limit_defaults[limit]);
    }
    atomic_store(&d->heap_used, false);
    atomic_store(&d->exec.error, cudaSuccess);
    return cudaSuccess;
}

cudaError_t cpu_device_get_limit(int device, enum cudaLimit limit, size_t *ret_value)
{
    if ((unsigned)limit >= CPU_LIMITS) {
        return cudaErrorUnsupportedLimit;
    }
    *ret_value = atomic_load(&cpu.devices[device].limits[limit]);
    return cudaSuccess;
}

cudaError_t cpu_device_set_limit(int device, enum cudaLimit limit, size_t value)
{
    struct cpu_device *d = &cpu.devices[device];
    switch (limit) {
    case cudaLimitStackSize:
        if (value > 512u << 10) { // local memory of a thread, programming guide
            return cudaErrorInvalidValue;
        }
        break;
    case cudaLimitPrintfFifoSize:
        exec_printf_set_limit(d->exec.printf, value);
        break;
    case cudaLimitMallocHeapSize:
        // Only before the first kernel that uses the heap (cudaDeviceSetLimit).
        if (atomic_load(&d->heap_used) || !exec_heap_reset(d->exec.heap, value)) {
            return cudaErrorInvalidValue;
        }
        break;
    case cudaLimitDevRuntimeSyncDepth:
    case cudaLimitDevRuntimePendingLaunchCount:
        break;
    case cudaLimitMaxL2FetchGranularity:
        if (value > 128) {
            return cudaErrorInvalidValue;
        }
        break;
    case cudaLimitPersistingL2CacheSize: { // a hint that may be clamped
        size_t most = cpu.arch->major >= 8 ? (size_t)(cpu.arch->l2_kb << 10) / 4 * 3 : 0;
        value = value < most ? value : most;
        break;
    }
    default:
        return cudaErrorUnsupportedLimit;
    }
    atomic_store(&d->limits[limit], value);
    return cudaSuccess;
}
