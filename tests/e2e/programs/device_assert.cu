// SPDX-License-Identifier: Apache-2.0
//
// assert in a kernel: 710, sticky, message on stderr with file, line, function, block and thread.
#undef NDEBUG
#include <cassert>
#include <string>

#include <unistd.h>

#include "e2e.h"

__global__ void check(int limit)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(i < limit);
}

int main()
{
    check<<<2, 32>>>(64);
    CHECK_LAUNCH();
    FILE *file = tmpfile();
    EXPECT(file != nullptr);
    fflush(stderr);
    int saved = dup(2);
    EXPECT(dup2(fileno(file), 2) == 2);
    check<<<2, 32>>>(63);
    cudaError_t error = cudaDeviceSynchronize();
    fflush(stderr);
    EXPECT(dup2(saved, 2) == 2);
    EXPECT(error == cudaErrorAssert);
    std::string got;
    char line[512];
    rewind(file);
    while (fgets(line, sizeof(line), file) != nullptr) {
        got += line;
    }
    EXPECT(got.find("device_assert.cu") != std::string::npos);
    EXPECT(got.find("check(int)") != std::string::npos);
    EXPECT(got.find("block: [1,0,0], thread: [31,0,0]") != std::string::npos);
    EXPECT(got.find("Assertion `i < limit` failed") != std::string::npos);
    void *p;
    EXPECT_ERROR(cudaMalloc(&p, 16), cudaErrorAssert); // sticky
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorAssert);
    return pass();
}
