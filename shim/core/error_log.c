// SPDX-License-Identifier: Apache-2.0
//
// The buffer of CUDA's error log, its file and its callbacks. Lines are counted from 0 for the life
// of the process; an iterator is the number of the next line. Old lines make room for new ones.
// Callbacks are called by the thread whose call failed, never with a lock held and never by a
// callback: lines that arise elsewhere wait for the next such moment.
#include "shim/core/error_log.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "error_text.h"
#include "irt_core.h"
#include "shim/util/env.h"
#include "shim/util/handle.h"
#include "shim/util/lock.h"
#include "shim/util/log.h"
#include "shim/util/process.h"

enum {
    BUFFER_SIZE = 25600, // as cudaLogsDumpToMemory documents it
    LINE_SIZE = 512,     // one line, with its newline
    NEWEST_RELEASE = 13050,
};

static const char truncated[] = "Older messages were dropped\n";

struct callback {
    cudaLogsCallback_t function;
    void *user_data;
};

_Atomic _Bool irt_error_log_pending;

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_LOG);
static char text[BUFFER_SIZE]; // whole lines; guarded by lock, like what follows
static size_t used;
static unsigned first_line, next_line; // of the buffer, to be written
static unsigned delivered;             // next line for the callbacks
static int file = -1;
static bool file_opened;
static struct irt_handle_table callbacks = IRT_HANDLE_TABLE(IRT_HANDLE_LOG, free);
static _Atomic unsigned callback_count;
static _Thread_local bool in_callback;

// ---- writing ----

static void open_file_locked(void)
{
    const char *name = irt_env("CUDA_LOG_FILE");
    file_opened = true;
    if (!name || *name == '\0') {
        return;
    }
    if (strcmp(name, "stdout") == 0) {
        file = STDOUT_FILENO;
    } else if (strcmp(name, "stderr") == 0) {
        file = STDERR_FILENO;
    } else {
        file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    }
}

static void drop_first_line_locked(void)
{
    const char *end = memchr(text, '\n', used);
    size_t length = end ? (size_t)(end - text) + 1 : used;
    memmove(text, text + length, used - length);
    used -= length;
    first_line++;
}

static void append_locked(const char *line, size_t length)
{
    while (used + length > BUFFER_SIZE) {
        drop_first_line_locked();
    }
    memcpy(text + used, line, length);
    used += length;
    next_line++;
    if (!file_opened) {
        open_file_locked();
    }
    // Nobody can be told that the file takes no more: the line is in the buffer.
    if (file >= 0 && write(file, line, length) < 0) {
        file = -1;
    }
}

// Adds one line with time, thread and severity in front.
static void add(cudaLogLevel level, const char *message)
{
    char line[LINE_SIZE];
    struct timespec now;
    struct tm local;
    if (irt_process_state() == IRT_PROCESS_FORKED) {
        return; // the lock may have been held when the process forked
    }
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    int length = snprintf(line, sizeof line, "[%02d:%02d:%02d.%03d][%d][CUDA][%c] %s",
                          local.tm_hour, local.tm_min, local.tm_sec, (int)(now.tv_nsec / 1000000),
                          (int)gettid(), level == cudaLogLevelError ? 'E' : 'W', message);
    size_t size = length < LINE_SIZE - 1 ? (size_t)length : LINE_SIZE - 2;
    for (size_t i = 0; i < size; i++) {
        if (line[i] == '\n') {
            line[i] = ' ';
        }
    }
    line[size++] = '\n';
    irt_mutex_lock(&lock);
    append_locked(line, size);
    if (in_callback && delivered == next_line - 1) {
        delivered = next_line; // what a callback causes is not told, or there would be no end
    } else if (atomic_load_explicit(&callback_count, memory_order_relaxed)) {
        atomic_store_explicit(&irt_error_log_pending, true, memory_order_relaxed);
    }
    irt_mutex_unlock(&lock);
}

void irt_error_log_call(const char *function, cudaError_t error)
{
    char message[LINE_SIZE];
    snprintf(message, sizeof message, "Returning %d (%s) from %s", (int)error,
             irt_error_name((int)error, NEWEST_RELEASE), function);
    add(cudaLogLevelError, message);
    if (atomic_load_explicit(&irt_error_log_pending, memory_order_relaxed)) {
        irt_error_log_deliver();
    }
}

static void from_log(int level, const char *message)
{
    add(level == IRT_LOG_ERROR ? cudaLogLevelError : cudaLogLevelWarning, message);
}

void irt_error_log_setup(void)
{
    irt_log_set_sink(from_log);
}

// ---- callbacks ----

struct delivery {
    char line[LINE_SIZE];
    size_t length;
    cudaLogLevel level;
};

// The next line before `end` that no callback has seen. The severity is behind the third bracket.
static bool take(unsigned end, struct delivery *ret_delivery)
{
    irt_mutex_lock(&lock);
    if (delivered < first_line) {
        delivered = first_line;
    }
    bool found = delivered < next_line && delivered < end;
    if (found) {
        const char *line = text;
        for (unsigned i = first_line; i < delivered; i++) {
            line = (const char *)memchr(line, '\n', used - (size_t)(line - text)) + 1;
        }
        const char *newline = memchr(line, '\n', used - (size_t)(line - text));
        ret_delivery->length = (size_t)(newline - line);
        memcpy(ret_delivery->line, line, ret_delivery->length);
        ret_delivery->line[ret_delivery->length] = '\0';
        const char *mark = strstr(ret_delivery->line, "[CUDA][");
        ret_delivery->level = mark && mark[7] == 'W' ? cudaLogLevelWarning : cudaLogLevelError;
        delivered++;
    } else {
        atomic_store_explicit(&irt_error_log_pending, delivered < next_line, memory_order_relaxed);
    }
    irt_mutex_unlock(&lock);
    return found;
}

static void call(void *handle, void *object, void *context)
{
    (void)handle;
    const struct callback *callback = object;
    struct delivery copy = *(const struct delivery *)context; // a callback may write to it
    callback->function(callback->user_data, copy.level, copy.line, copy.length);
}

void irt_error_log_deliver(void)
{
    struct delivery delivery;
    if (in_callback) {
        return;
    }
    in_callback = true;
    irt_mutex_lock(&lock);
    unsigned end = next_line;
    irt_mutex_unlock(&lock);
    while (take(end, &delivery)) {
        irt_handle_each(&callbacks, call, &delivery);
    }
    in_callback = false;
}

cudaError_t irt_core_cudaLogsRegisterCallback(cudaLogsCallback_t callbackFunc, void *userData,
                                              cudaLogsCallbackHandle *callback_out)
{
    if (!callbackFunc) {
        return cudaErrorInvalidValue;
    }
    struct callback *own = malloc(sizeof *own);
    if (!own) {
        return cudaErrorMemoryAllocation;
    }
    *own = (struct callback){callbackFunc, userData};
    void *handle = irt_handle_open(&callbacks, own);
    if (!handle) {
        free(own);
        return cudaErrorMemoryAllocation;
    }
    irt_mutex_lock(&lock);
    if (atomic_fetch_add(&callback_count, 1) == 0) {
        delivered = next_line; // only what comes from now on
    }
    irt_mutex_unlock(&lock);
    if (callback_out) {
        *callback_out = handle;
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback)
{
    if (!irt_handle_close(&callbacks, callback)) {
        return cudaErrorInvalidValue;
    }
    atomic_fetch_sub(&callback_count, 1);
    return cudaSuccess;
}

// ---- reading ----

cudaError_t irt_core_cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags)
{
    if (!iterator_out || flags != 0) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&lock);
    *iterator_out = next_line;
    irt_mutex_unlock(&lock);
    return cudaSuccess;
}

// A copy of the lines from `*iterator` on (all without one), which the caller frees. The iterator
// is moved on. `ret_lost`: older lines were asked for than there are. NULL without memory.
static char *copy_lines(cudaLogIterator *iterator, size_t *ret_size, bool *ret_lost)
{
    irt_mutex_lock(&lock);
    unsigned from = iterator ? *iterator : 0;
    size_t start = 0;
    for (unsigned i = first_line; i < from && i < next_line; i++) {
        start = (size_t)((const char *)memchr(text + start, '\n', used - start) - text) + 1;
    }
    *ret_lost = from < first_line;
    *ret_size = used - start;
    char *copy = malloc(used - start + 1);
    if (copy) {
        memcpy(copy, text + start, used - start);
        copy[used - start] = '\0';
        if (iterator) {
            *iterator = next_line;
        }
    }
    irt_mutex_unlock(&lock);
    return copy;
}

cudaError_t irt_core_cudaLogsDumpToFile(cudaLogIterator *iterator, const char *pathToFile,
                                        unsigned int flags)
{
    if (!pathToFile || flags != 0) {
        return cudaErrorInvalidValue;
    }
    FILE *to = fopen(pathToFile, "we");
    if (!to) {
        return cudaErrorInvalidValue;
    }
    size_t size;
    bool lost;
    char *lines = copy_lines(iterator, &size, &lost);
    bool written =
        lines && (!lost || fputs(truncated, to) >= 0) && fwrite(lines, 1, size, to) == size;
    written = fclose(to) == 0 && written;
    cudaError_t error = !lines    ? cudaErrorMemoryAllocation
                        : written ? cudaSuccess
                                  : cudaErrorOperatingSystem;
    free(lines);
    return error;
}

cudaError_t irt_core_cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
                                          unsigned int flags)
{
    if (!buffer || !size || *size == 0 || flags != 0) {
        return cudaErrorInvalidValue;
    }
    size_t room = *size - 1; // the terminator
    size_t count;
    bool lost;
    char *lines = copy_lines(iterator, &count, &lost);
    if (!lines) {
        return cudaErrorMemoryAllocation;
    }
    // Too much: the newest lines that fit, behind a line that says so.
    const char *from = lines;
    size_t head = lost && count > 0 ? sizeof truncated - 1 : 0;
    while (count > 0 && head + count > room) {
        const char *next = (const char *)memchr(from, '\n', count) + 1;
        count -= (size_t)(next - from);
        from = next;
        head = sizeof truncated - 1;
    }
    bool nothing_fits = count == 0 && from != lines;
    if (nothing_fits) {
        head = 0;
    }
    memcpy(buffer, truncated, head);
    memcpy(buffer + head, from, count);
    buffer[head + count] = '\0';
    *size = head + count;
    free(lines);
    return nothing_fits ? cudaErrorInvalidValue : cudaSuccess;
}
