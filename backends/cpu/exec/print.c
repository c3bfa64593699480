// SPDX-License-Identifier: Apache-2.0
//
// Formatting of device-side printf and the FIFO of its output. The host's snprintf formats single
// conversions, with the flags, width and precision that CUDA documents.
#include "print.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"

struct entry {
    struct entry *next;
    size_t cost, length;
    char text[];
};

struct exec_printf {
    pthread_mutex_t lock;       // list
    pthread_mutex_t write_lock; // held while writing, so that flushes keep the order
    struct entry *head, **tail;
    size_t limit, used;
    bool lost; // something was dropped since the last flush
    _Atomic bool pending;
};

struct exec_printf *exec_printf_create(size_t limit)
{
    struct exec_printf *fifo = calloc(1, sizeof *fifo);
    if (fifo) {
        pthread_mutex_init(&fifo->lock, NULL);
        pthread_mutex_init(&fifo->write_lock, NULL);
        fifo->tail = &fifo->head;
        fifo->limit = limit;
    }
    return fifo;
}

struct exec_printf *exec_printf_destroy(struct exec_printf *fifo)
{
    if (fifo) {
        for (struct entry *e = fifo->head, *next; e; e = next) {
            next = e->next;
            free(e);
        }
        pthread_mutex_destroy(&fifo->lock);
        pthread_mutex_destroy(&fifo->write_lock);
        free(fifo);
    }
    return NULL;
}

void exec_printf_set_limit(struct exec_printf *fifo, size_t limit)
{
    pthread_mutex_lock(&fifo->lock);
    fifo->limit = limit;
    pthread_mutex_unlock(&fifo->lock);
}

// ---------------------------------------------------------------- formatting

struct cursor {
    const unsigned char *at;
    size_t offset;
    int32_t count;
};

static const void *take(struct cursor *arguments, size_t size)
{
    arguments->offset = (arguments->offset + size - 1) & ~(size - 1);
    const void *value = arguments->at + arguments->offset;
    arguments->offset += size;
    arguments->count++;
    return value;
}

static void *take_pointer(struct cursor *arguments)
{
    void *value;
    memcpy(&value, take(arguments, sizeof value), sizeof value);
    return value;
}

static int32_t take_int(struct cursor *arguments)
{
    int32_t value;
    memcpy(&value, take(arguments, 4), sizeof value);
    return value;
}

static uint64_t take_long(struct cursor *arguments)
{
    uint64_t value;
    memcpy(&value, take(arguments, 8), sizeof value);
    return value;
}

struct conversion {
    char spec[64]; // "%-08.3lld", with stars replaced
    size_t length; // of the source text
    char type;     // 0: not a conversion of CUDA's printf
    int size;      // -2 hh, -1 h, 0 none, 1 l, 2 ll (also j, z, t)
};

static bool append_number(char *spec, size_t *at, int value)
{
    int n = snprintf(spec + *at, 20, "%d", value);
    *at += (size_t)n;
    return *at < 40;
}

// Reads the conversion at `format` (which points at '%'), taking the arguments of '*'.
static struct conversion read_conversion(const char *format, struct cursor *arguments)
{
    struct conversion c = {.spec = "%"};
    const char *p = format + 1;
    size_t at = 1;
    while (*p && strchr("#0- +", *p) && at < 8) {
        c.spec[at++] = *p++;
    }
    for (int part = 0; part < 2; part++) {
        if (part == 1) {
            if (*p != '.') {
                break;
            }
            c.spec[at++] = *p++;
        }
        if (*p == '*') {
            p++;
            int value = take_int(arguments);
            if (part == 1 && value < 0) {
                at--; // a negative precision counts as none
            } else if (!append_number(c.spec, &at, value)) {
                return c;
            }
        } else {
            int digits = 0;
            while (*p >= '0' && *p <= '9' && digits++ < 9) {
                c.spec[at++] = *p++;
            }
        }
    }
    for (; *p == 'h' || *p == 'l' || *p == 'j' || *p == 'z' || *p == 't'; p++) {
        c.size = *p == 'h' ? c.size - 1 : *p == 'l' ? c.size + 1 : 2;
        if (c.size > 2 || c.size < -2) {
            return c;
        }
    }
    if (!*p || !strchr("cdiouxXpeEfFgGaAs%", *p)) {
        return c;
    }
    c.type = *p;
    c.length = (size_t)(p + 1 - format);
    if (c.size > 0 && strchr("diouxX", c.type)) {
        c.spec[at++] = 'l';
        c.spec[at++] = 'l';
    } else if (c.size < 0) {
        c.spec[at++] = 'h';
        if (c.size < -1) {
            c.spec[at++] = 'h';
        }
    }
    if (c.size < 0 && !strchr("diouxX", c.type)) {
        at -= (size_t)-c.size;
    }
    c.spec[at++] = c.type;
    c.spec[at] = '\0';
    return c;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int convert(char *to, size_t size, const struct conversion *c, struct cursor *arguments)
{
    switch (c->type) {
    case '%':
        return snprintf(to, size, "%%");
    case 'd':
    case 'i':
        return c->size > 0 ? snprintf(to, size, c->spec, (long long)take_long(arguments))
                           : snprintf(to, size, c->spec, take_int(arguments));
    case 'o':
    case 'u':
    case 'x':
    case 'X':
        return c->size > 0 ? snprintf(to, size, c->spec, (unsigned long long)take_long(arguments))
                           : snprintf(to, size, c->spec, (unsigned)take_int(arguments));
    case 'c':
        return snprintf(to, size, c->spec, take_int(arguments));
    case 'p':
        return snprintf(to, size, c->spec, take_pointer(arguments));
    case 's': {
        const char *text = take_pointer(arguments);
        return snprintf(to, size, c->spec, text ? text : "(null)");
    }
    default: {
        uint64_t bits = take_long(arguments);
        double value;
        memcpy(&value, &bits, sizeof value);
        return snprintf(to, size, c->spec, value);
    }
    }
}

#pragma GCC diagnostic pop

size_t exec_printf_format(char *ret_text, size_t size, const char *format, const void *arguments,
                          int32_t *ret_count)
{
    struct cursor cursor = {arguments, 0, 0};
    size_t length = 0;
    char none[1];
    for (const char *p = format; *p;) {
        char *to = length < size ? ret_text + length : none;
        size_t room = length < size ? size - length : 0;
        if (*p != '%') {
            size_t run = strcspn(p, "%");
            size_t fit = run < room ? run : room;
            memcpy(to, p, fit);
            length += run;
            p += run;
            continue;
        }
        struct conversion c = read_conversion(p, &cursor);
        if (!c.type) { // not ours: as it stands
            if (room) {
                *to = '%';
            }
            length++;
            p++;
            continue;
        }
        // %c of NUL writes a byte, which snprintf counts.
        int n = convert(to, room, &c, &cursor);
        length += n > 0 ? (size_t)n : 0;
        p += c.length;
    }
    if (size) {
        ret_text[length < size ? length : size - 1] = '\0';
    }
    *ret_count = cursor.count;
    return length;
}

// ---------------------------------------------------------------- the FIFO

int32_t exec_printf_append(struct exec_printf *fifo, const char *format, const void *arguments)
{
    char few[1024];
    int32_t count;
    size_t length = exec_printf_format(few, sizeof few, format, arguments, &count);
    struct entry *entry = malloc(sizeof *entry + length + 1);
    if (!entry) {
        return -1;
    }
    if (length < sizeof few) {
        memcpy(entry->text, few, length + 1);
    } else {
        exec_printf_format(entry->text, length + 1, format, arguments, &count);
    }
    entry->next = NULL;
    entry->length = length;
    entry->cost = 16 + 8 * (size_t)count; // format pointer, header, arguments
    struct entry *dropped = NULL;
    pthread_mutex_lock(&fifo->lock);
    while (fifo->head && fifo->used + entry->cost > fifo->limit) {
        struct entry *old = fifo->head;
        fifo->head = old->next;
        fifo->used -= old->cost;
        old->next = dropped;
        dropped = old;
        fifo->lost = true;
    }
    if (!fifo->head) {
        fifo->tail = &fifo->head;
    }
    *fifo->tail = entry;
    fifo->tail = &entry->next;
    fifo->used += entry->cost;
    atomic_store(&fifo->pending, true);
    pthread_mutex_unlock(&fifo->lock);
    while (dropped) {
        struct entry *next = dropped->next;
        free(dropped);
        dropped = next;
    }
    return count;
}

void exec_printf_flush(struct exec_printf *fifo)
{
    if (!fifo || !atomic_load(&fifo->pending)) {
        return;
    }
    pthread_mutex_lock(&fifo->write_lock);
    pthread_mutex_lock(&fifo->lock);
    struct entry *entry = fifo->head;
    bool lost = fifo->lost;
    fifo->head = NULL;
    fifo->tail = &fifo->head;
    fifo->used = 0;
    fifo->lost = false;
    atomic_store(&fifo->pending, false);
    pthread_mutex_unlock(&fifo->lock);
    while (entry) {
        struct entry *next = entry->next;
        fwrite(entry->text, 1, entry->length, stdout);
        free(entry);
        entry = next;
    }
    pthread_mutex_unlock(&fifo->write_lock);
    if (lost) {
        EXEC_LOG(1, "kernels printed more than cudaLimitPrintfFifoSize holds; the oldest lines "
                    "are lost");
    }
}
