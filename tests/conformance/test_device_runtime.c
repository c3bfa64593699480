// SPDX-License-Identifier: Apache-2.0
//
// Launches by kernels, under the names of the device runtime that CUDA 12 and later use and under
// those of CUDA 11, which has cudaDeviceSynchronize in kernels.
#include "conformance.h"
#include "ptx_module.h"

enum { PARENT_NEW, PARENT_OLD, PARENT_PLAIN, PARENT_WRONG, PARENT_COUNT };

static const char text[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 a,\n"
    "    .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);\n"
    ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2_ptsz(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n"
    ".extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 a,\n"
    "    .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);\n"
    ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b32 r) cudaDeviceSynchronize();\n"
    ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a, .param .b64 b);\n"
    ".extern .func (.param .b32 r) cudaLaunchDevice(.param .b64 a, .param .b64 b,\n"
    "    .param .align 4 .b8 c[12], .param .align 4 .b8 d[12], .param .b32 e, .param .b64 f);\n"
    // child(int *p, int v): p[tid] += v
    ".visible .entry child(.param .u64 p, .param .u32 v)\n{\n"
    "    .reg .b64 %q<4>; .reg .b32 %r<4>;\n"
    "    ld.param.u64 %q1, [p]; ld.param.u32 %r1, [v];\n"
    "    mov.u32 %r2, %tid.x; mul.wide.u32 %q2, %r2, 4; add.u64 %q1, %q1, %q2;\n"
    "    red.global.add.u32 [%q1], %r1;\n    ret;\n}\n"
#define PARENT(name, get, launch)                                                           \
    ".visible .entry " name "(.param .u64 p)\n{\n"                                          \
    "    .reg .b64 %q<9>; .reg .b32 %r<9>; .reg .pred %k;\n"                                \
    "    ld.param.u64 %q1, [p];\n    mov.u64 %q2, child;\n"                                 \
    "    {\n    .param .b64 a; .param .align 4 .b8 b[12]; .param .align 4 .b8 c[12];\n"     \
    "    .param .b32 d; .param .b64 r;\n"                                                   \
    "    st.param.b64 [a], %q2; st.param.b32 [b], 1; st.param.b32 [b+4], 1;\n"              \
    "    st.param.b32 [b+8], 1; st.param.b32 [c], 8; st.param.b32 [c+4], 1;\n"              \
    "    st.param.b32 [c+8], 1; st.param.b32 [d], 0;\n"                                     \
    "    call.uni (r), " get ", (a, b, c, d);\n    ld.param.b64 %q3, [r];\n    }\n"         \
    "    st.u64 [%q3], %q1; st.u32 [%q3+8], 5;\n"                                           \
    "    {\n    .param .b64 a; .param .b64 b; .param .b32 r;\n"                             \
    "    st.param.b64 [a], %q3; st.param.b64 [b], 0;\n"                                     \
    "    call.uni (r), " launch ", (a, b);\n    ld.param.b32 %r1, [r];\n    }\n"            \
    "    st.global.u32 [%q1+64], %r1;\n"
    PARENT("parent_new", "__cudaCDP2GetParameterBufferV2", "__cudaCDP2LaunchDeviceV2_ptsz")
    "    ret;\n}\n"
    PARENT("parent_old", "cudaGetParameterBufferV2", "cudaLaunchDeviceV2")
    // ... and waits: the child's work is there
    "    {\n    .param .b32 r;\n    call.uni (r), cudaDeviceSynchronize, ();\n"
    "    ld.param.b32 %r1, [r];\n    }\n"
    "    st.global.u32 [%q1+68], %r1;\n"
    "    ld.volatile.global.u32 %r2, [%q1]; st.global.u32 [%q1+72], %r2;\n    ret;\n}\n"
    // the launch names the kernel
    ".visible .entry parent_plain(.param .u64 p)\n{\n"
    "    .reg .b64 %q<9>; .reg .b32 %r<9>;\n"
    "    ld.param.u64 %q1, [p];\n    mov.u64 %q2, child;\n"
    "    {\n    .param .b64 a; .param .b64 b; .param .b64 r;\n"
    "    st.param.b64 [a], 8; st.param.b64 [b], 12;\n"
    "    call.uni (r), cudaGetParameterBuffer, (a, b);\n    ld.param.b64 %q3, [r];\n    }\n"
    "    st.u64 [%q3], %q1; st.u32 [%q3+8], 7;\n"
    "    {\n    .param .b64 a; .param .b64 b; .param .align 4 .b8 c[12];\n"
    "    .param .align 4 .b8 d[12]; .param .b32 e; .param .b64 f; .param .b32 r;\n"
    "    st.param.b64 [a], %q2; st.param.b64 [b], %q3; st.param.b32 [c], 2;\n"
    "    st.param.b32 [c+4], 1; st.param.b32 [c+8], 1; st.param.b32 [d], 8;\n"
    "    st.param.b32 [d+4], 1; st.param.b32 [d+8], 1; st.param.b32 [e], 0;\n"
    "    st.param.b64 [f], 0;\n"
    "    call.uni (r), cudaLaunchDevice, (a, b, c, d, e, f);\n    ld.param.b32 %r1, [r];\n    }\n"
    "    st.global.u32 [%q1+64], %r1;\n    ret;\n}\n"
    // no buffer for a kernel that does not exist; a buffer that is none is refused
    ".visible .entry parent_wrong(.param .u64 p)\n{\n"
    "    .reg .b64 %q<9>; .reg .b32 %r<9>;\n"
    "    ld.param.u64 %q1, [p];\n"
    "    {\n    .param .b64 a; .param .align 4 .b8 b[12]; .param .align 4 .b8 c[12];\n"
    "    .param .b32 d; .param .b64 r;\n"
    "    st.param.b64 [a], %q1; st.param.b32 [b], 1; st.param.b32 [b+4], 1;\n"
    "    st.param.b32 [b+8], 1; st.param.b32 [c], 8; st.param.b32 [c+4], 1;\n"
    "    st.param.b32 [c+8], 1; st.param.b32 [d], 0;\n"
    "    call.uni (r), __cudaCDP2GetParameterBufferV2, (a, b, c, d);\n"
    "    ld.param.b64 %q3, [r];\n    }\n"
    "    cvt.u32.u64 %r1, %q3; st.global.u32 [%q1], %r1;\n"
    "    {\n    .param .b32 r;\n    call.uni (r), __cudaCDP2GetLastError, ();\n"
    "    ld.param.b32 %r1, [r];\n    }\n    st.global.u32 [%q1+4], %r1;\n"
    "    {\n    .param .b64 a; .param .b64 b; .param .b32 r;\n"
    "    st.param.b64 [a], %q1; st.param.b64 [b], 0;\n"
    "    call.uni (r), __cudaCDP2LaunchDeviceV2_ptsz, (a, b);\n    ld.param.b32 %r1, [r];\n    }\n"
    "    st.global.u32 [%q1+8], %r1;\n    ret;\n}\n";

static void run(int parent, int *ret_words)
{
    static const char *const names[PARENT_COUNT] = {"parent_new", "parent_old", "parent_plain",
                                                    "parent_wrong"};
    struct ptx_module *module = ptx_module_register(text, names, PARENT_COUNT);
    cr_assert(module);
    ptx_module_end(module);
    int *data;
    OK(cudaMalloc((void **)&data, 32 * sizeof(int)));
    OK(cudaMemset(data, 0, 32 * sizeof(int)));
    OK(cudaLaunchKernel(ptx_module_stub(module, (size_t)parent), dim(1, 1, 1), dim(1, 1, 1),
                        (void *[]){&data}, 0, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(ret_words, data, 32 * sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaFree(data));
}

Test(device_runtime, child_runs_before_parent_is_complete, .data = NEEDS("ptx device_runtime"))
{
    int words[32];
    run(PARENT_NEW, words);
    for (int i = 0; i < 8; i++) {
        cr_assert(words[i] == 5, "word %d is %d", i, words[i]);
    }
    cr_assert(words[8] == 0 && words[16] == cudaSuccess);
}

Test(device_runtime, synchronize_in_kernel_of_old_programs, .data = NEEDS("ptx device_runtime"))
{
    int words[32];
    run(PARENT_OLD, words);
    cr_assert(words[16] == cudaSuccess && words[17] == cudaSuccess);
    cr_assert(words[18] == 5, "the kernel saw %d", words[18]);
}

Test(device_runtime, buffer_without_kernel, .data = NEEDS("ptx device_runtime"))
{
    int words[32];
    run(PARENT_PLAIN, words);
    cr_assert(words[16] == cudaSuccess);
    for (int i = 0; i < 8; i++) {
        cr_assert(words[i] == 14, "word %d is %d", i, words[i]);
    }
}

Test(device_runtime, wrong_kernel_and_wrong_buffer, .data = NEEDS("ptx device_runtime"))
{
    int words[32];
    run(PARENT_WRONG, words);
    cr_assert(words[0] == 0, "a buffer for a kernel that does not exist");
    cr_assert(words[1] == cudaErrorInvalidDeviceFunction, "error %d", words[1]);
    cr_assert(words[2] == cudaErrorInvalidValue, "error %d", words[2]);
}
