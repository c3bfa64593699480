// SPDX-License-Identifier: Apache-2.0
//
// Thread-local variables that every call reads. In a shared library each access is a function call
// unless the variable lies in the static block, of which glibc keeps a few hundred bytes for
// libraries opened at run time: only for small, hot variables.
#pragma once

#define IRT_TLS_HOT _Thread_local __attribute__((tls_model("initial-exec")))
