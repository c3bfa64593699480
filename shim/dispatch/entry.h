// SPDX-License-Identifier: Apache-2.0
//
// What lies between an exported entry and the function that serves it: one array of slots per CUDA
// major ("front end"). The exported entries in libcudart.so.N are bare jumps through their slot.
// The arrays, names and fallbacks are generated from shim/api/runtime.tsv (shim/api/generate.py);
// shim/dispatch fills the slots; nobody else writes them.
#pragma once

#include <stddef.h>

typedef void (*irt_slot)(void);

// One front end. All arrays have `count` elements in the same order (that of the exported names).
struct irt_front {
    int major;   // 11, 12, 13
    int version; // CUDART_VERSION that the front end answers for, e.g. 12090
    unsigned count;
    const char *const *names;  // exported name, with _ptsz/_ptds
    irt_slot *slots;           // what the entries jump through; initially a thunk each, never NULL
    const irt_slot *fallbacks; // generated wrapper around shim/core, else the stub that answers 801
    const irt_slot *absent;    // what a forwarding backend lacks: irt_dispatch_absent
};

enum { IRT_FRONT_COUNT = 3 };
extern const struct irt_front irt_fronts[IRT_FRONT_COUNT]; // generated; ordered 11, 12, 13

// The front end of `major`, or NULL.
const struct irt_front *irt_front_of(int major);

// Called by the thunks with all argument registers saved, on the first call through a slot. Chooses
// the backend once for the process, then fills every slot of every front end with fallbacks[i]. Slots
// are stored with release order and are final afterwards.
// With a forwarding backend (api_open in backends/backend.h) a front end is filled at its own first
// call, with absent[i] where api_override has nothing.
// Returns the function to jump to: slots[slot] when the tables are filled; fallbacks[slot] when
// this thread re-enters while it is choosing (the wrapper's irt_api_enter then answers) or when no
// backend could be had. Other threads wait until the choice is made. Never returns NULL.
irt_slot irt_dispatch_first_call(int major, unsigned slot);

// What the functions answer that a forwarding backend does not have: 801 and one line that names
// them, or the error of a major whose library cannot be had.
int irt_dispatch_absent(int major, int fn);
