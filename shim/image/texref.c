// SPDX-License-Identifier: Apache-2.0
//
// Bindings of texture and surface references, per device. The value that kernels read lies in the
// module's variable, which is found like any other variable; a launch that is already enqueued has
// the old one, so a change waits for the device's work.
#include "shim/image/texref.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "irt_core.h"
#include "shim/core/copy.h"
#include "shim/core/module.h"
#include "shim/image/texture.h"
#include "shim/dispatch/backend.h"
#include "shim/util/log.h"

struct binding {
    uint64_t object; // 0: none
    size_t offset;
};

struct reference {
    const void *host;
    void *const *module;
    enum irt_reference_kind kind;
    bool normalized_read;
    struct binding *bindings; // by device ordinal; NULL before the first
    UT_hash_handle hh;
};

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_HANDLE); // guards the table and its records
static struct reference *references;

static void destroy(enum irt_reference_kind kind, uint64_t object)
{
    if (object && kind == IRT_REFERENCE_SURFACE) {
        irt_backend()->surface_destroy(object);
    } else if (object) {
        irt_backend()->texture_destroy(object);
    }
}

static struct reference *find_locked(const void *host)
{
    struct reference *reference = NULL;
    HASH_FIND_PTR(references, &host, reference);
    return reference;
}

// ---- registration ----

void irt_texref_register(void **handle, const void *host, const char *name,
                         enum irt_reference_kind kind, bool normalized_read)
{
    struct reference *reference = host && name ? calloc(1, sizeof(*reference)) : NULL;
    if (!reference) {
        irt_log("module", IRT_LOG_ERROR, "reference %s cannot be registered", name ? name : "");
        return;
    }
    *reference = (struct reference){
        .host = host, .module = handle, .kind = kind, .normalized_read = normalized_read};
    irt_mutex_lock(&lock);
    struct reference *older = find_locked(host);
    if (older) {
        HASH_DEL(references, older);
    }
    HASH_ADD_PTR(references, host, reference);
    irt_mutex_unlock(&lock);
    if (older) {
        free(older->bindings);
        free(older);
    }
    // The variable itself: a slot for the value of an object.
    irt_core___cudaRegisterVar(handle, (char *)host, NULL, name, 0, sizeof(uint64_t), 0, 0);
}

// The objects of a record that no table holds any more.
static void discard(struct reference *reference)
{
    bool alive = irt_module_may_wait(); // else the objects stay
    for (int i = 0; reference->bindings && alive && i < irt_device_count(); i++) {
        destroy(reference->kind, reference->bindings[i].object);
    }
    free(reference->bindings);
    free(reference);
}

void irt_texref_forget(void *const *handle)
{
    struct reference *reference;
    struct reference *next;
    struct reference *gone = NULL;
    irt_mutex_lock(&lock);
    HASH_ITER(hh, references, reference, next)
    {
        if (reference->module == handle) {
            HASH_DEL(references, reference);
            reference->hh.next = gone;
            gone = reference;
        }
    }
    irt_mutex_unlock(&lock);
    while (gone) {
        reference = gone;
        gone = reference->hh.next;
        discard(reference);
    }
}

cudaError_t irt_texref_check(const void *host, enum irt_reference_kind kind,
                             bool *ret_normalized_read)
{
    irt_mutex_lock(&lock);
    const struct reference *reference = find_locked(host);
    bool known = reference && reference->kind == kind;
    if (known && ret_normalized_read) {
        *ret_normalized_read = reference->normalized_read;
    }
    irt_mutex_unlock(&lock);
    if (known) {
        return cudaSuccess;
    }
    return kind == IRT_REFERENCE_TEXTURE ? cudaErrorInvalidTexture : cudaErrorInvalidSurface;
}

// ---- binding ----

// Puts the value where kernels of the current device read it.
static cudaError_t set_variable(const void *host, uint64_t value)
{
    void *slot;
    size_t size;
    cudaError_t error = irt_symbol_find(host, irt_device_current(), &slot, &size);
    if (error == cudaErrorInvalidSymbol) {
        return cudaSuccess; // no kernel uses it: the compiler dropped it
    }
    if (!error) {
        error = irt_device_drain(irt_device_current());
    }
    if (error) {
        return error;
    }
    const struct irtb_copy box = {.dst = slot,
                                  .src = &value,
                                  .width = sizeof(value),
                                  .height = 1,
                                  .depth = 1,
                                  .dst_pitch = sizeof(value),
                                  .src_pitch = sizeof(value)};
    return irt_copy_run(&box, cudaMemcpyHostToDevice, cudaStreamLegacy, IRT_COPY_BLOCKING);
}

// Makes `binding` the record's binding on the current device; returns the old one. False without
// memory or when the record is gone.
static bool exchange(const void *host, struct binding binding, struct binding *ret_old)
{
    irt_mutex_lock(&lock);
    struct reference *reference = find_locked(host);
    if (reference && !reference->bindings) {
        reference->bindings = calloc((size_t)irt_device_count(), sizeof(*reference->bindings));
    }
    struct binding *bindings = reference ? reference->bindings : NULL;
    if (bindings) {
        int ordinal = irt_device_current()->ordinal;
        *ret_old = bindings[ordinal];
        bindings[ordinal] = binding;
    }
    irt_mutex_unlock(&lock);
    return bindings != NULL;
}

static cudaError_t rebind(const void *host, enum irt_reference_kind kind, struct binding binding)
{
    struct binding old;
    cudaError_t error = set_variable(host, binding.object);
    if (!error && !exchange(host, binding, &old)) {
        error = cudaErrorMemoryAllocation;
    }
    destroy(kind, error ? binding.object : old.object);
    return error;
}

cudaError_t irt_texref_bind(const void *host, const struct cudaResourceDesc *resource,
                            const struct cudaTextureDesc *texture, size_t offset)
{
    struct binding binding = {.offset = offset};
    cudaError_t error = irt_texref_check(host, IRT_REFERENCE_TEXTURE, NULL);
    if (!error) {
        error = irt_texture_create(resource, texture, NULL, &binding.object);
    }
    return error ? error : rebind(host, IRT_REFERENCE_TEXTURE, binding);
}

cudaError_t irt_texref_bind_surface(const void *host, const struct cudaResourceDesc *resource)
{
    struct binding binding = {0};
    cudaError_t error = irt_texref_check(host, IRT_REFERENCE_SURFACE, NULL);
    if (!error) {
        error = irt_surface_create(resource, &binding.object);
    }
    return error ? error : rebind(host, IRT_REFERENCE_SURFACE, binding);
}

// The binding on the current device; object 0 for none.
static struct binding current_binding(const void *host)
{
    struct binding binding = {0};
    irt_mutex_lock(&lock);
    const struct reference *reference = find_locked(host);
    if (reference && reference->bindings) {
        binding = reference->bindings[irt_device_current()->ordinal];
    }
    irt_mutex_unlock(&lock);
    return binding;
}

cudaError_t irt_texref_unbind(const void *host)
{
    cudaError_t error = irt_texref_check(host, IRT_REFERENCE_TEXTURE, NULL);
    if (error || !current_binding(host).object) {
        return error;
    }
    return rebind(host, IRT_REFERENCE_TEXTURE, (struct binding){0});
}

cudaError_t irt_texref_offset(const void *host, size_t *ret_offset)
{
    cudaError_t error = irt_texref_check(host, IRT_REFERENCE_TEXTURE, NULL);
    if (error) {
        return error;
    }
    struct binding binding = current_binding(host);
    if (!binding.object) {
        return cudaErrorInvalidTextureBinding;
    }
    *ret_offset = binding.offset;
    return cudaSuccess;
}

void irt_texref_reset_device(struct irt_device *device)
{
    struct reference *reference;
    struct reference *next;
    irt_mutex_lock(&lock);
    HASH_ITER(hh, references, reference, next)
    {
        if (reference->bindings) {
            destroy(reference->kind, reference->bindings[device->ordinal].object);
            reference->bindings[device->ordinal] = (struct binding){0};
        }
    }
    irt_mutex_unlock(&lock);
}
