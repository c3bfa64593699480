// SPDX-License-Identifier: Apache-2.0
//
// See perf_jit.h. The formats are those of perf's jit-interface.txt and jitdump-specification.txt.
#include "perf_jit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu.h"
#include "exec/exec_util.h"
#include "shim/util/demangle.h"

enum { NAME_SIZE = 1024 };

static struct {
    FILE *file;
    pid_t pid; // that it is of; a forked process has none
    uint64_t index;
} out;

// A file of this name in /tmp, as perf wants it; never through a link, never another user's.
static FILE *open_file(enum cpu_perf mode)
{
    char path[64];
    bool map = mode == CPU_PERF_MAP;
    snprintf(path, sizeof path, "/tmp/%s-%ld.%s", map ? "perf" : "jit", (long)getpid(),
             map ? "map" : "dump");
    unlink(path); // of an earlier process of this number
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        CPU_LOG("cpu", CPU_WARN, "INFINIRT_PERF: %s cannot be written: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
    }
    return file;
}

// ---------------------------------------------------------------- jitdump

enum { DUMP_MAGIC = 0x4A695444, DUMP_VERSION = 1, CODE_LOAD = 0, DEBUG_INFO = 2 };

struct dump_header {
    uint32_t magic, version, size, machine, padding, pid;
    uint64_t timestamp, flags;
};

struct dump_record {
    uint32_t id, size;
    uint64_t timestamp;
};

struct dump_code {
    struct dump_record record;
    uint32_t pid, tid;
    uint64_t vma, address, size, index;
};

struct dump_lines {
    struct dump_record record;
    uint64_t address, count;
};

struct dump_line {
    uint64_t address;
    uint32_t line, discriminator;
};

static void begin_dump(FILE *file, const struct exec_object *object)
{
    const Elf64_Ehdr *elf = (const void *)object->data;
    struct dump_header header = {
        .magic = DUMP_MAGIC,
        .version = DUMP_VERSION,
        .size = sizeof header,
        .machine = elf->e_machine,
        .pid = (uint32_t)getpid(),
        .timestamp = exec_now(),
    };
    fwrite(&header, sizeof header, 1, file);
    fflush(file);
    // perf finds the file by this mapping; it stays for as long as the process.
    void *mark = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE,
                      fileno(file), 0);
    if (mark == MAP_FAILED) {
        CPU_LOG("cpu", CPU_WARN, "INFINIRT_PERF: the dump cannot be mapped: %s", strerror(errno));
    }
}

struct lines {
    const struct exec_object_function *function;
    uintptr_t text;
    FILE *file; // NULL: only count
    uint64_t count, bytes;
};

static bool add_line(void *data, const struct exec_line *row)
{
    struct lines *l = data;
    const struct exec_object_function *f = l->function;
    if (row->end || row->line == 0 || row->start < f->start || row->start >= f->start + f->size) {
        return true;
    }
    struct dump_line line = {.address = l->text + row->start, .line = row->line};
    bool folder = *row->folder != '\0';
    l->count++;
    l->bytes += sizeof line + strlen(row->folder) + folder + strlen(row->file) + 1;
    if (l->file) {
        fwrite(&line, sizeof line, 1, l->file);
        fprintf(l->file, "%s%s%s%c", row->folder, folder ? "/" : "", row->file, '\0');
    }
    return true;
}

static void dump_function(const char *name, const struct exec_object *object, uintptr_t text,
                          const struct exec_object_function *f)
{
    uint64_t now = exec_now();
    struct lines lines = {.function = f, .text = text};
    exec_object_lines(object, add_line, &lines);
    if (lines.count) { // before the code that they are of
        struct dump_lines head = {
            .record = {DEBUG_INFO, (uint32_t)(sizeof head + lines.bytes), now},
            .address = text + f->start,
            .count = lines.count,
        };
        fwrite(&head, sizeof head, 1, out.file);
        lines.file = out.file;
        exec_object_lines(object, add_line, &lines);
    }
    size_t length = strlen(name) + 1;
    struct dump_code code = {
        .record = {CODE_LOAD, (uint32_t)(sizeof code + length + f->size), now},
        .pid = (uint32_t)getpid(),
        .tid = (uint32_t)syscall(SYS_gettid),
        .vma = text + f->start,
        .address = text + f->start,
        .size = f->size,
        .index = out.index++,
    };
    fwrite(&code, sizeof code, 1, out.file);
    fwrite(name, length, 1, out.file);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the code as it was linked
    fwrite((const void *)(text + f->start), f->size, 1, out.file);
}

// ---------------------------------------------------------------- functions

void cpu_perf_write(enum cpu_perf mode, const char *name, const struct exec_object *object,
                    uintptr_t text)
{
    if (out.pid != getpid()) { // also after a failure: said once
        out.pid = getpid();
        out.file = open_file(mode);
        if (out.file && mode == CPU_PERF_DUMP) {
            begin_dump(out.file, object);
        }
    }
    if (!out.file) {
        return;
    }
    char people[NAME_SIZE], full[NAME_SIZE + 32];
    irt_demangle(name, people, sizeof people);
    struct exec_object_function f;
    for (size_t n = 0; exec_object_function(object, n, &f); n++) {
        bool kernel = strcmp(f.name, "thread") == 0 || strcmp(f.name, "block") == 0;
        snprintf(full, sizeof full, kernel ? "%s" : "%s: %s", people, f.name);
        if (mode == CPU_PERF_MAP) {
            uint64_t address = text + f.start;
            fprintf(out.file, "%" PRIx64 " %" PRIx64 " %s\n", address, f.size, full);
        } else if (f.size != 0) {
            dump_function(full, object, text, &f);
        }
    }
    fflush(out.file);
}
