// SPDX-License-Identifier: Apache-2.0
//
// One operation of a stream. Private to stream.c, which queues it, and stream_run.c, which runs it.
#pragma once

#include "graph.h"
#include "stream.h"

enum { INLINE_PARAMS = 256 };

struct exec_op {
    struct exec_op *next;
    enum exec_op_kind kind;
    bool always; // HOST: also when the device is lost
    bool big;    // LAUNCH: the parameters are in big_params
    union {
        struct irtb_copy copy;
        struct irtb_fill fill;
        struct {
            void (*function)(void *);
            void *argument;
            struct irtb_stream *stream;
        } host;
        struct exec_record *record; // RECORD, WAIT: one reference
        struct exec_launch launch;
        struct exec_graph_run graph;
        struct irtb_value value;
    };
    void *big_params; // malloc'd, kept while the operation is recycled
    size_t big_size;
    _Alignas(16) unsigned char params[INLINE_PARAMS];
};
