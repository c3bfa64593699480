// SPDX-License-Identifier: Apache-2.0
//
// See ptx_module.h. Layout of wrapper, header and entry: an nvcc fat binary; the entry header here
// is 0x50 bytes with an empty option block, the payload is padded to 8 bytes.
#include "ptx_module.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *tid, void *bid, void *block, void *grid,
                            int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
                       size_t size, int constant, int global);

struct header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size;
};

struct entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t payload_size;
    uint32_t compressed_size, options_offset;
    uint16_t minor, major;
    uint32_t sm, ident_offset, ident_length;
    uint64_t flags, reserved, uncompressed_size;
    uint32_t options_at, options_length;
    uint64_t pad;
};

struct ptx_module {
    struct {
        uint32_t magic, version;
        const void *data;
        void *more;
    } wrapper;
    void **handle;
    unsigned char *image;
    char *stubs;
};

unsigned char *ptx_image(const char *text, size_t *ret_size)
{
    size_t length = strlen(text) + 1, padded = (length + 7) / 8 * 8;
    struct header header = {0xBA55ED50u, 1, sizeof header, sizeof(struct entry) + padded};
    struct entry entry = {.kind = 1,
                          .version = 0x0101,
                          .header_size = sizeof entry,
                          .payload_size = padded,
                          .options_offset = 0x40,
                          .major = 7,
                          .sm = 80,
                          .flags = 0x11};
    unsigned char *image = calloc(1, sizeof header + sizeof entry + padded);
    if (image) {
        memcpy(image, &header, sizeof header);
        memcpy(image + sizeof header, &entry, sizeof entry);
        memcpy(image + sizeof header + sizeof entry, text, length);
        *ret_size = sizeof header + sizeof entry + padded;
    }
    return image;
}

struct ptx_module *ptx_module_register(const char *text, const char *const *names, size_t count)
{
    size_t size;
    struct ptx_module *module = calloc(1, sizeof *module);
    unsigned char *image = ptx_image(text, &size);
    char *stubs = calloc(count ? count : 1, 1);
    if (!module || !image || !stubs) {
        free(module);
        free(image);
        free(stubs);
        return NULL;
    }
    module->image = image;
    module->stubs = stubs;
    module->wrapper.magic = 0x466243B1u;
    module->wrapper.version = 1;
    module->wrapper.data = image;
    module->handle = __cudaRegisterFatBinary(&module->wrapper);
    for (size_t i = 0; i < count; i++) {
        char *name = (char *)(uintptr_t)names[i];
        __cudaRegisterFunction(module->handle, &stubs[i], name, name, -1, NULL, NULL, NULL, NULL,
                               NULL);
    }
    return module;
}

const void *ptx_module_stub(const struct ptx_module *module, size_t index)
{
    return &module->stubs[index];
}

void ptx_module_variable(struct ptx_module *module, void *host, const char *name, size_t size,
                         int constant)
{
    __cudaRegisterVar(module->handle, host, (char *)(uintptr_t)name, name, 0, size, constant, 0);
}

void **ptx_module_handle(const struct ptx_module *module)
{
    return module->handle;
}

void ptx_module_end(struct ptx_module *module)
{
    __cudaRegisterFatBinaryEnd(module->handle);
}

void ptx_module_unregister(struct ptx_module *module)
{
    __cudaUnregisterFatBinary(module->handle);
    free(module->image);
    free(module->stubs);
    free(module);
}
