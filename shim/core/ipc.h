// SPDX-License-Identifier: Apache-2.0
//
// Memory and events of other processes by handle (cudaIpc…). A handle is 64 bytes: what it is, the
// device it belongs to, the backend's name for it (irtb_share) and a check sum.
#pragma once

#include <cuda_runtime_api.h>

// The memory that cudaIpcOpenMemHandle mapped at `start` is about to be unmapped (device reset):
// opening its handle maps it anew. Nothing when there is none. Any thread; no ranked lock above
// IRT_RANK_DEVICE held.
void irt_ipc_forget(const void *start);
