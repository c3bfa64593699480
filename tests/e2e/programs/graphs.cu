// SPDX-License-Identifier: Apache-2.0
//
// CUDA graphs as programs use them: built by hand with kernels, symbols, memory of their own, host
// functions and children, captured from several streams, launched many times with other data,
// updated in both ways.
#include "e2e.h"

struct Scale {
    double factor;
    int offset;
};

__device__ int table[64];
__constant__ int step_size = 3;

template <typename T> __global__ void scale(T *data, int n, Scale by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] = (T)(data[i] * by.factor) + (T)by.offset;
    }
}

__global__ void add(int *to, const int *a, const int *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        to[i] = a[i] + b[i];
    }
}

__global__ void look_up(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] += table[i % 64] * step_size;
    }
}

static const int N = 1000;

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
#if CUDART_VERSION >= 12000
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
#else
    CHECK(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
#endif
    return exec;
}

template <typename... Args>
static cudaKernelNodeParams kernel_params(void (*kernel)(Args...), void **arguments)
{
    cudaKernelNodeParams params = {};
    params.func = (void *)kernel;
    params.gridDim = dim3((N + 127) / 128);
    params.blockDim = dim3(128);
    params.kernelParams = arguments;
    return params;
}

static void CUDART_CB sum_up(void *argument)
{
    int *host = (int *)argument;
    host[N] = 0;
    for (int i = 0; i < N; i++) {
        host[N] += host[i];
    }
}

// host → a; a·2+1 and a·3-2 side by side; their sum plus a table → host; a host function adds up.
static void by_hand()
{
    std::vector<int> in(N), out(N + 1), numbers(64);
    Device<int> a(N), b(N), c(N);
    int *pa = a.p, *pb = b.p, *pc = c.p, n = N;
    for (int i = 0; i < 64; i++) {
        numbers[i] = i * i;
    }
    cudaGraph_t graph, clone;
    cudaGraphNode_t up, fill, copy, left, right, sum, symbol, lookup, down, host;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&up, graph, nullptr, 0, pa, in.data(), N * sizeof(int),
                                   cudaMemcpyHostToDevice));
    cudaMemsetParams zero = {};
    zero.dst = pc;
    zero.elementSize = 4;
    zero.width = 100;
    zero.height = 10;
    zero.pitch = 400;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &up, 1, pb, pa, N * sizeof(int),
                                   cudaMemcpyDeviceToDevice));
    Scale twice = {2.0, 1}, thrice = {3.0, -2};
    void *left_arguments[] = {&pa, &n, &twice}, *right_arguments[] = {&pb, &n, &thrice};
    cudaKernelNodeParams left_params = kernel_params(scale<int>, left_arguments);
    cudaKernelNodeParams right_params = kernel_params(scale<int>, right_arguments);
    CHECK(cudaGraphAddKernelNode(&left, graph, &copy, 1, &left_params));
    CHECK(cudaGraphAddKernelNode(&right, graph, &copy, 1, &right_params));
    void *sum_arguments[] = {&pc, &pa, &pb, &n};
    cudaKernelNodeParams sum_params = kernel_params(add, sum_arguments);
    cudaGraphNode_t before_sum[] = {left, right, fill};
    CHECK(cudaGraphAddKernelNode(&sum, graph, before_sum, 3, &sum_params));
    CHECK(cudaGraphAddMemcpyNodeToSymbol(&symbol, graph, nullptr, 0, table, numbers.data(),
                                         sizeof(table), 0, cudaMemcpyHostToDevice));
    // The other way of giving arguments.
    struct {
        int *data;
        int n;
    } packed = {pc, n};
    size_t size = sizeof(packed);
    void *extra[] = {(void *)1, &packed, (void *)2, &size, nullptr};
    cudaKernelNodeParams lookup_params = kernel_params(look_up, nullptr);
    lookup_params.extra = extra;
    cudaGraphNode_t before_lookup[] = {sum, symbol};
    CHECK(cudaGraphAddKernelNode(&lookup, graph, before_lookup, 2, &lookup_params));
    CHECK(cudaGraphAddMemcpyNode1D(&down, graph, &lookup, 1, out.data(), pc, N * sizeof(int),
                                   cudaMemcpyDeviceToHost));
    cudaHostNodeParams host_params = {sum_up, out.data()};
    CHECK(cudaGraphAddHostNode(&host, graph, &down, 1, &host_params));
    CHECK(cudaGraphClone(&clone, graph));
    cudaGraphExec_t execs[] = {instantiate(graph), instantiate(clone)};
    for (int round = 0; round < 20; round++) {
        int total = 0;
        for (int i = 0; i < N; i++) { // memory is read when the graph is launched
            in[i] = i + round * 10;
        }
        if (round == 10) {
            thrice = {5.0, 7};
            CHECK(cudaGraphExecKernelNodeSetParams(execs[0], right, &right_params));
        }
        double factor = round >= 10 && round % 2 == 0 ? 5 : 3;
        int offset = factor == 5 ? 7 : -2;
        CHECK(cudaGraphLaunch(execs[round % 2], 0));
        CHECK(cudaStreamSynchronize(0));
        for (int i = 0; i < N; i++) {
            int want = in[i] * 2 + 1 + (int)(in[i] * factor) + offset + numbers[i % 64] * 3;
            if (out[i] != want) {
                FAIL("round %d: element %d is %d, not %d", round, i, out[i], want);
            }
            total += want;
        }
        EXPECT(out[N] == total);
    }
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaGraphExecDestroy(execs[0]));
    CHECK(cudaGraphExecDestroy(execs[1]));
}

// Ordinary code on two streams, as one graph; captured again with other values to update it.
static cudaGraph_t capture(cudaStream_t first, cudaStream_t second, int *a, int *b, int factor)
{
    cudaGraph_t graph;
    cudaEvent_t fork, join;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(a, 0, N * sizeof(int), first));
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    scale<<<(N + 127) / 128, 128, 0, first>>>(a, N, Scale{1.0, factor});
    CHECK(cudaMemsetAsync(b, 0, N * sizeof(int), second));
    scale<<<(N + 127) / 128, 128, 0, second>>>(b, N, Scale{1.0, 10 * factor});
    CHECK(cudaEventRecord(join, second));
    CHECK(cudaStreamWaitEvent(first, join, 0));
    add<<<(N + 127) / 128, 128, 0, first>>>(a, a, b, N);
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    return graph;
}

static void captured()
{
    Device<int> a(N), b(N);
    cudaStream_t first, second;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&second));
    cudaGraph_t graph = capture(first, second, a.p, b.p, 1), parent;
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 5);
    cudaGraphExec_t exec = instantiate(graph);
    for (int factor = 1; factor < 6; factor++) {
        cudaGraph_t next = capture(first, second, a.p, b.p, factor);
#if CUDART_VERSION >= 12000
        cudaGraphExecUpdateResultInfo info;
        CHECK(cudaGraphExecUpdate(exec, next, &info));
#else
        cudaGraphNode_t node;
        cudaGraphExecUpdateResult result;
        CHECK(cudaGraphExecUpdate(exec, next, &node, &result));
#endif
        CHECK(cudaGraphDestroy(next));
        CHECK(cudaGraphLaunch(exec, first));
        CHECK(cudaStreamSynchronize(first));
        for (int value : a.get()) {
            EXPECT(value == 11 * factor);
        }
    }
    // Twice as a child.
    cudaGraphNode_t node, again, clear;
    CHECK(cudaGraphCreate(&parent, 0));
    CHECK(cudaGraphAddChildGraphNode(&node, parent, nullptr, 0, graph));
    int *pa = a.p, n = N;
    Scale twice = {2.0, 0};
    void *arguments[] = {&pa, &n, &twice};
    cudaKernelNodeParams params = kernel_params(scale<int>, arguments);
    CHECK(cudaGraphAddKernelNode(&clear, parent, &node, 1, &params));
    CHECK(cudaGraphAddChildGraphNode(&again, parent, &clear, 1, parent));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    exec = instantiate(parent);
    CHECK(cudaGraphLaunch(exec, second));
    CHECK(cudaStreamSynchronize(second));
    for (int value : a.get()) {
        EXPECT(value == 22);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(parent));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
}

// Memory that the graph allocates for itself: its address is good in every launch.
static void own_memory()
{
    std::vector<int> out(N);
    cudaGraph_t graph;
    cudaGraphNode_t alloc, fill, kernel, down, release;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = N * sizeof(int);
    CHECK(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &memory));
    cudaMemsetParams ones = {};
    ones.dst = memory.dptr;
    ones.value = 4;
    ones.elementSize = 4;
    ones.width = N;
    ones.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, &alloc, 1, &ones));
    int *data = (int *)memory.dptr, n = N;
    Scale by = {2.5, 1};
    void *arguments[] = {&data, &n, &by};
    cudaKernelNodeParams params = kernel_params(scale<int>, arguments);
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &params));
    CHECK(cudaGraphAddMemcpyNode1D(&down, graph, &kernel, 1, out.data(), data, N * sizeof(int),
                                   cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddMemFreeNode(&release, graph, &down, 1, data));
    cudaGraphExec_t exec = instantiate(graph);
    for (int round = 0; round < 10; round++) {
        std::fill(out.begin(), out.end(), 0);
        CHECK(cudaGraphLaunch(exec, 0));
        CHECK(cudaDeviceSynchronize());
        for (int value : out) {
            EXPECT(value == 11);
        }
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main()
{
    by_hand();
    captured();
    own_memory();
    std::puts("PASS");
    return 0;
}
