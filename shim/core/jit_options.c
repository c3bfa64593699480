// SPDX-License-Identifier: Apache-2.0
//
// JIT options. Source: CUDA Runtime API, cudaJitOption; CUDA Driver API, CUjit_option.
#include "shim/core/jit_options.h"

#include <cuda.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "shim/core/api_rules.h"

// Greatest value of an option with which nothing else is done, plus one; 0: no such option. All of
// them are unsigned int, or pointers that nobody follows.
#define ANY ((uint64_t)UINT32_MAX + 1)

static const uint64_t hints[CU_JIT_NUM_OPTIONS] = {
    [CU_JIT_MAX_REGISTERS] = ANY,
    [CU_JIT_OPTIMIZATION_LEVEL] = 4 + 1,
    [CU_JIT_TARGET_FROM_CUCONTEXT] = ANY,
    [CU_JIT_TARGET] = ANY,
    [CU_JIT_FALLBACK_STRATEGY] = CU_PREFER_BINARY + 1,
    [CU_JIT_GENERATE_DEBUG_INFO] = ANY,
    [CU_JIT_LOG_VERBOSE] = ANY,
    [CU_JIT_GENERATE_LINE_INFO] = ANY,
    [CU_JIT_CACHE_MODE] = CU_JIT_CACHE_OPTION_CA + 1,
    [CU_JIT_NEW_SM3X_OPT] = ANY,
    [CU_JIT_FAST_COMPILE] = ANY,
    // These concern LTO code, which is refused as such.
    [CU_JIT_LTO] = ANY,
    [CU_JIT_FTZ] = ANY,
    [CU_JIT_PREC_DIV] = ANY,
    [CU_JIT_PREC_SQRT] = ANY,
    [CU_JIT_FMA] = ANY,
    [CU_JIT_REFERENCED_KERNEL_NAMES] = ANY,
    [CU_JIT_REFERENCED_KERNEL_COUNT] = ANY,
    [CU_JIT_REFERENCED_VARIABLE_NAMES] = ANY,
    [CU_JIT_REFERENCED_VARIABLE_COUNT] = ANY,
    [CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES] = ANY,
    [CU_JIT_POSITION_INDEPENDENT_CODE] = ANY,
    [CU_JIT_MIN_CTA_PER_SM] = ANY,
    [CU_JIT_SPLIT_COMPILE] = ANY,
};

static cudaError_t read_one(unsigned option, void **value, struct irt_jit_options *out)
{
    const uint32_t number = (uint32_t)(uintptr_t)*value; // a scalar in the place of a pointer
    switch (option) {
    case cudaJitThreadsPerBlock:
        out->threads = value;
        return cudaSuccess;
    case cudaJitWallTime:
        out->wall_time = value;
        return cudaSuccess;
    case cudaJitInfoLogBuffer:
        out->info = *value;
        return cudaSuccess;
    case cudaJitInfoLogBufferSizeBytes:
        out->info_size = number;
        out->info_filled = value;
        return cudaSuccess;
    case cudaJitErrorLogBuffer:
        out->error = *value;
        return cudaSuccess;
    case cudaJitErrorLogBufferSizeBytes:
        out->error_size = number;
        out->error_filled = value;
        return cudaSuccess;
    case cudaJitMaxThreadsPerBlock:
        out->limits.max_threads = number;
        return number <= INT32_MAX ? cudaSuccess : cudaErrorInvalidValue;
    case cudaJitOverrideDirectiveValues:
        out->limits.override = number != 0;
        return cudaSuccess;
    case CU_JIT_GLOBAL_SYMBOL_NAMES:
    case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
    case CU_JIT_GLOBAL_SYMBOL_COUNT:
        return irt_unsupported("CU_JIT_GLOBAL_SYMBOL_NAMES");
    default:
        return option < CU_JIT_NUM_OPTIONS && number < hints[option] ? cudaSuccess
                                                                     : cudaErrorInvalidValue;
    }
}

cudaError_t irt_jit_options_read(unsigned count, const enum cudaJitOption *options, void **values,
                                 struct irt_jit_options *ret_options)
{
    struct irt_jit_options out;
    memset(&out, 0, sizeof out);
    if (count && (!options || !values)) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < count; i++) {
        cudaError_t e = read_one((unsigned)options[i], &values[i], &out);
        if (e) {
            return e;
        }
    }
    *ret_options = out;
    return cudaSuccess;
}

static void answer_log(char *buffer, size_t size, void **filled, const char *text)
{
    size_t written = 0;
    if (buffer && size) {
        snprintf(buffer, size, "%s", text);
        written = strlen(buffer);
    }
    if (filled) {
        *filled = (void *)(uintptr_t)written; // NOLINT(performance-no-int-to-ptr): a scalar
    }
}

void irt_jit_options_answer(const struct irt_jit_options *options, const char *info,
                            const char *error, float milliseconds)
{
    answer_log(options->info, options->info_size, options->info_filled, info);
    answer_log(options->error, options->error_size, options->error_filled, error);
    if (options->wall_time) {
        memcpy(options->wall_time, &milliseconds, sizeof milliseconds);
    }
    if (options->threads) {
        // Code needs no registers here, so every block size that a device allows can be launched.
        const unsigned most = (unsigned)irt_device_current()->info.prop.maxThreadsPerBlock;
        const uint32_t asked = (uint32_t)(uintptr_t)*options->threads;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a scalar
        *options->threads = (void *)(uintptr_t)(asked && asked < most ? asked : most);
    }
}
