// SPDX-License-Identifier: Apache-2.0
//
// Many threads on graphs: one shared graph that all of them change, clone and instantiate, one
// shared exec that all launch in their own streams while one of them changes its nodes, captures,
// and user objects of which every destructor must run once. CUDA promises nothing for shared
// graphs, but nothing may break. A plain program, like race_memory.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 120, SIZE = 4096 };

static _Atomic int made, destroyed, ran;
static cudaGraph_t shared;
static cudaGraphExec_t exec;
static cudaGraphNode_t fill_node;
static void *memory;

#define CHECK(call)                                                  \
    do {                                                             \
        cudaError_t error_ = (call);                                 \
        if (error_) {                                                \
            fprintf(stderr, "%s answered %d\n", #call, (int)error_); \
            return 0;                                                \
        }                                                            \
    } while (0)

static void CUDART_CB count_run(void *argument)
{
    (void)argument;
    atomic_fetch_add(&ran, 1);
}

static void CUDART_CB count_destroyed(void *argument)
{
    (void)argument;
    atomic_fetch_add(&destroyed, 1);
}

static struct cudaMemsetParams fill(int value)
{
    return (struct cudaMemsetParams){.dst = memory,
                                     .value = (unsigned)value & 255,
                                     .elementSize = 1,
                                     .width = SIZE,
                                     .height = 1};
}

// What others may be taking apart at this moment: answers do not matter.
static void stir(int round)
{
    cudaGraphNode_t list[32], node;
    cudaGraph_t clone;
    cudaGraphExec_t mine;
    size_t count = 32;
    struct cudaHostNodeParams host = {.fn = count_run};
    cudaGraphAddHostNode(&node, shared, NULL, 0, &host);
    cudaGraphGetNodes(shared, list, &count);
    if (count > 8) {
        cudaGraphAddEmptyNode(&node, shared, list, 4);
        cudaGraphDestroyNode(list[round % 8]);
        cudaGraphDestroyNode(list[(round + 1) % 8]);
    }
    if (cudaGraphClone(&clone, shared) == cudaSuccess) {
        if (cudaGraphInstantiateWithFlags(&mine, clone, 0) == cudaSuccess) {
            cudaGraphLaunch(mine, cudaStreamPerThread);
            cudaGraphExecDestroy(mine);
        }
        cudaGraphDestroy(clone);
    }
    cudaGetLastError();
}

// A captured graph of this thread's own, which owns a user object; its counts must be exact.
static int own_graph(cudaStream_t stream, void *own)
{
    cudaGraph_t graph;
    cudaGraphExec_t mine;
    cudaUserObject_t object;
    CHECK(cudaUserObjectCreate(&object, NULL, count_destroyed, 1, cudaUserObjectNoDestructorSync));
    atomic_fetch_add(&made, 1);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaLaunchHostFunc(stream, count_run, NULL));
    CHECK(cudaMemsetAsync(own, 1, SIZE, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CHECK(cudaGraphRetainUserObject(shared, object, 1, 0));
    CHECK(cudaGraphInstantiateWithFlags(&mine, graph, 0));
    CHECK(cudaGraphLaunch(mine, stream));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphExecDestroy(mine)); // still running, perhaps
    CHECK(cudaGraphReleaseUserObject(shared, object, 1));
    return 1;
}

static int work(int number)
{
    cudaStream_t stream;
    void *own;
    CHECK(cudaMalloc(&own, SIZE));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < ROUNDS; i++) {
        stir(i);
        if (!own_graph(stream, own)) {
            return 0;
        }
        if (number == 0) {
            struct cudaMemsetParams params = fill(i);
            CHECK(cudaGraphExecMemsetNodeSetParams(exec, fill_node, &params));
        }
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(own));
    return 1;
}

static void *run(void *argument)
{
    return work(*(int *)argument) ? argument : NULL;
}

static int prepare(cudaGraph_t *ret_graph)
{
    struct cudaHostNodeParams host = {.fn = count_run};
    cudaGraphNode_t node;
    CHECK(cudaMalloc(&memory, SIZE));
    CHECK(cudaGraphCreate(&shared, 0));
    CHECK(cudaGraphCreate(ret_graph, 0));
    struct cudaMemsetParams params = fill(0);
    CHECK(cudaGraphAddMemsetNode(&fill_node, *ret_graph, NULL, 0, &params));
    CHECK(cudaGraphAddHostNode(&node, *ret_graph, &fill_node, 1, &host));
    CHECK(cudaGraphInstantiateWithFlags(&exec, *ret_graph, 0));
    return 1;
}

static int finish(cudaGraph_t graph)
{
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(shared));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());
    return 1;
}

int main(void)
{
    static int numbers[THREADS];
    pthread_t threads[THREADS];
    cudaGraph_t graph;
    int good = prepare(&graph);
    for (int i = 0; i < THREADS && good; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, run, &numbers[i]);
    }
    for (int i = 0, started = good; i < THREADS && started; i++) {
        void *result;
        pthread_join(threads[i], &result);
        good = good && result;
    }
    good = good && finish(graph);
    if (good && (made != THREADS * ROUNDS || destroyed != made || ran < 2 * THREADS * ROUNDS)) {
        fprintf(stderr, "%d objects, %d destroyed, %d host functions\n", made, destroyed, ran);
        good = 0;
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
