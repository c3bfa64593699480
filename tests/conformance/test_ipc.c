// SPDX-License-Identifier: Apache-2.0
//
// Memory and events of several processes: cudaIpc… between this program and children of it.
#include "conformance.h"
#include "processes.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

TestSuite(ipc, .timeout = 120, .init = kernels_register);

enum { INTS = 1000 };

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void fill_on_device(int *data, int value, int n)
{
    void *arguments[] = {&data, &value, &n};
    OK(kernel_launch(KERNEL_FILL, 1 + (unsigned)n / 256, 256, arguments, 0, NULL));
    OK(cudaDeviceSynchronize());
}

static int first_of(const void *device)
{
    int value = -1;
    OK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

// ---- memory ----

struct exported {
    cudaIpcMemHandle_t handle;
    size_t offset; // of INTS integers, in bytes
    int value;
};

// Opens memory, checks that all integers have the value, adds one with a kernel.
ROLE(adder)
{
    kernels_register();
    for (;;) {
        struct message m = process_receive();
        if (m.size != sizeof(struct exported)) {
            return;
        }
        struct exported exported;
        memcpy(&exported, m.bytes, sizeof exported);
        char *base = NULL;
        CHECK_OK(
            cudaIpcOpenMemHandle((void **)&base, exported.handle, cudaIpcMemLazyEnablePeerAccess));
        int *data = (int *)(base + exported.offset);
        int host[INTS], n = INTS;
        CHECK_OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
        for (int i = 0; i < INTS; i++) {
            CHECK(host[i] == exported.value);
        }
        void *arguments[] = {&data, &n};
        CHECK_OK(kernel_launch(KERNEL_ADD_ONE, 4, 256, arguments, 0, NULL));
        CHECK_OK(cudaDeviceSynchronize());
        struct cudaPointerAttributes attributes;
        CHECK_OK(cudaPointerGetAttributes(&attributes, data));
        CHECK(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == data);
        CHECK_CODE(cudaErrorInvalidValue, cudaFree(base));
        CHECK_CODE(cudaErrorInvalidValue, cudaFreeAsync(base, NULL));
        cudaIpcMemHandle_t again;
        CHECK_CODE(cudaErrorInvalidValue, cudaIpcGetMemHandle(&again, base));
        CHECK_OK(cudaIpcCloseMemHandle(base));
        CHECK_CODE(cudaErrorInvalidValue, cudaIpcCloseMemHandle(base));
        CHECK_CODE(cudaErrorInvalidValue,
                   cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
        process_answer("done", 4);
    }
}

Test(ipc, memory_of_every_size, .data = NEEDS("kernels ipc"))
{
    static const size_t sizes[] = {INTS * sizeof(int), 64 << 10, 200 << 10, 3 << 20, 70 << 20};
    struct process child = process_start("adder");
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        char *base = NULL, *neighbour = NULL;
        OK(cudaMalloc((void **)&neighbour, sizes[i]));
        OK(cudaMalloc((void **)&base, sizes[i]));
        OK(cudaMemset(neighbour, 7, sizes[i]));
        struct exported exported = {.offset = sizes[i] - INTS * sizeof(int), .value = 40 + (int)i};
        exported.offset &= ~(size_t)255;
        int *data = (int *)(base + exported.offset);
        fill_on_device(data, exported.value, INTS);
        OK(cudaIpcGetMemHandle(&exported.handle, base));
        cr_assert(first_of(data) == exported.value, "exporting changes nothing");
        process_send(&child, &exported, sizeof exported, -1);
        process_hear(&child);
        cr_assert(first_of(data) == exported.value + 1, "size %zu", sizes[i]);
        cr_assert(first_of(data + INTS - 1) == exported.value + 1);
        // Again: the handle is good for ever and for every process.
        exported.value++;
        process_send(&child, &exported, sizeof exported, -1);
        process_hear(&child);
        cr_assert(first_of(data) == exported.value + 1);
        cr_assert(first_of(neighbour) == 0x07070707);
        OK(cudaFree(base));
        OK(cudaFree(neighbour));
    }
    process_send(&child, "end", 3, -1);
    process_finish(&child);
}

Test(ipc, memory_of_another_device, .data = NEEDS("kernels ipc"))
{
    if (device_count() < 2) {
        cr_skip_test("one device");
    }
    struct process child = process_start("adder"); // stays on device 0
    struct exported exported = {.value = 5};
    void *base = NULL;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&base, INTS * sizeof(int)));
    fill_on_device(base, exported.value, INTS);
    OK(cudaIpcGetMemHandle(&exported.handle, base));
    process_send(&child, &exported, sizeof exported, -1);
    process_hear(&child);
    cr_assert(first_of(base) == exported.value + 1);
    process_send(&child, "end", 3, -1);
    process_finish(&child);
    OK(cudaFree(base));
}

Test(ipc, memory_that_is_written_while_it_is_exported, .data = NEEDS("kernels ipc"))
{
    enum { N = 4 << 20, ROUNDS = 200 };
    for (int turn = 0; turn < 3; turn++) {
        int *data = NULL, n = N;
        OK(cudaMalloc((void **)&data, N * sizeof(int)));
        fill_on_device(data, 0, N);
        void *arguments[] = {&data, &n};
        cudaIpcMemHandle_t handle;
        for (int i = 0; i < ROUNDS / 10; i++) {
            OK(kernel_launch(KERNEL_ADD_ONE, N / 256, 256, arguments, 0, NULL));
        }
        sleep_ms(turn * 3);
        OK(cudaIpcGetMemHandle(&handle, data));
        OK(cudaDeviceSynchronize());
        int *host = malloc(N * sizeof(int));
        OK(cudaMemcpy(host, data, N * sizeof(int), cudaMemcpyDeviceToHost));
        for (int i = 0; i < N; i++) {
            cr_assert(host[i] == ROUNDS / 10, "turn %d: [%d] is %d", turn, i, host[i]);
        }
        free(host);
        OK(cudaFree(data));
    }
}

Test(ipc, exporting_does_not_wait_for_kernels, .data = NEEDS("kernels ipc"))
{
    int *flag = NULL, *data = NULL;
    OK(cudaHostAlloc((void **)&flag, sizeof *flag, cudaHostAllocMapped));
    OK(cudaMalloc((void **)&data, 4096));
    *flag = 0;
    void *arguments[] = {&flag, &data};
    OK(kernel_launch(KERNEL_WAIT_FLAG, 1, 1, arguments, 0, NULL));
    cudaIpcMemHandle_t handle;
    OK(cudaIpcGetMemHandle(&handle, data));
    __atomic_store_n(flag, 77, __ATOMIC_SEQ_CST);
    OK(cudaDeviceSynchronize());
    cr_assert(first_of(data) == 77);
    OK(cudaFree(data));
    OK(cudaFreeHost(flag));
}

// Opens one handle several times.
ROLE(opener)
{
    struct message m = process_receive();
    cudaIpcMemHandle_t handle;
    void *first = NULL, *second = NULL, *nothing = &first;
    memcpy(&handle, m.bytes, sizeof handle);
    CHECK_CODE(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&nothing, handle, 0));
    CHECK_CODE(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&nothing, handle, 2));
    CHECK_CODE(cudaErrorInvalidValue, cudaIpcOpenMemHandle(NULL, handle, 1));
    CHECK(nothing == &first);
    CHECK_OK(cudaIpcOpenMemHandle(&first, handle, 1));
    CHECK_OK(cudaIpcOpenMemHandle(&second, handle, 1));
    CHECK(first == second); // "the existing device pointer is returned"
    CHECK_OK(cudaMemset(first, 1, 16));
    CHECK_OK(cudaIpcCloseMemHandle(first));
    CHECK_OK(cudaMemset(first, 2, 16)); // still open
    CHECK_OK(cudaIpcCloseMemHandle(first));
    CHECK_CODE(cudaErrorInvalidValue, cudaIpcCloseMemHandle(first));
    CHECK_CODE(cudaErrorInvalidValue, cudaMemset(first, 2, 16));
    CHECK_OK(cudaIpcOpenMemHandle(&first, handle, 1));
    CHECK_OK(cudaDeviceReset()); // closes it
    CHECK_CODE(cudaErrorInvalidValue, cudaIpcCloseMemHandle(first));
    process_answer("done", 4);
    for (;;) { // what is not there any more
        m = process_receive();
        if (m.size != sizeof handle) {
            return;
        }
        memcpy(&handle, m.bytes, sizeof handle);
        int code = (int)cudaIpcOpenMemHandle(&first, handle, 1);
        if (code == 0) {
            CHECK_OK(cudaIpcCloseMemHandle(first));
        }
        process_answer(&code, sizeof code);
    }
}

static int opened_by(const struct process *child, const cudaIpcMemHandle_t *handle)
{
    int code = -1;
    process_send(child, handle, sizeof *handle, -1);
    struct message m = process_hear(child);
    memcpy(&code, m.bytes, sizeof code);
    return code;
}

Test(ipc, opening_twice_and_too_late, .data = NEEDS("ipc"))
{
    static const size_t sizes[] = {4096, 1 << 20};
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        struct process child = process_start("opener");
        cudaIpcMemHandle_t handle, other, random;
        void *data = NULL, *more = NULL;
        OK(cudaMalloc(&data, sizes[i]));
        OK(cudaIpcGetMemHandle(&handle, data));
        OK(cudaIpcGetMemHandle(&other, (char *)data + 256)); // names the same allocation
        cr_assert(memcmp(&handle, &other, sizeof handle) == 0);
        process_send(&child, &handle, sizeof handle, -1);
        process_hear(&child);
        cr_assert(first_of(data) == 0x02020202);
        OK(cudaFree(data));
        cr_assert(opened_by(&child, &handle) == cudaErrorMapBufferObjectFailed, "size %zu",
                  sizes[i]);
        OK(cudaMalloc(&more, sizes[i])); // at the same address, perhaps
        OK(cudaIpcGetMemHandle(&other, more));
        cr_assert(memcmp(&handle, &other, sizeof handle) != 0, "handles are unique");
        cr_assert(opened_by(&child, &handle) == cudaErrorMapBufferObjectFailed);
        cr_assert(opened_by(&child, &other) == cudaSuccess);
        // Garbage, and every single byte wrong.
        memset(&random, 0x5a, sizeof random);
        cr_assert(opened_by(&child, &random) == cudaErrorInvalidValue);
        memset(&random, 0, sizeof random);
        cr_assert(opened_by(&child, &random) == cudaErrorInvalidValue);
        for (size_t byte = 0; byte < sizeof random; byte++) {
            random = other;
            random.reserved[byte] = (char)(random.reserved[byte] ^ 0x11);
            cr_assert(opened_by(&child, &random) == cudaErrorInvalidValue);
        }
        process_send(&child, "end", 3, -1);
        process_finish(&child);
        OK(cudaFree(more));
    }
}

Test(ipc, memory_errors, .data = NEEDS("ipc"))
{
    cudaIpcMemHandle_t handle;
    void *data = NULL, *host = NULL, *managed = NULL, *pooled = NULL, *opened = NULL;
    OK(cudaMalloc(&data, 4096));
    OK(cudaMallocHost(&host, 4096));
    OK(cudaMallocManaged(&managed, 4096, cudaMemAttachGlobal));
    OK(cudaMallocAsync(&pooled, 4096, NULL));
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(NULL, data));
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, NULL));
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, host));
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, managed));
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, pooled));
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, &handle));
    OK(cudaIpcGetMemHandle(&handle, data));
    EXPECT(cudaErrorDeviceUninitialized, cudaIpcOpenMemHandle(&opened, handle, 1));
    EXPECT(cudaErrorInvalidValue, cudaIpcCloseMemHandle(data));
    EXPECT(cudaErrorInvalidValue, cudaIpcCloseMemHandle(NULL));
    OK(cudaFree(data));
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, data));
    OK(cudaFree(pooled));
    OK(cudaFree(managed));
    OK(cudaFreeHost(host));
}

// ---- processes that die ----

ROLE(owner)
{
    void *data = NULL;
    size_t size = 96 << 20;
    CHECK_OK(cudaMalloc(&data, size));
    CHECK_OK(cudaMemset(data, 5, size));
    CHECK_OK(cudaDeviceSynchronize());
    cudaIpcMemHandle_t handle;
    CHECK_OK(cudaIpcGetMemHandle(&handle, data));
    process_answer(&handle, sizeof handle);
    process_receive(); // until killed
}

static long shared_kilobytes(void)
{
    char line[128];
    long value = -1;
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "Shmem: %ld", &value) == 1) {
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    return value;
}

static int files_of_ours(const char *folder)
{
    int count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        count += strstr(entry->d_name, "infinirt") != NULL;
    }
    if (directory) {
        closedir(directory);
    }
    return count;
}

Test(ipc, nothing_is_left_of_killed_processes, .data = NEEDS("ipc"))
{
    long before = shared_kilobytes(), during, after = 0;
    struct process owner = process_start("owner");
    struct message m = process_hear(&owner);
    cudaIpcMemHandle_t handle;
    memcpy(&handle, m.bytes, sizeof handle);
    void *data = NULL;
    OK(cudaIpcOpenMemHandle(&data, handle, 1));
    during = shared_kilobytes();
    cr_assert(during - before > 80 << 10, "%ld, then %ld kB are shared", before, during);
    process_kill(&owner);
    // What is open stays good; it cannot be opened anew.
    cr_assert(first_of((char *)data + (95 << 20)) == 0x05050505);
    OK(cudaMemset(data, 6, 4096));
    cr_assert(first_of(data) == 0x06060606);
    OK(cudaIpcCloseMemHandle(data));
    EXPECT(cudaErrorMapBufferObjectFailed, cudaIpcOpenMemHandle(&data, handle, 1));
    for (int i = 0; i < 100; i++) {
        after = shared_kilobytes();
        if (after - before < 40 << 10) {
            break;
        }
        sleep_ms(50);
    }
    cr_assert(after - before < 40 << 10, "%ld kB before, %ld after", before, after);
    cr_assert(files_of_ours("/dev/shm") == 0);
}

Test(ipc, fork_children_do_not_write_into_exported_memory, .data = NEEDS("ipc"))
{
    void *data = NULL;
    cudaIpcMemHandle_t handle;
    OK(cudaMalloc(&data, 4096));
    OK(cudaMemset(data, 3, 4096));
    OK(cudaIpcGetMemHandle(&handle, data));
    pid_t pid = fork();
    if (pid == 0) {
        void *opened;
        int ok = cudaIpcOpenMemHandle(&opened, handle, 1) == cudaErrorInitializationError;
        ok &= cudaIpcGetMemHandle(&handle, data) == cudaErrorInitializationError;
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    cr_assert(waitpid(pid, &status, 0) == pid && status == 0, "status %#x", (unsigned)status);
    cr_assert(first_of(data) == 0x03030303);
    OK(cudaFree(data));
}

// ---- events ----

struct event_case {
    cudaIpcEventHandle_t event;
    cudaIpcMemHandle_t memory;
};

// Waits in a stream for an event of the other process, then reads what was written before it.
ROLE(waiter)
{
    struct message m = process_receive();
    struct event_case given;
    memcpy(&given, m.bytes, sizeof given);
    cudaEvent_t event;
    cudaStream_t stream;
    int *data = NULL, *host = NULL;
    CHECK_OK(cudaIpcOpenEventHandle(&event, given.event));
    CHECK_OK(cudaIpcOpenMemHandle((void **)&data, given.memory, 1));
    CHECK_OK(cudaMallocHost((void **)&host, sizeof *host));
    CHECK_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK_CODE(cudaErrorNotReady, cudaEventQuery(event));
    CHECK_OK(cudaStreamWaitEvent(stream, event, 0));
    CHECK_OK(cudaMemcpyAsync(host, data, sizeof *host, cudaMemcpyDeviceToHost, stream));
    CHECK_CODE(cudaErrorNotReady, cudaStreamQuery(stream));
    process_answer("waits", 5);
    CHECK_OK(cudaStreamSynchronize(stream));
    CHECK(*host == 77);
    CHECK_OK(cudaEventQuery(event));
    CHECK_OK(cudaEventSynchronize(event));
    float ms;
    CHECK_CODE(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, event, event));
    cudaIpcEventHandle_t again;
    CHECK_CODE(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&again, event));
    // The other way round.
    CHECK_OK(cudaMemsetAsync(data, 9, sizeof *data, stream));
    CHECK_OK(cudaEventRecord(event, stream));
    process_answer("recorded", 8);
    process_receive();
    CHECK_OK(cudaEventDestroy(event));
    CHECK_OK(cudaIpcCloseMemHandle(data));
}

static void make_event(cudaEvent_t *event, cudaIpcEventHandle_t *handle)
{
    OK(cudaEventCreateWithFlags(event, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaIpcGetEventHandle(handle, *event));
}

Test(ipc, events_order_two_processes, .data = NEEDS("kernels ipc_events"))
{
    for (int late = 0; late < 2; late++) { // exported before or after the record
        struct process child = process_start("waiter");
        struct event_case given;
        cudaEvent_t event;
        int *flag = NULL, *data = NULL;
        OK(cudaHostAlloc((void **)&flag, sizeof *flag, cudaHostAllocMapped));
        OK(cudaMalloc((void **)&data, sizeof *data));
        OK(cudaMemset(data, 0, sizeof *data));
        OK(cudaIpcGetMemHandle(&given.memory, data));
        make_event(&event, &given.event);
        if (late) {
            OK(cudaEventDestroy(event));
            OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
        }
        *flag = 0;
        void *arguments[] = {&flag, &data};
        OK(kernel_launch(KERNEL_WAIT_FLAG, 1, 1, arguments, 0, NULL));
        OK(cudaEventRecord(event, NULL));
        OK(cudaIpcGetEventHandle(&given.event, event));
        EXPECT(cudaErrorNotReady, cudaEventQuery(event));
        process_send(&child, &given, sizeof given, -1);
        process_hear(&child);
        sleep_ms(20);
        __atomic_store_n(flag, 77, __ATOMIC_SEQ_CST);
        OK(cudaEventSynchronize(event));
        process_hear(&child); // has recorded
        cudaStream_t stream;
        OK(cudaStreamCreate(&stream));
        OK(cudaStreamWaitEvent(stream, event, 0));
        int host = 0;
        OK(cudaMemcpyAsync(&host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        cr_assert(host == 0x09090909, "%#x", (unsigned)host);
        OK(cudaEventSynchronize(event));
        OK(cudaEventQuery(event));
        process_send(&child, "end", 3, -1);
        process_finish(&child);
        OK(cudaStreamDestroy(stream));
        OK(cudaEventDestroy(event));
        OK(cudaFree(data));
        OK(cudaFreeHost(flag));
    }
}

// Records behind work that never ends by itself, or behind nothing.
ROLE(recorder)
{
    kernels_register();
    struct message m = process_receive();
    cudaIpcEventHandle_t handle;
    memcpy(&handle, m.bytes, sizeof handle);
    cudaEvent_t event;
    CHECK_OK(cudaIpcOpenEventHandle(&event, handle));
    int *flag = NULL;
    CHECK_OK(cudaHostAlloc((void **)&flag, 2 * sizeof *flag, cudaHostAllocMapped));
    *flag = 0;
    int *out = flag + 1;
    void *arguments[] = {&flag, &out};
    CHECK_OK(kernel_launch(KERNEL_WAIT_FLAG, 1, 1, arguments, 0, NULL));
    CHECK_OK(cudaEventRecord(event, NULL));
    CHECK_CODE(cudaErrorNotReady, cudaEventQuery(event));
    process_answer("recorded", 8);
    process_receive(); // until killed
}

Test(ipc, a_recorder_that_is_killed_holds_nobody_up, .data = NEEDS("kernels ipc_events"))
{
    cudaIpcEventHandle_t handle;
    cudaEvent_t event;
    cudaStream_t stream;
    make_event(&event, &handle);
    OK(cudaStreamCreate(&stream));
    struct process child = process_start("recorder");
    process_send(&child, &handle, sizeof handle, -1);
    process_hear(&child);
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    OK(cudaStreamWaitEvent(stream, event, 0));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    process_kill(&child);
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventSynchronize(event));
    OK(cudaEventQuery(event));
    // And it goes on to be an event.
    OK(cudaEventRecord(event, stream));
    OK(cudaEventSynchronize(event));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

// Records, waits and copies without end.
ROLE(busy)
{
    struct message m = process_receive();
    struct event_case given;
    memcpy(&given, m.bytes, sizeof given);
    cudaEvent_t event;
    cudaStream_t stream;
    char *data = NULL;
    CHECK_OK(cudaIpcOpenEventHandle(&event, given.event));
    CHECK_OK(cudaIpcOpenMemHandle((void **)&data, given.memory, 1));
    CHECK_OK(cudaStreamCreate(&stream));
    process_answer("begins", 6);
    for (unsigned i = 0;; i++) {
        CHECK_OK(cudaMemsetAsync(data, (int)i, 4096, stream));
        CHECK_OK(cudaEventRecord(event, stream));
        if (i % 3 == 0) {
            CHECK_OK(cudaStreamWaitEvent(stream, event, 0));
        }
        if (i % 7 == 0) {
            CHECK_OK(cudaEventSynchronize(event));
        }
    }
}

// Under qemu-user there is no list of robust mutexes: what a killed process held stays locked.
static bool robust_mutexes(void)
{
    void *head;
    size_t size;
    return syscall(SYS_get_robust_list, 0, &head, &size) == 0;
}

Test(ipc, processes_killed_at_any_moment_leave_a_usable_event, .data = NEEDS("ipc_events"))
{
    if (!robust_mutexes()) {
        cr_skip_test("this system does not free the mutexes of killed processes");
    }
    enum { CHILDREN = 3, TURNS = 12 };
    struct event_case given;
    cudaEvent_t event;
    cudaStream_t stream;
    void *data = NULL;
    unsigned state = 1;
    OK(cudaMalloc(&data, 4096));
    OK(cudaIpcGetMemHandle(&given.memory, data));
    make_event(&event, &given.event);
    OK(cudaStreamCreate(&stream));
    for (int turn = 0; turn < TURNS; turn++) {
        struct process children[CHILDREN];
        for (int i = 0; i < CHILDREN; i++) {
            children[i] = process_start("busy");
            process_send(&children[i], &given, sizeof given, -1);
            process_hear(&children[i]);
        }
        for (int i = 0; i < CHILDREN; i++) {
            state = state * 1664525u + 1013904223u;
            struct timespec moment = {.tv_nsec = (long)(state >> 12) % 3000000};
            nanosleep(&moment, NULL);
            OK(cudaStreamWaitEvent(stream, event, 0));
            process_kill(&children[i]);
            OK(cudaEventRecord(event, stream));
            OK(cudaEventSynchronize(event));
        }
        OK(cudaStreamSynchronize(stream));
        OK(cudaEventQuery(event));
    }
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(data));
}

Test(ipc, no_descriptors_left, .data = NEEDS("ipc ipc_events"))
{
    struct rlimit before, none;
    void *data = NULL;
    cudaEvent_t event;
    cudaIpcMemHandle_t handle;
    cudaIpcEventHandle_t event_handle;
    OK(cudaMalloc(&data, 1 << 20));
    OK(cudaMemset(data, 4, 1 << 20));
    OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaDeviceSynchronize());
    cr_assert(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 3;
    cr_assert(setrlimit(RLIMIT_NOFILE, &none) == 0);
    cudaError_t memory_error = cudaIpcGetMemHandle(&handle, data);
    cudaError_t event_error = cudaIpcGetEventHandle(&event_handle, event);
    cr_assert(setrlimit(RLIMIT_NOFILE, &before) == 0);
    cr_assert(memory_error == cudaErrorMapBufferObjectFailed, "%d", (int)memory_error);
    cr_assert(event_error == cudaErrorMapBufferObjectFailed, "%d", (int)event_error);
    cr_assert(first_of(data) == 0x04040404, "nothing happened to the memory");
    OK(cudaIpcGetMemHandle(&handle, data));
    OK(cudaIpcGetEventHandle(&event_handle, event));
    OK(cudaEventDestroy(event));
    OK(cudaFree(data));
}

Test(ipc, event_errors, .data = NEEDS("ipc_events"))
{
    cudaIpcEventHandle_t handle, garbage;
    cudaEvent_t event, plain, opened;
    EXPECT(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    EXPECT(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&handle, plain));
    EXPECT(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&handle, NULL));
    make_event(&event, &handle);
    EXPECT(cudaErrorInvalidValue, cudaIpcGetEventHandle(NULL, event));
    cudaIpcEventHandle_t second;
    OK(cudaIpcGetEventHandle(&second, event));
    EXPECT(cudaErrorInvalidValue, cudaIpcOpenEventHandle(NULL, handle));
    EXPECT(cudaErrorDeviceUninitialized, cudaIpcOpenEventHandle(&opened, handle));
    memset(&garbage, 0xa5, sizeof garbage);
    EXPECT(cudaErrorInvalidValue, cudaIpcOpenEventHandle(&opened, garbage));
    void *data = NULL; // one kind of handle for the other
    cudaIpcMemHandle_t memory;
    OK(cudaMalloc(&data, 512));
    OK(cudaIpcGetMemHandle(&memory, data));
    memcpy(&garbage, &memory, sizeof garbage);
    EXPECT(cudaErrorInvalidValue, cudaIpcOpenEventHandle(&opened, garbage));
    memcpy(&memory, &handle, sizeof memory);
    EXPECT(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&data, memory, 1));
    OK(cudaEventRecord(event, NULL)); // an exported event works as any other
    OK(cudaEventSynchronize(event));
    OK(cudaEventDestroy(event));
    EXPECT(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&handle, event));
    OK(cudaEventDestroy(plain));
}

PLAY_ROLES()
