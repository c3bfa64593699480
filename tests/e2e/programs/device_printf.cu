// SPDX-License-Identifier: Apache-2.0
//
// printf from kernels: conversions, widths, order, the guarded thread (one line from 32 threads),
// the return value. The output goes to a file in place of stdout and is read back.
#include <string>

#include <unistd.h>

#include "e2e.h"

__global__ void formats(const char *text)
{
    printf("%d %i %u %x %X %o %c%%\n", -5, 7, 4000000000u, 0xbeef, 0xBEEF, 8, 'z');
    printf("[%5d] [%-5d] [%05d] [%+d] [%.3d] [%*d]\n", 42, 42, 42, 42, 7, 4, 9);
    printf("%ld %lld %llu %lx %hd\n", -123456789012l, -9000000000000000000ll,
           18000000000000000000ull, 0x123456789abcl, (short)-3);
    printf("%f %.2f %10.4f %e %g %G %a\n", 1.5, 3.14159, -2.5, 12345.678, 0.0001, 1e20, 1.0);
    printf("%s|%10s|%-6s|%.2s\n", text, "right", "left", "cut");
    printf("no arguments\n");
    int r0 = printf("%d %d\n", 1, 2), r1 = printf("plain\n");
    printf("%d %d\n", r0, r1);
}

__global__ void guarded()
{
    if (threadIdx.x == 0) {
        printf("END\n");
    }
}

__global__ void ordered(int round)
{
    printf("%d:%d\n", round, threadIdx.x);
}

__device__ const char message[] = "device text";

__global__ void device_string()
{
    printf("%s\n", message);
}

int main()
{
    char *text;
    CHECK(cudaMallocManaged((void **)&text, 16));
    strcpy(text, "managed");
    FILE *file = tmpfile();
    EXPECT(file != nullptr);
    fflush(stdout);
    int saved = dup(1);
    EXPECT(dup2(fileno(file), 1) == 1);
    formats<<<1, 1>>>(text);
    device_string<<<1, 1>>>();
    guarded<<<1, 32>>>();
    for (int i = 0; i < 3; i++) {
        ordered<<<1, 2>>>(i);
    }
    cudaError_t error = cudaDeviceSynchronize();
    fflush(stdout);
    EXPECT(dup2(saved, 1) == 1);
    CHECK(error);

    std::string got, want =
                         "-5 7 4000000000 beef BEEF 10 z%\n"
                         "[   42] [42   ] [00042] [+42] [007] [   9]\n"
                         "-123456789012 -9000000000000000000 18000000000000000000 123456789abc -3\n"
                         "1.500000 3.14    -2.5000 1.234568e+04 0.0001 1E+20 0x1p+0\n"
                         "managed|     right|left  |cu\n"
                         "no arguments\n"
                         "1 2\n"
                         "plain\n"
                         "2 0\n"
                         "device text\n"
                         "END\n";
    rewind(file);
    char line[256];
    while (fgets(line, sizeof(line), file) != nullptr) {
        got += line;
    }
    if (got.compare(0, want.size(), want) != 0) {
        FAIL("got:\n%s\nwant:\n%s", got.c_str(), want.c_str());
    }
    // Rounds come in stream order; the two threads of a round in either order.
    std::string rest = got.substr(want.size());
    EXPECT(rest.size() == 24);
    for (int i = 0; i < 3; i++) {
        std::string pair = rest.substr(i * 8, 8), n = std::to_string(i);
        EXPECT(pair == n + ":0\n" + n + ":1\n" || pair == n + ":1\n" + n + ":0\n");
    }
    return pass();
}
