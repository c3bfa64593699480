// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, host functions and callbacks: handles, order, queries, waits and their errors.
#include "conformance.h"

TestSuite(streams, .timeout = 60);
TestSuite(events, .timeout = 60);
TestSuite(host_functions, .timeout = 60);

// Work that is held until release(): a host function on `stream` that waits for a flag.
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open, entered;
};

static void gate_wait(void *argument)
{
    struct gate *gate = argument;
    pthread_mutex_lock(&gate->lock);
    gate->entered = true;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open) {
        pthread_cond_wait(&gate->changed, &gate->lock);
    }
    pthread_mutex_unlock(&gate->lock);
}

static void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

#define GATE                                                              \
    {                                                                     \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false \
    }

Test(streams, create_synchronize_destroy)
{
    cudaStream_t stream = NULL;
    unsigned flags = 9;
    int priority = 9;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamQuery(stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamGetFlags(stream, &flags));
    cr_assert(flags == cudaStreamDefault);
    OK(cudaStreamGetPriority(stream, &priority));
    cr_assert(priority == 0);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamGetFlags(stream, &flags));
    cr_assert(flags == cudaStreamNonBlocking);
    OK(cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidValue, cudaStreamCreate(NULL));
    EXPECT(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 0x40));
    OK(cudaStreamQuery(0));
    OK(cudaStreamSynchronize(0));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamLegacy));
}

Test(streams, dead_and_wrong_handles)
{
    cudaStream_t stream = NULL;
    unsigned flags;
    int on_stack = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamQuery(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamGetFlags((cudaStream_t)&on_stack, &flags));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaStreamSynchronize((cudaStream_t)(uintptr_t)0xdeadbeefcafe));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(0));
    OK(cudaStreamCreate(&stream));
    EXPECT(cudaErrorInvalidValue, cudaStreamGetFlags(stream, NULL));
    EXPECT(cudaErrorInvalidValue, cudaStreamGetPriority(stream, NULL));
    OK(cudaStreamDestroy(stream));
}

Test(streams, priorities)
{
    int least = 0, greatest = 0, priority = 0;
    cudaStream_t stream;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cr_assert(least >= greatest && least == 0);
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
    OK(cudaStreamGetPriority(stream, &priority));
    cr_assert(priority == greatest);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, greatest - 100));
    OK(cudaStreamGetPriority(stream, &priority));
    cr_assert(priority == greatest, "out of range is clamped");
    OK(cudaStreamDestroy(stream));
}

KERNEL_TEST(streams, work_runs_in_order)
{
    enum { N = 256, ROUNDS = 50 };
    int *data = NULL, host[N];
    cudaStream_t stream;
    kernels_register();
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&data, sizeof host));
    OK(cudaMemsetAsync(data, 0, sizeof host, stream));
    int n = N;
    void *arguments[] = {&data, &n};
    for (int i = 0; i < ROUNDS; i++) {
        OK(kernel_launch(KERNEL_ADD_ONE, 4, 64, arguments, 0, stream));
    }
    OK(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < N; i++) {
        cr_assert(host[i] == ROUNDS, "%d: %d", i, host[i]);
    }
}

Test(streams, query_says_not_ready)
{
    struct gate gate = GATE;
    cudaStream_t stream, other;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaLaunchHostFunc(stream, gate_wait, &gate));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    OK(cudaStreamQuery(other));
    OK(cudaStreamSynchronize(other)); // independent streams do not wait for each other
    gate_open(&gate);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamQuery(stream));
}

Test(streams, destroy_lets_queued_work_finish)
{
    struct gate gate = GATE;
    cudaStream_t stream;
    unsigned char out[64] = {0};
    void *p = NULL;
    OK(cudaMalloc(&p, sizeof out));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaLaunchHostFunc(stream, gate_wait, &gate));
    OK(cudaMemsetAsync(p, 0x77, sizeof out, stream));
    OK(cudaStreamDestroy(stream)); // comes back although the work is held
    gate_open(&gate);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost));
    cr_assert(out[0] == 0x77 && out[63] == 0x77);
}

// Legacy default stream: it waits for every blocking stream and they wait for it.
Test(streams, legacy_stream_waits_for_blocking_streams)
{
    struct gate gate = GATE;
    cudaStream_t stream;
    int *p = NULL;
    OK(cudaMalloc((void **)&p, sizeof *p));
    OK(cudaStreamCreate(&stream));
    OK(cudaLaunchHostFunc(stream, gate_wait, &gate));
    OK(cudaMemsetAsync(p, 1, sizeof *p, 0));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(0));
    gate_open(&gate);
    OK(cudaStreamSynchronize(0));
    OK(cudaStreamQuery(stream));
}

static void do_nothing(void *argument)
{
    (void)argument;
}

// What the legacy stream has waited for is over for every caller, at once: many rounds, because
// the moment between the two is short.
Test(streams, work_before_the_legacy_stream_is_over_after_it)
{
    cudaStream_t stream;
    int *p = NULL;
    OK(cudaMalloc((void **)&p, sizeof *p));
    OK(cudaStreamCreate(&stream));
    for (int i = 0; i < 5000; i++) {
        OK(cudaLaunchHostFunc(stream, do_nothing, NULL));
        OK(cudaMemsetAsync(p, 1, sizeof *p, 0));
        OK(cudaStreamSynchronize(0));
        OK(cudaStreamQuery(stream));
    }
}

Test(streams, blocking_streams_wait_for_the_legacy_stream)
{
    struct gate gate = GATE;
    cudaStream_t blocking, independent;
    int *p = NULL;
    OK(cudaMalloc((void **)&p, 2 * sizeof *p));
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&independent, cudaStreamNonBlocking));
    OK(cudaLaunchHostFunc(cudaStreamLegacy, gate_wait, &gate));
    OK(cudaMemsetAsync(p, 1, sizeof *p, blocking));
    OK(cudaMemsetAsync(p + 1, 1, sizeof *p, independent));
    OK(cudaStreamSynchronize(independent)); // non-blocking streams are not held
    EXPECT(cudaErrorNotReady, cudaStreamQuery(blocking));
    gate_open(&gate);
    OK(cudaStreamSynchronize(blocking));
}

Test(streams, per_thread_stream_is_blocking)
{
    struct gate gate = GATE;
    int *p = NULL;
    OK(cudaMalloc((void **)&p, sizeof *p));
    OK(cudaLaunchHostFunc(cudaStreamPerThread, gate_wait, &gate));
    OK(cudaMemsetAsync(p, 1, sizeof *p, cudaStreamLegacy));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(cudaStreamLegacy));
    gate_open(&gate);
    OK(cudaStreamSynchronize(cudaStreamLegacy));
}

static void *per_thread_work(void *argument)
{
    cudaError_t *result = argument;
    void *p = NULL;
    result[0] = cudaMalloc(&p, 16);
    result[1] = cudaMemsetAsync(p, 3, 16, cudaStreamPerThread);
    result[2] = cudaStreamSynchronize(cudaStreamPerThread);
    return NULL;
}

Test(streams, per_thread_streams_do_not_wait_for_each_other)
{
    struct gate gate = GATE;
    pthread_t thread;
    cudaError_t result[3] = {cudaErrorUnknown, cudaErrorUnknown, cudaErrorUnknown};
    OK(cudaLaunchHostFunc(cudaStreamPerThread, gate_wait, &gate));
    cr_assert(pthread_create(&thread, NULL, per_thread_work, result) == 0);
    cr_assert(pthread_join(thread, NULL) == 0); // would hang if the streams were one
    OK(result[0]);
    OK(result[1]);
    OK(result[2]);
    gate_open(&gate);
    OK(cudaDeviceSynchronize());
}

Test(events, record_query_synchronize)
{
    cudaEvent_t event = NULL;
    OK(cudaEventCreate(&event));
    cr_assert(event != NULL);
    OK(cudaEventQuery(event)); // never recorded: complete
    OK(cudaEventSynchronize(event));
    OK(cudaEventRecord(event, 0));
    OK(cudaEventSynchronize(event));
    OK(cudaEventQuery(event));
    OK(cudaEventDestroy(event));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventQuery(event));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
    OK(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming));
    OK(cudaEventDestroy(event));
    EXPECT(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x100));
    EXPECT(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, cudaEventInterprocess));
    EXPECT(cudaErrorInvalidValue, cudaEventCreate(NULL));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(NULL, 0));
}

Test(events, pending_event)
{
    struct gate gate = GATE;
    cudaStream_t stream;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaLaunchHostFunc(stream, gate_wait, &gate));
    OK(cudaEventRecord(event, stream));
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    gate_open(&gate);
    OK(cudaEventSynchronize(event));
    OK(cudaEventQuery(event));
}

Test(events, elapsed_time)
{
    cudaEvent_t start, end, untimed;
    float ms = -1;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end));
    OK(cudaEventRecord(start, 0));
    OK(cudaEventRecord(end, 0));
    OK(cudaEventRecord(untimed, 0));
    OK(cudaEventSynchronize(end));
    OK(cudaEventSynchronize(untimed));
    OK(cudaEventElapsedTime(&ms, start, end));
    cr_assert(ms >= 0 && ms < 60000);
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, untimed));
    EXPECT(cudaErrorInvalidValue, cudaEventElapsedTime(NULL, start, end));
    struct gate gate = GATE;
    cudaStream_t stream;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaLaunchHostFunc(stream, gate_wait, &gate));
    OK(cudaEventRecord(end, stream));
    EXPECT(cudaErrorNotReady, cudaEventElapsedTime(&ms, start, end));
    gate_open(&gate);
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventElapsedTime(&ms, start, end));
}

Test(events, wait_across_streams)
{
    struct gate gate = GATE;
    cudaStream_t first, second;
    cudaEvent_t event;
    unsigned char *p = NULL, out[2] = {0, 0};
    OK(cudaMalloc((void **)&p, 2));
    OK(cudaMemset(p, 0, 2));
    OK(cudaDeviceSynchronize()); // the two streams do not wait for the legacy one
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaStreamWaitEvent(second, event, 0)); // never recorded: no wait
    OK(cudaStreamSynchronize(second));
    OK(cudaLaunchHostFunc(first, gate_wait, &gate));
    OK(cudaMemsetAsync(p, 0x31, 1, first));
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event, 0));
    OK(cudaMemcpyAsync(p + 1, p, 1, cudaMemcpyDeviceToDevice, second));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(second));
    OK(cudaEventDestroy(event)); // may go while waited for
    gate_open(&gate);
    OK(cudaStreamSynchronize(second));
    OK(cudaMemcpy(out, p, 2, cudaMemcpyDeviceToHost));
    cr_assert(out[0] == 0x31 && out[1] == 0x31);
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(second, NULL, 0));
    OK(cudaEventCreate(&event));
    EXPECT(cudaErrorInvalidValue, cudaStreamWaitEvent(second, event, 0x80));
}

// A wait refers to the record that was current when the wait was made.
Test(events, a_later_record_does_not_move_a_wait)
{
    struct gate gate = GATE;
    cudaStream_t first, second;
    cudaEvent_t event;
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event, 0));
    OK(cudaLaunchHostFunc(first, gate_wait, &gate));
    OK(cudaEventRecord(event, first));
    OK(cudaStreamSynchronize(second)); // not held by the second record
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    gate_open(&gate);
    OK(cudaEventSynchronize(event));
}

Test(events, streams_of_other_devices)
{
    if (device_count() < 2) {
        return;
    }
    cudaStream_t stream1;
    cudaEvent_t event0, event1;
    OK(cudaSetDevice(0));
    OK(cudaEventCreate(&event0));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream1));
    OK(cudaEventCreate(&event1));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(event0, stream1));
    OK(cudaEventRecord(event1, stream1));
    OK(cudaSetDevice(0));
    OK(cudaStreamWaitEvent(0, event1, 0)); // waiting works across devices
    OK(cudaDeviceSynchronize());
    OK(cudaEventSynchronize(event1));
    OK(cudaStreamSynchronize(stream1));
}

struct trace {
    int entries[64];
    int count;
};

static struct trace trace;

static void trace_add(void *number)
{
    trace.entries[trace.count++] = (int)(intptr_t)number;
}

Test(host_functions, run_in_stream_order)
{
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    for (intptr_t i = 0; i < 50; i++) {
        OK(cudaLaunchHostFunc(stream, trace_add, (void *)i));
    }
    OK(cudaStreamSynchronize(stream));
    cr_assert(trace.count == 50);
    for (int i = 0; i < 50; i++) {
        cr_assert(trace.entries[i] == i);
    }
    EXPECT(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, NULL, NULL));
}

static cudaError_t seen_inside;

static void calls_cuda(void *argument)
{
    void *p = NULL;
    (void)argument;
    seen_inside = cudaMalloc(&p, 16);
}

Test(host_functions, must_not_call_cuda)
{
    OK(cudaLaunchHostFunc(0, calls_cuda, NULL));
    OK(cudaDeviceSynchronize());
    EXPECT(cudaErrorNotPermitted, seen_inside);
}

static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *argument)
{
    void **out = argument;
    out[0] = stream;
    out[1] = (void *)(uintptr_t)(status + 1);
}

Test(host_functions, callbacks_get_stream_and_status)
{
    void *seen[2] = {NULL, NULL};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamAddCallback(stream, callback, seen, 0));
    OK(cudaStreamSynchronize(stream));
    cr_assert(seen[0] == stream && (uintptr_t)seen[1] == 1u + cudaSuccess);
    EXPECT(cudaErrorInvalidValue, cudaStreamAddCallback(stream, NULL, seen, 0));
    EXPECT(cudaErrorInvalidValue, cudaStreamAddCallback(stream, callback, seen, 1));
}

// Callbacks on many streams: each in order, none forgotten.
static int counters[16];

static void count_up(void *counter)
{
    ++*(int *)counter;
}

Test(host_functions, many_streams)
{
    cudaStream_t streams[16];
    for (int i = 0; i < 16; i++) {
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    }
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 16; i++) {
            OK(cudaLaunchHostFunc(streams[i], count_up, &counters[i]));
        }
    }
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 16; i++) {
        cr_assert(counters[i] == 200);
        OK(cudaStreamDestroy(streams[i]));
    }
}

#if CUDART_VERSION >= 13020
static void CUDART_CB set_flag(void *flag)
{
    *(int *)flag = 1;
}

Test(streams, host_function_with_a_way_of_waiting)
{
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    for (unsigned mode = cudaHostTaskBlocking; mode <= cudaHostTaskSpinWait; mode++) {
        int flag = 0;
        OK(cudaLaunchHostFunc_v2(stream, set_flag, &flag, mode));
        OK(cudaStreamSynchronize(stream));
        cr_assert(flag == 1);
    }
    int flag = 0;
    EXPECT(cudaErrorInvalidValue, cudaLaunchHostFunc_v2(stream, set_flag, &flag, 2));
    EXPECT(cudaErrorInvalidValue, cudaLaunchHostFunc_v2(stream, NULL, &flag, 0));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaLaunchHostFunc_v2((cudaStream_t)(void *)0x1234, set_flag, &flag, 0));
}
#endif

Test(streams, attributes_are_kept)
{
    cudaStream_t a, b;
    cudaStreamAttrValue value, got;
    struct cudaDeviceProp prop;
    char *data;
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaMalloc((void **)&data, 4096));
    memset(&value, 0, sizeof value);
    value.accessPolicyWindow.base_ptr = data;
    value.accessPolicyWindow.num_bytes = prop.accessPolicyMaxWindowSize ? 4096 : 0;
    value.accessPolicyWindow.hitRatio = 0.5f;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    const cudaStreamAttrID window = cudaStreamAttributeAccessPolicyWindow;
    OK(cudaStreamSetAttribute(a, window, &value));
    OK(cudaStreamCopyAttributes(b, a));
    memset(&got, 0, sizeof got);
    OK(cudaStreamGetAttribute(b, window, &got));
    cr_assert(got.accessPolicyWindow.base_ptr == data);
    cr_assert(got.accessPolicyWindow.num_bytes == value.accessPolicyWindow.num_bytes);
    cr_assert(got.accessPolicyWindow.hitProp == cudaAccessPropertyPersisting);
    cr_assert(got.accessPolicyWindow.missProp == cudaAccessPropertyStreaming);
    value.accessPolicyWindow.num_bytes = (size_t)prop.accessPolicyMaxWindowSize + 1;
    EXPECT(cudaErrorInvalidValue, cudaStreamSetAttribute(a, window, &value));
    value.accessPolicyWindow.num_bytes = 0;
    value.accessPolicyWindow.hitRatio = 1.5f;
    EXPECT(cudaErrorInvalidValue, cudaStreamSetAttribute(a, window, &value));
    value.accessPolicyWindow.hitRatio = 1.0f;
    value.accessPolicyWindow.missProp = cudaAccessPropertyPersisting; // not for misses
    EXPECT(cudaErrorInvalidValue, cudaStreamSetAttribute(a, window, &value));

    size_t persisting = 1;
    OK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)prop.persistingL2CacheMaxSize));
    OK(cudaDeviceGetLimit(&persisting, cudaLimitPersistingL2CacheSize));
    cr_assert(persisting == (size_t)prop.persistingL2CacheMaxSize);
    OK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, (size_t)1 << 40)); // a hint: clamped
    OK(cudaDeviceGetLimit(&persisting, cudaLimitPersistingL2CacheSize));
    cr_assert(persisting <= (size_t)prop.persistingL2CacheMaxSize);
    OK(cudaCtxResetPersistingL2Cache());

#if CUDART_VERSION >= 12000
    int least, greatest, priority = 1;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    value.priority = greatest;
    OK(cudaStreamSetAttribute(a, cudaStreamAttributePriority, &value));
    OK(cudaStreamGetPriority(a, &priority));
    cr_assert(priority == greatest);
    OK(cudaStreamCopyAttributes(b, a));
    OK(cudaStreamGetPriority(b, &priority));
    cr_assert(priority == greatest);
    value.priority = greatest - 1;
    EXPECT(cudaErrorInvalidValue, cudaStreamSetAttribute(a, cudaStreamAttributePriority, &value));
    OK(cudaMemsetAsync(data, 1, 4096, a));
    OK(cudaStreamSynchronize(a));
#endif
}
