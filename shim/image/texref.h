// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface references of CUDA 11 programs: variables of a module that hold the value of
// a texture or surface object on each device, set by the bind functions. compat/cuda11/texref.c
// reads the structs that the program has; this knows only the address of each (its host twin).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <driver_types.h>
#include <texture_types.h>

#include "shim/core/device.h"

enum irt_reference_kind { IRT_REFERENCE_TEXTURE, IRT_REFERENCE_SURFACE };

// Records a reference of the module `handle` (what __cudaRegisterFatBinary returned). Any thread,
// before main, too.
void irt_texref_register(void **handle, const void *host, const char *name,
                         enum irt_reference_kind kind, bool normalized_read);

// Forgets the references of a module that goes away.
void irt_texref_forget(void *const *handle);

// cudaErrorInvalidTexture (18) or cudaErrorInvalidSurface (37) unless `host` is a registered
// reference of that kind; `ret_normalized_read` (may be NULL): its read mode.
cudaError_t irt_texref_check(const void *host, enum irt_reference_kind kind,
                             bool *ret_normalized_read);

// Makes an object on the current device and gives it to the kernels of the reference's module
// there; what was bound before is unbound. Waits for the device's work, which may use that.
// `offset` is what irt_texref_offset answers. Errors: of irt_texture_create, irt_surface_create, of
// loading the module, and faults. Hold no lock.
cudaError_t irt_texref_bind(const void *host, const struct cudaResourceDesc *resource,
                            const struct cudaTextureDesc *texture, size_t offset);
cudaError_t irt_texref_bind_surface(const void *host, const struct cudaResourceDesc *resource);
cudaError_t irt_texref_unbind(const void *host);

// cudaErrorInvalidTextureBinding (19) when nothing is bound on the current device.
cudaError_t irt_texref_offset(const void *host, size_t *ret_offset);

// Unbinds everything on the device (for cudaDeviceReset).
void irt_texref_reset_device(struct irt_device *device);
