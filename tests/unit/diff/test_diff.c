// SPDX-License-Identifier: Apache-2.0
//
// INFINIRT_BACKEND=diff:A,B between cpu and cpu with a provider, some of whose kernels are wrong.
// Every test is a process of its own; what is reported on stderr is read from a file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/conformance.h"

static char folder[] = "/tmp/irt-diff-XXXXXX";
static char report[64];

static void begin(const char *backend, const char *provider)
{
    cr_assert(mkdtemp(folder) != NULL);
    snprintf(report, sizeof report, "%s/report", folder);
    setenv("INFINIRT_BACKEND", backend, 1);
    setenv("INFINIRT_KERNELS", provider, 1);
    setenv("INFINIRT_DIFF_DIR", folder, 1);
    cr_assert(freopen(report, "w", stderr) != NULL);
    kernels_register();
}

// Everything that was reported; removes the folder.
static char *end(char **ret_reproducer, size_t *ret_size)
{
    static char text[1 << 14];
    char path[128];
    fflush(stderr);
    FILE *f = fopen(report, "r");
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    remove(report);
    snprintf(path, sizeof path, "%s/infinirt-diff-%d.repro", folder, (int)getpid());
    f = fopen(path, "r");
    *ret_reproducer = NULL;
    if (f) {
        *ret_reproducer = calloc(1, 1 << 20);
        *ret_size = fread(*ret_reproducer, 1, (1 << 20) - 1, f);
        fclose(f);
        remove(path);
    }
    rmdir(folder);
    return text;
}

enum { N = 100 };

static void work(int *host)
{
    int *data, *other, n = N, value = 5;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&data, N * sizeof(int)));
    OK(cudaMalloc((void **)&other, N * sizeof(int)));
    void *fill[] = {&data, &value, &n}, *copy[] = {&other, &data, &n}, *add[] = {&other, &n};
    OK(kernel_launch(KERNEL_FILL, 4, 32, fill, 0, stream));
    OK(kernel_launch(KERNEL_COPY, 4, 32, copy, 0, stream));
    OK(kernel_launch(KERNEL_ADD_ONE, 4, 32, add, 0, stream));
    OK(cudaMemcpyAsync(host, other, N * sizeof(int), cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
}

Test(diff, equal, .timeout = 60)
{
    int host[N];
    char *reproducer;
    size_t size;
    begin("diff:cpu,cpu+providers", GOOD);
    work(host);
    cr_assert(host[0] == 6 && host[N - 1] == 6);
    const char *text = end(&reproducer, &size);
    cr_assert(strstr(text, "comparing cpu with cpu+providers") && !strstr(text, "difference"), "%s",
              text);
    cr_assert(!reproducer);
}

Test(diff, planted_kernel, .timeout = 60)
{
    int host[N];
    char *reproducer;
    size_t size;
    begin("diff:cpu,cpu+providers", WRONG);
    work(host);
    cr_assert(host[0] == 6 && host[70] == 6, "the program sees the first side");
    const char *text = end(&reproducer, &size);
    // k_copy is wrong in element 70: byte 280 of its first parameter's memory; call 2
    cr_assert(strstr(text, "call 2, kernel k_copy, grid 4,1,1, block 32,1,1"), "%s", text);
    cr_assert(strstr(text, "differs at offset 280"), "%s", text);
    cr_assert(strstr(text, "cpu has 05 00 00 00"), "%s", text);
    cr_assert(strstr(text, "parameter 0, 8 bytes"), "%s", text);
    const char *mark = strstr(text, "(points to the memory that differs)");
    cr_assert(mark && strstr(text, "parameter 1") > mark);
    cr_assert(reproducer && strstr(reproducer, "kernel k_copy\n") &&
              strstr(reproducer, "grid 4 1 1\nblock 32 1 1\n"));
    cr_assert(strcmp(reproducer + size - 4, "end\n") == 0);
}

// The wrong side in front: the program sees its result, the report is the same.
Test(diff, other_way_round, .timeout = 60)
{
    int host[N];
    char *reproducer;
    size_t size;
    begin("diff:cpu+providers,cpu", WRONG);
    work(host);
    cr_assert(host[70] != 6);
    const char *text = end(&reproducer, &size);
    cr_assert(strstr(text, "kernel k_copy") && strstr(text, "differs at offset 280"), "%s", text);
}

// A kernel that answers an error on one side.
Test(diff, error_of_one_side, .timeout = 60)
{
    char *reproducer;
    size_t size;
    begin("diff:cpu,cpu+providers", WRONG);
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, 0));
    OK(cudaDeviceSynchronize());
    const char *text = end(&reproducer, &size);
    cr_assert(strstr(text, "kernel k_empty") &&
                  strstr(text, "cpu answers 0, cpu+providers answers"),
              "%s", text);
}

// Memory that the host writes, pointers in memory, variables, graphs: no difference where there is
// none.
Test(diff, no_false_alarm, .timeout = 60)
{
    int *pinned, *data, host[2], n = N;
    void **table;
    char *reproducer;
    size_t size;
    begin("diff:cpu,cpu+providers", GOOD);
    OK(cudaHostAlloc((void **)&pinned, N * sizeof(int), cudaHostAllocMapped));
    OK(cudaMalloc((void **)&data, N * sizeof(int)));
    OK(cudaMalloc((void **)&table, 2 * sizeof(void *)));
    for (int i = 0; i < N; i++) {
        pinned[i] = i;
    }
    void *copy[] = {&data, &pinned, &n}, *back[] = {&pinned, &data, &n}, *out[] = {&data};
    OK(kernel_launch(KERNEL_COPY, 4, 32, copy, 0, 0));
    OK(cudaDeviceSynchronize());
    pinned[3] = 77;
    OK(kernel_launch(KERNEL_ADD_ONE, 4, 32, (void *[]){&pinned, &n}, 0, 0));
    OK(kernel_launch(KERNEL_COPY, 4, 32, back, 0, 0));
    OK(kernel_launch(KERNEL_VARIABLES, 1, 1, out, 0, 0));
    OK(kernel_launch(KERNEL_VARIABLES, 1, 1, out, 0, 0));
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    cr_assert(host[0] == 42 && host[1] == 7 && pinned[3] == 3);
    int again;
    OK(cudaMemcpyFromSymbol(&again, &device_value_key, 4, 0, cudaMemcpyDeviceToHost));
    cr_assert(again == 43);
    const char *text = end(&reproducer, &size);
    cr_assert(!strstr(text, "difference"), "%s", text);
}

static void refused(const char *backend)
{
    void *ptr;
    begin(backend, GOOD);
    cr_assert(cudaMalloc(&ptr, 1) != cudaSuccess);
    char *reproducer;
    size_t size;
    cr_assert(strstr(end(&reproducer, &size), "no backend:"));
}

Test(diff_choice, one_side)
{
    refused("diff:cpu");
}
Test(diff_choice, empty_side)
{
    refused("diff:cpu,");
}
Test(diff_choice, three_sides)
{
    refused("diff:cpu,cpu,cpu");
}
Test(diff_choice, unknown)
{
    refused("diff:cpu,gpu");
}
Test(diff_choice, unknown_suffix)
{
    refused("diff:cpu+kernels,cpu");
}
Test(diff_choice, providers_twice)
{
    refused("diff:cpu+providers,cpu+providers");
}
