// SPDX-License-Identifier: Apache-2.0
//
// Names for bodies that several majors share: this folder is compiled once for each major, with
// IRT_MAJOR as its number. COMPAT(cudaFoo) is the function that the major's generated wrapper
// calls, OLD(cudaFoo) the major's own layout of a struct that CUDA 13 changed, CONVERT(cudaFoo,
// to_13) and CONVERT(cudaFoo, from_13) the generated translations between the two.
#pragma once

#if IRT_MAJOR == 11
#include "irt_compat11.h"
#define COMPAT(name) irt_compat11_##name
#define OLD(type) irt11_##type
#define CONVERT(type, way) irt11_##type##_##way
#define IRT_MAJOR_VERSION IRT_COMPAT11_VERSION
#elif IRT_MAJOR == 12
#include "irt_compat12.h"
#define COMPAT(name) irt_compat12_##name
#define OLD(type) irt12_##type
#define CONVERT(type, way) irt12_##type##_##way
#define IRT_MAJOR_VERSION IRT_COMPAT12_VERSION
#elif IRT_MAJOR == 13
#include "irt_compat13.h"
#define COMPAT(name) irt_compat13_##name
#define IRT_MAJOR_VERSION IRT_COMPAT13_VERSION
#else
#error "IRT_MAJOR is 11, 12 or 13"
#endif
