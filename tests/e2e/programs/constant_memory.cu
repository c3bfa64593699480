// SPDX-License-Identifier: Apache-2.0
//
// __constant__ and __device__ variables: initial values, symbol copies with offsets, addresses,
// sizes, asynchronous copies, a variable that points to another one.
#include "e2e.h"

__constant__ float coefficients[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__constant__ struct {
    int a;
    double b;
    char text[8];
} settings = {42, 2.5, "const"};
__device__ int counter = 5;
__device__ int array[16];
__device__ int *pointer = &array[3];
static __device__ unsigned long long hidden = 0x123456789abcdef0ull;

__global__ void polynomial(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int j = 7; j >= 0; j--) {
            sum = sum * x[i] + coefficients[j];
        }
        y[i] = sum;
    }
}

__global__ void touch(int *out, unsigned long long *big)
{
    atomicAdd(&counter, settings.a);
    pointer[threadIdx.x] = threadIdx.x + 100;
    if (threadIdx.x == 0) {
        out[0] = (int)(settings.b * 2);
        out[1] = settings.text[0] == 'c' && settings.text[5] == 0;
        *big = hidden++;
    }
}

int main()
{
    const int n = 10;
    std::vector<float> x(n), want(n);
    float c[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n; i++) {
            x[i] = i * 0.125f;
            float sum = 0;
            for (int j = 7; j >= 0; j--) {
                sum = std::fma(sum, x[i], c[j]);
            }
            want[i] = sum;
        }
        Device<float> dx(x), dy(n);
        polynomial<<<1, 32>>>(dx, dy, n);
        CHECK_LAUNCH();
        expect_equal(dy.get(), want);
        c[2] = -3;
        c[3] = 0.5f;
        CHECK(cudaMemcpyToSymbol(coefficients, &c[2], 2 * sizeof(float), 2 * sizeof(float)));
    }
    float back[8];
    CHECK(cudaMemcpyFromSymbol(back, coefficients, sizeof(back)));
    EXPECT(memcmp(back, c, sizeof(c)) == 0);

    size_t size = 0;
    CHECK(cudaGetSymbolSize(&size, array));
    EXPECT(size == 16 * sizeof(int));
    void *address = nullptr;
    CHECK(cudaGetSymbolAddress(&address, counter));
    int value = 0;
    CHECK(cudaMemcpy(&value, address, sizeof(value), cudaMemcpyDeviceToHost));
    EXPECT(value == 5);

    Device<int> out(2);
    Device<unsigned long long> big(1);
    touch<<<1, 8>>>(out, big);
    CHECK_LAUNCH();
    EXPECT(out.get()[0] == 5 && out.get()[1] == 1);
    EXPECT(big.get()[0] == 0x123456789abcdef0ull);
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
    EXPECT(value == 5 + 8 * 42);
    int all[16];
    CHECK(cudaMemcpyFromSymbolAsync(all, array, sizeof(all), 0, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int i = 0; i < 16; i++) {
        EXPECT(all[i] == (i >= 3 && i < 11 ? i - 3 + 100 : 0));
    }
    EXPECT_ERROR(cudaMemcpyToSymbol(counter, &value, 4, 1), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpyToSymbol((const void *)&all, &value, 4), cudaErrorInvalidSymbol);
    EXPECT(cudaGetLastError() == cudaErrorInvalidSymbol);
    EXPECT(cudaGetLastError() == cudaSuccess);
    return pass();
}
