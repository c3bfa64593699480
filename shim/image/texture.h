// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects: 64-bit values that kernels take, made by the backend from what the
// descriptors say. texture.c owns the objects and their checks; texref.c makes some for the
// references of CUDA 11 programs.
#pragma once

#include <stdint.h>

#include <driver_types.h>
#include <texture_types.h>

#include "shim/core/device.h"

// An object on the current device that no handle of the application names. Any thread. Errors:
// those of cudaCreateTextureObject and cudaCreateSurfaceObject.
cudaError_t irt_texture_create(const struct cudaResourceDesc *resource,
                               const struct cudaTextureDesc *texture,
                               const struct cudaResourceViewDesc *view, uint64_t *ret_object);
cudaError_t irt_surface_create(const struct cudaResourceDesc *resource, uint64_t *ret_object);

// Destroys every object of the device (for cudaDeviceReset, after all work has ended).
void irt_texture_reset_device(struct irt_device *device);
