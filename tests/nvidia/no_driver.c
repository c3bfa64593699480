// SPDX-License-Identifier: Apache-2.0
//
// Calls functions of the runtime on a machine without a driver and prints what they answer, one
// tab-separated line each: number, code, outputs. Linked against nothing: LD_LIBRARY_PATH says which
// libcudart.so.13 it is. Compared by test_no_driver.py with no_driver_13.0.tsv and with the real
// library.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

static int step;

static void answer(cudaError_t error)
{
    printf("%d\t%d\t", ++step, (int)error);
}

#define CALL(call_)   \
    do {              \
        answer(call_); \
        puts("-");    \
    } while (0)
#define SHOW(call_, ...)     \
    do {                     \
        answer(call_);       \
        printf(__VA_ARGS__); \
        putchar('\n');       \
    } while (0)

int main(void)
{
    int n = -7, v = -7, q = 77;
    void *p = (void *)0x55;
    const void *t = (void *)0x55;
    size_t a = 7, b = 7;
    static struct cudaDeviceProp pr;
    static struct cudaPointerAttributes pa;
    static struct cudaFuncAttributes fa;
    memset(&pr, 0x5a, sizeof pr);
    memset(&pa, 0x5a, sizeof pa);
    cudaStream_t s;
    cudaEvent_t ev;
    cudaGraph_t g;
    cudaMemPool_t mp;
    cudaLibrary_t library;
    cudaLogIterator it = 7;
    cudaUUID_t u = {{1}};
    enum cudaDriverEntryPointQueryResult *found = (enum cudaDriverEntryPointQueryResult *)&q;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CALL(cudaPeekAtLastError());
    CALL(cudaGetLastError());
    SHOW(cudaRuntimeGetVersion(&v), "v=%d", v);
    SHOW(cudaDriverGetVersion(&v), "v=%d", v);
    CALL(cudaPeekAtLastError());
    CALL(cudaDriverGetVersion(0));
    CALL(cudaPeekAtLastError());
    CALL(cudaRuntimeGetVersion(0));
    CALL(cudaGetLastError());
    SHOW(cudaGetDeviceCount(&n), "n=%d", n);
    CALL(cudaPeekAtLastError());
    CALL(cudaGetLastError());
    CALL(cudaGetLastError());
    SHOW(cudaGetDeviceCount(&n), "n=%d", n);
    CALL(cudaGetDeviceCount(0));
    CALL(cudaGetLastError());
    SHOW(cudaGetDevice(&n), "n=%d", n);
    CALL(cudaSetDevice(0));
    CALL(cudaSetDevice(-1));
    CALL(cudaSetDevice(99));
    CALL(cudaInitDevice(0, 0, 0));
    SHOW(cudaGetDeviceProperties(&pr, 0), "name[0]=0x%02x", pr.name[0] & 255);
    CALL(cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 0));
    CALL(cudaGetDeviceFlags((unsigned *)&v));
    CALL(cudaSetDeviceFlags(0));
    CALL(cudaSetDeviceFlags(0xffff));
    CALL(cudaDeviceSynchronize());
    CALL(cudaDeviceReset());
    SHOW(cudaMemGetInfo(&a, &b), "a=%zu b=%zu", a, b);
    SHOW(cudaMalloc(&p, 16), "p=%p", p);
    SHOW(cudaMalloc(&p, 0), "p=%p", p);
    CALL(cudaMalloc(0, 16));
    CALL(cudaFree(0));
    CALL(cudaFree((void *)0x1000));
    CALL(cudaGetLastError());
    CALL(cudaMallocHost(&p, 16));
    CALL(cudaHostAlloc(&p, 16, 0));
    CALL(cudaFreeHost(0));
    CALL(cudaMallocManaged(&p, 16, cudaMemAttachGlobal));
    CALL(cudaMallocAsync(&p, 16, 0));
    CALL(cudaMemcpy(0, 0, 0, cudaMemcpyHostToHost));
    CALL(cudaMemcpy(&a, &b, 8, cudaMemcpyHostToHost));
    CALL(cudaMemcpy(&a, &b, 8, cudaMemcpyDefault));
    CALL(cudaMemset(0, 0, 0));
    CALL(cudaMemset(&a, 0, 8));
    CALL(cudaStreamCreate(&s));
    CALL(cudaStreamSynchronize(0));
    CALL(cudaStreamQuery(0));
    CALL(cudaStreamDestroy(0));
    CALL(cudaEventCreate(&ev));
    CALL(cudaEventDestroy(0));
    SHOW(cudaPointerGetAttributes(&pa, &a), "type=0x%x dev=0x%x", pa.type, pa.device);
    CALL(cudaFuncGetAttributes(&fa, (void *)main));
    CALL(cudaLaunchKernel((void *)main, (dim3){1, 1, 1}, (dim3){1, 1, 1}, 0, 0, 0));
    CALL(cudaGetSymbolAddress(&p, &n));
    CALL(cudaGraphCreate(&g, 0));
    CALL(cudaDeviceGetDefaultMemPool(&mp, 0));
    CALL(cudaDeviceGetPCIBusId((char *)&pr, 13, 0));
    CALL(cudaChooseDevice(&n, &pr));
    SHOW(cudaGetDriverEntryPoint("cuInit", &p, 0, found), "p=%p q=%d", p, q);
    SHOW(cudaGetDriverEntryPointByVersion("cuInit", &p, 12000, 0, found), "p=%p q=%d", p, q);
    SHOW(cudaGetExportTable(&t, &u), "t=%s", t ? "set" : "NULL");
    CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    CALL(cudaProfilerStart());
    CALL(cudaDeviceGetStreamPriorityRange(&n, &v));
    CALL(cudaDeviceCanAccessPeer(&n, 0, 0));
    CALL(cudaIpcGetMemHandle((void *)&pr, 0));
    CALL(cudaCtxResetPersistingL2Cache());
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(8, 8, 0, 0, cudaChannelFormatKindSigned);
    printf("%d\t-\tx=%d y=%d z=%d w=%d f=%d\n", ++step, d.x, d.y, d.z, d.w, (int)d.f);
    CALL(cudaLibraryLoadData(&library, "x", 0, 0, 0, 0, 0, 0));
    CALL(cudaLogsCurrent(&it, 0));
    CALL(cudaGetLastError());
    return 0;
}
