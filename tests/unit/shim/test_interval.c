// SPDX-License-Identifier: Apache-2.0
//
// Interval sets against a plain array, with random and edge ranges.
#include "shim/util/interval.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(interval, .timeout = 20);

Test(interval, edges)
{
    struct irt_interval_set set = {0};
    struct irt_interval a = {.start = 100, .size = 50};
    struct irt_interval touching = {.start = 150, .size = 1};
    struct irt_interval inside = {.start = 149, .size = 1};
    struct irt_interval around = {.start = 50, .size = 200};
    struct irt_interval empty = {.start = 10, .size = 0};
    struct irt_interval last = {.start = UINTPTR_MAX, .size = 1};
    struct irt_interval wraps = {.start = UINTPTR_MAX, .size = 2};
    cr_assert(irt_interval_insert(&set, &a));
    cr_assert(!irt_interval_insert(&set, &inside));
    cr_assert(!irt_interval_insert(&set, &around));
    cr_assert(!irt_interval_insert(&set, &empty));
    cr_assert(!irt_interval_insert(&set, &wraps));
    cr_assert(irt_interval_insert(&set, &touching));
    cr_assert(irt_interval_insert(&set, &last));
    cr_assert(irt_interval_find(&set, 99) == NULL);
    cr_assert(irt_interval_find(&set, 100) == &a && irt_interval_find(&set, 149) == &a);
    cr_assert(irt_interval_find(&set, 150) == &touching);
    cr_assert(irt_interval_find(&set, UINTPTR_MAX) == &last);
    cr_assert(irt_interval_overlap(&set, 0, 100) == NULL);
    cr_assert(irt_interval_overlap(&set, 0, 101) == &a);
    cr_assert(irt_interval_overlap(&set, 151, 10) == NULL);
    cr_assert(irt_interval_overlap(&set, 120, 0) == NULL);
    cr_assert(irt_interval_from(&set, 101) == &touching);
    irt_interval_remove(&set, &a);
    cr_assert(irt_interval_find(&set, 120) == NULL && set.count == 2);
}

enum { RANGE = 4096, NODES = 600 };

// The owner of each byte, as the set must see it.
static int owner[RANGE];
static struct irt_interval nodes[NODES];
static int present[NODES];

static int expect_free(size_t start, size_t size)
{
    for (size_t i = start; i < start + size; i++) {
        if (owner[i] != 0) {
            return 0;
        }
    }
    return 1;
}

Test(interval, random_against_array)
{
    struct irt_interval_set set = {0};
    srand(7);
    for (int step = 0; step < 20000; step++) {
        int n = rand() % NODES;
        if (present[n]) {
            irt_interval_remove(&set, &nodes[n]);
            present[n] = 0;
            for (size_t i = 0; i < nodes[n].size; i++) {
                owner[nodes[n].start + i] = 0;
            }
        } else {
            nodes[n].size = (size_t)(1 + rand() % 20);
            nodes[n].start = (uintptr_t)rand() % (RANGE - nodes[n].size);
            int fits = expect_free(nodes[n].start, nodes[n].size);
            cr_assert(irt_interval_insert(&set, &nodes[n]) == fits, "step %d", step);
            present[n] = fits;
            for (size_t i = 0; fits && i < nodes[n].size; i++) {
                owner[nodes[n].start + i] = n + 1;
            }
        }
        uintptr_t at = (uintptr_t)rand() % RANGE;
        struct irt_interval *found = irt_interval_find(&set, at);
        cr_assert(found == (owner[at] ? &nodes[owner[at] - 1] : NULL), "step %d", step);
    }
    size_t count = 0;
    for (struct irt_interval *i = irt_interval_from(&set, 0); i;
         i = irt_interval_from(&set, i->start + 1)) {
        count++;
    }
    cr_assert(count == set.count);
}
