// SPDX-License-Identifier: Apache-2.0
//
// Numbers in memory as signals: writing one in the order of a stream, and waiting for one. A stream
// that waits is blocked and costs no worker; while there are such streams one thread looks at their
// numbers, since anybody may write them. For stream.c.
#pragma once

#include <stdbool.h>

#include "stream.h"

// Writes the number, after everything that this thread has seen. A fault is the device's.
void exec_value_write(struct exec_device *device, const struct irtb_value *value);

// Whether the number satisfies the condition now; true as well when the device is lost or when
// reading it faults, which is the device's fault then. No lock held.
bool exec_value_holds(struct exec_device *device, const struct irtb_value *value);

// The stream, whose state is BLOCKED and whose lock the caller holds, goes on (exec_stream_unblock)
// when the number satisfies the condition. `value` stays where it is until then.
void exec_value_block(struct irtb_stream *stream, const struct irtb_value *value);
