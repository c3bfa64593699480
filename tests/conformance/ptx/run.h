// SPDX-License-Identifier: Apache-2.0
//
// Runs one kernel given as the body of an entry: arrays of 32-bit words in and out. The body sees
// %out and %in (64-bit addresses), %id (linear in x), %lane, %block, and scratch registers
// %p0..%p19, %r0..%r39, %l0..%l19, %h0..%h9. The result is read after a synchronisation.
#pragma once

#include "../conformance.h"
#include "../ptx_module.h"

struct run {
    const char *directives; // text before the entry (variables, functions), or NULL
    const char *body;
    unsigned grid, block;
    const uint32_t *in;
    size_t in_count;
    uint32_t *out; // initial contents go in, results come out
    size_t out_count;
    bool cooperative;
};

static inline cudaError_t run_kernel(const struct run *run)
{
    static const char *const names[] = {"k"};
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    cr_assert(stream != NULL);
    fprintf(stream,
            ".version 8.6\n.target sm_100\n.address_size 64\n%s\n"
            ".visible .entry k(.param .u64 pout, .param .u64 pin)\n{\n"
            " .reg .pred %%p<20>; .reg .b16 %%h<10>; .reg .b32 %%r<40>, %%id, %%lane, %%block;\n"
            " .reg .b64 %%l<20>, %%out, %%in;\n"
            " ld.param.u64 %%out, [pout]; ld.param.u64 %%in, [pin]; mov.u32 %%id, %%tid.x;\n"
            " mov.u32 %%lane, %%laneid; mov.u32 %%block, %%ctaid.x;\n%s\n ret;\n}\n",
            run->directives ? run->directives : "", run->body);
    fclose(stream);
    const char *dump = getenv("CONFORMANCE_DUMP_PTX");
    if (dump) {
        FILE *file = fopen(dump, "w");
        cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    }
    struct ptx_module *module = ptx_module_register(text, names, 1);
    cr_assert(module != NULL);
    ptx_module_end(module);
    void *in = NULL, *out = NULL;
    OK(cudaMalloc(&in, (run->in_count ? run->in_count : 1) * 4));
    OK(cudaMalloc(&out, run->out_count * 4));
    if (run->in_count) {
        OK(cudaMemcpy(in, run->in, run->in_count * 4, cudaMemcpyHostToDevice));
    }
    OK(cudaMemcpy(out, run->out, run->out_count * 4, cudaMemcpyHostToDevice));
    void *arguments[] = {&out, &in};
    cudaError_t error =
        run->cooperative
            ? cudaLaunchCooperativeKernel(ptx_module_stub(module, 0), dim(run->grid, 1, 1),
                                          dim(run->block, 1, 1), arguments, 0, 0)
            : cudaLaunchKernel(ptx_module_stub(module, 0), dim(run->grid, 1, 1),
                               dim(run->block, 1, 1), arguments, 0, 0);
    if (error == cudaSuccess) {
        error = cudaDeviceSynchronize();
    }
    if (error == cudaSuccess) {
        OK(cudaMemcpy(run->out, out, run->out_count * 4, cudaMemcpyDeviceToHost));
        OK(cudaFree(in));
        OK(cudaFree(out));
    }
    free(text);
    return error;
}

// Where a thread stores: [%out + 4 * (tid + ntid * block)].
#define OUT_ADDRESS                                               \
    " mov.u32 %r39, %ntid.x; mad.lo.u32 %r39, %block, %r39, %id;" \
    " mad.wide.u32 %out, %r39, 4, %out;\n"
