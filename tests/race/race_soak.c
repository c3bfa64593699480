// SPDX-License-Identifier: Apache-2.0
//
// The soak: host threads with several streams each do random work whose result is known at every
// moment (launches, copies, fills, graphs, stream-ordered and ordinary allocations, arrays, host
// functions, memory by handle in another process), while one more thread uses and resets a second
// device. In the end every counter must be back where it was.
//
//     race_soak [SECONDS [SEED]]      (2 seconds when not given)
//
// Without a compiler of kernels the launches are left out. A plain program, like race_memory.
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, STREAMS = 4, COUNT = 1024, BYTES = COUNT * sizeof(int), LAUNCHES = 3 };

static const char kernel_text[] =
    ".version 7.8\n.target sm_80\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 v)\n{\n"
    "    .reg .b64 %q<4>; .reg .b32 %r<6>;\n"
    "    ld.param.u64 %q1, [p]; ld.param.u32 %r1, [v];\n"
    "    mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "    mad.lo.u32 %r2, %r2, %r3, %r4;\n"
    "    mul.wide.u32 %q2, %r2, 4; add.u64 %q1, %q1, %q2;\n"
    "    ld.global.u32 %r3, [%q1]; add.u32 %r3, %r3, %r1; st.global.u32 [%q1], %r3;\n    ret;\n}\n";

// One stream with its memory, and what that memory must hold when the stream's work is done.
struct lane {
    cudaStream_t stream;
    cudaEvent_t event;
    int *memory;
    int model[COUNT];
    int host_calls; // host functions enqueued
    _Atomic int host_ran;
};

struct worker {
    pthread_t thread;
    unsigned number;
    uint64_t random;
    struct lane lanes[STREAMS];
    unsigned long operations;
};

static struct worker workers[THREADS];
static _Atomic bool stop, failed;
static cudaKernel_t add_kernel;
static bool have_kernels;
static struct {
    pthread_mutex_t lock;
    pid_t pid;
    int to, from;
} peer = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define CHECK(call)                                                                           \
    do {                                                                                      \
        cudaError_t error_ = (call);                                                          \
        if (error_) {                                                                         \
            fprintf(stderr, "soak.c:%d: %s answered %d (%s)\n", __LINE__, #call, (int)error_, \
                    cudaGetErrorName(error_));                                                \
            atomic_store(&failed, true);                                                      \
            atomic_store(&stop, true);                                                        \
            return;                                                                           \
        }                                                                                     \
    } while (0)

static unsigned pick(struct worker *w, unsigned below)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (unsigned)((w->random >> 20) % below);
}

static void complain(const char *what, const struct worker *w, int index, int got, int want)
{
    fprintf(stderr, "soak.c: thread %u, %s: word %d is %d, not %d\n", w->number, what, index, got,
            want);
    atomic_store(&failed, true);
    atomic_store(&stop, true);
}

static void CUDART_CB count_call(void *lane)
{
    atomic_fetch_add(&((struct lane *)lane)->host_ran, 1);
}

static cudaError_t launch_add(int *memory, int value, cudaStream_t stream)
{
    return cudaLaunchKernel((const void *)add_kernel, (dim3){COUNT / 256, 1, 1}, (dim3){256, 1, 1},
                            (void *[]){&memory, &value}, 0, stream);
}

static void model_add(struct lane *l, int value)
{
    for (int i = 0; i < COUNT; i++) {
        l->model[i] = (int)((unsigned)l->model[i] + (unsigned)value);
    }
}

// ---------------------------------------------------------------- operations

static void op_add(struct worker *w, struct lane *l)
{
    int value = (int)pick(w, 1000);
    if (have_kernels) {
        CHECK(launch_add(l->memory, value, l->stream));
        model_add(l, value);
    }
}

static void op_fill(struct worker *w, struct lane *l)
{
    int byte = (int)pick(w, 256);
    CHECK(cudaMemsetAsync(l->memory, byte, BYTES, l->stream));
    memset(l->model, byte, BYTES);
}

static void op_upload(struct worker *w, struct lane *l)
{
    int first = (int)pick(w, 100000);
    for (int i = 0; i < COUNT; i++) {
        l->model[i] = first + i;
    }
    CHECK(cudaMemcpyAsync(l->memory, l->model, BYTES, cudaMemcpyHostToDevice, l->stream));
}

static void op_exchange(struct worker *w, struct lane *l)
{
    struct lane *other = &w->lanes[pick(w, STREAMS)];
    if (other == l) {
        return;
    }
    CHECK(cudaEventRecord(other->event, other->stream));
    CHECK(cudaStreamWaitEvent(l->stream, other->event, 0));
    CHECK(cudaMemcpyAsync(l->memory, other->memory, BYTES, cudaMemcpyDefault, l->stream));
    CHECK(cudaEventRecord(l->event, l->stream));
    CHECK(cudaStreamWaitEvent(other->stream, l->event, 0));
    memcpy(l->model, other->model, BYTES);
}

static void op_pool(struct worker *w, struct lane *l)
{
    int value = (int)pick(w, 50);
    int *memory;
    CHECK(cudaMallocAsync((void **)&memory, BYTES + pick(w, 100000), l->stream));
    CHECK(cudaMemcpyAsync(memory, l->memory, BYTES, cudaMemcpyDeviceToDevice, l->stream));
    if (have_kernels) {
        CHECK(launch_add(memory, value, l->stream));
        model_add(l, value);
    }
    CHECK(cudaMemcpyAsync(l->memory, memory, BYTES, cudaMemcpyDeviceToDevice, l->stream));
    CHECK(cudaFreeAsync(memory, l->stream));
}

static void op_graph(struct worker *w, struct lane *l)
{
    int value = (int)pick(w, 50);
    unsigned launches = 1 + pick(w, LAUNCHES);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *memory;
    CHECK(cudaStreamBeginCapture(l->stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMallocAsync((void **)&memory, BYTES, l->stream));
    CHECK(cudaMemcpyAsync(memory, l->memory, BYTES, cudaMemcpyDeviceToDevice, l->stream));
    if (have_kernels) {
        CHECK(launch_add(memory, value, l->stream));
    }
    CHECK(cudaLaunchHostFunc(l->stream, count_call, l));
    CHECK(cudaMemcpyAsync(l->memory, memory, BYTES, cudaMemcpyDeviceToDevice, l->stream));
    CHECK(cudaFreeAsync(memory, l->stream));
    CHECK(cudaStreamEndCapture(l->stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (unsigned i = 0; i < launches; i++) {
        CHECK(cudaGraphLaunch(exec, l->stream));
        l->host_calls++;
        if (have_kernels) {
            model_add(l, value);
        }
    }
    if (pick(w, 2)) {
        CHECK(cudaStreamSynchronize(l->stream));
    }
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphExecDestroy(exec));
}

static void op_array(struct worker *w, struct lane *l)
{
    struct cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindSigned};
    cudaArray_t array;
    size_t width = COUNT / 32 * sizeof(int);
    (void)w;
    CHECK(cudaMallocArray(&array, &format, COUNT / 32, 32, 0));
    CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, l->memory, width, width, 32,
                                   cudaMemcpyDeviceToDevice, l->stream));
    CHECK(cudaMemsetAsync(l->memory, 0, BYTES, l->stream));
    CHECK(cudaMemcpy2DFromArrayAsync(l->memory, width, array, 0, 0, width, 32,
                                     cudaMemcpyDeviceToDevice, l->stream));
    CHECK(cudaStreamSynchronize(l->stream));
    CHECK(cudaFreeArray(array));
}

static void op_host(struct worker *w, struct lane *l)
{
    (void)w;
    CHECK(cudaLaunchHostFunc(l->stream, count_call, l));
    l->host_calls++;
}

static void op_verify(struct worker *w, struct lane *l)
{
    int words[COUNT];
    CHECK(cudaMemcpyAsync(words, l->memory, BYTES, cudaMemcpyDeviceToHost, l->stream));
    CHECK(cudaStreamSynchronize(l->stream));
    for (int i = 0; i < COUNT; i++) {
        if (words[i] != l->model[i]) {
            complain("memory", w, i, words[i], l->model[i]);
            return;
        }
    }
    int ran = atomic_load(&l->host_ran);
    if (ran != l->host_calls) {
        complain("host functions", w, 0, ran, l->host_calls);
    }
}

static void op_move(struct worker *w, struct lane *l)
{
    int *memory;
    (void)w;
    CHECK(cudaMalloc((void **)&memory, BYTES));
    CHECK(cudaMemcpyAsync(memory, l->memory, BYTES, cudaMemcpyDeviceToDevice, l->stream));
    CHECK(cudaFree(l->memory)); // waits
    l->memory = memory;
}

static void op_new_stream(struct worker *w, struct lane *l)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithPriority(&stream, pick(w, 2) ? cudaStreamNonBlocking : 0,
                                       -(int)pick(w, 6)));
    CHECK(cudaEventRecord(l->event, l->stream));
    CHECK(cudaStreamWaitEvent(stream, l->event, 0));
    CHECK(cudaStreamDestroy(l->stream)); // its work still runs
    l->stream = stream;
}

static void op_pinned(struct worker *w, struct lane *l)
{
    int *pinned;
    (void)w;
    CHECK(cudaMallocHost((void **)&pinned, BYTES));
    CHECK(cudaMemcpyAsync(pinned, l->memory, BYTES, cudaMemcpyDeviceToHost, l->stream));
    CHECK(cudaMemsetAsync(l->memory, 7, BYTES, l->stream));
    CHECK(cudaMemcpyAsync(l->memory, pinned, BYTES, cudaMemcpyHostToDevice, l->stream));
    CHECK(cudaStreamSynchronize(l->stream));
    CHECK(cudaFreeHost(pinned));
}

// The other process adds up the memory behind a handle.
static void op_share(struct worker *w, struct lane *l)
{
    cudaIpcMemHandle_t handle;
    int64_t sum = 0;
    int64_t want = 0;
    CHECK(cudaStreamSynchronize(l->stream));
    CHECK(cudaIpcGetMemHandle(&handle, l->memory));
    pthread_mutex_lock(&peer.lock);
    bool asked = write(peer.to, &handle, sizeof handle) == sizeof handle &&
                 read(peer.from, &sum, sizeof sum) == sizeof sum;
    pthread_mutex_unlock(&peer.lock);
    for (int i = 0; i < COUNT; i++) {
        want += l->model[i];
    }
    if (!asked || sum != want) {
        complain(asked ? "sum in the other process" : "the other process is gone", w, 0, (int)sum,
                 (int)want);
    }
}

static void op_share_seldom(struct worker *w, struct lane *l)
{
    if (pick(w, 8) == 0) { // a call of a process is slow
        op_share(w, l);
    }
}

static void (*const operations[])(struct worker *w, struct lane *l) = {
    op_add,      op_add,    op_add,  op_fill,       op_upload, op_exchange,
    op_exchange, op_pool,   op_pool, op_graph,      op_host,   op_array,
    op_verify,   op_verify, op_move, op_new_stream, op_pinned, op_share_seldom,
};

// ---------------------------------------------------------------- threads

static void lane_open(struct lane *l)
{
    CHECK(cudaStreamCreate(&l->stream));
    CHECK(cudaEventCreateWithFlags(&l->event, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&l->memory, BYTES));
    CHECK(cudaMemsetAsync(l->memory, 0, BYTES, l->stream));
    memset(l->model, 0, BYTES);
}

static void lane_close(struct lane *l)
{
    CHECK(cudaStreamSynchronize(l->stream));
    CHECK(cudaStreamDestroy(l->stream));
    CHECK(cudaEventDestroy(l->event));
    CHECK(cudaFree(l->memory));
}

static void *work(void *argument)
{
    struct worker *w = argument;
    for (int i = 0; i < STREAMS; i++) {
        lane_open(&w->lanes[i]);
    }
    while (!atomic_load(&stop)) {
        operations[pick(w, sizeof operations / sizeof *operations)](w, &w->lanes[pick(w, STREAMS)]);
        w->operations++;
    }
    for (int i = 0; i < STREAMS && !atomic_load(&failed); i++) {
        op_verify(w, &w->lanes[i]);
        lane_close(&w->lanes[i]);
    }
    return NULL;
}

static void use_and_reset(unsigned round)
{
    int *memory;
    int *async;
    cudaStream_t stream;
    CHECK(cudaMalloc((void **)&memory, BYTES));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocAsync((void **)&async, BYTES, stream));
    CHECK(cudaMemsetAsync(async, 0, BYTES, stream));
    if (have_kernels) {
        CHECK(launch_add(async, 1, stream));
    }
    if (round % 2) {
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaDeviceReset()); // takes everything with it
}

static void *reset(void *argument)
{
    (void)argument;
    if (cudaSetDevice(1)) {
        return NULL;
    }
    for (unsigned round = 0; !atomic_load(&stop); round++) {
        use_and_reset(round);
    }
    return NULL;
}

// ---------------------------------------------------------------- the other process

static int run_peer(void)
{
    cudaIpcMemHandle_t handle;
    while (read(STDIN_FILENO, &handle, sizeof handle) == sizeof handle) {
        int words[COUNT];
        int64_t sum = 0;
        void *memory;
        if (cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) ||
            cudaMemcpy(words, memory, BYTES, cudaMemcpyDeviceToHost) ||
            cudaIpcCloseMemHandle(memory)) {
            return 1;
        }
        for (int i = 0; i < COUNT; i++) {
            sum += words[i];
        }
        if (write(STDOUT_FILENO, &sum, sizeof sum) != sizeof sum) {
            return 1;
        }
    }
    return 0;
}

static bool start_peer(void)
{
    int to[2], from[2];
    if (pipe(to) || pipe(from)) {
        return false;
    }
    peer.pid = fork();
    if (peer.pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        close(to[0]), close(to[1]), close(from[0]), close(from[1]);
        execl("/proc/self/exe", "soak", "peer", (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    peer.to = to[1];
    peer.from = from[0];
    return peer.pid > 0;
}

// ---------------------------------------------------------------- counters

static int open_files(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

struct counters {
    size_t free[2];
    int files;
};

static void give_back(int device, struct counters *c)
{
    cudaMemPool_t pool;
    size_t total;
    CHECK(cudaSetDevice(device));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    CHECK(cudaDeviceGraphMemTrim(device));
    CHECK(cudaMemGetInfo(&c->free[device], &total));
}

static struct counters count_all(void)
{
    struct counters c = {0};
    give_back(1, &c);
    give_back(0, &c);
    c.files = open_files();
    return c;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "peer") == 0) {
        return run_peer();
    }
    int seconds = argc > 1 ? atoi(argv[1]) : 2;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
    if (!start_peer()) { // before there is anything that a fork could disturb
        perror("soak: the other process");
        return 1;
    }
    printf("seed %llu\n", (unsigned long long)seed);
    cudaLibrary_t library = NULL;
    cudaError_t loaded = cudaLibraryLoadData(&library, kernel_text, NULL, NULL, 0, NULL, NULL, 0);
    if (!loaded) {
        loaded = cudaLibraryGetKernel(&add_kernel, library, "add");
    }
    have_kernels = !loaded;
    if (loaded && loaded != cudaErrorNotSupported) {
        fprintf(stderr, "soak: the kernel cannot be loaded: %d\n", (int)loaded);
        return 1;
    }
    (void)cudaGetLastError();
    // Everything that is made once is made now: module, pools, streams of the library's own, files.
    for (int i = 0; i < STREAMS; i++) {
        workers[0].random = seed | 1;
        lane_open(&workers[0].lanes[i]);
    }
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        operations[i](&workers[0], &workers[0].lanes[i % STREAMS]);
    }
    op_share(&workers[0], &workers[0].lanes[0]);
    for (int i = 0; i < STREAMS; i++) {
        lane_close(&workers[0].lanes[i]);
        memset(&workers[0].lanes[i], 0, sizeof workers[0].lanes[i]);
    }
    cudaSetDevice(1);
    use_and_reset(1);
    struct counters before = count_all();
    if (atomic_load(&failed)) {
        return 1;
    }

    pthread_t resetter;
    pthread_create(&resetter, NULL, reset, NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].random = (seed + 1) * (2 * i + 1) * 0x9E3779B97F4A7C15ull | 1;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < seconds * 10 && !atomic_load(&stop); i++) {
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
    atomic_store(&stop, true);
    unsigned long all = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        all += workers[i].operations;
    }
    pthread_join(resetter, NULL);
    struct counters after = count_all();
    close(peer.to);
    int status = 1;
    waitpid(peer.pid, &status, 0);
    printf("%lu operations%s\n", all, have_kernels ? "" : " (no launches: no compiler)");
    bool fine = !atomic_load(&failed) && status == 0;
    for (int d = 0; d < 2; d++) {
        if (after.free[d] != before.free[d]) {
            fprintf(stderr, "soak: device %d: %zu bytes free, %zu before\n", d, after.free[d],
                    before.free[d]);
            fine = false;
        }
    }
    if (after.files != before.files) {
        fprintf(stderr, "soak: %d open files, %d before\n", after.files, before.files);
        fine = false;
    }
    return fine ? 0 : 1;
}
