// SPDX-License-Identifier: Apache-2.0
//
// Structs about kernels, which need a kernel to be filled: cudaFuncGetAttributes has 56 bytes in
// CUDA 11 and 144 later. The kernel is registered through one front end and known to all.
#include <criterion/criterion.h>
#include <stdio.h>

#include "irt_compat11.h"
#include "majors.h"
#include "ptx_module.h"

TestSuite(kernel_structs, .timeout = 60);

static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry k()\n.maxntid 96, 1, 1\n{\n"
                           " .shared .align 4 .b8 s[256];\n ret;\n}\n";

struct question {
    int major;
    const void *kernel;
};

static int fill(void *buffer, void *context)
{
    const struct question *question = context;
    return CALL(question->major, "cudaFuncGetAttributes", (void *, const void *), buffer,
                question->kernel);
}

Test(kernel_structs, attributes_have_the_size_of_their_major)
{
    static const char *const names[] = {"k"};
    static const size_t sizes[] = {56, 144, 144};
    struct ptx_module *module = ptx_module_register(text, names, 1);
    cr_assert(module != NULL);
    ptx_module_end(module);
    for (int major = 11; major <= 13; major++) {
        struct question question = {major, ptx_module_stub(module, 0)};
        char what[64];
        snprintf(what, sizeof(what), "cudaFuncGetAttributes of %d", major);
        expect_written(fill, &question, sizes[major - 11], what);
    }

    struct irt11_cudaFuncAttributes old;
    struct cudaFuncAttributes new;
    const void *kernel = ptx_module_stub(module, 0);
    cr_assert(CALL(11, "cudaFuncGetAttributes", (void *, const void *), &old, kernel) == 0);
    cr_assert(CALL(13, "cudaFuncGetAttributes", (void *, const void *), &new, kernel) == 0);
    cr_expect(old.maxThreadsPerBlock == 96 && new.maxThreadsPerBlock == 96);
    cr_expect(old.sharedSizeBytes == new.sharedSizeBytes);
    cr_expect(old.ptxVersion == new.ptxVersion &&old.binaryVersion == new.binaryVersion);
    ptx_module_unregister(module);
}
