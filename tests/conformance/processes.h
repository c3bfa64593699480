// SPDX-License-Identifier: Apache-2.0
//
// Tests with several processes. A child is this very program, executed anew, that plays one role:
//
//     ROLE(reader)
//     {
//         struct message m = process_receive();        // from the test
//         …
//         process_answer(&result, sizeof result);
//     }
//     Test(ipc, reading)
//     {
//         struct process child = process_start("reader");
//         process_send(&child, &handle, sizeof handle, -1);
//         struct message m = process_hear(&child);
//         process_finish(&child);                      // must end by itself with exit code 0
//     }
// A role runs before the test framework begins, so it may use the API and EXPECT-like checks of its
// own (CHECK) only. A child dies with the test.
#pragma once

#include <stddef.h>
#include <sys/types.h>

enum { MESSAGE_MAX = 256 };

struct message {
    char bytes[MESSAGE_MAX];
    size_t size;
    int fd; // that came along, or -1
};

struct process {
    pid_t pid;
    int socket;
};

// ---- in the test ----
struct process process_start(const char *role);
void process_send(const struct process *process, const void *bytes, size_t size, int fd);
struct message process_hear(const struct process *process); // waits for the next answer
void process_finish(struct process *process);
void process_kill(struct process *process); // SIGKILL, and waits for it to be gone

// ---- in a role ----
struct message process_receive(void);
void process_answer(const void *bytes, size_t size);
void process_answer_fd(const void *bytes, size_t size, int fd);
void process_add_role(const char *name, void (*function)(void));
void process_play(void); // plays the role this process was started for, and exits; or returns

// Ends the child with a message when the condition does not hold.
#define CHECK(condition)                                  \
    do {                                                  \
        if (!(condition)) {                               \
            process_fail(#condition, __FILE__, __LINE__); \
        }                                                 \
    } while (0)
// The call must answer `code`.
#define CHECK_CODE(code, call) \
    process_check_code((int)(code), (int)(call), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_CODE(0, call)
void process_fail(const char *what, const char *file, int line) __attribute__((noreturn));
void process_check_code(int wanted, int got, const char *call, const char *file, int line);

#define ROLE(name_)                                                      \
    static void role_##name_(void);                                      \
    __attribute__((constructor(200))) static void add_role_##name_(void) \
    {                                                                    \
        process_add_role(#name_, role_##name_);                          \
    }                                                                    \
    static void role_##name_(void)

// Once per test program, after the roles.
#define PLAY_ROLES()                                               \
    __attribute__((constructor(300))) static void play_roles(void) \
    {                                                              \
        process_play();                                            \
    }
