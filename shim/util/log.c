// SPDX-License-Identifier: Apache-2.0
//
// The levels of INFINIRT_LOG and the one place that writes to stderr.
#include "shim/util/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "shim/util/env.h"
#include "shim/util/lock.h"

enum { LINE_SIZE = 1024, RULE_COUNT = 32, SUBSYSTEM_SIZE = 24 };

struct rule {
    char subsystem[SUBSYSTEM_SIZE];
    int level;
};

_Atomic int irt_log_ceiling = -1;

// Written by irt_log_configure under `config_lock`; the ceiling is stored last (release).
static struct rule rules[RULE_COUNT];
static _Atomic int rule_count;
static _Atomic int default_level = IRT_LOG_WARN;
static struct irt_mutex config_lock = IRT_MUTEX_INIT(IRT_RANK_LOG);

static void (*_Atomic sink)(int level, const char *message);

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static int level_from_name(const char *name, size_t length)
{
    for (int i = 0; i < 4; i++) {
        if (strlen(level_names[i]) == length && strncasecmp(level_names[i], name, length) == 0) {
            return i;
        }
    }
    if (length == 7 && strncasecmp("warning", name, 7) == 0) {
        return IRT_LOG_WARN;
    }
    return -1;
}

static void write_line(char *line, size_t length)
{
    if (length > LINE_SIZE - 1) {
        length = LINE_SIZE - 1;
        line[length - 3] = line[length - 2] = line[length - 1] = '.';
    }
    // A message is one line, whatever it quotes.
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\n') {
            line[i] = ' ';
        }
    }
    line[length++] = '\n';
    int saved = errno;
    ssize_t written;
    do {
        written = write(STDERR_FILENO, line, length);
    } while (written < 0 && errno == EINTR);
    errno = saved;
}

static void print_line(const char *subsystem, int level, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static void print_line(const char *subsystem, int level, const char *format, va_list arguments)
{
    char line[LINE_SIZE + 1];
    int head = subsystem ? snprintf(line, LINE_SIZE, "infinirt: %.*s: ", SUBSYSTEM_SIZE, subsystem)
                         : snprintf(line, LINE_SIZE, "infinirt: ");
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the callers have started it
    int body = vsnprintf(line + head, (size_t)(LINE_SIZE - head), format, arguments);
    void (*told)(int, const char *) = atomic_load_explicit(&sink, memory_order_acquire);
    if (body >= 0 && told && level <= IRT_LOG_WARN) {
        told(level, line + head);
    }
    if (body >= 0) {
        write_line(line, (size_t)head + (size_t)body);
    }
}

// One word of INFINIRT_LOG: "level" or "subsystem:level". False when it is neither.
static bool apply_word(const char *word, size_t length, int *count, int *level)
{
    const char *colon = memchr(word, ':', length);
    const char *name = colon ? colon + 1 : word;
    int parsed = level_from_name(name, length - (size_t)(name - word));
    if (parsed < 0) {
        return false;
    }
    if (!colon) {
        *level = parsed;
        return true;
    }
    size_t size = (size_t)(colon - word);
    if (size == 0 || size >= SUBSYSTEM_SIZE || *count == RULE_COUNT) {
        return false;
    }
    memcpy(rules[*count].subsystem, word, size);
    rules[*count].subsystem[size] = '\0';
    rules[(*count)++].level = parsed;
    return true;
}

void irt_log_set_sink(void (*function)(int level, const char *message))
{
    atomic_store_explicit(&sink, function, memory_order_release);
}

void irt_log_configure(const char *value)
{
    char unknown[64] = "";
    irt_mutex_lock(&config_lock);
    int level = IRT_LOG_WARN;
    int count = 0;
    atomic_store_explicit(&rule_count, 0, memory_order_relaxed);
    for (const char *word = value ? value : ""; *word != '\0';) {
        size_t length = strcspn(word, ",");
        if (length > 0 && !apply_word(word, length, &count, &level)) {
            snprintf(unknown, sizeof unknown, "%.*s", (int)(length < 60 ? length : 60), word);
        }
        word += length + (word[length] == ',');
    }
    int ceiling = level;
    for (int i = 0; i < count; i++) {
        ceiling = rules[i].level > ceiling ? rules[i].level : ceiling;
    }
    atomic_store_explicit(&default_level, level, memory_order_relaxed);
    atomic_store_explicit(&rule_count, count, memory_order_release);
    atomic_store_explicit(&irt_log_ceiling, ceiling, memory_order_release);
    irt_mutex_unlock(&config_lock);
    if (unknown[0] != '\0') {
        irt_log("log", IRT_LOG_WARN, "INFINIRT_LOG: \"%s\" is not a level or subsystem:level",
                unknown);
    }
}

bool irt_log_enabled(const char *subsystem, int level)
{
    int ceiling = atomic_load_explicit(&irt_log_ceiling, memory_order_acquire);
    if (ceiling < 0) {
        irt_log_configure(irt_env("INFINIRT_LOG"));
        ceiling = atomic_load_explicit(&irt_log_ceiling, memory_order_acquire);
    }
    if (level > ceiling) {
        return false;
    }
    int count = atomic_load_explicit(&rule_count, memory_order_acquire);
    for (int i = 0; subsystem && i < count; i++) {
        if (strcmp(rules[i].subsystem, subsystem) == 0) {
            return level <= rules[i].level;
        }
    }
    return level <= atomic_load_explicit(&default_level, memory_order_relaxed);
}

void irt_log_v(const char *subsystem, int level, const char *format, va_list arguments)
{
    if (irt_log_enabled(subsystem, level)) {
        print_line(subsystem, level, format, arguments);
    }
}

void irt_log(const char *subsystem, int level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    irt_log_v(subsystem, level, format, arguments);
    va_end(arguments);
}

void irt_notice(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(NULL, IRT_LOG_WARN, format, arguments);
    va_end(arguments);
}
