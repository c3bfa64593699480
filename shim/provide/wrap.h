// SPDX-License-Identifier: Apache-2.0
//
// A backend whose kernels come from providers (provider.h): a table of operations put in front of
// the backend's own. Kernels that no provider has go to the backend; one that cannot run CUDA code
// gets modules with variables and parameter layouts here, and answers 209 for kernels without a
// provider. Callers: shim/dispatch.
#pragma once

#include "backends/backend.h"

// The backend to use in place of `inner`, which has been initialised: `inner` itself when there is
// nothing to do. `kernels`: INFINIRT_KERNELS or NULL. NULL with one line of reason when a provider
// cannot be used. Lives as long as the process. Not from several threads at once.
const struct irtb_backend *irt_provide(const struct irtb_backend *inner,
                                       const struct irtb_host *host, const char *kernels,
                                       char *ret_why, size_t why_size);

// Whether there are providers. Only once a backend is chosen.
bool irt_provide_kernels(void);
