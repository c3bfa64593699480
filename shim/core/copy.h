// SPDX-License-Identifier: Apache-2.0
//
// The one way of a copy or fill: what the addresses are, which kind results, how far they may
// reach, what the host waits for. The functions of the API (copy.c, box.c, symbol.c) only bring
// their arguments into this form.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"

// Decides what the host waits for (CUDA Runtime API, "API synchronization behavior").
enum irt_copy_mode {
    IRT_COPY_BLOCKING, // the functions without Async
    IRT_COPY_ASYNC,    // a pageable source may change as soon as the call is back
    IRT_COPY_ORDERED,  // the source is read in stream order, also when it is pageable
    IRT_COPY_TAKEN,    // no source is read any more when the call is back
    IRT_COPY_CHECK,    // nothing is enqueued: answers only whether the addresses are good
};

// Copies box->src to box->dst on the stream. The caller fills in the addresses, width, height,
// depth and pitches; devices and kind are found here. Nothing is done when a size is 0. Errors:
// cudaErrorInvalidMemcpyDirection for an unknown kind; cudaErrorInvalidValue when an address does
// not suit the kind or the copy runs out of an allocation; cudaErrorInvalidResourceHandle; faults.
cudaError_t irt_copy_run(const struct irtb_copy *box, enum cudaMemcpyKind kind, cudaStream_t stream,
                         enum irt_copy_mode mode);

// What a cudaMemcpy3DParms describes, with arrays as the memory that they are: a box for irt_copy_run
// (width 0 when there is nothing to copy) and the corrected kind. cudaErrorInvalidValue,
// cudaErrorInvalidPitchValue, cudaErrorInvalidMemcpyDirection, cudaErrorInvalidResourceHandle.
cudaError_t irt_copy_describe_3d(const struct cudaMemcpy3DParms *p, struct irtb_copy *ret_box,
                                 enum cudaMemcpyKind *ret_kind);

// The same for the description of a 3D copy, as cudaMemcpy3D has it (box.c).
cudaError_t irt_copy_run_3d(const struct cudaMemcpy3DParms *p, cudaStream_t stream,
                            enum irt_copy_mode mode);

// What irt_copy_run would copy: the same checks, and the box with devices and kind filled in. Nothing
// is enqueued; a box without bytes comes back with width 0.
cudaError_t irt_copy_resolve(const struct irtb_copy *box, enum cudaMemcpyKind kind,
                             struct irtb_copy *ret_box);

// The same checks as irt_fill_run, for any element size. Nothing is enqueued.
cudaError_t irt_fill_check(const struct irtb_fill *fill);

// Fills a box likewise; what it fills is aligned to the elements.
cudaError_t irt_fill_run(const struct irtb_fill *fill, cudaStream_t stream,
                         enum irt_copy_mode mode);

// cudaErrorInvalidMemcpyDirection unless the kind is one of the enumerators.
cudaError_t irt_copy_check_kind(enum cudaMemcpyKind kind);

// Waits for the work of a stream; for calls that CUDA orders against several devices.
cudaError_t irt_copy_finish(cudaStream_t stream);

// Waits for all work of two devices. cudaErrorInvalidDevice for a number that is none.
cudaError_t irt_copy_drain_peers(int first, int second);
