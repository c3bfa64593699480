// SPDX-License-Identifier: Apache-2.0
//
// Code that a program loads by hand: cudaLibrary* with PTX text, fat binaries, machine code and
// files, JIT options and their logs, kernels and variables of a library, damaged input, unloading.
#include "conformance.h"
#include "ptx_module.h"

#include <sys/mman.h>
#include <unistd.h>

TestSuite(libraries, .timeout = 60);

#if CUDART_VERSION < 12080

Test(libraries, came_with_cuda_12_8)
{
    // The group has nothing to call before; that it links is all there is to see.
    int count = device_count();
    cr_assert(count > 0);
}

#else

static const char text[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .u32 counter = 41;\n"
    ".visible .const .align 4 .u32 seven = 7;\n"
    ".visible .global .attribute(.managed) .align 4 .u32 shared_value = 5;\n"
    ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [n];\n"
    "  atom.global.add.u32 %r1, [%rd0], %r0; ret; }\n"
    ".visible .entry read(.param .u64 p) {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<4>;\n"
    "  ld.param.u64 %rd0, [p]; ld.global.u32 %r0, [counter]; ld.const.u32 %r1, [seven];\n"
    "  add.u32 %r0, %r0, %r1; ld.global.u32 %r2, [shared_value]; add.u32 %r0, %r0, %r2;\n"
    "  st.global.u32 [%rd0], %r0; ret; }\n"
    ".visible .entry spin(.param .u64 flag, .param .u64 p) {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<2>; .reg .pred %q;\n"
    "  ld.param.u64 %rd0, [flag]; ld.param.u64 %rd1, [p];\n"
    "again: ld.volatile.global.u32 %r0, [%rd0]; setp.eq.u32 %q, %r0, 0; @%q bra again;\n"
    "  st.global.u32 [%rd1], %r0; ret; }\n"
    ".visible .entry dynamic(.param .u64 p) {\n"
    "  .reg .u64 %rd<2>; .reg .u32 %r<2>;\n"
    "  ld.param.u64 %rd0, [p]; mov.u32 %r0, %dynamic_smem_size; st.global.u32 [%rd0], %r0; ret; "
    "}\n";

static cudaLibrary_t load(const void *code)
{
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
    cr_assert(library != NULL);
    return library;
}

static cudaKernel_t kernel_of(cudaLibrary_t library, const char *name)
{
    cudaKernel_t kernel = NULL;
    OK(cudaLibraryGetKernel(&kernel, library, name));
    cr_assert(kernel != NULL);
    return kernel;
}

static unsigned read_back(const void *device)
{
    unsigned value = 0;
    OK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static unsigned run_read(cudaKernel_t kernel)
{
    unsigned *out = NULL;
    OK(cudaMalloc((void **)&out, sizeof *out));
    void *arguments[] = {&out};
    OK(cudaLaunchKernel((const void *)kernel, dim(1, 1, 1), dim(1, 1, 1), arguments, 0, 0));
    unsigned value = read_back(out);
    OK(cudaFree(out));
    return value;
}

Test(libraries, ptx_text_runs, .data = NEEDS("ptx"))
{
    unsigned *out = NULL, n = 3;
    cudaLibrary_t library = load(text);
    cudaKernel_t add = kernel_of(library, "add");
    OK(cudaMalloc((void **)&out, sizeof *out));
    OK(cudaMemset(out, 0, sizeof *out));
    void *arguments[] = {&out, &n};
    OK(cudaLaunchKernel((const void *)add, dim(2, 1, 1), dim(64, 1, 1), arguments, 0, 0));
    cudaLaunchConfig_t config = {.gridDim = dim(1, 1, 1), .blockDim = dim(8, 1, 1)};
    OK(cudaLaunchKernelExC(&config, (const void *)add, arguments));
    cr_assert(read_back(out) == 3 * 136);
    cr_assert(kernel_of(library, "add") == add, "the same handle each time");
    OK(cudaLibraryUnload(library));
    EXPECT(cudaErrorInvalidDeviceFunction,
           cudaLaunchKernel((const void *)add, dim(1, 1, 1), dim(1, 1, 1), arguments, 0, 0));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLibraryUnload(library));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLibraryGetKernel(&add, library, "add"));
}

Test(libraries, fat_binary_and_wrapper, .data = NEEDS("ptx"))
{
    size_t size = 0;
    unsigned char *image = ptx_image(text, &size);
    struct {
        unsigned magic, version;
        const void *data;
        void *more;
    } wrapper = {0x466243B1u, 1, image, NULL};
    cr_assert(image != NULL);
    cudaLibrary_t raw = load(image), wrapped = load(&wrapper);
    memset(image, 0x55, size); // the code need not live on
    free(image);
    cr_assert(run_read(kernel_of(raw, "read")) == 53);
    cr_assert(run_read(kernel_of(wrapped, "read")) == 53);
    cr_assert(kernel_of(raw, "read") != kernel_of(wrapped, "read"));
    OK(cudaLibraryUnload(raw));
    cr_assert(run_read(kernel_of(wrapped, "read")) == 53, "the other one stays");
    OK(cudaLibraryUnload(wrapped));
}

Test(libraries, kernels_are_listed, .data = NEEDS("ptx"))
{
    unsigned count = 0;
    cudaKernel_t kernels[8] = {NULL};
    const char *name = NULL;
    cudaLibrary_t library = load(text);
    OK(cudaLibraryGetKernelCount(&count, library));
    cr_assert(count == 4, "%u", count);
    OK(cudaLibraryEnumerateKernels(kernels, 2, library));
    cr_assert(kernels[0] && kernels[1] && !kernels[2]);
    OK(cudaLibraryEnumerateKernels(kernels, 8, library));
    cr_assert(kernels[3] && !kernels[4]);
    OK(cudaFuncGetName(&name, (const void *)kernels[0]));
    cr_assert(strcmp(name, "add") == 0, "%s", name);
    cr_assert(kernels[1] == kernel_of(library, "read"));
    OK(cudaLibraryEnumerateKernels(kernels, 0, library));
    EXPECT(cudaErrorInvalidValue, cudaLibraryEnumerateKernels(NULL, 1, library));
    EXPECT(cudaErrorInvalidValue, cudaLibraryGetKernelCount(NULL, library));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLibraryGetKernelCount(&count, NULL));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaLibraryEnumerateKernels(kernels, 1, (cudaLibrary_t)(void *)kernels[1]));
    EXPECT(cudaErrorSymbolNotFound, cudaLibraryGetKernel(kernels, library, "counter"));
    EXPECT(cudaErrorSymbolNotFound, cudaLibraryGetKernel(kernels, library, ""));
    EXPECT(cudaErrorInvalidValue, cudaLibraryGetKernel(NULL, library, "add"));
    EXPECT(cudaErrorInvalidValue, cudaLibraryGetKernel(kernels, library, NULL));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLibraryGetKernel(kernels, NULL, "add"));
}

Test(libraries, what_a_kernel_takes, .data = NEEDS("ptx"))
{
    size_t offset = 99, size = 99;
    struct cudaFuncAttributes attributes;
    cudaKernel_t add = kernel_of(load(text), "add"), same = NULL;
    OK(cudaFuncGetParamInfo((const void *)add, 0, &offset, &size));
    cr_assert(offset == 0 && size == 8);
    OK(cudaFuncGetParamInfo((const void *)add, 1, &offset, &size));
    cr_assert(offset == 8 && size == 4);
    EXPECT(cudaErrorInvalidValue, cudaFuncGetParamInfo((const void *)add, 2, &offset, &size));
    OK(cudaFuncGetAttributes(&attributes, (const void *)add));
    cr_assert(attributes.maxThreadsPerBlock == 1024 && attributes.ptxVersion == 80);
    OK(cudaGetKernel(&same, (const void *)add));
    cr_assert(same == add, "a cudaKernel_t stands for itself");
}

Test(libraries, variables, .data = NEEDS("ptx"))
{
    unsigned *ptr = NULL, value = 100;
    size_t size = 0;
    struct cudaPointerAttributes attributes;
    cudaLibrary_t library = load(text);
    cudaKernel_t read = kernel_of(library, "read");
    OK(cudaLibraryGetGlobal((void **)&ptr, &size, library, "counter"));
    cr_assert(size == 4 && read_back(ptr) == 41);
    OK(cudaPointerGetAttributes(&attributes, ptr));
    cr_assert(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    OK(cudaMemcpy(ptr, &value, sizeof value, cudaMemcpyHostToDevice));
    cr_assert(run_read(read) == 112);
    OK(cudaLibraryGetGlobal((void **)&ptr, NULL, library, "seven"));
    OK(cudaMemset(ptr, 0, 4));
    OK(cudaLibraryGetGlobal(NULL, &size, library, "seven"));
    cr_assert(run_read(read) == 105 && size == 4);
    OK(cudaLibraryGetManaged((void **)&ptr, &size, library, "shared_value"));
    cr_assert(*ptr == 5 && size == 4, "the host reads it");
    *ptr = 1000;
    cr_assert(run_read(read) == 1100);
    OK(cudaPointerGetAttributes(&attributes, ptr));
    cr_assert(attributes.type == cudaMemoryTypeManaged);
    EXPECT(cudaErrorSymbolNotFound,
           cudaLibraryGetManaged((void **)&ptr, &size, library, "counter"));
    EXPECT(cudaErrorSymbolNotFound, cudaLibraryGetGlobal((void **)&ptr, &size, library, "add"));
    EXPECT(cudaErrorInvalidValue, cudaLibraryGetGlobal(NULL, NULL, library, "counter"));
    EXPECT(cudaErrorInvalidValue, cudaLibraryGetGlobal((void **)&ptr, &size, library, NULL));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaLibraryGetGlobal((void **)&ptr, &size, (cudaLibrary_t)(uintptr_t)0x40, "counter"));
    OK(cudaLibraryUnload(library));
    OK(cudaPointerGetAttributes(&attributes, ptr));
    cr_assert(attributes.type == cudaMemoryTypeUnregistered, "gone with its library");
}

Test(libraries, unified_functions_are_not_there, .data = NEEDS("ptx"))
{
    void *function = NULL;
    cudaLibrary_t library = load(text);
    EXPECT(cudaErrorSymbolNotFound, cudaLibraryGetUnifiedFunction(&function, library, "add"));
    EXPECT(cudaErrorInvalidValue, cudaLibraryGetUnifiedFunction(NULL, library, "add"));
    EXPECT(cudaErrorInvalidValue, cudaLibraryGetUnifiedFunction(&function, library, NULL));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLibraryGetUnifiedFunction(&function, NULL, "add"));
}

Test(libraries, every_device_has_its_own_variables, .data = NEEDS("ptx"))
{
    unsigned *first = NULL, *second = NULL, *shared_first = NULL, *shared_second = NULL;
    size_t size;
    if (device_count() < 2) {
        cr_skip_test("one device only");
    }
    cudaLibrary_t library = load(text);
    cudaKernel_t read = kernel_of(library, "read");
    OK(cudaLibraryGetGlobal((void **)&first, &size, library, "counter"));
    OK(cudaLibraryGetManaged((void **)&shared_first, &size, library, "shared_value"));
    OK(cudaMemset(first, 0, 4));
    OK(cudaSetDevice(1));
    OK(cudaLibraryGetGlobal((void **)&second, &size, library, "counter"));
    OK(cudaLibraryGetManaged((void **)&shared_second, &size, library, "shared_value"));
    cr_assert(first != second && shared_first == shared_second);
    cr_assert(run_read(read) == 53, "untouched on the second device");
    *shared_first = 6;
    cr_assert(run_read(read) == 54);
    OK(cudaSetDevice(0));
    cr_assert(run_read(read) == 13);
    OK(cudaLibraryUnload(library));
}

Test(libraries, attributes_for_a_device, .data = NEEDS("ptx"))
{
    unsigned *out = NULL;
    struct cudaDeviceProp prop;
    OK(cudaGetDeviceProperties(&prop, 0));
    cudaKernel_t kernel = kernel_of(load(text), "dynamic");
    int most = (int)prop.sharedMemPerBlockOptin;
    OK(cudaMalloc((void **)&out, sizeof *out));
    void *arguments[] = {&out};
    const enum cudaFuncAttribute attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
    OK(cudaKernelSetAttributeForDevice(kernel, attribute, most, 0));
    OK(cudaLaunchKernel((const void *)kernel, dim(1, 1, 1), dim(1, 1, 1), arguments, (size_t)most,
                        0));
    cr_assert(read_back(out) == (unsigned)most);
    EXPECT(cudaErrorInvalidValue, cudaKernelSetAttributeForDevice(kernel, attribute, most + 1, 0));
    EXPECT(cudaErrorInvalidValue, cudaKernelSetAttributeForDevice(kernel, attribute, -1, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaKernelSetAttributeForDevice(kernel, (enum cudaFuncAttribute)99, 1, 0));
    EXPECT(cudaErrorInvalidDevice,
           cudaKernelSetAttributeForDevice(kernel, attribute, 0, device_count()));
    EXPECT(cudaErrorInvalidDevice, cudaKernelSetAttributeForDevice(kernel, attribute, 0, -1));
    EXPECT(cudaErrorInvalidResourceHandle, cudaKernelSetAttributeForDevice(NULL, attribute, 0, 0));
    if (device_count() > 1 && prop.sharedMemPerBlockOptin > prop.sharedMemPerBlock) {
        OK(cudaSetDevice(1)); // nothing was said there
        OK(cudaMalloc((void **)&out, sizeof *out));
        EXPECT(cudaErrorInvalidValue, cudaLaunchKernel((const void *)kernel, dim(1, 1, 1),
                                                       dim(1, 1, 1), arguments, (size_t)most, 0));
    }
}

// Kernels that still run when their library goes finish; unloading waits for them.
Test(libraries, unloading_waits, .data = NEEDS("ptx"))
{
    unsigned *flag = NULL, *out = NULL;
    cudaStream_t stream, other;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaHostAlloc((void **)&flag, 2 * sizeof *flag, cudaHostAllocDefault));
    out = flag + 1;
    flag[0] = flag[1] = 0;
    cudaLibrary_t library = load(text);
    void *arguments[] = {&flag, &out};
    OK(cudaLaunchKernel((const void *)kernel_of(library, "spin"), dim(1, 1, 1), dim(1, 1, 1),
                        arguments, 0, stream));
    cr_assert(cudaStreamQuery(stream) == cudaErrorNotReady);
    OK(cudaMemsetAsync(flag, 0xff, sizeof *flag, other));
    OK(cudaLibraryUnload(library));
    OK(cudaStreamSynchronize(stream));
    cr_assert(*out == 0xffffffffu);
}

Test(libraries, reset_loads_anew, .data = NEEDS("ptx"))
{
    unsigned *ptr = NULL;
    size_t size;
    cudaLibrary_t library = load(text);
    cudaKernel_t read = kernel_of(library, "read");
    OK(cudaLibraryGetGlobal((void **)&ptr, &size, library, "counter"));
    OK(cudaMemset(ptr, 0, 4));
    cr_assert(run_read(read) == 12);
    OK(cudaDeviceReset());
    cr_assert(run_read(read) == 53, "initial values again");
    OK(cudaLibraryUnload(library));
}

// ---- files ----

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static cudaError_t load_file(cudaLibrary_t *library, const char *path)
{
    return cudaLibraryLoadFromFile(library, path, NULL, NULL, 0, NULL, NULL, 0);
}

Test(libraries, files, .data = NEEDS("ptx"))
{
    char folder[] = "/tmp/infinirt-libraries-XXXXXX", path[64];
    static const unsigned char machine[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    cudaLibrary_t library = NULL;
    size_t size = 0;
    unsigned char *image = ptx_image(text, &size);
    cr_assert(mkdtemp(folder) && image);
    snprintf(path, sizeof path, "%s/code", folder);
    EXPECT(cudaErrorFileNotFound, load_file(&library, path));
    EXPECT(cudaErrorFileNotFound, load_file(&library, folder));
    write_file(path, text, sizeof text - 1); // a file of text has no NUL
    OK(load_file(&library, path));
    cr_assert(run_read(kernel_of(library, "read")) == 53);
    OK(cudaLibraryUnload(library));
    write_file(path, image, size);
    OK(load_file(&library, path));
    cr_assert(run_read(kernel_of(library, "read")) == 53);
    OK(cudaLibraryUnload(library));
    library = NULL;
    write_file(path, image, size / 2);
    EXPECT(cudaErrorInvalidKernelImage, load_file(&library, path));
    write_file(path, image, 3); // reads like a text
    EXPECT(cudaErrorInvalidPtx, load_file(&library, path));
    write_file(path, machine, sizeof machine);
    EXPECT(cudaErrorNoKernelImageForDevice, load_file(&library, path));
    write_file(path, "", 0);
    EXPECT(cudaErrorInvalidKernelImage, load_file(&library, path));
    write_file(path, "hello, world\n", 13);
    EXPECT(cudaErrorInvalidPtx, load_file(&library, path));
    cr_assert(library == NULL, "untouched on failure");
    EXPECT(cudaErrorInvalidValue, load_file(NULL, path));
    EXPECT(cudaErrorInvalidValue, load_file(&library, NULL));
    enum cudaLibraryOption preserved = cudaLibraryBinaryIsPreserved;
    void *value = NULL;
    EXPECT(cudaErrorInvalidValue,
           cudaLibraryLoadFromFile(&library, path, NULL, NULL, 0, &preserved, &value, 1));
    unlink(path);
    rmdir(folder);
    free(image);
}

// ---- damaged code, which comes without a size ----

static cudaError_t try_code(const void *code)
{
    cudaLibrary_t library = NULL;
    cudaError_t error = cudaLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0);
    cr_assert((error == cudaSuccess) == (library != NULL));
    if (library) {
        OK(cudaLibraryUnload(library));
    }
    return error;
}

Test(libraries, damaged_code, .data = NEEDS("ptx"))
{
    static const char garbage[64] = "\x01\x02\x03\x04";
    static const unsigned char machine[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    static const char *const texts[] = {
        "",
        ".",
        "hello",
        ".version",
        ".version 7.0\n",
        ".version 7.0\n.target sm_80\n.entry k(",
        ".version 7.0\n.target sm_80\n.address_size 64\n.entry k() { frob.u32 %r0, 1; }",
    };
    for (size_t i = 0; i < LENGTH(texts); i++) {
        cudaError_t error = try_code(texts[i]);
        cr_assert(error == (i ? cudaErrorInvalidPtx : cudaErrorInvalidKernelImage), "%s: %s",
                  texts[i], cudaGetErrorName(error));
    }
    EXPECT(cudaErrorUnsupportedPtxVersion,
           try_code(".version 99.0\n.target sm_80\n.address_size 64\n.future_directive;\n"));
    EXPECT(cudaErrorInvalidPtx, try_code(".version 7.0\n.target sm_80\n\x01 binary"));
    EXPECT(cudaErrorInvalidKernelImage, try_code(garbage));
    EXPECT(cudaErrorNoKernelImageForDevice, try_code(machine));
    EXPECT(cudaErrorInvalidValue, try_code(NULL));
    EXPECT(cudaErrorInvalidValue, try_code((const void *)(uintptr_t)8));
    void *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(cudaErrorInvalidValue, try_code(closed));
    munmap(closed, 4096);
}

// Code right before memory that is not there.
Test(libraries, code_at_the_edge, .data = NEEDS("ptx"))
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 0;
    unsigned char *image = ptx_image(text, &size);
    size_t room = (size + page - 1) / page * page;
    char *base =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(image && base != MAP_FAILED && mprotect(base + room, page, PROT_NONE) == 0);
    char *end = base + room;
    memcpy(end - size, image, size);
    OK(try_code(end - size));
    for (size_t cut = 1; cut < size; cut += cut < 128 ? 1 : 97) { // the end is missing
        memcpy(end - (size - cut), image, size - cut);
        cudaError_t error = try_code(end - (size - cut));
        cr_assert(error != cudaSuccess, "cut by %zu", cut);
    }
    memcpy(end - sizeof text, text, sizeof text);
    OK(try_code(end - sizeof text));
    memcpy(end - (sizeof text - 1), text, sizeof text - 1); // not ended
    EXPECT(cudaErrorInvalidKernelImage, try_code(end - (sizeof text - 1)));
    end[-1] = '\n';
    EXPECT(cudaErrorInvalidKernelImage, try_code(end - 1));
    munmap(base, room + page);
    free(image);
}

Test(libraries, every_byte_of_the_headers, .data = NEEDS("ptx"))
{
    enum { HEADERS = 16 + 0x50, ROOM = 1 << 20 };
    size_t size = 0;
    unsigned char *made = ptx_image(text, &size);
    // With something behind it that a wrong size leads to, and then nothing that can be read.
    unsigned char *image =
        mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(made && image != MAP_FAILED && size < ROOM &&
              mprotect(image + ROOM, ROOM, PROT_NONE) == 0);
    memcpy(image, made, size);
    free(made);
    for (size_t i = 0; i < HEADERS; i++) {
        static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
        for (size_t v = 0; v < LENGTH(values); v++) {
            unsigned char kept = image[i];
            image[i] = values[v];
            try_code(image); // any answer, but an answer
            image[i] = kept;
        }
    }
    OK(try_code(image));
    munmap(image, 2 * ROOM);
}

// ---- options ----

Test(libraries, logs, .data = NEEDS("ptx"))
{
    char info[256], error[256], tiny[8];
    float time;
    cudaLibrary_t library = NULL;
    enum cudaJitOption options[] = {cudaJitInfoLogBuffer,  cudaJitInfoLogBufferSizeBytes,
                                    cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes,
                                    cudaJitWallTime,       cudaJitThreadsPerBlock};
    void *values[6];
#define FILL(info_, error_)                                         \
    do {                                                            \
        void *fill_[] = {info_,  (void *)(uintptr_t)sizeof(info_),  \
                         error_, (void *)(uintptr_t)sizeof(error_), \
                         NULL,   (void *)(uintptr_t)256};           \
        memset(info_, 0x55, sizeof(info_));                         \
        memset(error_, 0x55, sizeof(error_));                       \
        memcpy(values, fill_, sizeof values);                       \
    } while (0)
    FILL(info, error);
    OK(cudaLibraryLoadData(&library, text, options, values, 6, NULL, NULL, 0));
    cr_assert(error[0] == '\0' && (uintptr_t)values[3] == 0);
    cr_assert(strlen(info) > 0 && (uintptr_t)values[1] == strlen(info));
    memcpy(&time, &values[4], sizeof time);
    cr_assert(time >= 0 && time < 60000);
    cr_assert((uintptr_t)values[5] == 256);
    OK(cudaLibraryUnload(library));
    FILL(info, error);
    static const char wrong[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                ".visible .entry k() {\n frobnicate.u32 1;\n ret; }\n";
    EXPECT(cudaErrorInvalidPtx,
           cudaLibraryLoadData(&library, wrong, options, values, 6, NULL, NULL, 0));
    cr_assert(strstr(error, "frobnicate") && (uintptr_t)values[3] == strlen(error), "%s", error);
    cr_assert(strstr(error, "5"), "names the line: %s", error);
    cr_assert(info[0] == '\0');
    FILL(info, tiny);
    EXPECT(cudaErrorInvalidPtx,
           cudaLibraryLoadData(&library, wrong, options, values, 6, NULL, NULL, 0));
    cr_assert(strlen(tiny) == 7 && (uintptr_t)values[3] == 7, "cut, with its NUL");
    FILL(info, error);
    static const unsigned char machine[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    EXPECT(cudaErrorNoKernelImageForDevice,
           cudaLibraryLoadData(&library, machine, options, values, 6, NULL, NULL, 0));
    cr_assert(strstr(error, "PTX"), "%s", error);
}

Test(libraries, options_are_checked, .data = NEEDS("ptx"))
{
    cudaLibrary_t library = NULL;
    enum cudaJitOption option = cudaJitMaxRegisters;
    void *value = (void *)(uintptr_t)32;
    EXPECT(cudaErrorInvalidValue,
           cudaLibraryLoadData(&library, text, NULL, &value, 1, NULL, NULL, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaLibraryLoadData(&library, text, &option, NULL, 1, NULL, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaLibraryLoadData(NULL, text, NULL, NULL, 0, NULL, NULL, 0));
    static const struct {
        enum cudaJitOption option;
        unsigned value;
        cudaError_t error;
    } rows[] = {
        {cudaJitMaxRegisters, 32, cudaSuccess},
        {cudaJitOptimizationLevel, 4, cudaSuccess},
        {cudaJitOptimizationLevel, 5, cudaErrorInvalidValue},
        {cudaJitFallbackStrategy, 1, cudaSuccess},
        {cudaJitFallbackStrategy, 2, cudaErrorInvalidValue},
        {cudaJitGenerateDebugInfo, 1, cudaSuccess},
        {cudaJitGenerateLineInfo, 1, cudaSuccess},
        {cudaJitLogVerbose, 1, cudaSuccess},
        {cudaJitCacheMode, 2, cudaSuccess},
        {cudaJitCacheMode, 3, cudaErrorInvalidValue},
        {cudaJitPositionIndependentCode, 1, cudaSuccess},
        {cudaJitMinCtaPerSm, 2, cudaSuccess},
        {(enum cudaJitOption)36, 0, cudaErrorInvalidValue},
        {(enum cudaJitOption) - 1, 0, cudaErrorInvalidValue},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        option = rows[i].option;
        value = (void *)(uintptr_t)rows[i].value;
        cudaError_t error = cudaLibraryLoadData(&library, text, &option, &value, 1, NULL, NULL, 0);
        cr_assert(error == rows[i].error, "option %d = %u: %s", (int)option, rows[i].value,
                  cudaGetErrorName(error));
        if (!error) {
            OK(cudaLibraryUnload(library));
        }
    }
}

Test(libraries, most_threads_of_a_block, .data = NEEDS("ptx"))
{
    unsigned *out = NULL, n = 1;
    cudaLibrary_t library = NULL;
    enum cudaJitOption option = cudaJitMaxThreadsPerBlock;
    void *value = (void *)(uintptr_t)64;
    OK(cudaLibraryLoadData(&library, text, &option, &value, 1, NULL, NULL, 0));
    OK(cudaMalloc((void **)&out, sizeof *out));
    void *arguments[] = {&out, &n};
    const void *add = (const void *)kernel_of(library, "add");
    struct cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, add));
    cr_assert(attributes.maxThreadsPerBlock == 64);
    OK(cudaLaunchKernel(add, dim(1, 1, 1), dim(64, 1, 1), arguments, 0, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaLaunchKernel(add, dim(1, 1, 1), dim(65, 1, 1), arguments, 0, 0));
    OK(cudaDeviceSynchronize());
}

Test(libraries, library_options, .data = NEEDS("ptx"))
{
    cudaLibrary_t library = NULL;
    struct cudalibraryHostUniversalFunctionAndDataTable table = {NULL, 0, NULL, 0};
    enum cudaLibraryOption options[] = {cudaLibraryHostUniversalFunctionAndDataTable,
                                        cudaLibraryBinaryIsPreserved};
    void *values[] = {&table, NULL};
    OK(cudaLibraryLoadData(&library, text, NULL, NULL, 0, options, values, 2));
    cr_assert(run_read(kernel_of(library, "read")) == 53);
    OK(cudaLibraryUnload(library));
    table.functionWindowSize = 8;
    EXPECT(cudaErrorInvalidValue,
           cudaLibraryLoadData(&library, text, NULL, NULL, 0, options, values, 2));
    values[0] = NULL;
    EXPECT(cudaErrorInvalidValue,
           cudaLibraryLoadData(&library, text, NULL, NULL, 0, options, values, 2));
    EXPECT(cudaErrorInvalidValue,
           cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, values, 2));
    EXPECT(cudaErrorInvalidValue,
           cudaLibraryLoadData(&library, text, NULL, NULL, 0, options, NULL, 2));
    options[0] = (enum cudaLibraryOption)7;
    EXPECT(cudaErrorInvalidValue,
           cudaLibraryLoadData(&library, text, NULL, NULL, 0, options, values, 1));
}

// ---- threads ----

static void *load_and_run(void *argument)
{
    for (int i = 0; i < 20; i++) {
        cudaLibrary_t library = load(text);
        if (run_read(kernel_of(library, "read")) != 53) {
            *(int *)argument = 1;
        }
        OK(cudaLibraryUnload(library));
    }
    return NULL;
}

Test(libraries, many_threads, .data = NEEDS("ptx"))
{
    pthread_t threads[4];
    int failed[4] = {0};
    for (int i = 0; i < 4; i++) {
        cr_assert(pthread_create(&threads[i], NULL, load_and_run, &failed[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        cr_assert(!failed[i]);
    }
}

#endif
