// SPDX-License-Identifier: Apache-2.0
//
// `infinirt doctor`: reads a program and what it loads, without running it, and says whether it can
// run through this library and what to do if not. Collects a JSON report; the text form is printed
// from that. ELF questions go to binary.h, fat binaries to shim/fatbin, compiling to engine.h.
#include <json-c/json.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary.h"
#include "device_code.h"
#include "engine.h"
#include "layout.h"
#include "names.h"
#include "verb.h"

enum { OPTION_JSON = 1, OPTION_NO_COMPILE };

// State of one examination.
struct doctor {
    struct json_object *report;
    struct json_object *problems; // of the report: {"what": …, "advice": …}
    struct json_object *majors, *files;
    struct device_code *code; // kernels of all files
    size_t imports;
    struct json_object *absent, *unimplemented; // names, as keys
    bool foreign_runtime;                       // wants a libcudart that is none of ours
};

// Text out of a file that may be damaged: only what is printable gets into the report.
static struct json_object *printable(const char *text)
{
    char *copy = strdup(text);
    for (char *at = copy; at && *at; at++) {
        if (*at < 0x20 || *at > 0x7e) {
            *at = '?';
        }
    }
    struct json_object *string = json_object_new_string(copy ? copy : "out of memory");
    free(copy);
    return string;
}

static void problem(struct doctor *d, const char *what, const char *advice)
{
    struct json_object *one = json_object_new_object();
    json_object_object_add(one, "what", printable(what));
    json_object_object_add(one, "advice", json_object_new_string(advice));
    json_object_array_add(d->problems, one);
}

static void note_import(void *user, const char *name, const char *from)
{
    struct doctor *d = user;
    int major = from ? layout_major(from) : layout_majors[0];
    bool known = false;
    bool works = false;
    for (size_t i = 0; i < api_names_count; i++) {
        if (api_names[i].major == major && strcmp(api_names[i].name, name) == 0) {
            known = true;
            works = api_names[i].works;
        }
    }
    // Without a version the name may belong to some other library.
    if (!known && !from) {
        return;
    }
    d->imports++;
    if (!known) {
        json_object_object_add(d->absent, name, json_object_new_boolean(true));
    } else if (!works) {
        json_object_object_add(d->unimplemented, name, json_object_new_boolean(true));
    }
}

static void note_runtime(struct doctor *d, const char *name)
{
    if (strncmp(name, "libcudart.so", strlen("libcudart.so")) != 0) {
        return;
    }
    int major = layout_major(name);
    if (!major) {
        char what[160];
        d->foreign_runtime = true;
        snprintf(what, sizeof what, "it needs %.80s, for which there is no front end", name);
        problem(d, what, "rebuild it with CUDA 11, 12 or 13");
        return;
    }
    for (size_t i = 0; i < json_object_array_length(d->majors); i++) {
        if (json_object_get_int(json_object_array_get_idx(d->majors, i)) == major) {
            return;
        }
    }
    json_object_array_add(d->majors, json_object_new_int(major));
}

static void examine_file(struct doctor *d, const struct binary *b, const char *path)
{
    size_t imports = d->imports;
    binary_imports(b, "libcudart.so.", note_import, d);
    size_t modules = device_code_add(d->code, b);
    if (modules > 0 || d->imports > imports) {
        json_object_array_add(d->files, json_object_new_string(path));
    }
}

static void note_loaded(void *user, const char *name, const char *file)
{
    struct doctor *d = user;
    note_runtime(d, name);
    if (strncmp(name, "libcudart.so", strlen("libcudart.so")) == 0) {
        return;
    }
    if (!file) {
        char what[300];
        snprintf(what, sizeof what, "the library %.200s is not found", name);
        problem(d, what, "install it or put its folder into LD_LIBRARY_PATH");
        return;
    }
    char why[128];
    struct binary *b = binary_open(file, why, sizeof why);
    if (b) {
        examine_file(d, b, file);
        binary_close(b);
    }
}

// The loader that reads a shared object, which names none itself: the one of this command.
static void examine_loaded(struct doctor *d, const struct binary *b, const char *path)
{
    char why[128];
    struct binary *self =
        binary_interpreter(b) ? NULL : binary_open("/proc/self/exe", why, sizeof why);
    const char *loader = self ? binary_interpreter(self) : binary_interpreter(b);
    if (loader) {
        binary_loaded(path, loader, note_loaded, d);
    }
    binary_close(self);
}

static void judge_names(struct doctor *d, struct json_object *names, const char *how)
{
    int count = json_object_object_length(names);
    if (count == 0) {
        return;
    }
    char *what = NULL;
    size_t size;
    FILE *out = open_memstream(&what, &size);
    if (!out) {
        return;
    }
    fprintf(out, "%d CUDA function%s that it may call %s:", count, count == 1 ? "" : "s", how);
    json_object_object_foreach(names, name, unused)
    {
        (void)unused;
        fprintf(out, " %s", name);
    }
    fclose(out);
    problem(d, what,
            "it runs as long as it does not call them; each call returns 801 "
            "(cudaErrorNotSupported) and is named on stderr");
    free(what);
}

static void note_kernel(void *user, const struct kernel *kernel)
{
    struct doctor *d = user;
    struct json_object *one = json_object_new_object();
    json_object_object_add(one, "name", printable(kernel->name));
    json_object_object_add(one, "ptx", json_object_new_boolean(kernel->has_ptx));
    json_object_object_add(one, "error", kernel->error ? printable(kernel->error) : NULL);
    json_object_array_add(json_object_object_get(d->report, "kernels"), one);
    if (!kernel->has_ptx) {
        return; // one problem for all of them, below
    }
    if (kernel->error) {
        char what[1024];
        snprintf(what, sizeof what, "kernel %.300s does not compile: %.600s", kernel->name,
                 kernel->error);
        problem(d, what, "launching it fails; the rest of the program runs");
    }
}

static void judge_kernels(struct doctor *d, const char *engine_why)
{
    json_object_object_add(d->report, "kernels", json_object_new_array());
    device_code_kernels(d->code, note_kernel, d);
    const struct device_code_summary *s = device_code_summary(d->code);
    if (s->without_ptx > 0) {
        char what[512];
        snprintf(what, sizeof what,
                 "%zu kernel%s only as machine code (%.300s), which runs on no "
                 "other processor",
                 s->without_ptx, s->without_ptx == 1 ? " is there" : "s are there",
                 s->machine_code);
        problem(d, what,
                "rebuild it with PTX: nvcc -arch=sm_80, or "
                "-gencode arch=compute_80,code=compute_80; "
                "CMake: CMAKE_CUDA_ARCHITECTURES=80");
    }
    if (s->damaged[0] != '\0') {
        problem(d, s->damaged, "the file may be truncated; build it again");
    }
    if (engine_why[0] != '\0' && s->with_ptx > 0) {
        char what[400];
        snprintf(what, sizeof what, "kernels cannot be compiled here: %.300s", engine_why);
        problem(d, what, "install a build with kernels enabled (LLVM)");
    }
}

static void judge_runtime(struct doctor *d, const struct binary *b)
{
    bool has_code = device_code_summary(d->code)->modules > 0;
    bool shared = json_object_array_length(d->majors) > 0 || d->foreign_runtime;
    const char *kind = shared ? "shared" : has_code ? "static" : "none";
    json_object_object_add(d->report, "runtime", json_object_new_string(kind));
    if (!binary_is_native(b)) {
        problem(d, "it is not built for 64-bit x86", "build it for this machine");
    } else if (!binary_is_dynamic(b)) {
        problem(d, "it is statically linked: no library can be put in front of it",
                "link it dynamically");
    }
    if (!shared && has_code) {
        problem(d,
                "the CUDA runtime is linked in statically, so its calls do not reach this library",
                "relink with nvcc -cudart shared; CMake: set CUDA_RUNTIME_LIBRARY to Shared");
    } else if (!shared) {
        problem(d, "it has no device code and needs no CUDA runtime",
                "if it opens CUDA plug-ins, examine those");
    }
}

static void print_list(const char *title, struct json_object *list)
{
    printf("%s", title);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        printf(" %s", json_object_get_string(json_object_array_get_idx(list, i)));
    }
    puts(json_object_array_length(list) == 0 ? " none" : "");
}

static void print_text(const struct doctor *d, const char *path, bool compiled)
{
    const struct device_code_summary *s = device_code_summary(d->code);
    printf("%s\n", path);
    printf("  CUDA runtime: %s\n",
           json_object_get_string(json_object_object_get(d->report, "runtime")));
    print_list("  front ends:  ", d->majors);
    printf("  functions:    %zu imported, %d of them not implemented, %d unknown\n", d->imports,
           json_object_object_length(d->unimplemented), json_object_object_length(d->absent));
    printf("  kernels:      %zu with PTX, %zu without", s->with_ptx, s->without_ptx);
    if (compiled && s->with_ptx > 0) {
        printf("; %zu compile", s->with_ptx - s->failed);
    }
    putchar('\n');
    size_t problems = json_object_array_length(d->problems);
    for (size_t i = 0; i < problems; i++) {
        struct json_object *one = json_object_array_get_idx(d->problems, i);
        printf("\n  - %s\n    what to do: %s\n",
               json_object_get_string(json_object_object_get(one, "what")),
               json_object_get_string(json_object_object_get(one, "advice")));
    }
    if (problems == 0) {
        printf("  nothing stands in its way: infinirt run %s\n", path);
    }
}

static void help(void)
{
    fputs(
        "usage: infinirt doctor [OPTION]... PROGRAM\n"
        "Reads PROGRAM (or a shared object) and the libraries that it loads, without running it,\n"
        "and says whether it can run through this library and what to do if not.\n\n"
        "  --no-compile       do not try to compile the kernels\n"
        "  --json             one JSON object\n"
        "  --help             this text\n\n"
        "Exit code: 0 nothing found, 1 something found, 2 the file cannot be examined.\n",
        stdout);
}

static int examine(const char *path, bool json, bool compile)
{
    char why[256] = "";
    struct binary *b = binary_open(path, why, sizeof why);
    if (!b || !binary_is_elf(b)) {
        complain("%s: %s", path, b ? "not an ELF file; for a script, examine what it runs" : why);
        binary_close(b);
        return EXIT_USAGE;
    }
    struct doctor d = {.report = json_object_new_object(),
                       .problems = json_object_new_array(),
                       .majors = json_object_new_array(),
                       .files = json_object_new_array(),
                       .absent = json_object_new_object(),
                       .unimplemented = json_object_new_object()};
    const struct engine *engine = compile ? engine_open(why, sizeof why) : NULL;
    d.code = device_code_create(engine);
    if (!d.code) {
        complain("out of memory");
        binary_close(b);
        return EXIT_USAGE;
    }
    json_object_object_add(d.report, "program", json_object_new_string(path));
    json_object_object_add(d.report, "majors", d.majors);
    json_object_object_add(d.report, "files", d.files);
    examine_file(&d, b, path);
    examine_loaded(&d, b, path);
    judge_runtime(&d, b);
    judge_names(&d, d.absent, "are in none of the releases known here");
    judge_names(&d, d.unimplemented, "are not implemented");
    judge_kernels(&d, why);
    json_object_object_add(d.report, "not_implemented", d.unimplemented);
    json_object_object_add(d.report, "unknown", d.absent);
    json_object_object_add(d.report, "problems", d.problems);
    if (json) {
        puts(json_object_to_json_string_ext(d.report, JSON_C_TO_STRING_PRETTY |
                                                          JSON_C_TO_STRING_NOSLASHESCAPE));
    } else {
        print_text(&d, path, engine != NULL);
    }
    int found = json_object_array_length(d.problems) > 0;
    json_object_put(d.report);
    device_code_destroy(d.code);
    binary_close(b);
    return found;
}

int verb_doctor(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, OPTION_JSON},
                                            {"no-compile", no_argument, NULL, OPTION_NO_COMPILE},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    bool json = false;
    bool compile = true;
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case OPTION_JSON:
            json = true;
            break;
        case OPTION_NO_COMPILE:
            compile = false;
            break;
        case 'h':
            help();
            return 0;
        default:
            return EXIT_USAGE;
        }
    }
    if (argc - optind != 1) {
        complain("one program, please (try `infinirt doctor --help`)");
        return EXIT_USAGE;
    }
    return examine(argv[optind], json, compile);
}
