// SPDX-License-Identifier: Apache-2.0
//
// Signal handlers for faults of device work. A handler only stores numbers and jumps; messages are
// made later by the thread in normal context. Signals outside device work go to the handlers that
// were there before us, or to the default action.
#include "fault.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "code_map.h"

enum { ALT_STACK_SIZE = 64 << 10 };

_Thread_local struct exec_fault_frame *exec_fault_current;

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

static struct sigaction previous[SIGNAL_COUNT];
static pthread_once_t install_once = PTHREAD_ONCE_INIT;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static _Thread_local bool thread_ready __attribute__((tls_model("initial-exec")));

static void pass_on(int number, siginfo_t *info, void *context)
{
    struct sigaction *old = NULL;
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        if (signals[i] == number) {
            old = &previous[i];
        }
    }
    if (old && (old->sa_flags & SA_SIGINFO) && old->sa_sigaction) {
        old->sa_sigaction(number, info, context);
        return;
    }
    if (old && !(old->sa_flags & SA_SIGINFO) && old->sa_handler != SIG_DFL &&
        old->sa_handler != SIG_IGN) {
        old->sa_handler(number);
        return;
    }
    // The default action, by running into the fault again; a signal that was sent is sent again.
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigaction(number, &standard, NULL);
    if (info->si_code <= 0) {
        raise(number);
    }
}

// Ranges whose pages are or were being replaced; the newest ones, in turn.
enum { HOLD_RANGES = 16 };
static struct {
    _Atomic uintptr_t start, end; // end 0: unused
} holds[HOLD_RANGES];
static _Atomic unsigned hold_active; // index + 1 of the range that is being replaced
static unsigned hold_next;           // the caller's lock

void exec_fault_hold_begin(const void *start, size_t size)
{
    exec_fault_install();
    unsigned index = hold_next++ % HOLD_RANGES;
    atomic_store(&holds[index].end, 0);
    atomic_store(&holds[index].start, (uintptr_t)start);
    atomic_store(&holds[index].end, (uintptr_t)start + size);
    atomic_store(&hold_active, index + 1);
}

void exec_fault_hold_end(void)
{
    atomic_store(&hold_active, 0);
}

void exec_fault_hold_forget(const void *start)
{
    for (unsigned i = 0; i < HOLD_RANGES; i++) {
        if (atomic_load(&holds[i].start) == (uintptr_t)start) {
            atomic_store(&holds[i].end, 0);
        }
    }
}

// Whether the access is to be tried again; waits until that makes sense. In a signal handler.
static bool was_held(uintptr_t address)
{
    for (unsigned i = 0; i < HOLD_RANGES; i++) {
        if (address >= atomic_load(&holds[i].start) && address < atomic_load(&holds[i].end)) {
            int saved = errno;
            while (atomic_load(&hold_active) == i + 1) {
                struct timespec moment = {.tv_nsec = 20000};
                nanosleep(&moment, NULL);
            }
            errno = saved;
            return true;
        }
    }
    return false;
}

// The instruction that the signal interrupted; 0 where we cannot tell.
static uintptr_t interrupted_pc(const void *context)
{
    const ucontext_t *c = context;
#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return 0;
#endif
}

static void handler(int number, siginfo_t *info, void *context)
{
    struct exec_fault_frame *frame = exec_fault_current;
    if (number == SIGSEGV && info->si_code > 0 && was_held((uintptr_t)info->si_addr)) {
        return;
    }
    if (!frame || info->si_code <= 0) { // not in device work, or sent by somebody
        pass_on(number, info, context);
        return;
    }
    frame->signal = number;
    frame->pcs[0] = interrupted_pc(context);
    frame->pc_count = 1;
    frame->address = (uintptr_t)info->si_addr;
    switch (number) {
    case SIGSEGV:
        frame->error = cudaErrorIllegalAddress;
        frame->has_address = info->si_code == SEGV_MAPERR || info->si_code == SEGV_ACCERR;
        break;
    case SIGBUS:
        frame->error =
            info->si_code == BUS_ADRALN ? cudaErrorMisalignedAddress : cudaErrorIllegalAddress;
        frame->has_address = true;
        break;
    case SIGILL:
        frame->error = cudaErrorIllegalInstruction;
        break;
    default:
        frame->error = cudaErrorLaunchFailure;
        break;
    }
    siglongjmp(frame->jump, 1);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = handler};
    // SA_NODEFER: leaving by siglongjmp must not leave the signal blocked.
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        sigaction(signals[i], NULL, &previous[i]);
        sigaction(signals[i], &action, NULL);
    }
}

void exec_fault_install(void)
{
    pthread_once(&install_once, install);
}

static void free_stack(void *stack)
{
    stack_t off = {.ss_flags = SS_DISABLE}, now;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == stack) {
        sigaltstack(&off, NULL);
    }
    munmap(stack, ALT_STACK_SIZE);
}

static void make_key(void)
{
    if (pthread_key_create(&key, free_stack)) {
        key = (pthread_key_t)-1;
    }
}

void exec_fault_thread(void)
{
    if (thread_ready) {
        return;
    }
    thread_ready = true;
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE)) {
        return; // the application's own serves as well
    }
    pthread_once(&key_once, make_key);
    if (key == (pthread_key_t)-1) {
        return;
    }
    void *stack = mmap(NULL, ALT_STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) {
        return;
    }
    stack_t alternate = {.ss_sp = stack, .ss_size = ALT_STACK_SIZE};
    if (sigaltstack(&alternate, NULL) || pthread_setspecific(key, stack)) {
        free_stack(stack);
    }
}

// The callers, up to the first that cannot be unwound: compiled code has no unwind tables, so the
// last one found is in it.
static void find_callers(struct exec_fault_frame *frame)
{
    void *callers[EXEC_FAULT_PCS];
    int count = exec_code_any() ? backtrace(callers, EXEC_FAULT_PCS) : 0;
    for (int i = 0; i < count; i++) {
        frame->pcs[i] = (uintptr_t)callers[i] - 1; // in the call, not behind it
    }
    frame->pc_count = count > 0 ? (unsigned)count : 0;
}

_Noreturn void exec_fault_leave(cudaError_t error, const char *format, ...)
{
    struct exec_fault_frame *frame = exec_fault_current;
    frame->error = error;
    find_callers(frame);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(frame->reason, sizeof frame->reason, format, arguments);
    va_end(arguments);
    siglongjmp(frame->jump, 1);
}

static void describe(const struct exec_fault_frame *frame, char *ret_text, size_t size)
{
    if (!frame->signal) {
        snprintf(ret_text, size, "%s", frame->reason);
    } else if (frame->error == cudaErrorIllegalAddress && frame->has_address) {
        snprintf(ret_text, size, "access to illegal address 0x%llx",
                 (unsigned long long)frame->address);
    } else if (frame->error == cudaErrorIllegalAddress) {
        snprintf(ret_text, size, "access to an illegal or misaligned address");
    } else if (frame->error == cudaErrorMisalignedAddress) {
        snprintf(ret_text, size, "access to misaligned address 0x%llx",
                 (unsigned long long)frame->address);
    } else {
        snprintf(ret_text, size, "%s",
                 frame->signal == SIGILL ? "illegal instruction" : "arithmetic exception");
    }
}

void exec_fault_describe(const struct exec_fault_frame *frame, char *ret_text, size_t size)
{
    describe(frame, ret_text, size);
    size_t used = strlen(ret_text);
    char place[256];
    for (unsigned i = 0; i < frame->pc_count; i++) {
        if (exec_code_line(frame->pcs[i], place, sizeof place)) {
            snprintf(ret_text + used, size - used, " at %s", place);
            return;
        }
    }
}

size_t exec_stack_left(void)
{
    static _Thread_local uintptr_t low; // 0: not asked yet, 1: unknown
    if (!low) {
        pthread_attr_t attributes;
        void *address;
        size_t size;
        low = 1;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
                low = (uintptr_t)address;
            }
            pthread_attr_destroy(&attributes);
        }
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return low == 1 ? SIZE_MAX : here > low ? here - low : 0;
}
