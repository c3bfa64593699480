// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the conformance suite as PTX text, and their registration through the hidden
// interface of libcudart. The text is put into a fat binary in memory: a 16-byte header and one
// PTX entry of 64 + 8 bytes with an uncompressed payload.
#include "conformance.h"

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *tid, void *bid, void *block, void *grid,
                            int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                       size_t size, int constant, int global);

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

    ".visible .entry k_spin_copy(.param .u64 p0, .param .u64 p1, .param .u32 p2, .param .u32 p3)\n{\n"
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
    " st.global.u32 [%rd2], %r1;\n ret;\n}\n";

static const char *const kernel_names[KERNEL_COUNT] = {
    "k_empty",     "k_add_one", "k_fill",  "k_copy",  "k_spin_copy", "k_geometry", "k_dynamic",
    "k_variables", "k_limited", "k_fault", "k_trap",  "k_wait_flag",
};
static char kernel_stubs[KERNEL_COUNT];

struct fat_binary {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
    struct {
        uint16_t kind, version;
        uint32_t header_size;
        uint64_t payload_size;
        uint32_t compressed_size, options_offset;
        uint16_t minor, major;
        uint32_t sm, ident_offset, ident_length;
        uint64_t flags, reserved, uncompressed_size;
        uint32_t options_at, options_length;
        uint64_t pad;
    } entry;
    char payload[(sizeof(ptx_kernels) + 7) / 8 * 8];
};
static struct fat_binary fat_binary;
static struct {
    uint32_t magic, version;
    const void *data;
    void *more;
} wrapper = {0x466243B1u, 1, &fat_binary, NULL};
static void **handle;

const void *kernel_stub(enum kernel kernel)
{
    return &kernel_stubs[kernel];
}

void kernels_register(void)
{
    fat_binary.magic = 0xBA55ED50u;
    fat_binary.version = 1;
    fat_binary.header_size = 16;
    fat_binary.size = sizeof(fat_binary.entry) + sizeof(fat_binary.payload);
    fat_binary.entry.kind = 1;
    fat_binary.entry.version = 0x0101;
    fat_binary.entry.header_size = sizeof(fat_binary.entry);
    fat_binary.entry.payload_size = sizeof(fat_binary.payload);
    fat_binary.entry.options_offset = 0x40;
    fat_binary.entry.major = 7;
    fat_binary.entry.sm = 80;
    fat_binary.entry.flags = 0x11;
    memcpy(fat_binary.payload, ptx_kernels, sizeof(ptx_kernels));

    handle = __cudaRegisterFatBinary(&wrapper);
    for (size_t i = 0; i < KERNEL_COUNT; i++) {
        char *name = (char *)(uintptr_t)kernel_names[i];
        __cudaRegisterFunction(handle, &kernel_stubs[i], name, name, -1, NULL, NULL, NULL, NULL,
                               NULL);
    }
    __cudaRegisterVar(handle, (char *)&device_value_key, (char *)(uintptr_t) "device_value",
                      "device_value", 0, sizeof(int), 0, 0);
    __cudaRegisterVar(handle, (char *)&constant_value_key, (char *)(uintptr_t) "constant_value",
                      "constant_value", 0, sizeof(int), 1, 0);
    __cudaRegisterFatBinaryEnd(handle);
}

void kernels_unregister(void)
{
    __cudaUnregisterFatBinary(handle);
    handle = NULL;
}

cudaError_t kernel_launch(enum kernel kernel, unsigned grid, unsigned block, void **arguments,
                          size_t shared, cudaStream_t stream)
{
    void *none[1] = {NULL};
    return cudaLaunchKernel(kernel_stub(kernel), dim(grid, 1, 1), dim(block, 1, 1),
                            arguments ? arguments : none, shared, stream);
}
