// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the conformance suite as PTX text, and their registration (ptx_module.h).
#include "conformance.h"

#include "ptx_module.h"

int device_value_key;
int constant_value_key;

static const char ptx_kernels[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .u32 device_value = 41;\n"
    ".visible .const .align 4 .u32 constant_value = 7;\n"
    ".extern .shared .align 16 .b8 dynamic[];\n"
    ".visible .entry k_empty()\n{\n ret;\n}\n"

    ".visible .entry k_add_one(.param .u64 p0, .param .u32 p1)\n{\n"
    " .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u32 %r1, [p1];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;\n"
    " cvta.to.global.u64 %rd2, %rd1; mul.wide.s32 %rd3, %r5, 4; add.s64 %rd2, %rd2, %rd3;\n"
    " ld.global.u32 %r6, [%rd2]; add.s32 %r6, %r6, 1; st.global.u32 [%rd2], %r6;\n"
    "DONE:\n ret;\n}\n"

    ".visible .entry k_fill(.param .u64 p0, .param .u32 p1, .param .u32 p2)\n{\n"
    " .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u32 %r6, [p1]; ld.param.u32 %r1, [p2];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;\n"
    " mul.wide.s32 %rd3, %r5, 4; add.s64 %rd2, %rd1, %rd3; st.global.u32 [%rd2], %r6;\n"
    "DONE:\n ret;\n}\n"

    ".visible .entry k_copy(.param .u64 p0, .param .u64 p1, .param .u32 p2)\n{\n"
    " .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<6>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u32 %r1, [p2];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;\n"
    " mul.wide.s32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n"
    " ld.global.u32 %r6, [%rd5]; st.global.u32 [%rd4], %r6;\n"
    "DONE:\n ret;\n}\n"

    ".visible .entry k_spin_copy(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .u32 "
    "p3)\n{\n"
    " .reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %rd<6>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.u32 %r1, [p2];\n"
    " ld.param.u32 %r7, [p3];\n"
    " mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    " mad.lo.s32 %r5, %r2, %r3, %r4; setp.ge.s32 %p1, %r5, %r1; @%p1 bra DONE;\n"
    " mul.wide.s32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n"
    " mov.u32 %r8, 0;\n"
    "AGAIN:\n ld.volatile.global.u32 %r9, [%rd5]; add.s32 %r8, %r8, 1;\n"
    " setp.lt.s32 %p2, %r8, %r7; @%p2 bra AGAIN;\n"
    " ld.global.u32 %r6, [%rd5]; st.global.u32 [%rd4], %r6;\n"
    "DONE:\n ret;\n}\n"

    ".visible .entry k_geometry(.param .u64 p0)\n{\n"
    " .reg .pred %p<2>; .reg .b32 %r<16>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [p0];\n"
    " mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n"
    " or.b32 %r4, %r1, %r2; or.b32 %r4, %r4, %r3; setp.ne.u32 %p1, %r4, 0; @%p1 bra DONE;\n"
    " mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ctaid.y; mov.u32 %r7, %ctaid.z;\n"
    " mov.u32 %r8, %nctaid.x; mov.u32 %r9, %nctaid.y;\n"
    " mad.lo.u32 %r10, %r7, %r9, %r6; mad.lo.u32 %r10, %r10, %r8, %r5;\n"
    " mov.u32 %r11, %ntid.x; shl.b32 %r12, %r8, 16; or.b32 %r12, %r12, %r11;\n"
    " mul.wide.u32 %rd2, %r10, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r12;\n"
    "DONE:\n ret;\n}\n"

    ".visible .entry k_dynamic(.param .u64 p0)\n{\n"
    " .reg .pred %p<3>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [p0]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x;\n"
    " mov.u32 %r3, dynamic; shl.b32 %r4, %r1, 2; add.s32 %r5, %r3, %r4;\n"
    " st.shared.u32 [%r5], %r1; bar.sync 0;\n"
    " mov.u32 %r6, 0; mov.u32 %r7, 0;\n"
    "LOOP:\n shl.b32 %r8, %r7, 2; add.s32 %r9, %r3, %r8; ld.shared.u32 %r10, [%r9];\n"
    " add.s32 %r6, %r6, %r10; add.s32 %r7, %r7, 1; setp.lt.u32 %p1, %r7, %r2; @%p1 bra LOOP;\n"
    " mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r6;\n ret;\n}\n"

    ".visible .entry k_variables(.param .u64 p0)\n{\n"
    " .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [p0];\n"
    " ld.global.u32 %r1, [device_value]; ld.const.u32 %r2, [constant_value];\n"
    " st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2;\n"
    " add.s32 %r1, %r1, 1; st.global.u32 [device_value], %r1;\n ret;\n}\n"

    ".visible .entry k_limited()\n.maxntid 64, 1, 1\n{\n ret;\n}\n"

    ".visible .entry k_fault()\n{\n .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    " mov.u64 %rd1, 16; mov.u32 %r1, 1; st.global.u32 [%rd1], %r1;\n ret;\n}\n"

    ".visible .entry k_trap()\n{\n trap;\n ret;\n}\n"

    ".visible .entry k_wait_flag(.param .u64 p0, .param .u64 p1)\n{\n"
    " .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1];\n"
    "AGAIN:\n ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra AGAIN;\n"
    " st.global.u32 [%rd2], %r1;\n ret;\n}\n"

    ".visible .entry k_smid(.param .u64 p0, .param .u32 p1)\n{\n"
    " .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [p0]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %smid;\n"
    " mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2;\n ret;\n}\n";

static const char *const kernel_names[KERNEL_COUNT] = {
    "k_empty",   "k_add_one",   "k_fill",    "k_copy",  "k_spin_copy", "k_geometry",
    "k_dynamic", "k_variables", "k_limited", "k_fault", "k_trap",      "k_wait_flag", "k_smid",
};
static struct ptx_module *module;

const void *kernel_stub(enum kernel kernel)
{
    cr_assert(module != NULL, "kernels_register() comes first");
    return ptx_module_stub(module, kernel);
}

void kernels_register(void)
{
    module = ptx_module_register(ptx_kernels, kernel_names, KERNEL_COUNT);
    cr_assert(module != NULL);
    ptx_module_variable(module, &device_value_key, "device_value", sizeof(int), 0);
    ptx_module_variable(module, &constant_value_key, "constant_value", sizeof(int), 1);
    ptx_module_end(module);
}

void kernels_unregister(void)
{
    ptx_module_unregister(module);
}

cudaError_t kernel_launch(enum kernel kernel, unsigned grid, unsigned block, void **arguments,
                          size_t shared, cudaStream_t stream)
{
    void *none[1] = {NULL};
    return cudaLaunchKernel(kernel_stub(kernel), dim(grid, 1, 1), dim(block, 1, 1),
                            arguments ? arguments : none, shared, stream);
}
