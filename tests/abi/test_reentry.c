// SPDX-License-Identifier: Apache-2.0
//
// Calls that come while the backend is being chosen: from the thread that chooses (refused at once,
// see reentrant/) and from others (they wait, and get the same answer). The backend then says that
// it has no device.
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>

#include "majors.h"

TestSuite(reentry, .timeout = 30);

enum { THREADS = 8 };

static void *first_call(void *result)
{
    int count = -7;
    *(int *)result = CALL(12, "cudaGetDeviceCount", (int *), &count);
    return count == -7 ? NULL : result;
}

Test(reentry, calls_during_the_choice_do_not_hang)
{
    pthread_t threads[THREADS];
    int results[THREADS];
    for (int i = 0; i < THREADS; i++) {
        cr_assert(pthread_create(&threads[i], NULL, first_call, &results[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrote = NULL;
        pthread_join(threads[i], &wrote);
        cr_expect(results[i] == cudaErrorNoDevice, "thread %d got %d", i, results[i]);
        cr_expect(wrote == NULL, "a failing call wrote its output");
    }
    const char *inner = getenv("IRT_REENTRANT");
    cr_assert(inner != NULL, "the backend was not asked");
    cr_expect_str_eq(inner, "3 3");
}
