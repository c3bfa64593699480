// SPDX-License-Identifier: Apache-2.0
//
// What graphs cost: a node of a launch, against launching the same kernels one by one and against
// calling C functions; and the pattern of a language model's decoder (76 graphs; 7 small copies, a
// memset, a launch and a wait per step) against the same work done by direct calls. All interleaved
// in one process. Prints times and ratios, checks results, asserts no time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <vector>

#include <cuda_runtime.h>

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "graphs: %s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}
#define CHECK(call) check(call, #call)

enum { NODES = 1000, ROUNDS = 21, WIDTH = 64, LAYERS = 48, GRAPHS = 76, INPUTS = 7, STEPS = 400 };

__global__ void empty() {}

// One small operator: a row of floats scaled and added up.
__global__ void layer(float *state, const float *input, float scale)
{
    unsigned i = threadIdx.x;
    state[i] = state[i] * scale + input[i];
}

static void native_empty() {}
static void native_layer(float *state, const float *input, float scale)
{
    for (int i = 0; i < WIDTH; i++) {
        state[i] = state[i] * scale + input[i];
    }
}
// Called through pointers, so that the compiler leaves the calls alone.
static void (*volatile call_empty)() = native_empty;
static void (*volatile call_layer)(float *, const float *, float) = native_layer;

static double now_ns()
{
    using namespace std::chrono;
    return duration<double, std::nano>(steady_clock::now().time_since_epoch()).count();
}

template <typename F> static double time_of(F f)
{
    double start = now_ns();
    f();
    return now_ns() - start;
}

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static cudaGraphExec_t end_capture(cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static void nodes(cudaStream_t stream)
{
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < NODES; i++) {
        empty<<<1, 1, 0, stream>>>();
    }
    cudaGraphExec_t exec = end_capture(stream);
    std::vector<double> graph, direct, native;
    size_t before = 0, after = 0;
    for (int round = 0; round < ROUNDS; round++) {
        graph.push_back(time_of([&] {
            CHECK(cudaGraphLaunch(exec, stream));
            CHECK(cudaStreamSynchronize(stream));
        }));
        direct.push_back(time_of([&] {
            for (int i = 0; i < NODES; i++) {
                empty<<<1, 1, 0, stream>>>();
            }
            CHECK(cudaStreamSynchronize(stream));
        }));
        native.push_back(time_of([&] {
            for (int i = 0; i < NODES; i++) {
                call_empty();
            }
        }));
    }
    before = mallinfo2().uordblks;
    for (int round = 0; round < 1000; round++) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    after = mallinfo2().uordblks;
    double per_graph = median(graph) / NODES, per_launch = median(direct) / NODES;
    std::printf("empty kernels, %d in a row: %.0f ns per node of a graph, %.0f ns launched one by "
                "one (%.2f times), %.1f ns as a C call\n",
                NODES, per_graph, per_launch, per_launch / per_graph, median(native) / NODES);
    std::printf("1000 launches later: %zd bytes more allocated\n", (ssize_t)(after - before));
    CHECK(cudaGraphExecDestroy(exec));
}

struct decoder {
    float *state, *inputs;  // device
    int *table;             // device
    float host[INPUTS][WIDTH];
    float native_state[WIDTH], native_inputs[INPUTS][WIDTH];
    int native_table[WIDTH];
};

static void step_inputs(decoder &d, int step)
{
    for (int i = 0; i < INPUTS; i++) {
        d.host[i][step % WIDTH] = (float)(step % 5 + i) * 0.01f;
    }
}

static void decode(cudaStream_t stream)
{
    static decoder d;
    cudaGraphExec_t execs[GRAPHS];
    CHECK(cudaMalloc(&d.state, sizeof d.native_state));
    CHECK(cudaMalloc(&d.inputs, sizeof d.native_inputs));
    CHECK(cudaMalloc(&d.table, sizeof d.native_table));
    CHECK(cudaMemset(d.state, 0, sizeof d.native_state));
    CHECK(cudaDeviceSynchronize());
    double start = now_ns();
    for (int g = 0; g < GRAPHS; g++) {
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
        for (int i = 0; i < LAYERS; i++) {
            layer<<<1, WIDTH, 0, stream>>>(d.state, d.inputs + (i % INPUTS) * WIDTH, 0.5f);
        }
        execs[g] = end_capture(stream);
    }
    std::printf("%d graphs of %d kernels: captured and instantiated in %.1f ms\n", GRAPHS, LAYERS,
                (now_ns() - start) / 1e6);
    std::vector<double> graph, native;
    for (int step = 0; step < STEPS; step++) {
        step_inputs(d, step);
        graph.push_back(time_of([&] {
            for (int i = 0; i < INPUTS; i++) {
                CHECK(cudaMemcpyAsync(d.inputs + i * WIDTH, d.host[i], sizeof d.host[i],
                                      cudaMemcpyHostToDevice, stream));
            }
            CHECK(cudaMemsetAsync(d.table, 0xff, sizeof d.native_table, stream));
            CHECK(cudaGraphLaunch(execs[step % GRAPHS], stream));
            CHECK(cudaStreamSynchronize(stream));
        }));
        native.push_back(time_of([&] {
            for (int i = 0; i < INPUTS; i++) {
                std::memcpy(d.native_inputs[i], d.host[i], sizeof d.host[i]);
            }
            std::memset(d.native_table, 0xff, sizeof d.native_table);
            for (int i = 0; i < LAYERS; i++) {
                call_layer(d.native_state, d.native_inputs[i % INPUTS], 0.5f);
            }
        }));
    }
    float back[WIDTH];
    CHECK(cudaMemcpy(back, d.state, sizeof back, cudaMemcpyDeviceToHost));
    bool same = true;
    for (int i = 0; i < WIDTH; i++) {
        same = same && std::abs(back[i] - d.native_state[i]) < 1e-5f;
    }
    double a = median(graph), b = median(native);
    std::printf("decode step (%d copies, memset, graph of %d kernels, wait): %.2f us, by direct calls "
                "%.2f us: %.1f ns more per operation%s\n",
                INPUTS, LAYERS, a / 1e3, b / 1e3, (a - b) / (INPUTS + 1 + LAYERS),
                same ? "" : ", AND OTHER RESULTS");
    for (cudaGraphExec_t exec : execs) {
        CHECK(cudaGraphExecDestroy(exec));
    }
    if (!same) {
        std::exit(1);
    }
}

int main()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    empty<<<1, 1, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    nodes(stream);
    decode(stream);
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
