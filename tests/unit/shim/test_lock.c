// SPDX-License-Identifier: Apache-2.0
//
// The rank check of debug builds.
#include "shim/util/lock.h"

#include <criterion/criterion.h>

#include "shim/util/log.h"

TestSuite(lock, .timeout = 10);

Test(lock, order_of_ranks)
{
#ifndef NDEBUG
    static struct irt_mutex pair[2] = {IRT_MUTEX_INIT(IRT_RANK_STREAM),
                                       IRT_MUTEX_INIT(IRT_RANK_STREAM)};
    struct irt_mutex memory = IRT_MUTEX_INIT(IRT_RANK_MEMORY);
    cr_assert(irt_lock_none_held());
    irt_mutex_lock(&pair[0]);
    irt_mutex_lock(&pair[1]);
    irt_mutex_lock(&memory);
    cr_assert(irt_lock_violations() == 0 && !irt_lock_none_held());
    irt_mutex_unlock(&pair[1]);
    irt_mutex_unlock(&pair[0]);
    irt_log_configure("warn");
    irt_mutex_lock(&pair[0]); // below the rank of memory
    cr_assert(irt_lock_violations() == 1);
    irt_mutex_unlock(&pair[0]);
    irt_mutex_unlock(&memory);
    cr_assert(irt_lock_none_held());
#else
    cr_skip_test("ranks are not checked in this build");
#endif
}
