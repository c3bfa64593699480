// SPDX-License-Identifier: Apache-2.0
//
// Faults of the processor (SIGSEGV, SIGBUS, SIGFPE, SIGILL) inside device work: the handlers, which
// pass on what is not ours to whoever had them before, and the frame to which a thread returns.
// The frame is also where trap and assert of compiled code leave the kernel.
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <driver_types.h>

enum { EXEC_FAULT_PCS = 12 };

// While a thread runs device work its frame is `exec_fault_current`. A fault stores what happened
// and jumps to `jump`, which was set with sigsetjmp(jump, 0) in a caller that still runs.
struct exec_fault_frame {
    sigjmp_buf jump;
    struct exec_fault_frame *outer;
    int signal; // 0: left by exec_fault_leave
    cudaError_t error;
    uintptr_t address; // of the access, when the processor tells it
    bool has_address;
    char reason[160]; // of exec_fault_leave
    // Where it happened: code addresses, from the inside out; one of them may be in a kernel.
    uintptr_t pcs[EXEC_FAULT_PCS];
    unsigned pc_count;
};

extern _Thread_local struct exec_fault_frame *exec_fault_current
    __attribute__((tls_model("initial-exec")));

// Installs the handlers, once per process. Any thread.
void exec_fault_install(void);

// Gives the thread an alternate signal stack if it has none, so that running out of stack can be
// handled; undone when the thread ends. Cheap after the first call of a thread.
void exec_fault_thread(void);

// Makes the frame current / the outer one current again. Use: push; if (!sigsetjmp(frame.jump, 0))
// { work } else { look at the frame }; pop.
static inline void exec_fault_push(struct exec_fault_frame *frame)
{
    frame->outer = exec_fault_current;
    frame->signal = 0;
    frame->error = cudaSuccess;
    frame->has_address = false;
    frame->pc_count = 0;
    frame->reason[0] = '\0';
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    exec_fault_current = frame;
}

static inline void exec_fault_pop(struct exec_fault_frame *frame)
{
    exec_fault_current = frame->outer;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// Leaves the device work of this thread with an error and a reason (printf form, one line).
_Noreturn void exec_fault_leave(cudaError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// While the pages of a range are being replaced by others with the same contents, a thread that
// faults in it waits and tries again. One range at a time (the caller's lock). The range stays
// known after `end`, for threads that have faulted but not yet come to the handler, until `forget`,
// which is due before the addresses get another use.
void exec_fault_hold_begin(const void *start, size_t size);
void exec_fault_hold_end(void);
void exec_fault_hold_forget(const void *start);

// Describes a frame that was jumped to, e.g. "access to illegal address 0x10 at file.cu:12".
void exec_fault_describe(const struct exec_fault_frame *frame, char *ret_text, size_t size);

// Bytes of stack below the caller's frame; SIZE_MAX when it cannot be found out.
size_t exec_stack_left(void);
