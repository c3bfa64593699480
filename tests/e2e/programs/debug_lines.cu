// SPDX-License-Identifier: Apache-2.0
//
// For test_debug.py, which finds the lines by the words in their comments: a kernel to stop in, and
// kernels that fail. Not run by run.py.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace shop {
__device__ __forceinline__ int price(int pieces)
{
    int each = (pieces + 7) / 3; // LINE inlined
    return each + 1;
}

template <typename T> __global__ void total(T *out, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        T sum = price(out[i]); // LINE call
        __syncthreads();
        out[i] = sum * 2; // LINE store
    }
}
} // namespace shop

__device__ __forceinline__ void put(int *p, int value)
{
    *p = value; // LINE illegal
}

__global__ void illegal(int *p)
{
    if (threadIdx.x == 3) {
        put(p, 7);
    }
}

__global__ void after_barrier(int *p)
{
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        p[s[63]] = 1; // LINE after barrier
    }
}

__global__ void trap(int n)
{
    if (n == 1) {
        __trap(); // LINE trap
    }
}

__global__ void wrong_free(char *p)
{
    if (p != nullptr) {
        free(p); // LINE free
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "total";
    if (strcmp(what, "illegal") == 0) {
        illegal<<<1, 32>>>(reinterpret_cast<int *>(16));
    } else if (strcmp(what, "after barrier") == 0) {
        after_barrier<<<1, 64>>>(reinterpret_cast<int *>(4096));
    } else if (strcmp(what, "trap") == 0) {
        trap<<<1, 1>>>(1);
    } else if (strcmp(what, "free") == 0) {
        wrong_free<<<1, 1>>>(reinterpret_cast<char *>(64));
    } else {
        int *p = nullptr;
        cudaMalloc(&p, 32 * sizeof(int));
        cudaMemset(p, 0, 32 * sizeof(int));
        shop::total<<<1, 32>>>(p, 32);
        int host[32] = {};
        cudaMemcpy(host, p, sizeof(host), cudaMemcpyDeviceToHost);
        printf("%d\n", host[31]);
        return host[31] == 6 ? 0 : 1;
    }
    printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
}
