// SPDX-License-Identifier: Apache-2.0
//
// Finding, opening and choosing the backend, and filling the slots of the front ends with what it
// and the core offer. The choice is made once; the thread that makes it holds no lock meanwhile,
// because opening a module can run code that calls us again.
#include "shim/dispatch/backend.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "irt_fn.h"
#include "shim/api/error_text.h"
#include "shim/core/api_rules.h"
#include "shim/core/device.h"
#include "shim/core/error_log.h"
#include "shim/diff/diff.h"
#include "shim/dispatch/entry.h"
#include "shim/provide/wrap.h"
#include "shim/util/env.h"
#include "shim/util/lock.h"
#include "shim/util/log.h"
#include "shim/util/process.h"

enum { REASON_SIZE = 256 };

// A backend that could be had, in order of preference. cpu is last: it always has a device.
struct candidate {
    const char *name;
    bool forwards; // see api_open in backend.h: chosen before code is registered
    bool tried;
    const struct irtb_backend *backend; // NULL when it cannot be had
    cudaError_t error;                  // why, as the API answers
    int devices;
    char path[512];
    char reason[REASON_SIZE];
};

static struct candidate candidates[] = {
    {.name = "nvidia", .forwards = true}, {.name = "ascend"}, {.name = "metax"}, {.name = "cpu"}};
enum { CANDIDATE_COUNT = sizeof candidates / sizeof *candidates };

enum choice { CHOICE_OPEN, CHOICE_RUNNING, CHOICE_MADE, CHOICE_FORWARDING, CHOICE_FAILED };

// `choice` and `choosing_thread` change under `lock`; the rest is final before `choice` says so.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Atomic int choice = CHOICE_OPEN;
static pthread_t choosing_thread;
static const struct irtb_backend *chosen; // with what stands in front of it
static const struct candidate *chosen_candidate;
static cudaError_t failure;

// Front ends of a forwarding backend, by position in irt_fronts; written under fronts_lock.
static pthread_mutex_t fronts_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool front_filled[IRT_FRONT_COUNT];
static cudaError_t front_error[IRT_FRONT_COUNT];

// For kernels that ask the device runtime: the same tables as for the host.
static cudaError_t device_attribute(int device, int attribute, int *ret_value)
{
    return irt_core_cudaDeviceGetAttribute(ret_value, (enum cudaDeviceAttr)attribute, device);
}

static const char *error_text(cudaError_t error, bool name)
{
    return name ? irt_error_name((int)error, CUDART_VERSION)
                : irt_error_text((int)error, CUDART_VERSION);
}

static const struct irtb_host host = {.log = irt_log,
                                      .env = irt_env,
                                      .device_lost = irt_device_lost,
                                      .device_attribute = device_attribute,
                                      .error_text = error_text};

const struct irtb_backend *irt_backend(void)
{
    return chosen;
}

bool irt_backend_ready(void)
{
    return atomic_load_explicit(&choice, memory_order_acquire) == CHOICE_MADE;
}

// The folder of the modules: the documented variable, or backends/ beside the file that holds this
// function, links resolved.
static bool module_folder(char *ret_path, size_t size)
{
    const char *set = irt_env("INFINIRT_BACKEND_PATH");
    if (set && set[0] != '\0') {
        return (size_t)snprintf(ret_path, size, "%s", set) < size;
    }
    Dl_info info;
    char real[PATH_MAX];
    if (!dladdr(&candidates, &info) || !info.dli_fname || !realpath(info.dli_fname, real)) {
        return false;
    }
    char *slash = strrchr(real, '/');
    if (!slash) {
        return false;
    }
    *slash = '\0';
    return (size_t)snprintf(ret_path, size, "%s/backends", real) < size;
}

// Opens the module and checks that it was built against this interface. NULL with a reason.
static const struct irtb_backend *open_module(struct candidate *candidate)
{
    char folder[PATH_MAX];
    char path[PATH_MAX];
    if (!module_folder(folder, sizeof folder) ||
        (size_t)snprintf(path, sizeof path, "%s/libirt-%s.so", folder, candidate->name) >=
            sizeof path) {
        snprintf(candidate->reason, REASON_SIZE, "the folder of the backend modules is unknown");
        return NULL;
    }
    snprintf(candidate->path, sizeof candidate->path, "%.*s", (int)sizeof candidate->path - 1,
             path);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        const char *why = dlerror();
        snprintf(candidate->reason, REASON_SIZE, "%s", why ? why : "dlopen failed");
        return NULL;
    }
    const struct irtb_backend *(*entry)(void);
    *(void **)&entry = dlsym(module, "irtb_backend_entry");
    const struct irtb_backend *backend = entry ? entry() : NULL;
    if (!backend) {
        snprintf(candidate->reason, REASON_SIZE, "%.180s is not a backend module", path);
    } else if (backend->abi_version != IRTB_ABI_VERSION ||
               backend->struct_size < sizeof(struct irtb_backend)) {
        snprintf(candidate->reason, REASON_SIZE,
                 "module was built for interface %u of %u bytes, this library has %u of %zu",
                 backend->abi_version, backend->struct_size, IRTB_ABI_VERSION,
                 sizeof(struct irtb_backend));
    } else {
        return backend;
    }
    dlclose(module);
    return NULL;
}

static bool forwards(const struct irtb_backend *backend)
{
    return backend->api_open != NULL;
}

// Opens and initialises a backend once. A forwarding backend that was asked for by name is not
// asked for devices: the vendor's runtime tells the application itself. Only one thread at a time
// calls this.
static void try_candidate(struct candidate *candidate, bool by_name)
{
    if (candidate->tried) {
        return;
    }
    candidate->tried = true;
    candidate->error = cudaErrorNoDevice;
    const struct irtb_backend *backend = open_module(candidate);
    if (!backend) {
        return;
    }
    cudaError_t error = backend->init(&host, candidate->reason, REASON_SIZE);
    if (!error && by_name && forwards(backend)) {
        candidate->devices = -1;
    } else if (!error) {
        error = backend->device_count(&candidate->devices);
    }
    if (error) {
        candidate->error = error;
        if (candidate->reason[0] == '\0') {
            snprintf(candidate->reason, REASON_SIZE, "error %d", (int)error);
        }
    } else if (candidate->devices == 0) {
        snprintf(candidate->reason, REASON_SIZE, "no device");
    } else {
        candidate->backend = backend;
        candidate->error = cudaSuccess;
    }
}

static void refuse(const char *name, const char *reason)
{
    irt_notice("no backend: INFINIRT_BACKEND=%s cannot be had: %s", name, reason);
    failure = cudaErrorNoDevice;
}

// The backend of INFINIRT_BACKEND, or NULL with `failure` set.
static struct candidate *choose_by_name(const char *name)
{
    for (int i = 0; i < CANDIDATE_COUNT; i++) {
        struct candidate *candidate = &candidates[i];
        if (strcmp(candidate->name, name) == 0) {
            try_candidate(candidate, true);
            if (candidate->backend) {
                return candidate;
            }
            refuse(name, candidate->reason);
            return NULL;
        }
    }
    refuse(name, "no such backend; known are cpu, nvidia, ascend, metax");
    return NULL;
}

static struct candidate *choose_first(void)
{
    for (int i = 0; i < CANDIDATE_COUNT; i++) {
        struct candidate *candidate = &candidates[i];
        try_candidate(candidate, false);
        if (candidate->backend) {
            irt_notice("using the %s backend (INFINIRT_BACKEND is not set)", candidate->name);
            return candidate;
        }
        IRT_LOG("dispatch", IRT_LOG_INFO, "backend %s: %s", candidate->name, candidate->reason);
    }
    struct candidate *last = &candidates[CANDIDATE_COUNT - 1];
    irt_notice("no backend can be had; %s: %s", last->name, last->reason);
    failure = cudaErrorNoDevice;
    return NULL;
}

static void stop_backend(void)
{
    if (irt_backend_ready() && chosen->at_exit) {
        chosen->at_exit();
    }
}

// With the core's functions, which also answer when there is no backend.
static void fill_slots(void)
{
    for (int f = 0; f < IRT_FRONT_COUNT; f++) {
        const struct irt_front *front = &irt_fronts[f];
        for (unsigned i = 0; i < front->count; i++) {
            __atomic_store_n(&front->slots[i], front->fallbacks[i], __ATOMIC_RELEASE);
        }
    }
}

// ---- two backends, compared ----

static struct side {
    char name[64]; // as the user wrote it
    struct candidate *candidate;
    bool providers;
} sides[2]; // of diff:A,B; no candidate otherwise

// A side is NAME or NAME+providers. False with a message.
static bool read_side(struct side *side, const char *text, size_t length, const char *whole)
{
    static const char suffix[] = "+providers";
    snprintf(side->name, sizeof side->name, "%.*s", (int)length, text);
    char name[sizeof side->name];
    memcpy(name, side->name, sizeof name);
    char *plus = strchr(name, '+');
    if (length >= sizeof side->name || (plus && strcmp(plus, suffix) != 0)) {
        refuse(whole, "a side is the name of a backend, or name+providers");
        return false;
    }
    side->providers = plus != NULL;
    if (plus) {
        *plus = '\0';
    }
    side->candidate = choose_by_name(name);
    if (side->candidate && forwards(side->candidate->backend)) {
        refuse(whole, "a backend that hands calls on as they are cannot be compared");
        side->candidate = NULL;
    }
    return side->candidate != NULL;
}

// The first side's backend, or NULL with `failure` set.
static struct candidate *choose_diff(const char *whole)
{
    const char *first = whole + strlen("diff:"), *comma = strchr(first, ',');
    if (!comma || comma == first || !comma[1] || strchr(comma + 1, ',')) {
        refuse(whole, "it must be diff:A,B");
        return NULL;
    }
    if (!read_side(&sides[0], first, (size_t)(comma - first), whole) ||
        !read_side(&sides[1], comma + 1, strlen(comma + 1), whole)) {
        sides[0].candidate = NULL;
        return NULL;
    }
    const char *kernels = irt_env("INFINIRT_KERNELS");
    const char *why = sides[0].candidate->devices != sides[1].candidate->devices
                          ? "the two have different numbers of devices"
                      : sides[0].providers && sides[1].providers
                          ? "only one of the two can have providers"
                      : (sides[0].providers || sides[1].providers) && !(kernels && kernels[0])
                          ? "INFINIRT_KERNELS names no provider"
                          : NULL;
    if (why) {
        refuse(whole, why);
        sides[0].candidate = NULL;
    }
    return sides[0].candidate;
}

static void ignore_lost(int device, cudaError_t error)
{
    (void)device;
    (void)error; // the comparison tells of it; the application sees the first side
}

static const struct irtb_backend *compare_sides(char *ret_why, size_t why_size)
{
    static struct irtb_host second;
    struct irt_diff_side pair[2];
    second = host;
    second.device_lost = ignore_lost;
    for (int i = 0; i < 2; i++) {
        pair[i].name = sides[i].name;
        pair[i].backend =
            irt_provide(sides[i].candidate->backend, i ? &second : &host,
                        sides[i].providers ? irt_env("INFINIRT_KERNELS") : NULL, ret_why, why_size);
        if (!pair[i].backend) {
            return NULL;
        }
    }
    irt_notice("comparing %s with %s; the program sees %s", pair[0].name, pair[1].name,
               pair[0].name);
    return irt_diff(&pair[0], &pair[1]);
}

// Makes the candidate, with what stands in front of it, the chosen backend.
static void put_in_front(const struct candidate *candidate)
{
    char why[REASON_SIZE];
    const struct irtb_backend *backend =
        sides[0].candidate
            ? compare_sides(why, sizeof why)
            : irt_provide(candidate->backend, &host, irt_env("INFINIRT_KERNELS"), why, sizeof why);
    if (!backend) {
        irt_notice("no backend: %s", why);
        failure = cudaErrorInitializationError;
        return;
    }
    chosen = backend;
    chosen_candidate = candidate;
}

static void choose(void)
{
    irt_process_watch(stop_backend);
    const char *name = irt_env("INFINIRT_BACKEND");
    struct candidate *candidate = !name || name[0] == '\0'         ? choose_first()
                                  : strncmp(name, "diff:", 5) == 0 ? choose_diff(name)
                                                                   : choose_by_name(name);
    irt_error_log_setup();
    if (candidate && forwards(candidate->backend)) {
        put_in_front(candidate); // refuses providers
        if (chosen) {
            failure = cudaErrorNoDevice; // of what shim/core serves: the driver functions
            return;
        }
    } else if (candidate) {
        failure = irt_device_setup(candidate->backend);
        if (failure) {
            irt_notice("the %s backend has no device that CUDA_VISIBLE_DEVICES shows",
                       candidate->name);
        } else {
            put_in_front(candidate);
        }
    }
    fill_slots();
}

cudaError_t irt_backend_require(void)
{
    int now = atomic_load_explicit(&choice, memory_order_acquire);
    if (now == CHOICE_MADE) {
        return cudaSuccess;
    }
    if (now == CHOICE_FAILED || now == CHOICE_FORWARDING) {
        return failure;
    }
    if (irt_process_state() != IRT_PROCESS_RUNNING) {
        // A child forked in the middle of the choice would wait for a thread that it does not have.
        return cudaErrorInitializationError;
    }
    pthread_mutex_lock(&lock);
    if (choice == CHOICE_RUNNING && pthread_equal(choosing_thread, pthread_self())) {
        pthread_mutex_unlock(&lock);
        return cudaErrorInitializationError;
    }
    while (choice == CHOICE_RUNNING) {
        pthread_cond_wait(&changed, &lock);
    }
    if (choice == CHOICE_OPEN) {
        choice = CHOICE_RUNNING;
        choosing_thread = pthread_self();
        pthread_mutex_unlock(&lock);
        choose();
        pthread_mutex_lock(&lock);
        int made = !chosen ? CHOICE_FAILED : forwards(chosen) ? CHOICE_FORWARDING : CHOICE_MADE;
        atomic_store_explicit(&choice, made, memory_order_release);
        pthread_cond_broadcast(&changed);
    }
    now = choice;
    pthread_mutex_unlock(&lock);
    return now == CHOICE_MADE ? cudaSuccess : failure;
}

// Registration and the configuration stack work without a backend and come before main: they must
// not start one.
static bool starts_nothing(const char *name)
{
    static const char *const prefixes[] = {"__cudaRegister",
                                           "__cudaUnregister",
                                           "__cudaInitModule",
                                           "__cudaPush",
                                           "__cudaPop",
                                           "cudaGetErrorName",
                                           "cudaGetErrorString",
                                           "cudaCreateChannelDesc",
                                           "cudaDriverGetVersion",
                                           "cudaRuntimeGetVersion"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

// Registrations are the vendor's own when its runtime is asked for by name, or when
// INFINIRT_BACKEND is not set and a device of a forwarding backend seems to be here.
static bool registration_chooses(void)
{
    static _Atomic int known = -1;
    int answer = known;
    if (answer >= 0) {
        return answer;
    }
    const char *name = irt_env("INFINIRT_BACKEND");
    answer = 0;
    for (int i = 0; i < CANDIDATE_COUNT && !answer; i++) {
        struct candidate *candidate = &candidates[i];
        if (candidate->forwards && name && name[0] != '\0') {
            answer = strcmp(name, candidate->name) == 0;
        } else if (candidate->forwards) {
            struct candidate look = {.name = candidate->name};
            const struct irtb_backend *backend = open_module(&look);
            answer = backend && backend->probe && backend->probe();
        }
    }
    known = answer;
    return answer;
}

// Opens the vendor's library of a major and fills the slots of that front end, once. False: this
// thread is doing that already, and code of the library calls us.
static bool fill_forwarding(const struct irt_front *front)
{
    static _Thread_local bool filling;
    size_t index = (size_t)(front - irt_fronts);
    if (atomic_load_explicit(&front_filled[index], memory_order_acquire)) {
        return true;
    }
    if (filling) {
        return false;
    }
    filling = true;
    pthread_mutex_lock(&fronts_lock);
    if (!front_filled[index]) {
        char why[2048] = "";
        cudaError_t error = chosen->api_open(front->major, why, sizeof why);
        front_error[index] = error;
        if (error) {
            irt_notice("backend %s: CUDA %d cannot be had: %s", chosen->name, front->major, why);
        }
        for (unsigned i = 0; i < front->count; i++) {
            irt_slot slot = NULL;
            if (!error) {
                *(void **)&slot = chosen->api_override(front->major, front->names[i]);
            }
            __atomic_store_n(&front->slots[i], slot ? slot : front->absent[i], __ATOMIC_RELEASE);
        }
        atomic_store_explicit(&front_filled[index], true, memory_order_release);
    }
    pthread_mutex_unlock(&fronts_lock);
    filling = false;
    return true;
}

int irt_dispatch_absent(int major, int fn)
{
    cudaError_t error = front_error[irt_front_of(major) - irt_fronts];
    return (int)(error ? error : irt_unsupported(irt_fn_names[fn]));
}

irt_slot irt_dispatch_first_call(int major, unsigned slot)
{
    const struct irt_front *front = irt_front_of(major);
    if (!starts_nothing(front->names[slot]) || registration_chooses()) {
        irt_backend_require();
    }
    int now = atomic_load_explicit(&choice, memory_order_acquire);
    if (now == CHOICE_FORWARDING && !fill_forwarding(front)) {
        return front->fallbacks[slot];
    }
    if (now == CHOICE_MADE || now == CHOICE_FORWARDING || now == CHOICE_FAILED) {
        return __atomic_load_n(&front->slots[slot], __ATOMIC_ACQUIRE);
    }
    return front->fallbacks[slot];
}

bool irt_info_backend(size_t index, struct irt_info_backend *ret_info)
{
    if (index >= CANDIDATE_COUNT) {
        return false;
    }
    irt_backend_require();
    struct candidate *candidate = &candidates[index];
    try_candidate(candidate, false);
    if (candidate->backend && candidate->devices < 0) { // chosen by name
        cudaError_t error = candidate->backend->device_count(&candidate->devices);
        if (error) {
            candidate->devices = 0;
            snprintf(candidate->reason, REASON_SIZE, "error %d: %s", (int)error,
                     irt_error_text((int)error, CUDART_VERSION));
        }
    }
    *ret_info = (struct irt_info_backend){.name = candidate->name,
                                          .chosen = candidate == chosen_candidate,
                                          .available = candidate->backend && candidate->devices,
                                          .devices = candidate->devices};
    snprintf(ret_info->path, sizeof ret_info->path, "%s", candidate->path);
    snprintf(ret_info->reason, sizeof ret_info->reason, "%s", candidate->reason);
    return true;
}

cudaError_t irt_info_device(int device, struct irtb_device_info *ret_info, size_t *ret_free,
                            size_t *ret_total)
{
    cudaError_t error = irt_backend_require();
    if (chosen && forwards(chosen)) {
        int count = 0;
        *ret_free = *ret_total = 0;
        error = chosen->device_count(&count);
        return error                           ? error
               : device < 0 || device >= count ? cudaErrorInvalidDevice
                                               : chosen->device_info(device, ret_info);
    }
    if (error) {
        return error;
    }
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    *ret_info = found->info;
    return chosen->device_memory_info(found->id, ret_free, ret_total);
}

bool irt_info_variable(size_t index, const char **ret_name, const char **ret_value,
                       const char **ret_help)
{
    size_t count;
    const struct irt_env_variable *list = irt_env_list(&count);
    if (index >= count) {
        return false;
    }
    *ret_name = list[index].name;
    *ret_value = irt_env(list[index].name);
    *ret_help = list[index].help;
    return true;
}
