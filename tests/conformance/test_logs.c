// SPDX-License-Identifier: Apache-2.0
//
// The error log (CUDA 13): callbacks, iterators, dumps, CUDA_LOG_FILE.
#include "conformance.h"

#include <unistd.h>

TestSuite(logs, .timeout = 30);

// A file of this process, gone at its end.
static const char *scratch(const char *name)
{
    static char path[256];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/irt-%d-%s", folder ? folder : "/tmp", (int)getpid(), name);
    unlink(path);
    return path;
}

static size_t read_file(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        text[0] = '\0';
        return 0;
    }
    size_t got = fread(text, 1, size - 1, file);
    text[got] = '\0';
    fclose(file);
    return got;
}

Test(logs, file_of_the_environment)
{
    char text[4096];
    const char *path = scratch("log");
    cr_assert(setenv("CUDA_LOG_FILE", path, 1) == 0);
    EXPECT(cudaErrorInvalidValue, cudaGetDevice(NULL));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(99));
    read_file(path, text, sizeof text);
    unlink(path);
    cr_assert(strstr(text, "][CUDA][E] Returning 1 (cudaErrorInvalidValue) from cudaGetDevice\n"),
              "%s", text);
    cr_assert(
        strstr(text, "][CUDA][E] Returning 101 (cudaErrorInvalidDevice) from cudaSetDevice\n"),
        "%s", text);
    int hours, minutes, seconds, thousandths, thread;
    cr_assert(
        sscanf(text, "[%d:%d:%d.%d][%d]", &hours, &minutes, &seconds, &thousandths, &thread) == 5);
    cr_assert(thread == (int)gettid());
}

#if CUDART_VERSION >= 13000
struct seen {
    int count;
    size_t length;
    cudaLogLevel level;
    char last[256];
    cudaError_t inner;
};

static void CUDART_CB keep(void *data, cudaLogLevel level, char *message, size_t length)
{
    struct seen *seen = data;
    seen->count++;
    seen->level = level;
    seen->length = length;
    snprintf(seen->last, sizeof seen->last, "%s", message);
    seen->inner = cudaGetDevice(NULL); // logged, but not told to a callback from within one
}

Test(logs, callbacks)
{
    struct seen seen = {0}, other = {0};
    cudaLogsCallbackHandle one, two;
    EXPECT(cudaErrorInvalidValue, cudaLogsRegisterCallback(NULL, &seen, &one));
    OK(cudaLogsRegisterCallback(keep, &seen, &one));
    OK(cudaLogsRegisterCallback(keep, &other, &two));
    cr_assert(seen.count == 0, "earlier errors are not told");
    EXPECT(cudaErrorInvalidValue, cudaGetDevice(NULL));
    // What a callback causes itself is logged, but not told to callbacks.
    cr_assert(seen.count == 1 && seen.level == cudaLogLevelError, "%d", seen.count);
    cr_assert(seen.inner == cudaErrorInvalidValue);
    cr_assert(strstr(seen.last, "from cudaGetDevice"), "%s", seen.last);
    cr_assert(seen.length == strlen(seen.last));
    int count = other.count;
    cr_assert(count == 1);
    OK(cudaLogsUnregisterCallback(two));
    EXPECT(cudaErrorInvalidValue, cudaLogsUnregisterCallback(two));
    cr_assert(other.count == count);
    EXPECT(cudaErrorInvalidValue, cudaLogsUnregisterCallback(NULL));
    OK(cudaLogsUnregisterCallback(one));
    OK(cudaLogsRegisterCallback(keep, &seen, NULL));
}

Test(logs, not_ready_is_no_error)
{
    cudaLogIterator before, after;
    OK(cudaLogsCurrent(&before, 0));
    OK(cudaStreamQuery(0));
    OK(cudaLogsCurrent(&after, 0));
    cr_assert(before == after);
}

Test(logs, dump_to_memory)
{
    static char buffer[30000];
    size_t size = sizeof buffer;
    cudaLogIterator at;
    EXPECT(cudaErrorInvalidValue, cudaLogsCurrent(NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaLogsCurrent(&at, 1));
    OK(cudaLogsCurrent(&at, 0));
    OK(cudaLogsDumpToMemory(&at, buffer, &size, 0));
    cr_assert(size == 0 && buffer[0] == '\0', "%zu", size);
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(77));
    EXPECT(cudaErrorInvalidValue, cudaGetDevice(NULL));
    size = sizeof buffer;
    cudaLogIterator again = at;
    OK(cudaLogsDumpToMemory(&at, buffer, &size, 0));
    cr_assert(size == strlen(buffer) && buffer[size - 1] == '\n');
    cr_assert(strstr(buffer, "cudaSetDevice\n") && strstr(buffer, "cudaGetDevice\n"));
    cr_assert(at == again + 2, "the iterator moves on");
    size = sizeof buffer;
    OK(cudaLogsDumpToMemory(&at, buffer, &size, 0));
    cr_assert(size == 0);
    // Too small for both: the newest, behind a line that says so.
    size = 120;
    at = again;
    OK(cudaLogsDumpToMemory(&at, buffer, &size, 0));
    cr_assert(!strstr(buffer, "cudaSetDevice") && strstr(buffer, "cudaGetDevice"), "%s", buffer);
    cr_assert(buffer[0] != '[');
    size = 20;
    at = again;
    EXPECT(cudaErrorInvalidValue, cudaLogsDumpToMemory(&at, buffer, &size, 0));
    cr_assert(size == 0);
    size = 100;
    EXPECT(cudaErrorInvalidValue, cudaLogsDumpToMemory(NULL, NULL, &size, 0));
    EXPECT(cudaErrorInvalidValue, cudaLogsDumpToMemory(NULL, buffer, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaLogsDumpToMemory(NULL, buffer, &size, 1));
    // The buffer keeps the newest messages only and says so.
    for (int i = 0; i < 1000; i++) {
        cudaSetDevice(77);
    }
    size = sizeof buffer;
    OK(cudaLogsDumpToMemory(NULL, buffer, &size, 0));
    cr_assert(size > 20000 && size <= 25600 + 100 && buffer[0] != '[');
}

Test(logs, dump_to_file)
{
    char text[4096];
    const char *path = scratch("dump");
    cudaLogIterator at;
    OK(cudaLogsCurrent(&at, 0));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(77));
    OK(cudaLogsDumpToFile(&at, path, 0));
    cr_assert(read_file(path, text, sizeof text) > 0);
    cr_assert(strstr(text, "Returning 101 (cudaErrorInvalidDevice) from cudaSetDevice\n"), "%s",
              text);
    unlink(path);
    EXPECT(cudaErrorInvalidValue, cudaLogsDumpToFile(&at, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaLogsDumpToFile(&at, path, 1));
    EXPECT(cudaErrorInvalidValue, cudaLogsDumpToFile(&at, "/no/such/folder/file", 0));
}
#endif
