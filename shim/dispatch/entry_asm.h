// SPDX-License-Identifier: Apache-2.0
//
// Assembly of the generated entries and slots, for the processors that we build on. An entry is a
// bare jump through its slot and changes no argument register. A slot first holds a thunk, which
// saves every register that can carry an argument, lets irt_dispatch_first_call choose the
// function, and jumps there as if the caller had done so. Used only by generated .S files.
#pragma once

// clang-format off: this is assembly

#if defined(__x86_64__)

#define ENTRY(major, name, i)                                                                      \
    .text; .globl name; .type name, @function; .p2align 4; name:;                                  \
    movq irt_slots_##major@GOTPCREL(%rip), %r11; jmp *8*(i)(%r11); .size name, .- name;

// r11 is free between caller and callee; it carries the slot number.
#define THUNK(major, i)                                                                            \
    .text; .type thunk_##major##_##i, @function; thunk_##major##_##i:;                             \
    movl $(i), %r11d; jmp first_##major; .size thunk_##major##_##i, .- thunk_##major##_##i;

#define FIRST_CALL(major)                                                                          \
    .text; .type first_##major, @function; first_##major:; .cfi_startproc;                         \
    pushq %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16;                                     \
    movq %rsp, %rbp; .cfi_def_cfa_register %rbp; subq $192, %rsp;                                  \
    movq %rdi, (%rsp); movq %rsi, 8(%rsp); movq %rdx, 16(%rsp); movq %rcx, 24(%rsp);               \
    movq %r8, 32(%rsp); movq %r9, 40(%rsp); movq %rax, 48(%rsp); movq %r10, 56(%rsp);              \
    movaps %xmm0, 64(%rsp); movaps %xmm1, 80(%rsp); movaps %xmm2, 96(%rsp);                        \
    movaps %xmm3, 112(%rsp); movaps %xmm4, 128(%rsp); movaps %xmm5, 144(%rsp);                     \
    movaps %xmm6, 160(%rsp); movaps %xmm7, 176(%rsp);                                              \
    movl $(major), %edi; movl %r11d, %esi; call irt_dispatch_first_call@PLT; movq %rax, %r11;      \
    movq (%rsp), %rdi; movq 8(%rsp), %rsi; movq 16(%rsp), %rdx; movq 24(%rsp), %rcx;               \
    movq 32(%rsp), %r8; movq 40(%rsp), %r9; movq 48(%rsp), %rax; movq 56(%rsp), %r10;              \
    movaps 64(%rsp), %xmm0; movaps 80(%rsp), %xmm1; movaps 96(%rsp), %xmm2;                        \
    movaps 112(%rsp), %xmm3; movaps 128(%rsp), %xmm4; movaps 144(%rsp), %xmm5;                     \
    movaps 160(%rsp), %xmm6; movaps 176(%rsp), %xmm7;                                              \
    leave; .cfi_def_cfa %rsp, 8; jmp *%r11; .cfi_endproc; .size first_##major, .- first_##major;

#elif defined(__aarch64__)

#define ENTRY(major, name, i)                                                                      \
    .text; .globl name; .type name, %function; .p2align 4; name:;                                  \
    adrp x16, :got:irt_slots_##major; ldr x16, [x16, :got_lo12:irt_slots_##major];                 \
    ldr x16, [x16, 8*(i)]; br x16; .size name, .- name;

// x9 is free between caller and callee; it carries the slot number.
#define THUNK(major, i)                                                                            \
    .text; .type thunk_##major##_##i, %function; thunk_##major##_##i:;                             \
    mov w9, i; b first_##major; .size thunk_##major##_##i, .- thunk_##major##_##i;

#define FIRST_CALL(major)                                                                          \
    .text; .type first_##major, %function; first_##major:; .cfi_startproc;                         \
    stp x29, x30, [sp, -224]!; .cfi_def_cfa_offset 224; .cfi_offset 29, -224;                      \
    .cfi_offset 30, -216; mov x29, sp;                                                             \
    stp x0, x1, [sp, 16]; stp x2, x3, [sp, 32]; stp x4, x5, [sp, 48]; stp x6, x7, [sp, 64];        \
    str x8, [sp, 80];                                                                              \
    stp q0, q1, [sp, 96]; stp q2, q3, [sp, 128]; stp q4, q5, [sp, 160]; stp q6, q7, [sp, 192];     \
    mov w0, major; mov w1, w9; bl irt_dispatch_first_call; mov x16, x0;                            \
    ldp x0, x1, [sp, 16]; ldp x2, x3, [sp, 32]; ldp x4, x5, [sp, 48]; ldp x6, x7, [sp, 64];        \
    ldr x8, [sp, 80];                                                                              \
    ldp q0, q1, [sp, 96]; ldp q2, q3, [sp, 128]; ldp q4, q5, [sp, 160]; ldp q6, q7, [sp, 192];     \
    ldp x29, x30, [sp], 224; .cfi_def_cfa_offset 0; .cfi_restore 29; .cfi_restore 30;              \
    br x16; .cfi_endproc; .size first_##major, .- first_##major;

#else
#error "no entries for this processor yet: add them here"
#endif

#if defined(__aarch64__)
#define IRT_OBJECT %object
#define IRT_PROGBITS %progbits
#else
#define IRT_OBJECT @object
#define IRT_PROGBITS @progbits
#endif

#define SLOTS_BEGIN(major)                                                                         \
    .section .data.rel, "aw"; .globl irt_slots_##major; .p2align 6; irt_slots_##major:;
#define SLOT(major, i) .quad thunk_##major##_##i;
#define SLOTS_END(major)                                                                           \
    .type irt_slots_##major, IRT_OBJECT; .size irt_slots_##major, .- irt_slots_##major;

.section .note.GNU-stack, "", IRT_PROGBITS
