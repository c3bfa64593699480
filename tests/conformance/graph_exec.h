// SPDX-License-Identifier: Apache-2.0
//
// What the tests of instantiated graphs share: a stream, two buffers, nodes that fill and add.
#pragma once

#include "graphs.h"
#include "ptx_module.h"

enum { N = 256, BYTES = N * sizeof(int) };

static cudaStream_t stream;
static int *data, *other_data;

static inline void setup(void)
{
    kernels_register();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&data, BYTES));
    OK(cudaMalloc((void **)&other_data, BYTES));
    OK(cudaMemset(data, 0, BYTES));
    OK(cudaMemset(other_data, 0, BYTES));
    OK(cudaDeviceSynchronize()); // the stream does not wait for the legacy one
}

static inline cudaError_t instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
#if CUDART_VERSION >= 12000
    return cudaGraphInstantiate(exec, graph, 0);
#else
    cudaGraphNode_t node = (cudaGraphNode_t)exec;
    char log[16] = "x";
    cudaError_t error = cudaGraphInstantiate(exec, graph, &node, log, sizeof log);
    cr_assert(node == NULL && log[0] == '\0');
    return error;
#endif
}

static inline cudaError_t update(cudaGraphExec_t exec, cudaGraph_t graph,
                                 enum cudaGraphExecUpdateResult *result, cudaGraphNode_t *node)
{
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = cudaGraphExecUpdate(exec, graph, &info);
    *result = info.result;
    *node = info.errorNode;
    return error;
#else
    return cudaGraphExecUpdate(exec, graph, node, result);
#endif
}

static inline int first_value(const int *from)
{
    int value = -1;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

struct fill_arguments {
    int *data, value, n;
    void *list[3];
};

static inline struct cudaKernelNodeParams fill_params(struct fill_arguments *arguments, int *to,
                                                      int value)
{
    *arguments = (struct fill_arguments){.data = to, .value = value, .n = N};
    arguments->list[0] = &arguments->data;
    arguments->list[1] = &arguments->value;
    arguments->list[2] = &arguments->n;
    return (struct cudaKernelNodeParams){.func = (void *)kernel_stub(KERNEL_FILL),
                                         .gridDim = {2, 1, 1},
                                         .blockDim = {N / 2, 1, 1},
                                         .kernelParams = arguments->list};
}

static inline cudaGraphNode_t add_fill(cudaGraph_t graph, const cudaGraphNode_t *after, int *to,
                                       int value)
{
    struct fill_arguments arguments;
    struct cudaKernelNodeParams params = fill_params(&arguments, to, value);
    cudaGraphNode_t node;
    OK(cudaGraphAddKernelNode(&node, graph, after, after != NULL, &params));
    return node;
}

static inline cudaGraphNode_t add_one(cudaGraph_t graph, const cudaGraphNode_t *after, int *to)
{
    int n = N;
    void *list[] = {&to, &n};
    struct cudaKernelNodeParams params = {.func = (void *)kernel_stub(KERNEL_ADD_ONE),
                                          .gridDim = {2, 1, 1},
                                          .blockDim = {N / 2, 1, 1},
                                          .kernelParams = list};
    cudaGraphNode_t node;
    OK(cudaGraphAddKernelNode(&node, graph, after, after != NULL, &params));
    return node;
}

// A graph that adds one to every element.
static inline cudaGraph_t adding(void)
{
    cudaGraph_t graph = new_graph();
    add_one(graph, NULL, data);
    return graph;
}

// A node that allocates on device 0.
static inline cudaGraphNode_t add_alloc(cudaGraph_t graph, size_t size, int **ret_ptr)
{
    struct cudaMemAllocNodeParams params = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned,
                      .location = {.type = cudaMemLocationTypeDevice, .id = 0}},
        .bytesize = size};
    cudaGraphNode_t node;
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    *ret_ptr = params.dptr;
    return node;
}

// A host function that waits until it is let through, and counts its calls.
struct gate {
    _Atomic int open, calls;
};

static inline void wait_for_gate(void *argument)
{
    struct gate *gate = argument;
    while (!gate->open) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    gate->calls++;
}
