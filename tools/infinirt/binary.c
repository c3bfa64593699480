// SPDX-License-Identifier: Apache-2.0
//
// See binary.h.
#include "binary.h"

#include <gelf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct binary {
    int fd;
    Elf *elf; // NULL when the file is not ELF
    GElf_Ehdr header;
    char *interpreter; // malloc'ed or NULL
};

static void read_interpreter(struct binary *b)
{
    size_t count;
    if (elf_getphdrnum(b->elf, &count) != 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        if (!gelf_getphdr(b->elf, (int)i, &segment) || segment.p_type != PT_INTERP) {
            continue;
        }
        size_t size;
        const char *image = elf_rawfile(b->elf, &size);
        if (image && segment.p_offset < size && segment.p_filesz <= size - segment.p_offset) {
            b->interpreter = strndup(image + segment.p_offset, segment.p_filesz);
        }
        return;
    }
}

struct binary *binary_open(const char *path, char *ret_why, size_t why_size)
{
    struct stat status;
    struct binary *b = calloc(1, sizeof *b);
    if (!b) {
        snprintf(ret_why, why_size, "out of memory");
        return NULL;
    }
    b->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (b->fd < 0 || fstat(b->fd, &status) != 0) {
        snprintf(ret_why, why_size, "%s", strerror(errno));
        return binary_close(b);
    }
    if (!S_ISREG(status.st_mode)) {
        snprintf(ret_why, why_size, "not a regular file");
        return binary_close(b);
    }
    elf_version(EV_CURRENT);
    b->elf = elf_begin(b->fd, ELF_C_READ_MMAP, NULL);
    if (b->elf && (elf_kind(b->elf) != ELF_K_ELF || !gelf_getehdr(b->elf, &b->header))) {
        elf_end(b->elf);
        b->elf = NULL;
    }
    if (b->elf) {
        read_interpreter(b);
    }
    return b;
}

struct binary *binary_close(struct binary *b)
{
    if (b) {
        if (b->elf) {
            elf_end(b->elf);
        }
        if (b->fd >= 0) {
            close(b->fd);
        }
        free(b->interpreter);
        free(b);
    }
    return NULL;
}

bool binary_is_elf(const struct binary *b)
{
    return b->elf != NULL;
}

bool binary_is_native(const struct binary *b)
{
    return b->elf && b->header.e_machine == EM_X86_64 && b->header.e_ident[EI_CLASS] == ELFCLASS64;
}

const char *binary_interpreter(const struct binary *b)
{
    return b->interpreter;
}

// The first section of that type, with its header.
static Elf_Scn *section_of_type(Elf *elf, GElf_Word type, GElf_Shdr *ret_header)
{
    for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
        if (gelf_getshdr(s, ret_header) && ret_header->sh_type == type) {
            return s;
        }
    }
    return NULL;
}

bool binary_is_dynamic(const struct binary *b)
{
    GElf_Shdr header;
    return b->elf && section_of_type(b->elf, SHT_DYNAMIC, &header);
}

bool binary_section(const struct binary *b, const char *name, size_t index, const void **ret_data,
                    size_t *ret_size)
{
    size_t names;
    if (!b->elf || elf_getshdrstrndx(b->elf, &names) != 0) {
        return false;
    }
    for (Elf_Scn *s = elf_nextscn(b->elf, NULL); s; s = elf_nextscn(b->elf, s)) {
        GElf_Shdr header;
        const char *own;
        if (!gelf_getshdr(s, &header) || header.sh_type == SHT_NOBITS ||
            !(own = elf_strptr(b->elf, names, header.sh_name)) || strcmp(own, name) != 0) {
            continue;
        }
        if (index-- > 0) {
            continue;
        }
        Elf_Data *data = elf_rawdata(s, NULL);
        if (!data || !data->d_buf) {
            return false;
        }
        *ret_data = data->d_buf;
        *ret_size = data->d_size;
        return true;
    }
    return false;
}

// Library that version index `version` of the version-needs section is bound to, or NULL.
static const char *library_of_version(Elf *elf, GElf_Half version)
{
    GElf_Shdr header;
    Elf_Scn *section = section_of_type(elf, SHT_GNU_verneed, &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    size_t at = 0;
    GElf_Verneed need;
    while (data && at < data->d_size && gelf_getverneed(data, (int)at, &need)) {
        size_t inner = at + need.vn_aux;
        GElf_Vernaux one;
        for (unsigned i = 0; i < need.vn_cnt && inner < data->d_size; i++) {
            if (!gelf_getvernaux(data, (int)inner, &one)) {
                break;
            }
            if ((one.vna_other & 0x7fff) == version) {
                return elf_strptr(elf, header.sh_link, need.vn_file);
            }
            if (one.vna_next == 0) {
                break;
            }
            inner += one.vna_next;
        }
        if (need.vn_next == 0) {
            break;
        }
        at += need.vn_next;
    }
    return NULL;
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

void binary_imports(const struct binary *b, const char *library,
                    void (*visit)(void *user, const char *name, const char *from), void *user)
{
    GElf_Shdr header, versions_header;
    Elf_Scn *section = b->elf ? section_of_type(b->elf, SHT_DYNSYM, &header) : NULL;
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    Elf_Scn *versions = section ? section_of_type(b->elf, SHT_GNU_versym, &versions_header) : NULL;
    Elf_Data *version_data = versions ? elf_getdata(versions, NULL) : NULL;
    GElf_Sym symbol;
    for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
        const char *name = symbol.st_shndx == SHN_UNDEF
                               ? elf_strptr(b->elf, header.sh_link, symbol.st_name)
                               : NULL;
        if (!name) {
            continue;
        }
        GElf_Versym version = 0;
        if (version_data) {
            gelf_getversym(version_data, i, &version);
        }
        const char *from =
            (version & 0x7fff) > 1 ? library_of_version(b->elf, version & 0x7fff) : NULL;
        if (from ? begins(from, library) : begins(name, "cuda") || begins(name, "__cuda")) {
            visit(user, name, from);
        }
    }
}

void binary_device_kernels(const void *image, size_t size,
                           void (*visit)(void *user, const char *name), void *user)
{
    static const char prefix[] = ".nv.constant0."; // parameters: only kernels have them
    elf_version(EV_CURRENT);
    // libelf wants a writable buffer type but does not write for ELF_C_READ.
    Elf *elf = elf_memory((char *)image, size);
    size_t names;
    if (elf && elf_kind(elf) == ELF_K_ELF && elf_getshdrstrndx(elf, &names) == 0) {
        for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
            GElf_Shdr header;
            const char *name =
                gelf_getshdr(s, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
            if (name && begins(name, prefix)) {
                visit(user, name + sizeof prefix - 1);
            }
        }
    }
    if (elf) {
        elf_end(elf);
    }
}

// One line of the loader's trace: "\tNAME => FILE (0x…)", "\tNAME => not found" or "\tFILE (0x…)".
static void visit_line(char *line, void (*visit)(void *user, const char *name, const char *file),
                       void *user)
{
    char *name = line + strspn(line, " \t");
    name[strcspn(name, "\n")] = '\0';
    char *address = strstr(name, " (0x");
    if (address) {
        *address = '\0';
    }
    char *arrow = strstr(name, " => ");
    if (!arrow) {
        if (address && name[0] == '/') { // not the kernel's own linux-vdso.so.1
            visit(user, name, name);
        }
        return;
    }
    *arrow = '\0';
    const char *file = arrow + 4;
    visit(user, name, strcmp(file, "not found") == 0 ? NULL : file);
}

// The environment of this process with the loader's trace switched on, as ldd does: unlike
// `ld.so --list` it goes on when a library is missing. NULL when out of memory.
static char **trace_environment(void)
{
    static char trace[] = "LD_TRACE_LOADED_OBJECTS=1";
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    char **copy = calloc(count + 2, sizeof *copy);
    if (copy) {
        memcpy(copy, environ, count * sizeof *copy);
        copy[count] = trace;
    }
    return copy;
}

bool binary_loaded(const char *path, const char *interpreter,
                   void (*visit)(void *user, const char *name, const char *file), void *user)
{
    int ends[2];
    char *absolute = realpath(path, NULL); // the loader searches for a name without a slash
    char **environment = trace_environment();
    if (!absolute || !environment || pipe2(ends, O_CLOEXEC) != 0) {
        free(absolute);
        free(environment);
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    char *arguments[] = {(char *)interpreter, absolute, NULL};
    pid_t child;
    int error = posix_spawn(&child, interpreter, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(absolute);
    free(environment);
    close(ends[1]);
    FILE *in = error == 0 ? fdopen(ends[0], "r") : NULL;
    if (!in) {
        close(ends[0]);
    }
    char *line = NULL;
    size_t capacity = 0;
    while (in && getline(&line, &capacity, in) >= 0) {
        visit_line(line, visit, user);
    }
    free(line);
    if (in) {
        fclose(in);
    }
    if (error == 0) {
        int status;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    return error == 0;
}
