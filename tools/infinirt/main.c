// SPDX-License-Identifier: Apache-2.0
//
// The `infinirt` command: chooses the verb and nothing else. Users call it from a shell; scripts
// may rely on the exit codes in verb.h and on `--json` where a verb offers it.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "verb.h"

static const struct verb verbs[] = {
    {"run", "run a CUDA program with this library in front", verb_run},
    {"info", "list backends, devices and settings", verb_info},
    {"doctor", "tell whether a program can run, and what to do if not", verb_doctor},
    {"cache", "show or clear the compiled kernels that are kept", verb_cache},
};

void complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("infinirt: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static void usage(FILE *out)
{
    fputs("usage: infinirt VERB [OPTION]... [ARGUMENT]...\n"
          "Runs unmodified CUDA programs without an NVIDIA GPU.\n\n",
          out);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].summary);
    }
    fputs("\n`infinirt VERB --help` explains a verb; `infinirt --version` prints the version.\n",
          out);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("infinirt " INFINIRT_VERSION);
        return 0;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(argv[1], verbs[i].name) == 0) {
            char name[32]; // getopt_long puts it before its messages
            snprintf(name, sizeof name, "infinirt %s", verbs[i].name);
            argv[1] = name;
            return verbs[i].run(argc - 1, argv + 1);
        }
    }
    complain("no such verb: %s (try `infinirt --help`)", argv[1]);
    return EXIT_USAGE;
}
