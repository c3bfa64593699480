// SPDX-License-Identifier: Apache-2.0
// e2e-env: INFINIRT_CPU_DEVICES=4
// e2e-env: OMPI_ALLOW_RUN_AS_ROOT=1
// e2e-env: OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
// e2e-launcher: mpirun --oversubscribe --bind-to none -np 4
//
// One process per device under mpirun: device pointers given to MPI calls (point to point,
// collective, one-sided), and memory and events of other ranks by handle.
#include "e2e.h"

#include <mpi.h>

static int rank, ranks;

__global__ void fill(int *data, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] = value + i;
    }
}

__global__ void add(int *data, int n, const int *other)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] += other[i];
    }
}

static void start_fill(int *data, int n, int value)
{
    fill<<<(n + 255) / 256, 256>>>(data, n, value);
}

static void expect_values(const int *data, int n, int base, int step, const char *what)
{
    std::vector<int> host(n);
    CHECK(cudaMemcpy(host.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        if (host[i] != base + step * i) {
            FAIL("rank %d, %s: [%d] is %d, want %d", rank, what, i, host[i], base + step * i);
        }
    }
}

// Small messages are copied by MPI at once, large ones by the receiver.
static void ring(int n)
{
    Device<int> mine(n), received(n);
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    start_fill(mine.p, n, 1000 * rank);
    CHECK_LAUNCH();
    MPI_Sendrecv(mine.p, n, MPI_INT, next, 7, received.p, n, MPI_INT, previous, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect_values(received.p, n, 1000 * previous, 1, "ring");
    add<<<(n + 255) / 256, 256>>>(mine.p, n, received.p);
    CHECK_LAUNCH();
    expect_values(mine.p, n, 1000 * (rank + previous), 2, "sum");
}

static void collectives(int n)
{
    Device<int> mine(n), sum(n), all(n * ranks);
    int *managed;
    CHECK(cudaMallocManaged(&managed, n * sizeof(int)));
    start_fill(mine.p, n, rank);
    CHECK_LAUNCH();
    MPI_Allreduce(mine.p, sum.p, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect_values(sum.p, n, ranks * (ranks - 1) / 2, ranks, "MPI_Allreduce");
    MPI_Allgather(mine.p, n, MPI_INT, all.p, n, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
        expect_values(all.p + i * n, n, i, 1, "MPI_Allgather");
    }
    start_fill(managed, n, rank == 0 ? 500 : 0);
    CHECK_LAUNCH();
    MPI_Bcast(managed, n, MPI_INT, 0, MPI_COMM_WORLD);
    expect_values(managed, n, 500, 1, "MPI_Bcast");
    CHECK(cudaFree(managed));
    MPI_Win window;
    MPI_Win_create(mine.p, n * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Get(sum.p, n, MPI_INT, (rank + 1) % ranks, 0, n, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    expect_values(sum.p, n, (rank + 1) % ranks, 1, "MPI_Get");
}

struct Handles {
    cudaIpcMemHandle_t memory;
    cudaIpcEventHandle_t event;
};

// Every rank adds its neighbour's memory to its own with a kernel, ordered by events only.
static void by_handle(int n)
{
    Device<int> mine(n), sum(n);
    cudaStream_t stream;
    cudaEvent_t ready;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventInterprocess | cudaEventDisableTiming));
    Handles own;
    std::vector<Handles> all(ranks);
    CHECK(cudaIpcGetMemHandle(&own.memory, mine.p));
    CHECK(cudaIpcGetEventHandle(&own.event, ready));
    fill<<<(n + 255) / 256, 256, 0, stream>>>(mine.p, n, 100 * rank);
    CHECK(cudaEventRecord(ready, stream));
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD);
    std::vector<int *> memory(ranks);
    std::vector<cudaEvent_t> events(ranks);
    CHECK(cudaMemsetAsync(sum.p, 0, n * sizeof(int), stream));
    for (int i = 0; i < ranks; i++) {
        memory[i] = mine.p;
        events[i] = ready;
        if (i != rank) {
            CHECK(cudaIpcOpenMemHandle((void **)&memory[i], all[i].memory,
                                       cudaIpcMemLazyEnablePeerAccess));
            CHECK(cudaIpcOpenEventHandle(&events[i], all[i].event));
            CHECK(cudaStreamWaitEvent(stream, events[i], 0));
        }
        add<<<(n + 255) / 256, 256, 0, stream>>>(sum.p, n, memory[i]);
    }
    CHECK(cudaStreamSynchronize(stream));
    expect_values(sum.p, n, 100 * ranks * (ranks - 1) / 2, ranks, "memory of all ranks");
    // A device pointer of another rank goes to MPI like any other.
    int other = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(memory[other], n, MPI_INT, previous, 9, sum.p, n, MPI_INT, other, 9,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect_values(sum.p, n, 100 * ((other + 1) % ranks), 1, "memory of the rank after the next");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
        if (i != rank) {
            CHECK(cudaIpcCloseMemHandle(memory[i]));
            CHECK(cudaEventDestroy(events[i]));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(cudaEventDestroy(ready));
    CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int devices = 0;
    CHECK(cudaGetDeviceCount(&devices));
    EXPECT(ranks == 4 && devices == 4);
    CHECK(cudaSetDevice(rank % devices));
    ring(100);
    ring(1 << 20);
    collectives(5000);
    collectives(300000);
    by_handle(1000);
    by_handle(1 << 20);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) {
        std::puts("PASS");
    }
    return 0;
}
