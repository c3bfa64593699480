// SPDX-License-Identifier: Apache-2.0
//
// Modules and functions of one device: variables in the device's memory, function attributes,
// occupancy, launches. The code itself is shared between devices (program.c).
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "program.h"
#include "exec/device_launch.h"
#include "exec/pool.h"

enum { REPORTED_REGISTERS = 32 }; // compiled code has no CUDA registers; a usual number

struct irtb_function {
    struct irtb_module *module;
    struct cpu_kernel *kernel;
    _Atomic int max_dynamic; // cudaFuncAttributeMaxDynamicSharedMemorySize; -1: the default
    _Atomic int carveout;
    _Atomic int non_portable_cluster;
    _Atomic int cluster[3]; // cudaFuncAttributeRequiredClusterWidth …; 0: not set
    _Atomic int cluster_policy;
};

struct irtb_module {
    struct exec_module exec; // first: what kernels of it ask
    int device;
    struct cpu_program *program;
    void **symbols;                  // address of each variable, by index
    bool *owned;                     // … that this module has allocated
    struct irtb_function *functions; // one per function of the program; only entries are used
};

static struct cpu_heap *variable_heap(const struct irtb_module *module,
                                      const struct jit_variable *variable)
{
    return variable->is_managed ? &cpu.host_memory : &cpu.devices[module->device].memory;
}

static const struct exec_module device_runtime;

static cudaError_t initialise_variable(struct irtb_module *module, uint32_t index)
{
    char message[512] = "";
    if (cpu_engine()->variable_init(module->program->program, index, module->symbols,
                                    module->symbols[index], message, sizeof message)) {
        CPU_LOG("cpu", CPU_ERROR, "variable %s cannot be initialised: %s",
                module->program->variables[index].name, message);
        return cudaErrorInvalidPtx;
    }
    return cudaSuccess;
}

static cudaError_t make_variables(struct irtb_module *module)
{
    const struct cpu_program *program = module->program;
    for (size_t i = 0; i < program->variable_count; i++) {
        const struct jit_variable *variable = &program->variables[i];
        if (variable->is_shared) {
            continue;
        }
        size_t size = variable->size ? variable->size : 1;
        cudaError_t error =
            cpu_heap_alloc(variable_heap(module, variable), size, &module->symbols[i]);
        if (error) {
            return error;
        }
        module->owned[i] = true;
        memset(module->symbols[i], 0, size);
    }
    for (size_t i = 0; i < program->variable_count; i++) { // now that all addresses are known
        if (program->variables[i].has_init && !program->variables[i].is_shared) {
            cudaError_t error = initialise_variable(module, (uint32_t)i);
            if (error) {
                return error;
            }
        }
    }
    return cudaSuccess;
}

void cpu_module_unload(struct irtb_module *module)
{
    if (!module) {
        return;
    }
    struct cpu_program *program = module->program;
    for (size_t i = 0; module->owned && i < program->variable_count; i++) {
        if (module->owned[i]) {
            cpu_heap_free(variable_heap(module, &program->variables[i]), module->symbols[i]);
        }
    }
    free(module->symbols);
    free(module->owned);
    free(module->functions);
    cpu_program_put(program);
    free(module);
}

cudaError_t cpu_module_load(int device, const struct irtb_code_unit *units, size_t count,
                            struct irtb_module **ret_module)
{
    struct cpu_program *program;
    cudaError_t error = cpu_program_get(units, count, &program);
    if (error) {
        return error;
    }
    struct irtb_module *module = calloc(1, sizeof *module);
    if (!module) {
        cpu_program_put(program);
        return cudaErrorMemoryAllocation;
    }
    module->exec = device_runtime;
    module->device = device;
    module->program = program;
    module->symbols = calloc(program->variable_count + 1, sizeof *module->symbols);
    module->owned = calloc(program->variable_count + 1, sizeof *module->owned);
    module->functions = calloc(program->function_count + 1, sizeof *module->functions);
    if (!module->symbols || !module->owned || !module->functions) {
        cpu_module_unload(module);
        return cudaErrorMemoryAllocation;
    }
    for (size_t i = 0; i < program->function_count; i++) {
        module->functions[i].module = module;
        module->functions[i].kernel = &program->kernels[i];
        atomic_store(&module->functions[i].max_dynamic, -1);
        atomic_store(&module->functions[i].carveout, -1);
    }
    error = make_variables(module);
    if (error) {
        cpu_module_unload(module);
        return error;
    }
    *ret_module = module;
    return cudaSuccess;
}

cudaError_t cpu_module_function(struct irtb_module *module, const char *name,
                                struct irtb_function **ret_function)
{
    const struct cpu_program *program = module->program;
    for (size_t i = 0; i < program->function_count; i++) {
        if (program->functions[i].is_entry && strcmp(program->functions[i].name, name) == 0) {
            *ret_function = &module->functions[i];
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidDeviceFunction;
}

static bool find_variable(const struct irtb_module *module, const char *name, size_t *ret_index)
{
    const struct cpu_program *program = module->program;
    for (size_t i = 0; i < program->variable_count; i++) {
        if (!program->variables[i].is_shared && strcmp(program->variables[i].name, name) == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

cudaError_t cpu_module_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                size_t *ret_size, bool *ret_managed)
{
    size_t index;
    if (!find_variable(module, name, &index)) {
        return cudaErrorSymbolNotFound;
    }
    const struct jit_variable *variable = &module->program->variables[index];
    *ret_ptr = module->symbols[index];
    *ret_size = variable->size;
    *ret_managed = variable->is_managed;
    return cudaSuccess;
}

const char *cpu_module_function_name(struct irtb_module *module, size_t index)
{
    const struct cpu_program *program = module->program;
    for (size_t i = 0; i < program->function_count; i++) {
        if (program->functions[i].is_entry && index-- == 0) {
            return program->functions[i].name;
        }
    }
    return NULL;
}

const char *cpu_module_variable_name(struct irtb_module *module, size_t index)
{
    const struct cpu_program *program = module->program;
    for (size_t i = 0; i < program->variable_count; i++) {
        if (!program->variables[i].is_shared && index-- == 0) {
            return program->variables[i].name;
        }
    }
    return NULL;
}

cudaError_t cpu_module_bind_variable(struct irtb_module *module, const char *name, void *ptr)
{
    size_t index;
    if (!find_variable(module, name, &index)) {
        return cudaErrorSymbolNotFound;
    }
    const struct cpu_program *program = module->program;
    if (module->owned[index]) {
        cpu_heap_free(variable_heap(module, &program->variables[index]), module->symbols[index]);
        module->owned[index] = false;
    }
    module->symbols[index] = ptr;
    // Initialisers of the module's own variables may hold the address.
    for (size_t i = 0; i < program->variable_count; i++) {
        if (module->owned[i] && program->variables[i].has_init) {
            cudaError_t error = initialise_variable(module, (uint32_t)i);
            if (error) {
                return error;
            }
        }
    }
    return cudaSuccess;
}

// ---------------------------------------------------------------- functions

static int max_dynamic(struct irtb_function *function)
{
    int set = atomic_load_explicit(&function->max_dynamic, memory_order_relaxed);
    int left = CPU_SHARED_PER_BLOCK - (int)function->kernel->code->static_shared;
    return set >= 0 ? set : left > 0 ? left : 0;
}

static uint32_t product(const uint32_t dim[3])
{
    uint64_t all = (uint64_t)dim[0] * (dim[1] ? dim[1] : 1) * (dim[2] ? dim[2] : 1);
    return all > UINT32_MAX ? UINT32_MAX : (uint32_t)all;
}

static int max_threads(const struct jit_function *function)
{
    uint32_t limit = product(function->reqntid);
    if (!limit) {
        limit = product(function->maxntid);
    }
    return limit && limit < CPU_THREADS_PER_BLOCK ? (int)limit : CPU_THREADS_PER_BLOCK;
}

cudaError_t cpu_function_compile(struct irtb_function *function)
{
    return cpu_kernel_compile(function->module->program, function->kernel);
}

cudaError_t cpu_function_info(struct irtb_function *function, struct irtb_function_info *ret)
{
    cudaError_t error = cpu_function_compile(function);
    if (error) {
        return error;
    }
    const struct jit_function *f = function->kernel->function;
    const struct jit_kernel *code = function->kernel->code;
    struct irtb_function_info info;
    memset(&info, 0, sizeof info);
    info.attributes.sharedSizeBytes = code->static_shared;
    info.attributes.constSizeBytes = function->module->program->const_bytes;
    info.attributes.localSizeBytes = code->local_size / code->lanes;
    info.attributes.maxThreadsPerBlock = max_threads(f);
    info.attributes.numRegs = REPORTED_REGISTERS;
    info.attributes.ptxVersion = (int)f->target;
    info.attributes.binaryVersion = cpu.arch->major * 10 + cpu.arch->minor;
    info.attributes.maxDynamicSharedSizeBytes = max_dynamic(function);
    info.attributes.preferredShmemCarveout = atomic_load(&function->carveout);
    info.attributes.clusterDimMustBeSet = f->explicit_cluster;
    bool fixed = f->cluster[0] != 0;
    info.attributes.requiredClusterWidth = fixed ? (int)f->cluster[0] : function->cluster[0];
    info.attributes.requiredClusterHeight = fixed ? (int)f->cluster[1] : function->cluster[1];
    info.attributes.requiredClusterDepth = fixed ? (int)f->cluster[2] : function->cluster[2];
    info.attributes.clusterSchedulingPolicyPreference = atomic_load(&function->cluster_policy);
    info.attributes.nonPortableClusterSizeAllowed = atomic_load(&function->non_portable_cluster);
    info.parameter_count = f->param_count;
    memcpy(info.required_block, f->reqntid, sizeof info.required_block);
    memcpy(info.max_block, f->maxntid, sizeof info.max_block);
    memcpy(info.required_cluster, f->cluster, sizeof info.required_cluster);
    *ret = info;
    return cudaSuccess;
}

cudaError_t cpu_function_parameter(struct irtb_function *function, unsigned index,
                                   struct irtb_parameter *ret_parameter)
{
    const struct cpu_kernel *kernel = function->kernel;
    if (index >= kernel->function->param_count) {
        return cudaErrorInvalidValue;
    }
    const struct exec_param *param = &kernel->params[index];
    *ret_parameter = (struct irtb_parameter){param->offset, param->size, param->align};
    return cudaSuccess;
}

cudaError_t cpu_function_set_attribute(struct irtb_function *function,
                                       enum cudaFuncAttribute attribute, int value)
{
    cudaError_t error = cpu_function_compile(function);
    if (error) {
        return error;
    }
    switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || (size_t)value + function->kernel->code->static_shared >
                             (size_t)cpu.arch->shared_per_block) {
            return cudaErrorInvalidValue;
        }
        atomic_store(&function->max_dynamic, value);
        return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100) {
            return cudaErrorInvalidValue;
        }
        atomic_store(&function->carveout, value); // a hint: there is nothing to carve here
        return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
        if (value != 0 && value != 1) {
            return cudaErrorInvalidValue;
        }
        atomic_store(&function->non_portable_cluster, value);
        return cudaSuccess;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
        atomic_store(&function->cluster[attribute - cudaFuncAttributeRequiredClusterWidth], value);
        return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
        atomic_store(&function->cluster_policy, value); // a hint: a cluster runs on one thread
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t cpu_function_occupancy(struct irtb_function *function, int block_size,
                                   size_t dynamic_shared, int *ret_blocks)
{
    cudaError_t error = cpu_function_compile(function);
    if (error) {
        return error;
    }
    const struct cpu_kernel *kernel = function->kernel;
    if (block_size > max_threads(kernel->function) ||
        dynamic_shared > (size_t)max_dynamic(function)) {
        *ret_blocks = 0;
        return cudaSuccess;
    }
    *ret_blocks = cpu_arch_occupancy(cpu.arch, block_size, REPORTED_REGISTERS,
                                     kernel->code->static_shared, dynamic_shared);
    return cudaSuccess;
}

// What the executor is told about a launch of the function, whose code is compiled.
static cudaError_t make_launch(struct irtb_function *function, const uint32_t grid[3],
                               const uint32_t block[3], uint32_t dynamic_shared, bool cooperative,
                               bool cluster, struct exec_launch *ret_launch)
{
    struct cpu_kernel *kernel;
    cudaError_t error =
        cpu_kernel_for(function->module->program, function->kernel, block, cluster, &kernel);
    if (error) {
        return error;
    }
    if (dynamic_shared > (uint32_t)max_dynamic(function)) {
        return cudaErrorInvalidValue;
    }
    uint32_t resident = 1;
    if (cooperative || kernel->exec.can_spin) { // blocks may wait for each other
        uint32_t threads = block[0] * block[1] * block[2];
        int blocks = cpu_arch_occupancy(cpu.arch, (int)threads, REPORTED_REGISTERS,
                                        kernel->code->static_shared, dynamic_shared);
        resident = (uint32_t)(blocks > 0 ? blocks : 1) * exec_pool_size();
    }
    uint64_t total = (uint64_t)grid[0] * grid[1] * grid[2];
    if (cooperative && total > resident) {
        return cudaErrorCooperativeLaunchTooLarge;
    }
    if (kernel->code->uses_malloc) {
        atomic_store_explicit(&cpu.devices[function->module->device].heap_used, true,
                              memory_order_relaxed);
    }
    *ret_launch = (struct exec_launch){
        .kernel = &kernel->exec,
        .module = &function->module->exec,
        .symbols = function->module->symbols,
        .dynamic_shared = dynamic_shared,
        .resident = resident,
        .cooperative = cooperative,
    };
    memcpy(ret_launch->grid, grid, sizeof ret_launch->grid);
    memcpy(ret_launch->block, block, sizeof ret_launch->block);
    return cudaSuccess;
}

cudaError_t cpu_launch_prepare(const struct irtb_launch *launch, struct exec_launch *ret_launch,
                               const struct exec_param **ret_params, uint32_t *ret_param_count,
                               uint32_t *ret_params_size)
{
    struct irtb_function *function = launch->function;
    struct cpu_kernel *kernel = function->kernel;
    cudaError_t error = cpu_function_compile(function);
    if (error) {
        return error;
    }
    *ret_params = kernel->params;
    *ret_param_count = kernel->function->param_count;
    *ret_params_size = kernel->function->params_size;
    bool cluster = launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1;
    error = make_launch(function, launch->grid, launch->block, launch->dynamic_shared,
                        launch->cooperative, cluster, ret_launch);
    if (!error && cluster) {
        memcpy(ret_launch->cluster, launch->cluster, sizeof ret_launch->cluster);
    }
    return error;
}

cudaError_t cpu_launch(struct irtb_stream *stream, const struct irtb_launch *launch)
{
    struct exec_launch run;
    const struct exec_param *params;
    uint32_t count;
    uint32_t size;
    cudaError_t error = cpu_launch_prepare(launch, &run, &params, &count, &size);
    return error ? error
                 : exec_stream_launch(stream, &run, params, count, size, launch->arguments);
}

// ---------------------------------------------------------------- for the device runtime

static cudaError_t find_entry(struct exec_module *exec, uint64_t address,
                              struct irtb_function **ret_function)
{
    struct irtb_module *module = (struct irtb_module *)exec; // its first member
    const struct cpu_program *program = module->program;
    for (size_t i = 0; i < program->function_count; i++) {
        if (program->functions[i].is_entry && program->functions[i].address == address) {
            *ret_function = &module->functions[i];
            return cpu_function_compile(*ret_function);
        }
    }
    return cudaErrorInvalidDeviceFunction;
}

static cudaError_t launch_from_kernel(struct exec_module *exec, uint64_t address,
                                      struct exec_launch *launch, uint32_t *ret_params_size)
{
    struct irtb_function *function;
    cudaError_t error = find_entry(exec, address, &function);
    if (error) {
        return error;
    }
    const struct jit_function *f = function->kernel->function;
    static const uint32_t max_grid[3] = {INT32_MAX, UINT16_MAX, UINT16_MAX};
    static const uint32_t max_block[3] = {1024, 1024, 64};
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!launch->grid[i] || !launch->block[i] ||
            launch->grid[i] > max_grid[i] ||
            launch->block[i] > max_block[i]) {
            return cudaErrorInvalidConfiguration;
        }
        threads *= launch->block[i];
    }
    if (threads > CPU_THREADS_PER_BLOCK) {
        return cudaErrorInvalidConfiguration;
    }
    if (threads > (uint64_t)max_threads(f)) {
        return cudaErrorInvalidValue;
    }
    if (f->explicit_cluster) {
        CPU_LOG("cpu", CPU_ERROR, "kernel %s: a cluster started by a kernel is not supported",
                f->name);
        return cudaErrorNotSupported;
    }
    *ret_params_size = f->params_size;
    const struct exec_launch shape = *launch;
    return make_launch(function, shape.grid, shape.block, shape.dynamic_shared, false, false, launch);
}

static cudaError_t attributes_for_kernel(struct exec_module *exec, uint64_t address,
                                         struct cudaFuncAttributes *ret_attributes)
{
    struct irtb_function *function;
    struct irtb_function_info info;
    cudaError_t error = find_entry(exec, address, &function);
    error = error ? error : cpu_function_info(function, &info);
    if (!error) {
        *ret_attributes = info.attributes;
    }
    return error;
}

static cudaError_t occupancy_for_kernel(struct exec_module *exec, uint64_t address, int block_size,
                                        size_t dynamic_shared, int *ret_blocks)
{
    struct irtb_function *function;
    cudaError_t error = find_entry(exec, address, &function);
    return error ? error
                 : cpu_function_occupancy(function, block_size, dynamic_shared, ret_blocks);
}

static cudaError_t attribute_for_kernel(int device, int attribute, int *ret_value)
{
    return cpu.host->device_attribute(device, attribute, ret_value);
}

static cudaError_t limit_for_kernel(int device, int limit, size_t *ret_value)
{
    return cpu_device_get_limit(device, (enum cudaLimit)limit, ret_value);
}

static int count_for_kernel(void)
{
    return cpu.device_count;
}

static const char *text_for_kernel(cudaError_t error, bool name)
{
    return cpu.host->error_text(error, name);
}

static const struct exec_module device_runtime = {
    .launch = launch_from_kernel,
    .attributes = attributes_for_kernel,
    .occupancy = occupancy_for_kernel,
    .device_attribute = attribute_for_kernel,
    .device_limit = limit_for_kernel,
    .device_count = count_for_kernel,
    .error_text = text_for_kernel,
};
