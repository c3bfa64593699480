// SPDX-License-Identifier: Apache-2.0
//
// Device-side printf: conversions against the host's own printf, the FIFO's limit; the device heap.
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exec_test.h"

TestSuite(print, .timeout = 10);

// Argument buffers as nvcc packs them.
struct pack {
    unsigned char bytes[256];
    size_t size;
};

static void put(struct pack *pack, const void *value, size_t size)
{
    pack->size = (pack->size + size - 1) / size * size;
    memcpy(pack->bytes + pack->size, value, size);
    pack->size += size;
}

#define PUT(pack, type, value) put((pack), &(type){value}, sizeof(type))

static void expect(const char *format, const struct pack *pack, const char *want, int count)
{
    char text[512];
    int32_t got_count = -1;
    size_t length = exec_printf_format(text, sizeof text, format, pack->bytes, &got_count);
    cr_expect_str_eq(text, want, "format '%s': '%s'", format, text);
    cr_expect_eq(length, strlen(want), "format '%s'", format);
    cr_expect_eq(got_count, count, "format '%s'", format);
}

Test(print, integers)
{
    struct pack p = {.size = 0};
    PUT(&p, int, -5);
    PUT(&p, long long, LLONG_MIN);
    PUT(&p, unsigned, 3000000000u);
    PUT(&p, unsigned long, 255ul);
    PUT(&p, int, 'x');
    expect("%d|%lld|%u|%#lx|%c", &p, "-5|-9223372036854775808|3000000000|0xff|x", 5);
    struct pack q = {.size = 0};
    PUT(&q, int, 42);
    PUT(&q, int, 42);
    PUT(&q, int, -42);
    PUT(&q, int, 70000);
    PUT(&q, int, 300);
    PUT(&q, int, 8);
    PUT(&q, int, 255);
    expect("%5d|%-5i|%05d|%hd|%hhu|%o|%X", &q, "   42|42   |-0042|4464|44|10|FF", 7);
}

Test(print, floats)
{
    struct pack p = {.size = 0};
    PUT(&p, double, 3.14159265358979);
    PUT(&p, double, -1e300);
    PUT(&p, double, 0.0001);
    PUT(&p, double, 1.0);
    PUT(&p, double, 2.5);
    char want[256];
    snprintf(want, sizeof want, "%.3f|%e|%g|%a|%+8.2F", 3.14159265358979, -1e300, 0.0001, 1.0, 2.5);
    expect("%.3f|%e|%g|%a|%+8.2F", &p, want, 5);
    struct pack q = {.size = 0};
    PUT(&q, double, 1.0 / 0.0);
    PUT(&q, double, -1.0 / 0.0);
    expect("%f %E", &q, "inf -INF", 2);
}

Test(print, strings_pointers_and_stars)
{
    struct pack p = {.size = 0};
    PUT(&p, const char *, "hello");
    PUT(&p, const char *, NULL);
    PUT(&p, int, 8);
    PUT(&p, const char *, "right");
    PUT(&p, int, -8);
    PUT(&p, int, 2);
    PUT(&p, const char *, "left");
    PUT(&p, void *, (void *)0xabc0);
    expect("%s %s [%*s] [%*.*s] %p", &p, "hello (null) [   right] [le      ] 0xabc0", 8);
}

Test(print, mixed_sizes_are_aligned_naturally)
{
    struct pack p = {.size = 0};
    PUT(&p, int, 1);
    PUT(&p, double, 2.0);
    PUT(&p, int, 3);
    PUT(&p, int, 4);
    PUT(&p, const char *, "5");
    expect("%d %.0f %d %d %s", &p, "1 2 3 4 5", 5);
}

Test(print, percent_and_unknown_conversions_stay)
{
    struct pack p = {.size = 0};
    PUT(&p, int, 7);
    expect("100%% %d", &p, "100% 7", 1);
    expect("%d %y %", &p, "7 %y %", 1);
    expect("", &p, "", 0);
}

Test(print, long_texts_are_whole)
{
    struct pack p = {.size = 0};
    PUT(&p, int, 1);
    char text[64];
    int32_t count;
    cr_expect_eq(exec_printf_format(text, 10, "%05000d", p.bytes, &count), 5000);
    cr_expect_eq(strlen(text), 9);
}

Test(print, output_comes_in_order_at_the_flush)
{
    FILE *file = tmpfile();
    int saved = dup(1);
    fflush(stdout);
    dup2(fileno(file), 1);
    struct exec_printf *fifo = exec_printf_create(1 << 20);
    struct pack p = {.size = 0};
    PUT(&p, int, 0);
    for (int i = 0; i < 100; i++) {
        memcpy(p.bytes, &i, sizeof i);
        cr_expect_eq(exec_printf_append(fifo, "%d\n", p.bytes), 1);
    }
    exec_printf_flush(fifo);
    exec_printf_flush(fifo);
    fflush(stdout);
    dup2(saved, 1);
    rewind(file);
    int value, next = 0;
    while (fscanf(file, "%d", &value) == 1) {
        cr_expect_eq(value, next++);
    }
    cr_expect_eq(next, 100);
    exec_printf_destroy(fifo);
}

Test(print, the_oldest_is_lost_when_the_fifo_is_full)
{
    FILE *file = tmpfile();
    int saved = dup(1);
    fflush(stdout);
    dup2(fileno(file), 1);
    struct exec_printf *fifo = exec_printf_create(240); // ten lines of 24 bytes
    for (int i = 0; i < 100; i++) {
        exec_printf_append(fifo, "%d\n", &i);
    }
    exec_printf_flush(fifo);
    fflush(stdout);
    dup2(saved, 1);
    rewind(file);
    int value, next = 90;
    while (fscanf(file, "%d", &value) == 1) {
        cr_expect_eq(value, next++);
    }
    cr_expect_eq(next, 100);
    exec_printf_destroy(fifo);
}

Test(print, device_heap_gives_and_takes)
{
    struct exec_heap *heap = exec_heap_create(1 << 20);
    enum { N = 2000 };
    static unsigned char *pieces[N];
    static size_t sizes[N];
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        seed = seed * 1103515245u + 12345u;
        unsigned i = (seed >> 8) % N;
        if (pieces[i]) {
            for (size_t k = 0; k < sizes[i]; k++) {
                cr_assert_eq(pieces[i][k], (unsigned char)i);
            }
            cr_assert(exec_heap_free(heap, pieces[i]));
            pieces[i] = NULL;
            continue;
        }
        sizes[i] = 1 + (seed >> 20) % 700;
        pieces[i] = exec_heap_alloc(heap, sizes[i]);
        if (pieces[i]) {
            cr_assert_eq((uintptr_t)pieces[i] % 16, 0);
            memset(pieces[i], (int)(i & 0xff), sizes[i]);
        }
    }
    cr_expect_null(exec_heap_alloc(heap, 0));
    cr_expect_null(exec_heap_alloc(heap, (1 << 20) + 1));
    cr_expect(!exec_heap_free(heap, heap));
    cr_expect(exec_heap_reset(heap, 4096));
    void *all = exec_heap_alloc(heap, 4096);
    cr_expect_not_null(all);
    cr_expect_null(exec_heap_alloc(heap, 1));
    cr_expect(exec_heap_free(heap, all));
    cr_expect(!exec_heap_free(heap, all));
    cr_expect_not_null(exec_heap_alloc(heap, 100));
    exec_heap_destroy(heap);
}
