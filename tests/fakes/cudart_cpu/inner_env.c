// SPDX-License-Identifier: Apache-2.0
//
// A runtime for the nvidia backend to forward to: our own, on the cpu backend, in the same process.
// Linked from the same objects as the front ends and the core, under another name and version node,
// so that the two cores share nothing. The choice of its backend must not follow the application's:
// this file, put in front of secure_getenv by the linker (--wrap), gives it variables of its own.
//
// What it proves: that whole programs work when all of their calls are forwarded. What it does not
// prove: anything about NVIDIA's runtime, for that see tests/nvidia/test_no_driver.py.
#include <stdlib.h>
#include <string.h>

char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);

char *__wrap_secure_getenv(const char *name)
{
    return __real_secure_getenv(strcmp(name, "INFINIRT_BACKEND") == 0        ? "INNER_BACKEND"
                                : strcmp(name, "INFINIRT_BACKEND_PATH") == 0 ? "INNER_BACKEND_PATH"
                                                                             : name);
}
