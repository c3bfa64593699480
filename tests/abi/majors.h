// SPDX-License-Identifier: Apache-2.0
//
// Calls into the front ends of all majors from one program, each opened like a plug-in, and the
// canary check for structs that the library fills. tests/abi/meson.build sets IRT_FRONT_11, _12,
// _13.
#pragma once

#include <stddef.h>

// Calls function `name` of front end `major`; `type` is the parameter list. Fails the test when the
// front end does not export it.
#define CALL(major, name, type, ...) (((int(*) type)front_function(major, name))(__VA_ARGS__))

void *front_function(int major, const char *name);

// Calls `fill` on two buffers with different patterns: the bytes that it wrote are equal in both.
// Every byte below `size` must be written, none from there on; `what` is for messages.
typedef int (*filler)(void *buffer, void *context);
void expect_written(filler fill, void *context, size_t size, const char *what);
