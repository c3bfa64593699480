// SPDX-License-Identifier: Apache-2.0
//
// The one interface between the shim (CUDA semantics, shim/core) and a backend (a device runtime).
// A backend is a module `libirt-<name>.so` that exports one symbol, `irtb_backend_entry`, and is
// opened with dlopen(RTLD_LOCAL) by shim/dispatch. The shim validates what the application passed
// (handles, sizes, enums, device numbers) before it calls an operation; a backend may trust that.
//
// Rules for every operation unless its comment says otherwise:
//   - errors are cudaError_t values; vendor codes are translated by tables inside the backend;
//   - ret_* outputs are written only on cudaSuccess;
//   - may be called from any thread, several at once; the shim holds no lock of its own that an
//     operation could need, but it may hold a *stream-order* lock around enqueueing operations
//     (copy, fill, launch, host_func, event_record, stream_wait_event): these must not block on
//     the completion of device work and must not call back into the shim synchronously;
//   - a NULL operation means "the backend lacks it": the shim emulates it or answers 801 by name.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <driver_types.h>
#include <texture_types.h>

#define IRTB_ABI_VERSION 1u

struct irtb_stream;   // backend's stream (FIFO queue of work of one device)
struct irtb_event;    // backend's event
struct irtb_module;   // code loaded on one device
struct irtb_function; // one kernel of a module; lives as long as its module
struct irtb_graph;    // executable graph
struct irtb_partition; // some of a device's multiprocessors

// What the shim offers to a backend; valid for the life of the process.
struct irtb_host {
    // One line of log; level 0 error, 1 warning, 2 info, 3 debug. Any thread, never a signal handler.
    void (*log)(const char *subsystem, int level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    // Value of a documented environment variable (shim/api/env.def) or NULL.
    const char *(*env)(const char *name);
    // A fault made `device` unusable: every later call of the application answers `error` (sticky).
    // Called by the thread that found it, before the work is reported as complete.
    void (*device_lost)(int device, cudaError_t error);
    // cudaDeviceGetAttribute, for kernels that ask it. Any thread.
    cudaError_t (*device_attribute)(int device, int attribute, int *ret_value);
    // cudaGetErrorName (`name`) or cudaGetErrorString. The text lives for ever.
    const char *(*error_text)(cudaError_t error, bool name);
};

// Scalars about one device: cudaDeviceProp of CUDA 13 and the attributes that it does not hold.
struct irtb_device_info {
    struct cudaDeviceProp prop; // every member filled
    int clock_rate_khz;
    int memory_clock_rate_khz;
    int compute_mode;              // enum cudaComputeMode
    int kernel_exec_timeout;       // bool
    int gpu_overlap;               // bool
    int single_to_double_perf_ratio;
    int max_dynamic_shared_optin;  // bytes, = prop.sharedMemPerBlockOptin
    int can_flush_remote_writes, stream_memops, virtual_memory;
};

// Virtual memory management: unit of sizes, addresses and offsets.
#define IRTB_VIRTUAL_GRANULARITY ((size_t)2 << 20)

enum irtb_memory_kind {
    IRTB_MEMORY_DEVICE,  // device memory of one device
    IRTB_MEMORY_HOST,    // page-locked host memory, accessible to kernels
    IRTB_MEMORY_MANAGED, // one address for host and devices
};

// A pitched box copy; a linear copy has height = depth = 1. Addresses are of the first byte.
struct irtb_copy {
    void *dst;
    const void *src;
    size_t width;                  // bytes per row
    size_t height, depth;          // rows, slices
    size_t dst_pitch, src_pitch;   // bytes from row to row (unused when height == depth == 1)
    size_t dst_slice, src_slice;   // bytes from slice to slice (unused when depth == 1)
    int dst_device, src_device;    // device that owns the memory, or -1 for host memory
    enum cudaMemcpyKind kind;      // resolved: never cudaMemcpyDefault
};

// Fill a pitched box with `value`, elements of 1, 2 or 4 bytes; width is in elements.
struct irtb_fill {
    void *dst;
    uint32_t value;
    unsigned element_size;
    size_t width, height, depth;
    size_t pitch, slice;           // bytes
};

// One kernel launch. The argument array is read before the operation returns (as cudaLaunchKernel).
struct irtb_launch {
    struct irtb_function *function;
    uint32_t grid[3], block[3];    // already checked against the device limits, none zero
    uint32_t cluster[3];           // 1,1,1 without clusters
    uint32_t dynamic_shared;       // bytes
    bool cooperative;
    void *const *arguments;        // one pointer per kernel parameter
};

// A launch of a kernel that the vendor's own tools made, by the vendor's handle of it.
enum irtb_vendor_form {
    IRTB_VENDOR_PACKED, // one-dimensional grid, packed arguments
    IRTB_VENDOR_ARRAY,  // one-dimensional grid, one pointer per argument
    IRTB_VENDOR_SIMT,   // grid and block as CUDA's, one pointer per argument
};

struct irtb_vendor_launch {
    enum irtb_vendor_form form;
    void *handle;
    uint32_t grid[3], block[3];    // one-dimensional forms: grid[0] blocks, grid[1] = grid[2] = 1
    uint32_t dynamic_shared;       // bytes
    void **arguments;              // ARRAY, SIMT
    const void *packed;            // PACKED
    size_t packed_size;
};

// What a CUtensorMap holds: 128 bytes that the shim writes (cuTensorMapEncode…), kernels pass on and
// the tensor copies of a backend read. Dimensions run from the innermost, whose elements follow
// each other, to the outermost. Numbers of enumerations are cuda.h's.
#define IRTB_TENSOR_MAP_MAGIC UINT64_C(0x70614d726f736e54) // "TnsorMap"

enum irtb_tensor_form { IRTB_TENSOR_TILED = 1, IRTB_TENSOR_IM2COL = 2 };

struct irtb_tensor_map {
    uint64_t magic;     // IRTB_TENSOR_MAP_MAGIC; anything else is no tensor map
    uint64_t address;   // of element (0, 0, …)
    uint64_t stride[4]; // bytes from an element to the next of dimension 1 …
    uint32_t last[5];   // the greatest index: size minus one
    uint16_t box[5];    // TILED: elements of the box, before steps
    int16_t lower[3], upper[3]; // IM2COL: corners in the order {D, H, W}, rank - 2 of them
    uint16_t channels, pixels;  // IM2COL: elements along dimension 0, and along all others
    uint8_t step[5];    // every how manieth element of a dimension is copied
    uint8_t form;       // enum irtb_tensor_form
    uint8_t type, rank; // CUtensorMapDataType; 1 … 5
    uint8_t interleave, swizzle, fill_nan;
    uint8_t reserved[20];
};

enum irtb_condition {
    IRTB_VALUE_GEQ, // (signed)(memory - value) >= 0
    IRTB_VALUE_EQ,
    IRTB_VALUE_AND, // memory & value != 0
    IRTB_VALUE_NOR, // ~(memory | value) != 0
};

// A 4- or 8-byte number in memory, aligned to its size.
struct irtb_value {
    void *address;
    uint64_t value;
    unsigned size;
    enum irtb_condition condition; // of a wait
};

// Where the code of a module comes from. The shim has already chosen among the images of a fat
// binary; `units` holds one PTX text per translation unit (several only for -rdc modules, to be
// linked). Texts are NUL-terminated, `size` excludes the NUL; they stay valid until module_unload.
struct irtb_code_unit {
    const char *text;
    size_t size;
    const char *name;              // for messages: "module #3, unit 1 (sm_80)"
};

struct irtb_function_info {
    struct cudaFuncAttributes attributes; // as cudaFuncGetAttributes reports them
    unsigned parameter_count;
    uint32_t required_block[3];    // .reqntid, zeros without
    uint32_t max_block[3];         // .maxntid, zeros without
    uint32_t required_cluster[3];  // .reqnctapercluster, zeros without
};

struct irtb_parameter {
    size_t offset, size, align;    // bytes, in the packed parameter block
};

// Storage of a CUDA array, or of all levels of a mipmapped one.
struct irtb_array;

struct irtb_array_desc {
    struct cudaChannelFormatDesc format; // never NV12: the shim makes an array of each plane
    struct cudaExtent extent; // as the application gave it: 0 for a dimension that there is not
    unsigned levels;          // >= 1
    unsigned flags;           // cudaArrayLayered, …Cubemap, …SurfaceLoadStore, …
    // External memory: the storage is the part of a file descriptor (the caller's) from `fd_offset`
    // on; at most `fd_size` bytes. cudaErrorInvalidValue when it does not fit or is not aligned.
    bool external;
    int fd;
    uint64_t fd_offset, fd_size;
};

// One level as memory that `copy` accepts. Sizes in elements; for block-compressed formats an
// element is a block of 4 x 4 texels.
struct irtb_array_view {
    void *base;
    size_t width, height, depth;    // never 0; depth: slices or layers
    size_t element_size;            // bytes
    size_t row_pitch, slice_pitch;  // bytes
};

// What a texture or surface reads.
struct irtb_image {
    enum cudaResourceType type;
    struct irtb_array *array; // cudaResourceTypeArray and …MipmappedArray
    unsigned level;           // of cudaResourceTypeArray: the level that is meant
    void *ptr;                // cudaResourceTypeLinear and …Pitch2D
    struct cudaChannelFormatDesc format;
    size_t width, height;     // elements; height 1 for Linear
    size_t pitch;             // bytes
};

// Names memory or an event of one process for other processes of the same machine and user. Plain
// bytes that may travel any way; meaningless elsewhere.
struct irtb_share {
    unsigned char bytes[40];
};

enum irtb_graph_node_kind {
    IRTB_GRAPH_EMPTY,
    IRTB_GRAPH_LAUNCH,
    IRTB_GRAPH_COPY,
    IRTB_GRAPH_FILL,
    IRTB_GRAPH_HOST,
    IRTB_GRAPH_RECORD,
    IRTB_GRAPH_WAIT,
    IRTB_GRAPH_IF,     // body 0 if the condition is not 0, else body 1 if there is one
    IRTB_GRAPH_WHILE,  // body 0 as long as the condition is not 0
    IRTB_GRAPH_SWITCH, // the body whose number the condition is, if there is one
};

// One node of a graph. Nodes stand in an array in an order that respects all dependencies (they run
// as if one after the other); the
// nodes of a conditional node's bodies stand right behind it, body after body. Child graphs are
// written out. Everything that is pointed to is copied; functions, events and memory must live as
// long as the graph and its launches.
struct irtb_graph_node {
    enum irtb_graph_node_kind kind;
    bool disabled; // does nothing
    int device;    // that it runs on
    union {
        struct irtb_launch launch; // its arguments are read now
        struct irtb_copy copy;
        struct irtb_fill fill;
        struct {
            // run(function, argument) is called; not when the device is lost.
            void (*run)(void (*function)(void *), void *argument);
            void (*function)(void *);
            void *argument;
        } host;
        struct irtb_event *event; // RECORD, WAIT: as event_record and stream_wait_event at launch
        struct {
            uint32_t condition; // index
            uint32_t body_count;
            const uint32_t *body_sizes; // nodes of each body, with those of bodies inside
        } conditional;
    };
};

// A value that kernels of the graph set by its handle and conditional nodes read.
struct irtb_graph_condition {
    uint64_t handle;
    uint32_t initial;
    bool assign; // `initial` is assigned at the start of every launch; else once
};

// A call that is asked for; its memory is the backend's until the call.
struct irtb_notice {
    void (*function)(void *argument);
    void *argument;
    struct irtb_notice *next; // the backend's
    uint64_t number;          // likewise
};

struct irtb_graph_desc {
    const struct irtb_graph_node *nodes;
    size_t node_count;
    const struct irtb_graph_condition *conditions;
    size_t condition_count;
};

struct irtb_backend {
    uint32_t abi_version;          // IRTB_ABI_VERSION
    uint32_t struct_size;          // sizeof(struct irtb_backend) the module was built with
    const char *name;              // "cpu", "nvidia", …

    // Called once, before any other operation, by the thread of the first API call. On failure
    // writes one line of reason to `ret_why` and returns the error that the API shall answer.
    cudaError_t (*init)(const struct irtb_host *host, char *ret_why, size_t why_size);
    // Process exit: stop workers without waiting for queued work. No operation follows. May be NULL.
    void (*at_exit)(void);

    // Not NULL: the backend forwards. Every function of every major comes from api_override, nothing
    // of shim/core runs, and of the operations below only device_count and device_info are called
    // (for the choice of a backend, and by `infinirt info`). Opens what serves that major (11, 12,
    // 13) before its first api_override; on failure writes one line of reason and returns the error
    // that all functions of the major shall answer.
    cudaError_t (*api_open)(int major, char *ret_why, size_t why_size);
    // Address of the function `name` of that major, or NULL: it answers 801. Only with api_open.
    void *(*api_override)(int major, const char *name);
    // Quick look, without starting the vendor's runtime, whether a device of this kind is here. May
    // be called before init; any thread. NULL: not known.
    bool (*probe)(void);

    // ---- devices (0 ≤ device < count; the count never changes) ----
    cudaError_t (*device_count)(int *ret_count);
    cudaError_t (*device_info)(int device, struct irtb_device_info *ret_info);
    cudaError_t (*device_synchronize)(int device);   // waits for all queued work; returns its fault
    // Frees what remains on the device after the shim has released its own objects.
    cudaError_t (*device_reset)(int device);
    cudaError_t (*device_get_limit)(int device, enum cudaLimit limit, size_t *ret_value);
    cudaError_t (*device_set_limit)(int device, enum cudaLimit limit, size_t value);
    cudaError_t (*device_memory_info)(int device, size_t *ret_free, size_t *ret_total);
    cudaError_t (*device_can_access_peer)(int device, int peer, int *ret_can);
    cudaError_t (*device_enable_peer)(int device, int peer);
    cudaError_t (*device_disable_peer)(int device, int peer);

    // ---- memory ----
    // size > 0; alignment at least 512 for device memory; cudaErrorMemoryAllocation when the
    // device's budget or the machine's memory is exhausted. Contents are undefined.
    cudaError_t (*memory_alloc)(int device, enum irtb_memory_kind kind, size_t size,
                                unsigned flags, void **ret_ptr);
    cudaError_t (*memory_free)(int device, enum irtb_memory_kind kind, void *ptr);
    // Page-lock [ptr, ptr+size) and make it accessible to kernels; ret_device_ptr may equal ptr.
    cudaError_t (*host_register)(int device, void *ptr, size_t size, unsigned flags,
                                 void **ret_device_ptr);
    cudaError_t (*host_unregister)(int device, void *ptr);

    // ---- memory of several processes (all NULL: not possible) ----
    // Names `size` bytes at `ptr`, the start of an allocation of kind DEVICE, whose work may be
    // running. May be called again for the same memory. cudaErrorMapBufferObjectFailed when the
    // system has no more shared memory or file descriptors.
    cudaError_t (*memory_export)(int device, void *ptr, size_t size, struct irtb_share *ret_share);
    // Maps what another process exported. cudaErrorMapBufferObjectFailed when it is gone or may not
    // be looked at, cudaErrorDeviceUninitialized when this process itself exported it,
    // cudaErrorInvalidValue when the bytes name nothing. Given back by shared_unmap.
    cudaError_t (*memory_import)(int device, const struct irtb_share *share, void **ret_ptr,
                                 size_t *ret_size);
    // A file descriptor (the caller's) of a memory object without size limit, initially empty.
    cudaError_t (*shared_create)(int device, int *ret_fd);
    // Maps [offset, offset+size) of a file descriptor, which stays the caller's. `owner`: the range
    // belongs to this process and counts against the device's memory (the object grows if need be),
    // else it must lie inside the object. cudaErrorMemoryAllocation, cudaErrorInvalidValue.
    cudaError_t (*shared_map)(int device, int fd, uint64_t offset, size_t size, bool owner,
                              void **ret_ptr);
    // No work uses the range any more. `owner` as for shared_map: the pages go back to the system.
    cudaError_t (*shared_unmap)(int device, void *ptr, size_t size, bool owner);

    // ---- arrays, textures, surfaces (all or none; none: 801) ----
    // The shim has checked format and sizes. The memory counts as the device's; contents are
    // undefined. cudaErrorMemoryAllocation.
    cudaError_t (*array_create)(int device, const struct irtb_array_desc *desc,
                                struct irtb_array **ret_array);
    void (*array_destroy)(struct irtb_array *array); // no work uses it any more
    void (*array_level)(const struct irtb_array *array, unsigned level,
                        struct irtb_array_view *ret_view);
    // The value of a texture object for kernels of that device. `view` may be NULL. The shim has
    // checked all three; an array must outlive the object's use by kernels.
    // cudaErrorMemoryAllocation, cudaErrorNotSupported.
    cudaError_t (*texture_create)(int device, const struct irtb_image *image,
                                  const struct cudaTextureDesc *texture,
                                  const struct cudaResourceViewDesc *view, uint64_t *ret_object);
    // Work that is enqueued may still use it; does not wait. A use by later work is a fault.
    void (*texture_destroy)(uint64_t object);
    // Likewise for a surface object on an array.
    cudaError_t (*surface_create)(int device, const struct irtb_image *image,
                                  uint64_t *ret_object);
    void (*surface_destroy)(uint64_t object);

    // ---- virtual memory management (all or none; none: 801). Every address, size and offset is a
    // multiple of IRTB_VIRTUAL_GRANULARITY; the shim knows what is mapped where. ----
    // Memory without an address: `size` zero bytes of the device behind a file descriptor, which is
    // the caller's. physical_release ends the charge when the caller has closed it for good.
    cudaError_t (*physical_create)(int device, size_t size, int *ret_fd);
    void (*physical_release)(int device, size_t size);
    // Device and size of a descriptor that physical_create made, here or in another process.
    // cudaErrorInvalidValue when it is none, cudaErrorInvalidDevice when the device is not here.
    cudaError_t (*physical_import)(int fd, int *ret_device, size_t *ret_size);
    // Addresses that nothing else gets, without memory; an access faults. At `wanted` if that is
    // free. `alignment` is a power of two.
    cudaError_t (*virtual_reserve)(void *wanted, size_t size, size_t alignment, void **ret_ptr);
    void (*virtual_free)(void *ptr, size_t size);
    // Puts the bytes from `offset` of the memory behind reserved addresses; still inaccessible.
    cudaError_t (*virtual_map)(void *ptr, size_t size, int fd, uint64_t offset);
    cudaError_t (*virtual_unmap)(void *ptr, size_t size); // the addresses stay reserved
    cudaError_t (*virtual_protect)(void *ptr, size_t size, bool read, bool write);

    // ---- streams: FIFO; independent streams may overlap; no legacy-stream rule (the shim's) ----
    cudaError_t (*stream_create)(int device, int priority, struct irtb_stream **ret_stream);
    // Of work that does not run yet; 0 is the least urgent, negative numbers are more. NULL: 801.
    void (*stream_set_priority)(struct irtb_stream *stream, int priority);
    // Queued work still completes; does not wait. The handle is dead for the caller.
    void (*stream_destroy)(struct irtb_stream *stream);
    cudaError_t (*stream_query)(struct irtb_stream *stream);        // success or cudaErrorNotReady
    cudaError_t (*stream_synchronize)(struct irtb_stream *stream);  // the caller helps to run work

    // ---- partitions (all or none; none: a green context limits nothing) ----
    // Streams that together keep at most `processors` multiprocessors of the device busy with
    // kernels, but one for each stream that runs one.
    cudaError_t (*partition_create)(int device, unsigned processors,
                                    struct irtb_partition **ret_partition);
    void (*partition_destroy)(struct irtb_partition *partition); // its streams keep it
    // Puts a stream without work into a partition of its device, once.
    void (*stream_join_partition)(struct irtb_stream *stream, struct irtb_partition *partition);

    // ---- events ----
    cudaError_t (*event_create)(int device, bool timing, bool blocking, struct irtb_event **ret);
    void (*event_destroy)(struct irtb_event *event);   // may still be pending or waited for
    cudaError_t (*event_record)(struct irtb_event *event, struct irtb_stream *stream);
    cudaError_t (*event_query)(struct irtb_event *event);  // success if never recorded
    cudaError_t (*event_synchronize)(struct irtb_event *event);
    // Milliseconds from the completion of `start` to that of `end`; both complete and timed.
    cudaError_t (*event_elapsed)(struct irtb_event *start, struct irtb_event *end, double *ret_ms);
    // Later work of `stream` waits for the record that `event` holds *now* (none: no wait).
    cudaError_t (*stream_wait_event)(struct irtb_stream *stream, struct irtb_event *event);
    // As memory_export and memory_import, for events without timing. An imported event is destroyed
    // like any other; records of either process count for both. When a process ends, its pending
    // records count as complete. NULL: not possible.
    cudaError_t (*event_export)(struct irtb_event *event, struct irtb_share *ret_share);
    cudaError_t (*event_import)(int device, const struct irtb_share *share,
                                struct irtb_event **ret_event);

    // ---- work: enqueue and return ----
    cudaError_t (*copy)(struct irtb_stream *stream, const struct irtb_copy *copy);
    cudaError_t (*fill)(struct irtb_stream *stream, const struct irtb_fill *fill);
    // `function(argument)` runs on a backend thread in stream order; it may not call CUDA (the shim
    // tells the application so), but calls of other threads go on meanwhile. If the device is lost
    // the function is still called when `always` is set (cudaStreamAddCallback).
    cudaError_t (*host_func)(struct irtb_stream *stream, void (*function)(void *), void *argument,
                             bool always);
    cudaError_t (*launch)(struct irtb_stream *stream, const struct irtb_launch *launch);
    // A number in memory as a signal. The write is seen by everybody after all earlier work of the
    // stream; later work waits until the number satisfies the condition, however it is written (by
    // other streams, kernels, the host, other processes). Waiting holds no other stream up. NULL
    // both: 801.
    cudaError_t (*stream_write_value)(struct irtb_stream *stream, const struct irtb_value *value);
    cudaError_t (*stream_wait_value)(struct irtb_stream *stream, const struct irtb_value *value);

    // ---- graphs (all or none; none: the shim enqueues node by node) ----
    cudaError_t (*graph_create)(const struct irtb_graph_desc *desc, struct irtb_graph **ret_graph);
    // Replaces a node by one of the same kind, or the default of a condition. Launches that are
    // enqueued already are not affected. Not called by two threads for one graph at once.
    cudaError_t (*graph_update)(struct irtb_graph *graph, size_t index,
                                const struct irtb_graph_node *node);
    cudaError_t (*graph_set_default)(struct irtb_graph *graph, size_t index,
                                     const struct irtb_graph_condition *condition);
    // One operation of the stream; allocates nothing in the steady state. Launches of one graph in
    // several streams run one after the other, in the order of these calls.
    cudaError_t (*graph_launch)(struct irtb_graph *graph, struct irtb_stream *stream);
    // From now on kernels of graphs may launch the graph by that number.
    // The graph holds launches, copies and fills only. NULL: not possible.
    cudaError_t (*graph_publish)(struct irtb_graph *graph, uint64_t handle);
    // Calls back once when all launches that are enqueued now have ended: now when there are none,
    // else on a thread that may block and holds no lock.
    void (*graph_notify)(struct irtb_graph *graph, struct irtb_notice *notice);
    // Launches that are enqueued still complete.
    void (*graph_destroy)(struct irtb_graph *graph);

    // ---- modules: per device (all of these, of the functions below and `launch`, or none; none:
    // no CUDA code runs there, and the shim keeps modules for providers of kernels) ----
    // Parses and links the units and allocates and initialises the module's variables on the
    // device. cudaErrorInvalidPtx (218) with the first message logged when a unit does not parse.
    cudaError_t (*module_load)(int device, const struct irtb_code_unit *units, size_t count,
                               struct irtb_module **ret_module);
    void (*module_unload)(struct irtb_module *module); // no work uses it any more
    // cudaErrorInvalidDeviceFunction (98) / cudaErrorSymbolNotFound (500) when there is none.
    cudaError_t (*module_function)(struct irtb_module *module, const char *name,
                                   struct irtb_function **ret_function);
    // Managed variables: `ret_managed` true; the shim shares one allocation between devices by
    // calling module_bind_variable on every further device's module.
    cudaError_t (*module_variable)(struct irtb_module *module, const char *name, void **ret_ptr,
                                   size_t *ret_size, bool *ret_managed);
    cudaError_t (*module_bind_variable)(struct irtb_module *module, const char *name, void *ptr);
    // Name of the kernel number `index`, in the order of the code; NULL past the last one. The text
    // lives as long as the module. The same for variables (not the shared ones). May be NULL both:
    // code can be registered then, but not loaded by hand.
    const char *(*module_function_name)(struct irtb_module *module, size_t index);
    const char *(*module_variable_name)(struct irtb_module *module, size_t index);
    // One line that says why the calling thread's last module_load or function_compile failed; ""
    // when it did not. Valid until its next one. May be NULL.
    const char *(*failure_text)(void);

    // ---- functions ----
    cudaError_t (*function_info)(struct irtb_function *function, struct irtb_function_info *ret);
    // Parameter `index` of the kernel; cudaErrorInvalidValue past the last one.
    cudaError_t (*function_parameter)(struct irtb_function *function, unsigned index,
                                      struct irtb_parameter *ret_parameter);
    cudaError_t (*function_set_attribute)(struct irtb_function *function,
                                          enum cudaFuncAttribute attribute, int value);
    // Blocks of that size and dynamic shared memory that fit one multiprocessor at once.
    cudaError_t (*function_occupancy)(struct irtb_function *function, int block_size,
                                      size_t dynamic_shared, int *ret_blocks);
    // Compile now, so that errors appear here (cudaErrorUnsupportedPtxVersion 222, 218, 209 …)
    // instead of at the first launch. May be NULL.
    cudaError_t (*function_compile)(struct irtb_function *function);

    // ---- kernels of providers (infinirt.h); NULL: not possible ----
    // The vendor's own handle of a stream, whose device becomes current in the calling thread. What
    // is enqueued there by hand keeps the order of the stream. NULL when that fails.
    void *(*stream_native)(struct irtb_stream *stream);
    // cudaErrorNotSupported for a form that the vendor's library does not have.
    cudaError_t (*vendor_launch)(struct irtb_stream *stream,
                                 const struct irtb_vendor_launch *launch);
};

// The one symbol a backend module exports.
const struct irtb_backend *irtb_backend_entry(void);
