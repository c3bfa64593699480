// SPDX-License-Identifier: Apache-2.0
//
// The verbs of the `infinirt` command. Each lives in a file of its own and gets its arguments as
// main() does, argv[0] being the verb. What it returns is the exit code of the process.
#pragma once

enum {
    EXIT_USAGE = 2,        // wrong arguments, unreadable file
    EXIT_CANNOT_RUN = 126, // as the shell: found, but cannot be executed
    EXIT_NOT_FOUND = 127,  // as the shell: no such program
};

struct verb {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

int verb_run(int argc, char **argv);
int verb_info(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_cache(int argc, char **argv);

// One line on stderr, "infinirt: …", with a newline.
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
