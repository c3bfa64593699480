// SPDX-License-Identifier: Apache-2.0
//
// Kernels that launch graphs: fire and forget, tail launches, a graph that launches itself again,
// what is refused, and conditions of a while node.
#include "e2e.h"

__global__ void append(int *number, int digit)
{
    *number = *number * 10 + digit;
}

__global__ void fire(cudaGraphExec_t forgotten, cudaGraphExec_t tail, int *errors)
{
    errors[0] = cudaGraphLaunch(tail, cudaStreamGraphTailLaunch);
    errors[1] = cudaGraphLaunch(forgotten, cudaStreamGraphFireAndForget);
    errors[2] = cudaGraphLaunch(forgotten, cudaStreamGraphFireAndForget); // under way
    errors[3] = cudaGraphLaunch((cudaGraphExec_t)12345, cudaStreamGraphFireAndForget);
    errors[4] = cudaGraphLaunch(forgotten, 0); // no stream for graphs
    errors[5] = cudaGetCurrentGraphExec() != 0; // its graph was not made for the device
}

__global__ void again(int *counter)
{
    if (--*counter > 0) {
        cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
    }
}

__global__ void countdown(cudaGraphConditionalHandle handle, int *counter)
{
    cudaGraphSetConditional(handle, --*counter > 0);
}

static cudaStream_t stream;

template <typename F> static cudaGraphExec_t captured(F work, unsigned long long flags)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    work();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, flags));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

static void launch(cudaGraphExec_t exec)
{
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void while_node(int *number, int *counter)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaGraphConditionalHandle handle;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    CHECK(cudaStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], nullptr, nullptr,
                                        0, cudaStreamCaptureModeRelaxed));
    append<<<1, 1, 0, stream>>>(number, 1);
    countdown<<<1, 1, 0, stream>>>(handle, counter);
    CHECK(cudaStreamEndCapture(stream, nullptr));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int round = 0; round < 2; round++) {
        *number = 0;
        *counter = 5;
        launch(exec);
        EXPECT(*number == 11111);
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main()
{
    int *number, *errors, *counter;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocManaged((void **)&number, sizeof(int)));
    CHECK(cudaMallocManaged((void **)&counter, sizeof(int)));
    CHECK(cudaMallocManaged((void **)&errors, 8 * sizeof(int)));
    const auto device = cudaGraphInstantiateFlagDeviceLaunch;
    cudaGraphExec_t forgotten = captured([&] { append<<<1, 1, 0, stream>>>(number, 2); }, device);
    cudaGraphExec_t tail = captured([&] { append<<<1, 1, 0, stream>>>(number, 3); }, device);
    cudaGraphExec_t outer = captured(
        [&] {
            fire<<<1, 1, 0, stream>>>(forgotten, tail, errors);
            append<<<1, 1, 0, stream>>>(number, 1);
        },
        0);
    cudaGraphExec_t loop = captured([&] { again<<<1, 1, 0, stream>>>(counter); }, device);
    CHECK(cudaGraphUpload(forgotten, stream));
    CHECK(cudaGraphUpload(tail, stream));
    for (int round = 0; round < 3; round++) {
        *number = 0;
        launch(outer);
        // The tail comes last; fire and forget may run beside the rest of its graph.
        EXPECT(*number == 123 || *number == 213);
        EXPECT(errors[0] == 0 && errors[1] == 0 && errors[2] == cudaErrorInvalidValue &&
               errors[3] == cudaErrorInvalidValue && errors[4] != 0 && errors[5] == 0);
    }
    *counter = 1000;
    launch(loop);
    EXPECT(*counter == 0);
    *number = 0;
    launch(forgotten); // by the host, too
    EXPECT(*number == 2);
    while_node(number, counter);
    CHECK(cudaGraphExecDestroy(outer));
    CHECK(cudaGraphExecDestroy(forgotten));
    CHECK(cudaGraphExecDestroy(tail));
    CHECK(cudaGraphExecDestroy(loop));
    CHECK(cudaDeviceSynchronize());
    std::printf("PASS\n");
    return 0;
}
