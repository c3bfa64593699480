// SPDX-License-Identifier: Apache-2.0
//
// Pass promote: a slot whose address is never taken and whose accesses never overlap in part
// becomes values, one for each cell. This is what removes the .param variables of inlined calls.
#include "ir_internal.h"

#include <string.h>

enum { MAX_SIZE = 4096 }; // bytes of a slot that is looked at
enum { FREE = 0, INSIDE = 255 };

struct cells {
    bool bad;
    uint8_t *width;   // by byte: width of the cell that starts here, INSIDE, or FREE
    uint32_t *values; // by byte: value + 1 of the cell that starts here
};

static bool is_access(const struct ir_inst *inst)
{
    return (inst->op == IR_ld && inst->space == IR_SLOT && inst->src_count == 0) ||
           (inst->op == IR_st && inst->space == IR_SLOT && inst->src_count == inst->vector);
}

static void note_cell(struct ir_build *b, struct cells *cells, uint64_t size, int64_t offset,
                      unsigned width)
{
    if (offset < 0 || (uint64_t)offset + width > size || size > MAX_SIZE) {
        cells->bad = true;
        return;
    }
    if (cells->width == NULL) {
        cells->width = ir_new_scratch(b, size);
        cells->values = ir_new_scratch(b, size * sizeof *cells->values);
    }
    uint8_t *at = cells->width + offset;
    bool fresh = true;
    for (unsigned i = 0; i < width; i++) {
        fresh &= at[i] == FREE;
    }
    if (fresh) {
        at[0] = (uint8_t)width;
        memset(at + 1, INSIDE, width - 1);
    } else if (at[0] != width) {
        cells->bad = true;
    }
}

static void scan(struct ir_build *b, struct cells *cells, const struct ir_inst *inst)
{
    const struct ir_function *fn = b->fn;
    if (is_access(inst)) {
        unsigned width = ir_bits(inst->type) / 8;
        for (unsigned i = 0; i < inst->vector; i++) {
            note_cell(b, &cells[inst->index], fn->slots[inst->index].size,
                      inst->offset + (int64_t)(i * width), width);
        }
        return;
    }
    if (inst->op == IR_slot || ((inst->op == IR_ld || inst->op == IR_st || inst->op == IR_atom) &&
                                inst->space == IR_SLOT)) {
        cells[inst->index].bad = true;
    } else if (inst->op == IR_slot_copy) {
        cells[inst->index].bad = cells[inst->site].bad = true;
    } else if (inst->call != NULL) {
        if (inst->call->argument_slot != UINT32_MAX) {
            cells[inst->call->argument_slot].bad = true;
        }
        if (inst->call->return_slot != UINT32_MAX) {
            cells[inst->call->return_slot].bad = true;
        }
    }
}

static uint32_t cell_value(struct ir_build *b, struct cells *cells, uint32_t slot, uint64_t offset,
                           enum ir_type type)
{
    uint32_t *value = &cells[slot].values[offset];
    if (*value == 0) {
        *value = ir_value_new(b, type, b->fn->slots[slot].name) + 1;
    }
    return *value - 1;
}

static void rewrite(struct ir_build *b, struct cells *cells, struct ir_block *block,
                    struct ir_inst *inst)
{
    unsigned width = ir_bits(inst->type) / 8;
    for (unsigned i = 0; i < inst->vector; i++) {
        uint32_t value =
            cell_value(b, cells, inst->index, (uint64_t)inst->offset + i * width, inst->type);
        struct ir_inst *mov = ir_inst_new(b, IR_mov, inst->type, 1, 1);
        ir_same_place(mov, inst);
        mov->dst[0] = inst->op == IR_ld ? inst->dst[i] : value;
        mov->src[0] = inst->op == IR_ld ? ir_use(value) : inst->src[i];
        ir_insert_before(block, inst, mov);
    }
    ir_remove(block, inst);
}

void ir_pass_promote(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    if (fn->slot_count == 0) {
        return;
    }
    struct cells *cells = ir_new_scratch(b, fn->slot_count * sizeof *cells);
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            scan(b, cells, inst);
        }
    }
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        struct ir_inst *next;
        for (struct ir_inst *inst = block->first; inst != NULL; inst = next) {
            next = inst->next;
            if (is_access(inst) && !cells[inst->index].bad) {
                rewrite(b, cells, block, inst);
                fn->ssa = false; // until pass ssa has run again
            }
        }
    }
    for (uint32_t i = 0; i < fn->slot_count; i++) {
        if (!cells[i].bad) {
            fn->slots[i].size = 0;
        }
    }
}
