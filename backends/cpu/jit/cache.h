// SPDX-License-Identifier: Apache-2.0
//
// Objects of compiled kernels on disk; where and how much, see shim/util/cache_folder.h. The key is
// a hash of the module before optimisation and of everything else that shapes the code: LLVM,
// processor, pipeline, kernel ABI. Files are written whole and renamed, and carry a checksum: a
// damaged one is as good as none. Any thread, any number of processes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llvm-c/Core.h>

struct cache_key {
    uint8_t hash[32];
};

// False when there is no cache (then the other two must not be called).
bool cache_make_key(LLVMModuleRef module, const char *recipe, struct cache_key *ret_key);
// The object, or false. The buffer is the caller's.
bool cache_read(const struct cache_key *key, LLVMMemoryBufferRef *ret_object);
// Best effort: a full disk keeps nothing.
void cache_write(const struct cache_key *key, LLVMMemoryBufferRef object);
