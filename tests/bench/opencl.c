// SPDX-License-Identifier: Apache-2.0
//
// Runs the OpenCL versions of the benchmark kernels (kernels.cl) on a CPU device, which is PoCL on
// Debian. The OpenCL loader is opened at run time so that the benchmark needs no OpenCL to build
// beyond its headers, and none to run.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "native.h"

#define FUNCTIONS(X)                                                                               \
    X(clGetPlatformIDs) X(clGetDeviceIDs) X(clCreateContext) X(clCreateCommandQueue)               \
    X(clCreateProgramWithSource) X(clBuildProgram) X(clCreateKernel)      \
    X(clCreateBuffer) X(clSetKernelArg) X(clEnqueueNDRangeKernel) X(clFinish)                      \
    X(clReleaseMemObject) X(clReleaseKernel)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    FUNCTIONS(MEMBER)
#undef MEMBER
} cl;

static cl_context context;
static cl_command_queue queue;
static cl_program program;
static cl_kernel kernel;
static cl_mem memory[8];
static int memory_count;

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        return NULL;
    }
    char *text = calloc(1, 1 << 20);
    if (text && fread(text, 1, (1 << 20) - 1, file) == 0) {
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

int opencl_open(const char *source_path, char *ret_why, size_t why_size)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(ret_why, why_size, "no libOpenCL.so.1");
        return -1;
    }
#define LOAD(name)                                                                                 \
    *(void **)&cl.name = dlsym(library, #name);                                                    \
    if (!cl.name) {                                                                                \
        snprintf(ret_why, why_size, "no " #name);                                                  \
        return -1;                                                                                 \
    }
    FUNCTIONS(LOAD)
#undef LOAD
    cl_platform_id platform;
    cl_device_id device;
    cl_int error = cl.clGetPlatformIDs(1, &platform, NULL);
    if (error == CL_SUCCESS) {
        error = cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    }
    if (error != CL_SUCCESS) {
        snprintf(ret_why, why_size, "no OpenCL device (%d)", error);
        return -1;
    }
    char options[4200];
    const char *slash = strrchr(source_path, '/');
    snprintf(options, sizeof options, "-I %.*s", slash ? (int)(slash - source_path) : 1,
             slash ? source_path : ".");
    char *source = read_file(source_path);
    if (!source) {
        snprintf(ret_why, why_size, "cannot read %s", source_path);
        return -1;
    }
    const char *text = source;
    context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    if (error == CL_SUCCESS) {
        queue = cl.clCreateCommandQueue(context, device, 0, &error);
    }
    if (error == CL_SUCCESS) {
        program = cl.clCreateProgramWithSource(context, 1, &text, NULL, &error);
    }
    if (error == CL_SUCCESS) {
        error = cl.clBuildProgram(program, 1, &device, options, NULL, NULL);
    }
    free(source);
    if (error != CL_SUCCESS) {
        snprintf(ret_why, why_size, "OpenCL program does not build (%d)", error);
        return -1;
    }
    return 0;
}

int opencl_prepare(const char *name, void *const *buffers, const size_t *sizes, int count)
{
    cl_int error;
    kernel = cl.clCreateKernel(program, name, &error);
    if (error != CL_SUCCESS) {
        kernel = NULL;
        return -1;
    }
    for (memory_count = 0; memory_count < count; memory_count++) {
        cl_mem *m = &memory[memory_count];
        *m = cl.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                               sizes[memory_count], buffers[memory_count], &error);
        if (error != CL_SUCCESS ||
            cl.clSetKernelArg(kernel, (cl_uint)memory_count, sizeof *m, m) != CL_SUCCESS) {
            return -1;
        }
    }
    return 0;
}

int opencl_run(const size_t global[2], const size_t local[2])
{
    if (cl.clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL) !=
        CL_SUCCESS) {
        return -1;
    }
    return cl.clFinish(queue) == CL_SUCCESS ? 0 : -1;
}

void opencl_finish(void)
{
    for (int i = 0; i < memory_count; i++) {
        cl.clReleaseMemObject(memory[i]);
    }
    memory_count = 0;
    if (kernel) {
        cl.clReleaseKernel(kernel);
        kernel = NULL;
    }
}
