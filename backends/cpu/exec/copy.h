// SPDX-License-Identifier: Apache-2.0
//
// Bytes: box copies and fills, done by the calling thread. No queues here. Called by stream.c.
#pragma once

#include "backends/backend.h"

void exec_copy_box(const struct irtb_copy *copy);
void exec_fill_box(const struct irtb_fill *fill);
