// SPDX-License-Identifier: Apache-2.0
//
// See debugger.h. gdb finds the two __jit_debug symbols by name in this module, sets a breakpoint
// on the function and reads the list; so they are exported. It costs nothing without a debugger.
// What gdb gets is a copy of the object with the address of the code filled in; it applies the
// relocations of the debug sections itself.
#include "debugger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "perf_jit.h"
#include "exec/code_map.h"
#include "exec/line_table.h"

// ---------------------------------------------------------------- gdb's interface

struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
};

struct jit_descriptor {
    uint32_t version;
    uint32_t action_flag;
    struct jit_code_entry *relevant_entry, *first_entry;
};

enum { JIT_NOACTION, JIT_REGISTER, JIT_UNREGISTER };

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): gdb looks for the names
extern struct jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code(void);

__attribute__((visibility("default"))) struct jit_descriptor __jit_debug_descriptor = {.version =
                                                                                           1};

__attribute__((visibility("default"), noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory"); // called, whatever the compiler knows of it
}

struct cpu_debug {
    struct exec_code *lines;
    struct jit_code_entry entry; // of gdb's list when symfile_addr is set
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // gdb's list, perf's files

static void enter(struct jit_code_entry *entry)
{
    entry->next_entry = __jit_debug_descriptor.first_entry;
    if (entry->next_entry) {
        entry->next_entry->prev_entry = entry;
    }
    __jit_debug_descriptor.first_entry = entry;
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_descriptor.action_flag = JIT_REGISTER;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
}

static void withdraw(struct jit_code_entry *entry)
{
    if (entry->prev_entry) {
        entry->prev_entry->next_entry = entry->next_entry;
    } else {
        __jit_debug_descriptor.first_entry = entry->next_entry;
    }
    if (entry->next_entry) {
        entry->next_entry->prev_entry = entry->prev_entry;
    }
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_descriptor.action_flag = JIT_UNREGISTER;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
    __jit_debug_descriptor.relevant_entry = NULL;
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

// Only the code has an address: no other section is named by the debug sections.
static char *patched_copy(const struct exec_object *object, uintptr_t text)
{
    char *copy = malloc(object->size);
    if (!copy) {
        return NULL;
    }
    memcpy(copy, object->data, object->size);
    Elf64_Shdr *sections =
        (void *)(copy + ((const unsigned char *)object->sections - object->data));
    for (unsigned i = 1; i < object->count; i++) {
        if (i == object->text) {
            sections[i].sh_addr = text;
        } else {
            sections[i].sh_flags &= ~(Elf64_Xword)SHF_ALLOC;
        }
    }
    return copy;
}

// ---------------------------------------------------------------- kernels

static bool text_address(const struct exec_object *object, uintptr_t thread, uintptr_t *ret_text)
{
    struct exec_object_function function;
    for (size_t n = 0; exec_object_function(object, n, &function); n++) {
        if (strcmp(function.name, "thread") == 0) {
            *ret_text = thread - function.start;
            return true;
        }
    }
    return false;
}

struct cpu_debug *cpu_debug_add(const char *name, const void *object, size_t size, uintptr_t thread)
{
    struct exec_object o;
    uintptr_t text;
    if (!object || !exec_object_open(object, size, &o) || !text_address(&o, thread, &text)) {
        return NULL;
    }
    struct cpu_debug *debug = calloc(1, sizeof *debug);
    if (!debug) {
        return NULL;
    }
    if (exec_object_section(&o, ".debug_line")) {
        debug->lines = exec_code_add(object, size, text);
        debug->entry.symfile_addr = patched_copy(&o, text);
        debug->entry.symfile_size = size;
    }
    pthread_mutex_lock(&lock);
    if (debug->entry.symfile_addr) {
        enter(&debug->entry);
    }
    if (cpu.perf != CPU_PERF_OFF) {
        cpu_perf_write(cpu.perf, name, &o, text);
    }
    pthread_mutex_unlock(&lock);
    return debug;
}

struct cpu_debug *cpu_debug_remove(struct cpu_debug *debug)
{
    if (debug) {
        exec_code_remove(debug->lines);
        if (debug->entry.symfile_addr) {
            pthread_mutex_lock(&lock);
            withdraw(&debug->entry);
            pthread_mutex_unlock(&lock);
            free((void *)debug->entry.symfile_addr);
        }
        free(debug);
    }
    return NULL;
}
