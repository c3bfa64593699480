// SPDX-License-Identifier: Apache-2.0
//
// LLVM as a service to jit.c: the host processor, optimisation, object code, and code in memory.
// Installs the handlers that keep LLVM from ending the process. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <llvm-c/Core.h>

struct orc_code; // machine code in memory

const char *orc_cpu(void);
const char *orc_features(void);
bool orc_has_feature(const char *name); // "f16c"

// Runs work(data) such that a fatal error of LLVM returns here: 0, what work returns, or -1 with
// the message. What LLVM had allocated is lost in that case.
int orc_guard(int (*work)(void *data), void *data, char *message, size_t message_size);

// The passes that a module of so many instructions gets (part of the key of the disk cache).
const char *orc_recipe(size_t instructions);

// Optimises the module (effort by `instructions`) and generates an object file. 0 or -1 with a
// message; the buffer is the caller's.
int orc_generate(LLVMModuleRef module, size_t instructions, LLVMMemoryBufferRef *ret_object,
                 char *message, size_t message_size);

// Links the object (consumed) into memory. 0 or -1 with a message.
int orc_load(LLVMMemoryBufferRef object, struct orc_code **ret_code, char *message,
             size_t message_size);
// Address of a function, or NULL.
void *orc_find(struct orc_code *code, const char *name);
struct orc_code *orc_unload(struct orc_code *code); // NULL ok; returns NULL
