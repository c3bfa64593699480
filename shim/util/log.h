// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics: one line on stderr per message, "infinirt: <subsystem>: <text>", written by one
// write(2). What is shown is chosen by INFINIRT_LOG, e.g. "warn", "debug", "warn,stream:debug".
// The default level is warn. Not for traces of API calls, and never for the program's own output.
// Callable from any thread, with any lock held (rank LOG is the last); not from signal handlers.
#pragma once

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

enum irt_log_level {
    IRT_LOG_ERROR = 0, // the same numbers as the `level` of irtb_host.log
    IRT_LOG_WARN = 1,
    IRT_LOG_INFO = 2,
    IRT_LOG_DEBUG = 3,
};

// The most talkative level that any subsystem has; -1 before INFINIRT_LOG was read.
extern _Atomic int irt_log_ceiling;

// Whether a message of that level and subsystem would be shown. Reads INFINIRT_LOG at first use.
bool irt_log_enabled(const char *subsystem, int level);

// Writes the message if it is enabled. Lower case, no full stop, no newline in `format`.
void irt_log(const char *subsystem, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void irt_log_v(const char *subsystem, int level, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

// Writes one line whatever INFINIRT_LOG says: for what the user must see (the choice of the
// backend, functions that are missing).
void irt_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Hands every error and warning that is written, without head, also to `sink`, which may be called
// with any lock held. Once per process.
void irt_log_set_sink(void (*sink)(int level, const char *message));

// Parses a value of INFINIRT_LOG and makes it effective; NULL means the default. Unknown words are
// ignored after one warning line. For the first use and for tests.
void irt_log_configure(const char *value);

// The form to use in code: one relaxed load when the message is not wanted.
#define IRT_LOG(subsystem, level, ...)                                                       \
    do {                                                                                     \
        int irt_log_ceiling_ = atomic_load_explicit(&irt_log_ceiling, memory_order_relaxed); \
        if (irt_log_ceiling_ < 0 || (level) <= irt_log_ceiling_) {                           \
            irt_log((subsystem), (level), __VA_ARGS__);                                      \
        }                                                                                    \
    } while (0)
