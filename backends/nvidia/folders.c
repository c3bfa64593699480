// SPDX-License-Identifier: Apache-2.0
//
// What the dynamic loader knows: the folders it looks in, and what a loaded library says of itself.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "nvidia.h"

bool nvidia_loader_folders(bool (*visit)(const char *folder, void *user), void *user)
{
    void *program = dlopen(NULL, RTLD_LAZY);
    Dl_serinfo size;
    bool found = false;
    if (program && dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) {
        Dl_serinfo *info = calloc(1, size.dls_size);
        if (info && dlinfo(program, RTLD_DI_SERINFOSIZE, info) == 0 &&
            dlinfo(program, RTLD_DI_SERINFO, info) == 0) {
            for (unsigned i = 0; i < info->dls_cnt && !found; i++) {
                found = visit(info->dls_serpath[i].dls_name, user);
            }
        }
        free(info);
    }
    if (program) {
        dlclose(program);
    }
    return found;
}

// The first text of that tag in the dynamic section that fits, or NULL. In a loaded library d_ptr
// is an address.
static const char *dynamic_text(void *handle, ElfW(Sxword) tag, bool (*fits)(const char *))
{
    struct link_map *map;
    const char *strings = NULL;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map->l_ld) {
        return NULL;
    }
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_STRTAB) {
            strings = (const char *)d->d_un.d_ptr;
        }
    }
    for (const ElfW(Dyn) *d = map->l_ld; strings && d->d_tag != DT_NULL; d++) {
        if (d->d_tag == tag && fits(strings + d->d_un.d_val)) {
            return strings + d->d_un.d_val;
        }
    }
    return NULL;
}

static bool is_core(const char *name)
{
    return strncmp(name, "libinfinirt_core.so", 19) == 0;
}

static bool any(const char *name)
{
    (void)name;
    return true;
}

bool nvidia_is_ours(void *handle)
{
    return dynamic_text(handle, DT_NEEDED, is_core) != NULL;
}

const char *nvidia_soname_of(void *handle)
{
    const char *name = dynamic_text(handle, DT_SONAME, any);
    return name ? name : "";
}
