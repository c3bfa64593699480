// SPDX-License-Identifier: Apache-2.0
//
// The recording fake of NVIDIA's runtime: for each major a library with all of its functions, none
// of which does anything but store the registers and the part of the stack that arguments can be in
// (record.S). What it proves: which function a call reaches, with which bits, and that its result
// comes back whole. What it does not prove: anything that a runtime does. The calling conventions
// are those of the System V ABI for x86-64 and of AAPCS64.
//
// This record is a library of its own, so that the test and the three fakes share it. Members are
// read by tests/nvidia/test_forwarding.py.
#include <stdint.h>

__attribute__((visibility("default"))) struct {
    uint64_t index, calls; // position in the sorted list of exports; how many so far
    uint64_t integers[8];  // 6 on x86-64
    uint64_t numbers[8];   // lower halves of vector registers
    uint64_t stack[8];
} fake_cudart_record;
