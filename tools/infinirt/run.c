// SPDX-License-Identifier: Apache-2.0
//
// `infinirt run`: finds out which front ends a program needs, puts them in front of it by
// LD_PRELOAD and LD_LIBRARY_PATH, and becomes the program: exit code and signals are its own. On
// the cpu backend our libcuda.so.1 is found on the library path, too.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary.h"
#include "layout.h"
#include "settings.h"
#include "verb.h"
#include "backends/backend.h"

enum { OPTION_CUDA = 1 };

static void help(void)
{
    fputs("usage: infinirt run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
          "Runs PROGRAM, a CUDA program built with the shared runtime, through this library.\n\n",
          stdout);
    settings_help(stdout);
    fputs("  --cuda MAJOR       front end 11, 12 or 13 in place of what PROGRAM needs\n"
          "  --help             this text\n\n"
          "Exit code and signals are the program's; 2: wrong options, 126: PROGRAM cannot be\n"
          "executed, 127: no such program.\n",
          stdout);
}

// Looks `name` up as execvp does. False when there is no such file; errno says why.
static bool find_program(const char *name, char *ret_path, size_t size)
{
    if (strchr(name, '/')) {
        return access(name, F_OK) == 0 && (size_t)snprintf(ret_path, size, "%s", name) < size;
    }
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at;) {
        const char *end = strchrnul(at, ':');
        struct stat status;
        int length = (int)(end - at);
        if ((size_t)snprintf(ret_path, size, "%.*s%s%s", length, at, length ? "/" : "./", name) <
                size &&
            stat(ret_path, &status) == 0 && S_ISREG(status.st_mode) &&
            access(ret_path, X_OK) == 0) {
            return true;
        }
        at = *end ? end + 1 : NULL;
    }
    errno = ENOENT;
    return false;
}

static void note_major(void *user, const char *name, const char *file)
{
    (void)file;
    bool *wanted = user;
    int major = layout_major(name);
    if (major) {
        wanted[major] = true;
    }
}

// Which majors the program loads at its start. `wanted` is indexed by major.
static void find_majors(const char *path, bool *wanted)
{
    char why[128];
    struct binary *b = binary_open(path, why, sizeof why);
    if (!b) {
        return; // execvp will say what is wrong
    }
    const void *data;
    size_t size;
    if (binary_interpreter(b)) {
        binary_loaded(path, binary_interpreter(b), note_major, wanted);
        if (!wanted[11] && !wanted[12] && !wanted[13] &&
            binary_section(b, ".nv_fatbin", 0, &data, &size)) {
            complain(
                "%s has the CUDA runtime linked in (-cudart static), so it will not reach this "
                "library: build it with -cudart shared (CMake: CUDA_RUNTIME_LIBRARY Shared)",
                path);
        }
    } else if (binary_is_elf(b)) {
        complain("%s is statically linked: no library can be put in front of it", path);
    }
    binary_close(b);
}

// NAME=first[separator old]. False when out of memory.
static bool prepend(const char *name, const char *first, char separator)
{
    const char *old = getenv(name);
    char *value;
    if (!old || old[0] == '\0') {
        return setenv(name, first, 1) == 0;
    }
    if (asprintf(&value, "%s%c%s", first, separator, old) < 0) {
        return false;
    }
    bool good = setenv(name, value, 1) == 0;
    free(value);
    return good;
}

// Whether the backend of that name is installed and its device seems to be here.
static bool has_device(const char *folder, const char *name)
{
    char file[PATH_MAX + 64];
    snprintf(file, sizeof file, "%s/backends/libirt-%s.so", folder, name);
    void *module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    const struct irtb_backend *(*entry)(void) = NULL;
    if (module) {
        *(void **)&entry = dlsym(module, "irtb_backend_entry");
    }
    const struct irtb_backend *backend = entry ? entry() : NULL;
    // The core will refuse a module that was built for another interface.
    return backend && backend->struct_size >= sizeof *backend &&
           (!backend->probe || backend->probe());
}

// Our libcuda.so.1 stands in for the driver only where there is none: when the cpu backend is asked
// for, or will be the choice.
static bool wants_driver(const char *folder)
{
    const char *backend = getenv("INFINIRT_BACKEND");
    if (backend && backend[0] != '\0') {
        return strcmp(backend, "cpu") == 0;
    }
    static const char *const others[] = {"nvidia", "ascend", "metax"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (has_device(folder, others[i])) {
            return false;
        }
    }
    return true;
}

static bool set_front(const bool *wanted)
{
    char folder[PATH_MAX];
    char driver[PATH_MAX + 16];
    if (!layout_library_folder(folder, sizeof folder)) {
        return false;
    }
    snprintf(driver, sizeof driver, "%s/driver", folder);
    if ((wants_driver(folder) && !prepend("LD_LIBRARY_PATH", driver, ':')) ||
        !prepend("LD_LIBRARY_PATH", folder, ':')) {
        complain("out of memory");
        return false;
    }
    for (size_t i = 0; layout_majors[i] != 0; i++) {
        char file[PATH_MAX + 64];
        if (!wanted[layout_majors[i]]) {
            continue;
        }
        snprintf(file, sizeof file, "%s/%s", folder, layout_soname(layout_majors[i]));
        if (access(file, R_OK) != 0) {
            complain("%s: %s", file, strerror(errno));
            return false;
        }
        if (!prepend("LD_PRELOAD", file, ':')) {
            complain("out of memory");
            return false;
        }
    }
    return true;
}

int verb_run(int argc, char **argv)
{
    struct option options[SETTINGS_MAX + 3];
    int count = settings_options(options);
    options[count++] = (struct option){"cuda", required_argument, NULL, OPTION_CUDA};
    options[count++] = (struct option){"help", no_argument, NULL, 'h'};
    options[count] = (struct option){0};
    bool wanted[16] = {false};
    bool forced = false;
    int option;
    while ((option = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
        bool bad;
        if (option == 'h') {
            help();
            return 0;
        }
        if (option == OPTION_CUDA) {
            char *end;
            long major = strtol(optarg, &end, 10);
            if (*end != '\0' || major < 0 || major > 15 || !layout_soname((int)major)) {
                complain("--cuda: \"%s\" is not 11, 12 or 13", optarg);
                return EXIT_USAGE;
            }
            wanted[major] = forced = true;
        } else if (!settings_apply(option, optarg, &bad)) {
            return EXIT_USAGE; // getopt_long or settings_apply has said why
        }
    }
    if (optind >= argc) {
        complain("which program? (try `infinirt run --help`)");
        return EXIT_USAGE;
    }
    char path[PATH_MAX];
    if (!find_program(argv[optind], path, sizeof path)) {
        complain("%s: %s", argv[optind], strerror(errno));
        return EXIT_NOT_FOUND;
    }
    if (!forced) {
        find_majors(path, wanted);
        // A script, or a program that opens the runtime itself, finds any major on the library
        // path; the newest is there from the start.
        if (!wanted[11] && !wanted[12] && !wanted[13]) {
            wanted[layout_majors[0]] = true;
        }
    }
    if (!set_front(wanted)) {
        return EXIT_CANNOT_RUN;
    }
    execvp(path, argv + optind); // with a slash in it: no search, but scripts without #! too
    complain("%s: %s", path, strerror(errno));
    return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}
