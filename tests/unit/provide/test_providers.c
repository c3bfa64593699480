// SPDX-License-Identifier: Apache-2.0
//
// Providers of kernels through the public API: on cpu, which they override, and on a backend that
// runs no CUDA code (tests/fakes/nocode). Every test is a process of its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include <criterion/criterion.h>

#include "tests/conformance/ptx_module.h"

#define EXPECT(code, call)                                                             \
    do {                                                                               \
        cudaError_t got_ = (call);                                                     \
        cr_assert(got_ == (code), "%s answered %d, expected %d", #call, got_, (code)); \
    } while (0)
#define OK(call) EXPECT(cudaSuccess, call)

static const char text[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .b32 numbers[3] = {1, -2, 0x10};\n"
    ".visible .const .align 4 .f32 half = 0f3F000000; // {\n"
    ".global .align 8 .u64 pointer = numbers;\n"
    ".visible .entry _Z5scaleIfEvPT_S0_i(\n .param .u64 .ptr .global .align 16 p0,\n"
    " .param .f32 p1, /* , */ .param .u32 p2)\n.maxntid 64, 1, 1\n{\n ret;\n}\n"
    ".visible .entry _ZN2ns5failsEv()\n{\n ret;\n}\n"
    ".visible .entry k_packed(.param .u64 p0)\n{\n ret;\n}\n"
    ".visible .entry k_array(.param .u64 p0)\n{\n ret;\n}\n"
    ".visible .entry k_simt(.param .u64 p0)\n{\n ret;\n}\n"
    ".visible .entry k_enqueue(.param .u64 p0)\n{\n ret;\n}\n"
    ".visible .entry _Z5otherv()\n{\n ret;\n}\n";
enum { SCALE, FAILS, PACKED, ARRAY, SIMT, ENQUEUE, OTHER, NOT_THERE, COUNT };
static const char *const names[] = {
    "_Z5scaleIfEvPT_S0_i", "_ZN2ns5failsEv", "k_packed",   "k_array", "k_simt",
    "k_enqueue",           "_Z5otherv",      "k_not_there"};
static struct ptx_module *module;
static int numbers_key, half_key, pointer_key;

static void begin(const char *provider, bool nocode)
{
    if (provider) {
        setenv("INFINIRT_KERNELS", provider, 1);
    }
    setenv("INFINIRT_BACKEND_PATH", nocode ? NOCODE_DIR : CPU_DIR, 1);
    module = ptx_module_register(text, names, COUNT);
    ptx_module_variable(module, &numbers_key, "numbers", 12, 0);
    ptx_module_variable(module, &half_key, "half", 4, 1);
    ptx_module_variable(module, &pointer_key, "pointer", 8, 0);
    ptx_module_end(module);
}

static cudaError_t launch(int kernel, dim3 grid, dim3 block, void **arguments)
{
    void *none[1] = {NULL};
    return cudaLaunchKernel(ptx_module_stub(module, (size_t)kernel), grid, block,
                            arguments ? arguments : none, 0, 0);
}

static void scales(void)
{
    float *data, host[4] = {1, 2, 3, 4}, by = 3;
    int n = 4;
    void *arguments[] = {&data, &by, &n};
    OK(cudaMalloc((void **)&data, sizeof host));
    OK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    OK(launch(SCALE, (dim3){1, 1, 1}, (dim3){4, 1, 1}, arguments));
    by = 100; // was read
    EXPECT(cudaErrorInvalidValue, launch(SCALE, (dim3){1, 1, 1}, (dim3){65, 1, 1}, arguments));
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    cr_assert(host[0] == 3 && host[3] == 12);
    // in a graph, launched twice
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    by = 2;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaLaunchKernel(ptx_module_stub(module, SCALE), (dim3){1, 1, 1}, (dim3){4, 1, 1}, arguments,
                        0, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphExecDestroy(exec)); // while it may run
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    cr_assert(host[0] == 12 && host[3] == 48);
    cudaLaunchConfig_t config = {.gridDim = {1, 1, 1}, .blockDim = {4, 1, 1}, .stream = stream};
    OK(cudaLaunchKernelExC(&config, ptx_module_stub(module, SCALE), arguments));
    OK(cudaLaunchCooperativeKernel(ptx_module_stub(module, SCALE), (dim3){1, 1, 1}, (dim3){4, 1, 1},
                                   arguments, 0, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    cr_assert(host[0] == 48);
}

Test(providers, override_on_cpu, .timeout = 60)
{
    begin(SAMPLE, false);
    scales();
    OK(launch(OTHER, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL)); // the compiled one
    OK(cudaDeviceSynchronize());
    EXPECT(cudaErrorInvalidDeviceFunction,
           launch(NOT_THERE, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL));
    int *out;
    void *arguments[] = {&out};
    OK(cudaMalloc((void **)&out, 4));
    EXPECT(cudaErrorNotSupported, launch(PACKED, (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments));
}

Test(providers, errors_are_the_kernels, .timeout = 60)
{
    begin(SAMPLE, false);
    OK(launch(FAILS, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL));
    EXPECT(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    EXPECT(cudaErrorLaunchFailure, cudaDeviceSynchronize());
}

Test(providers, where_no_code_runs, .timeout = 60)
{
    begin(SAMPLE, true);
    scales();
    EXPECT(cudaErrorNoKernelImageForDevice, launch(OTHER, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL));
    EXPECT(cudaErrorInvalidDeviceFunction,
           launch(NOT_THERE, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL));
    int *out, host = 0;
    void *arguments[] = {&out};
    OK(cudaMalloc((void **)&out, 4));
    static const struct {
        int kernel, value;
    } rows[] = {{PACKED, 6}, {ARRAY, 106}, {SIMT, 2032}, {ENQUEUE, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OK(launch(rows[i].kernel, (dim3){3, 2, 1}, (dim3){32, 1, 1}, arguments));
        OK(cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost));
        cr_assert(host == rows[i].value, "row %zu: %d", i, host);
    }
}

Test(providers, variables_where_no_code_runs, .timeout = 60)
{
    begin(NULL, true);
    int numbers[3];
    float half;
    OK(cudaMemcpyFromSymbol(numbers, &numbers_key, 12, 0, cudaMemcpyDeviceToHost));
    cr_assert(numbers[0] == 1 && numbers[1] == -2 && numbers[2] == 16);
    OK(cudaMemcpyFromSymbol(&half, &half_key, 4, 0, cudaMemcpyDeviceToHost));
    cr_assert(half == 0.5F);
    void *address;
    cr_assert(cudaGetSymbolAddress(&address, &pointer_key) != cudaSuccess); // not silently 0
    EXPECT(cudaErrorNoKernelImageForDevice, launch(OTHER, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL));
}

static void refused(const char *provider)
{
    void *ptr;
    begin(provider, false);
    EXPECT(cudaErrorInitializationError, cudaMalloc(&ptr, 1));
}

Test(bad_providers, not_there)
{
    refused("/nowhere/libnothing.so");
}
Test(bad_providers, no_symbol)
{
    refused(CPU_DIR "/libirt-cpu.so");
}
Test(bad_providers, other_version)
{
    refused(SAMPLE ":" BAD_1);
}
Test(bad_providers, null_function)
{
    refused(BAD_2);
}
Test(bad_providers, unknown_kind)
{
    refused(BAD_3);
}
Test(bad_providers, null)
{
    refused(BAD_4);
}
