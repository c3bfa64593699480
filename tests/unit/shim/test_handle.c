// SPDX-License-Identifier: Apache-2.0
//
// Handle tables: validity, generations, references, many threads.
#include "shim/util/handle.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

TestSuite(handle, .timeout = 20);

static _Atomic int destroyed;

static void count_destroyed(void *object)
{
    atomic_fetch_add(&destroyed, 1);
    (void)object;
}

static struct irt_handle_table table = IRT_HANDLE_TABLE(IRT_HANDLE_STREAM, count_destroyed);
static struct irt_handle_table other = IRT_HANDLE_TABLE(IRT_HANDLE_EVENT, count_destroyed);

Test(handle, garbage_is_refused)
{
    int object;
    void *handle = irt_handle_open(&table, &object);
    const uintptr_t garbage[] = {0,
                                 1,
                                 2,
                                 0x10,
                                 (uintptr_t)&object,
                                 (uintptr_t)handle + 1,
                                 (uintptr_t)handle + 16,
                                 (uintptr_t)handle + (UINT64_C(1) << 28),
                                 (uintptr_t)handle ^ (UINT64_C(1) << 63),
                                 ~(uintptr_t)0,
                                 UINT64_C(0x0100000fffffff0)};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        const void *g = (const void *)garbage[i];
        cr_assert(irt_handle_get(&table, g) == NULL, "row %zu", i);
        cr_assert(!irt_handle_close(&table, g), "row %zu", i);
    }
    irt_handle_put(&table, NULL); // harmless
    cr_assert(irt_handle_get(&other, handle) == NULL, "a handle has a type");
    cr_assert(irt_handle_get(&table, handle) == &object);
    irt_handle_put(&table, handle);
}

Test(handle, closed_handles_stay_invalid_when_the_slot_is_used_again)
{
    int a;
    int b;
    void *first = irt_handle_open(&table, &a);
    cr_assert(first && (uintptr_t)first % 16 == 0 && (intptr_t)first > 2);
    cr_assert(irt_handle_close(&table, first));
    cr_assert(atomic_load(&destroyed) == 1);
    void *second = irt_handle_open(&table, &b);
    cr_assert(second != first);
    cr_assert(irt_handle_get(&table, first) == NULL);
    cr_assert(!irt_handle_close(&table, first));
    cr_assert(irt_handle_get(&table, second) == &b);
}

Test(handle, the_last_reference_destroys)
{
    int object;
    void *handle = irt_handle_open(&table, &object);
    cr_assert(irt_handle_get(&table, handle) == &object);
    irt_handle_ref(&table, handle);
    cr_assert(irt_handle_close(&table, handle));
    cr_assert(irt_handle_get(&table, handle) == NULL);
    irt_handle_put(&table, handle);
    cr_assert(atomic_load(&destroyed) == 0);
    irt_handle_put(&table, handle);
    cr_assert(atomic_load(&destroyed) == 1);
}

static void visit(void *handle, void *object, void *context)
{
    (void)handle;
    *(size_t *)context += *(size_t *)object;
}

Test(handle, many)
{
    enum { COUNT = 3000 };
    static size_t values[COUNT];
    static void *handles[COUNT];
    size_t sum = 0;
    for (size_t i = 0; i < COUNT; i++) {
        values[i] = i;
        handles[i] = irt_handle_open(&table, &values[i]);
        cr_assert(handles[i] != NULL);
    }
    for (size_t i = 0; i < COUNT; i += 2) {
        cr_assert(irt_handle_close(&table, handles[i]));
    }
    irt_handle_each(&table, visit, &sum);
    cr_assert(sum == 1500 * 1500, "sum %zu", sum);
    for (size_t i = 1; i < COUNT; i += 2) {
        cr_assert(irt_handle_get(&table, handles[i]) == &values[i]);
    }
}

static void *_Atomic shared;
static _Atomic int closes;

static void *race(void *argument)
{
    static int object;
    for (int i = 0; i < 20000; i++) {
        void *handle = atomic_load(&shared);
        void *got = irt_handle_get(&table, handle);
        if (got) {
            irt_handle_put(&table, handle);
        }
        if (i % 16 == 0 && irt_handle_close(&table, handle)) {
            atomic_fetch_add(&closes, 1);
            atomic_store(&shared, irt_handle_open(&table, &object));
        }
    }
    return argument;
}

Test(handle, threads)
{
    pthread_t threads[4];
    int object;
    atomic_store(&shared, irt_handle_open(&table, &object));
    for (int i = 0; i < 4; i++) {
        cr_assert(pthread_create(&threads[i], NULL, race, NULL) == 0);
    }
    for (int i = 0; i < 4; i++) {
        cr_assert(pthread_join(threads[i], NULL) == 0);
    }
    cr_assert(atomic_load(&destroyed) == atomic_load(&closes), "each close destroys once");
}
