// SPDX-License-Identifier: Apache-2.0
//
// Copies, fills, host functions and launches with both sides; each is the operation of that name.
#pragma once

#include <pthread.h>

#include "backends/backend.h"

extern pthread_mutex_t irt_diff_lock; // of all work and lists

cudaError_t irt_diff_copy(struct irtb_stream *stream, const struct irtb_copy *copy);
cudaError_t irt_diff_fill(struct irtb_stream *stream, const struct irtb_fill *fill);
cudaError_t irt_diff_host_func(struct irtb_stream *stream, void (*function)(void *), void *argument,
                               bool always);
cudaError_t irt_diff_launch(struct irtb_stream *stream, const struct irtb_launch *launch);
