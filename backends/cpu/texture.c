// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects: makes the descriptors of image.h that kernels read. A descriptor is
// constant. A destroyed one stays good until its device is at rest, since enqueued kernels may read
// it; then it loses its magic number, and many others are made before its place is used again, so
// that a stale handle is a fault and not another texture.
// Called through backend.h by the shim, which has checked what the descriptors say.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cpu.h"

enum {
    KEPT = 1024, // destroyed descriptors before the oldest is used again
};

struct texture_record {
    struct exec_texture texture; // first: its address is the object
    struct exec_image_level levels[CPU_ARRAY_LEVELS];
};

struct record {
    union {
        struct texture_record texture;
        struct exec_surface surface;
    };
    int device;
    bool is_surface;
    struct record *next; // of a list below
};

static struct {
    pthread_mutex_t lock;
    struct record *first, **end; // free ones, the oldest first
    size_t count;
    struct record *condemned; // destroyed ones that enqueued work may still read
} unused = {.lock = PTHREAD_MUTEX_INITIALIZER, .end = &unused.first};

static void give_locked(struct record *record)
{
    if (record->is_surface) {
        record->surface.magic = 0;
    } else {
        record->texture.texture.magic = 0;
    }
    record->next = NULL;
    *unused.end = record;
    unused.end = &record->next;
    unused.count++;
}

// Gives up what was destroyed on devices that have come to rest since.
static void sweep_locked(void)
{
    int asked = -1;
    bool idle = false;
    for (struct record **link = &unused.condemned; *link;) {
        struct record *record = *link;
        if (record->device != asked) {
            asked = record->device;
            idle = exec_device_is_idle(&cpu.devices[asked].exec);
        }
        if (idle) {
            *link = record->next;
            give_locked(record);
        } else {
            link = &record->next;
        }
    }
}

static void destroy(struct record *record)
{
    pthread_mutex_lock(&unused.lock);
    record->next = unused.condemned;
    unused.condemned = record;
    sweep_locked();
    pthread_mutex_unlock(&unused.lock);
}

// A cleared record. NULL without memory.
static struct record *take(int device, bool is_surface)
{
    struct record *record = NULL;
    pthread_mutex_lock(&unused.lock);
    sweep_locked();
    if (unused.count > KEPT) {
        record = unused.first;
        unused.first = record->next;
        if (!unused.first) {
            unused.end = &unused.first;
        }
        unused.count--;
    }
    pthread_mutex_unlock(&unused.lock);
    if (!record) {
        record = malloc(sizeof *record);
    }
    if (record) {
        memset(record, 0, sizeof *record);
        record->device = device;
        record->is_surface = is_surface;
    }
    return record;
}

// ---- textures ----

// Slices of one layer; 0 for kinds without layers.
static uint32_t slices_per_layer(uint8_t kind)
{
    switch (kind) {
    case EXEC_IMAGE_1D_LAYERED:
    case EXEC_IMAGE_2D_LAYERED:
        return 1;
    case EXEC_IMAGE_CUBE_LAYERED:
        return 6;
    default:
        return 0;
    }
}

// The levels and layers of an array that a view selects.
static void select_levels(struct texture_record *record, const struct irtb_image *image,
                          const struct cudaResourceViewDesc *view, const struct cpu_format *format)
{
    const struct irtb_array *array = image->array;
    uint32_t layer_size = slices_per_layer(array->kind);
    bool whole = image->type == cudaResourceTypeMipmappedArray;
    unsigned first = whole ? 0 : image->level;
    unsigned last = whole ? array->level_count - 1 : image->level;
    if (view && whole) {
        last = first + view->lastMipmapLevel;
        first += view->firstMipmapLevel;
    }
    record->texture.kind = array->kind;
    record->texture.level_count = last - first + 1;
    for (unsigned i = first; i <= last; i++) {
        struct exec_image_level *level = &record->levels[i - first];
        *level = array->levels[i];
        if (view && layer_size) {
            level->base += (size_t)view->firstLayer * layer_size * level->slice_pitch;
            level->depth = (view->lastLayer - view->firstLayer + 1) * layer_size;
        }
        if (format->block > array->format.block) { // the array holds blocks as its elements
            level->width *= format->block;
            level->height *= format->block;
        }
    }
}

static void select_memory(struct texture_record *record, const struct irtb_image *image)
{
    bool linear = image->type == cudaResourceTypeLinear;
    record->texture.kind = linear ? EXEC_IMAGE_LINEAR : EXEC_IMAGE_2D;
    record->texture.level_count = 1;
    record->levels[0] = (struct exec_image_level){
        .base = image->ptr,
        .width = (uint32_t)image->width,
        .height = (uint32_t)image->height,
        .depth = 1,
        .row_pitch = image->pitch,
        .slice_pitch = image->pitch * image->height,
    };
}

// Whether reads of that type can be converted to normalised floats.
static bool normalizable(uint8_t channel)
{
    return channel == EXEC_CHANNEL_U8 || channel == EXEC_CHANNEL_S8 ||
           channel == EXEC_CHANNEL_U16 || channel == EXEC_CHANNEL_S16;
}

static void set_sampling(struct exec_texture *t, const struct cudaTextureDesc *desc,
                         const struct cpu_format *format)
{
    t->normalized_read = desc->readMode == cudaReadModeNormalizedFloat && normalizable(t->channel);
    t->normalized_coords = desc->normalizedCoords != 0;
    t->srgb = format->srgb || desc->sRGB != 0;
    t->filter = (uint8_t)desc->filterMode;
    t->mip_filter = (uint8_t)desc->mipmapFilterMode;
    t->seamless_cube = desc->seamlessCubemap && desc->filterMode == cudaFilterModeLinear;
    t->trilinear_off = desc->disableTrilinearOptimization != 0;
    t->max_anisotropy = desc->maxAnisotropy < 1    ? 1
                        : desc->maxAnisotropy > 16 ? 16
                                                   : desc->maxAnisotropy;
    t->mip_bias = desc->mipmapLevelBias;
    t->min_clamp = desc->minMipmapLevelClamp;
    t->max_clamp = desc->maxMipmapLevelClamp;
    memcpy(t->border, desc->borderColor, sizeof t->border);
    for (int i = 0; i < 3; i++) {
        enum cudaTextureAddressMode mode = desc->addressMode[i];
        // "If normalizedCoords is set to zero, cudaAddressModeWrap and cudaAddressModeMirror won't
        // be supported and will be switched to cudaAddressModeClamp."
        bool clamp =
            !t->normalized_coords && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror);
        t->address[i] = desc->seamlessCubemap || clamp ? EXEC_ADDRESS_CLAMP : (uint8_t)mode;
    }
}

cudaError_t cpu_texture_create(int device, const struct irtb_image *image,
                               const struct cudaTextureDesc *texture,
                               const struct cudaResourceViewDesc *view, uint64_t *ret_object)
{
    struct cpu_format format;
    bool known = view && view->format != cudaResViewFormatNone
                     ? cpu_format_of_view(view->format, &format)
                     : cpu_format_of(&image->format, &format);
    if (!known) {
        return cudaErrorNotSupported;
    }
    struct record *record = take(device, false);
    if (!record) {
        return cudaErrorMemoryAllocation;
    }
    struct texture_record *r = &record->texture;
    r->texture.channel = format.channel;
    r->texture.channels = format.channels;
    r->texture.element_size = format.element_size;
    if (image->array) {
        select_levels(r, image, view, &format);
    } else {
        select_memory(r, image);
    }
    set_sampling(&r->texture, texture, &format);
    r->texture.levels = r->levels;
    r->texture.magic = EXEC_TEXTURE_MAGIC;
    *ret_object = (uintptr_t)&r->texture;
    return cudaSuccess;
}

// The address of a descriptor is the object's value.
static struct record *record_of(uint64_t object)
{
    return (struct record *)(uintptr_t)object; // NOLINT(performance-no-int-to-ptr)
}

void cpu_texture_destroy(uint64_t object)
{
    destroy(record_of(object));
}

// ---- surfaces ----

cudaError_t cpu_surface_create(int device, const struct irtb_image *image, uint64_t *ret_object)
{
    struct record *record = take(device, true);
    if (!record) {
        return cudaErrorMemoryAllocation;
    }
    record->surface = (struct exec_surface){
        .magic = EXEC_SURFACE_MAGIC,
        .kind = image->array->kind,
        .channel = image->array->format.channel,
        .channels = image->array->format.channels,
        .element_size = image->array->format.element_size,
        .level = image->array->levels[image->level],
    };
    *ret_object = (uintptr_t)&record->surface;
    return cudaSuccess;
}

void cpu_surface_destroy(uint64_t object)
{
    destroy(record_of(object));
}
