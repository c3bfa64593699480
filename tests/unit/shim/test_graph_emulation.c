// SPDX-License-Identifier: Apache-2.0
//
// Graphs and stream capture on a backend that has no graphs: the nodes are enqueued one by one at
// each launch, in order, and launches of one exec wait for each other across streams.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#define OK(call) cr_assert((call) == cudaSuccess, "%s", #call)

TestSuite(graph_emulation, .timeout = 60);

enum { BYTES = 64 };

static void add(void *argument)
{
    ++*(int *)argument;
}

static void expect_no_violation(void)
{
    char path[1024];
    unsigned (*violations)(void);
    snprintf(path, sizeof path, "%s/libirt-cpu.so", getenv("INFINIRT_BACKEND_PATH"));
    void *fake = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    cr_assert(fake != NULL, "%s", dlerror());
    *(void **)&violations = dlsym(fake, "deferred_violations");
    cr_assert(violations && violations() == 0);
}

Test(graph_emulation, captured_and_launched)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    char *memory, host[BYTES], back[BYTES];
    int calls = 0;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc((void **)&memory, BYTES));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaMemcpyAsync(memory, host, BYTES, cudaMemcpyHostToDevice, stream));
    OK(cudaMemsetAsync(memory, 7, 4, stream));
    OK(cudaLaunchHostFunc(stream, add, &calls));
    OK(cudaMemcpyAsync(back, memory, BYTES, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int round = 1; round <= 3; round++) {
        memset(host, round, sizeof host);
        OK(cudaGraphLaunch(exec, stream));
        cr_assert(calls == round - 1); // nothing is done before somebody waits
        OK(cudaStreamSynchronize(stream));
        cr_assert(calls == round && back[0] == 7 && back[BYTES - 1] == round);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(stream));
    expect_no_violation();
}

Test(graph_emulation, launches_of_one_exec_in_two_streams_are_ordered)
{
    cudaStream_t first, second;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    int calls = 0;
    struct cudaHostNodeParams params = {.fn = add, .userData = &calls};
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddHostNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, first));
    OK(cudaGraphLaunch(exec, second));
    OK(cudaStreamSynchronize(second)); // which has to wait for the launch in `first`
    cr_assert(calls == 2, "%d calls", calls);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    expect_no_violation();
}

Test(graph_emulation, updates_and_event_nodes)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t set, record;
    cudaEvent_t event;
    char *memory, value = 0;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMalloc((void **)&memory, BYTES));
    struct cudaMemsetParams params = {
        .dst = memory, .value = 5, .elementSize = 1, .width = BYTES, .height = 1};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &params));
    OK(cudaGraphAddEventRecordNode(&record, graph, &set, 1, event));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    params.value = 9;
    OK(cudaGraphExecMemsetNodeSetParams(exec, set, &params));
    OK(cudaGraphLaunch(exec, stream));
    cr_assert(cudaEventQuery(event) == cudaErrorNotReady);
    OK(cudaEventSynchronize(event));
    OK(cudaMemcpy(&value, memory, 1, cudaMemcpyDeviceToHost));
    cr_assert(value == 9);
    OK(cudaGraphNodeSetEnabled(exec, set, 0));
    OK(cudaMemset(memory, 1, BYTES));
    OK(cudaDeviceSynchronize());
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&value, memory, 1, cudaMemcpyDeviceToHost));
    cr_assert(value == 1);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    expect_no_violation();
}
