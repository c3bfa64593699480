// SPDX-License-Identifier: Apache-2.0
//
// Printable form of a unit (dump switch `ir`, tests): one line an operation, blocks in order.
#include "ir_internal.h"

#include <inttypes.h>

static const char *const type_names[IR_TYPE_COUNT] = {
    [IR_VOID] = "",         [IR_I1] = "i1",     [IR_I8] = "i8",     [IR_I16] = "i16",
    [IR_I32] = "i32",       [IR_I64] = "i64",   [IR_I128] = "i128", [IR_F16] = "f16",
    [IR_BF16] = "bf16",     [IR_F32] = "f32",   [IR_F64] = "f64",   [IR_F16X2] = "f16x2",
    [IR_BF16X2] = "bf16x2", [IR_TF32] = "tf32", [IR_E4M3] = "e4m3", [IR_E5M2] = "e5m2",
    [IR_E2M1] = "e2m1",     [IR_E2M3] = "e2m3", [IR_E3M2] = "e3m2", [IR_UE8M0] = "ue8m0",
};
static const char *const compare_names[] = {
    "eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
    "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
};
static const char *const space_names[] = {
    "generic", "global", "const", "shared", "local", "param", "argument", "return", "slot",
};
static const char *const order_names[] = {
    "weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "sc",
};
static const char *const round_names[] = {
    "rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi",
};
static const char *const atomic_names[] = {
    "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec",
};
static const char *const flag_names[] = {
    "s",      "ss",    "ftz",      "sat",  "approx", "full",  "NaN", "xorsign", "abs",       "relu",
    "cc_out", "cc_in", "shiftamt", "wrap", "oob",    "noftz", "uni", "aligned", "satfinite", "hi",
};

static void print_operand(FILE *file, const struct ir_operand *operand)
{
    switch (operand->kind) {
    case IR_VALUE:
        fprintf(file, "v%u", operand->value);
        break;
    case IR_CONSTANT:
        fprintf(file, "0x%" PRIx64, operand->bits);
        break;
    case IR_UNDEF:
        fputs("undef", file);
        break;
    default:
        fputs("-", file);
        break;
    }
}

static bool is_memory(enum ir_op op)
{
    return op == IR_ld || op == IR_st || op == IR_atom || op == IR_fence;
}

static void print_details(FILE *file, const struct ir_inst *inst)
{
    if (inst->type != IR_VOID) {
        fprintf(file, ".%s", type_names[inst->type]);
    }
    if (inst->type2 != IR_VOID) {
        fprintf(file, ".%s", type_names[inst->type2]);
    }
    if (inst->op == IR_setp) {
        fprintf(file, ".%s", compare_names[inst->compare]);
    }
    if (inst->round != IR_RN) {
        fprintf(file, ".%s", round_names[inst->round]);
    }
    for (unsigned i = 0; i < sizeof flag_names / sizeof flag_names[0]; i++) {
        if ((inst->flags >> i & 1) != 0) {
            fprintf(file, ".%s", flag_names[i]);
        }
    }
    if (inst->op == IR_atom) {
        fprintf(file, ".%s", atomic_names[inst->sub]);
    } else if (inst->sub != 0) {
        fprintf(file, ".%u", inst->sub);
    }
    if (is_memory(inst->op) || inst->op == IR_cvta || inst->op == IR_cvta_to ||
        inst->op == IR_isspacep || inst->op == IR_param_address) {
        fprintf(file, ".%s", space_names[inst->space]);
    }
    if (is_memory(inst->op) && inst->order != IR_WEAK) {
        fprintf(file, ".%s", order_names[inst->order]);
    }
}

static void print_inst(FILE *file, const struct ir_unit *unit, const struct ir_block *block,
                       const struct ir_inst *inst)
{
    fputs("    ", file);
    for (unsigned i = 0; i < inst->dst_count; i++) {
        fprintf(file, "%sv%u", i > 0 ? ", " : "", inst->dst[i]);
    }
    fprintf(file, "%s%s", inst->dst_count > 0 ? " = " : "", ir_op_name(inst->op));
    print_details(file, inst);
    const char *separator = " ";
    for (unsigned i = 0; i < inst->src_count; i++, separator = ", ") {
        fputs(separator, file);
        print_operand(file, &inst->src[i]);
    }
    for (uint32_t i = 0; inst->op == IR_phi && i < block->pred_count; i++, separator = ", ") {
        fputs(separator, file);
        print_operand(file, &inst->phi[i]);
        fprintf(file, " b%u", block->preds[i]->number);
    }
    switch (inst->op) {
    case IR_symbol:
        fprintf(file, " %s", unit->program->variables[inst->index].name);
        break;
    case IR_function:
        fprintf(file, " %s", unit->program->functions[inst->index].name);
        break;
    case IR_call:
        fprintf(file, " %s", unit->functions[inst->index]->name);
        break;
    case IR_sreg:
        fprintf(file, " %%%s", ptx_sreg_name((enum ptx_sreg)inst->index));
        break;
    case IR_slot_copy:
        fprintf(file, " slot%u, slot%u, %u", inst->index, inst->site, inst->target_count);
        break;
    case IR_slot:
        fprintf(file, " slot%u", inst->index);
        break;
    case IR_suspend:
    case IR_call_prepare:
        fprintf(file, " %u", inst->index);
        break;
    case IR_trap:
        fprintf(file, " \"%s\"", inst->text != NULL ? inst->text : "");
        break;
    default:
        if (is_memory(inst->op) && inst->space == IR_SLOT) {
            fprintf(file, " slot%u", inst->index);
        }
        break;
    }
    if (inst->offset != 0) {
        fprintf(file, " +%" PRId64, inst->offset);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (inst->target[i] != NULL && inst->op != IR_brx && (inst->op != IR_br || i == 0)) {
            fprintf(file, "%sb%u", i > 0 || inst->src_count > 0 ? ", " : " ",
                    inst->target[i]->number);
        }
    }
    for (uint32_t i = 0; inst->op == IR_brx && i < inst->target_count; i++) {
        fprintf(file, ", b%u", inst->targets[i]->number);
    }
    if (inst->line != 0) {
        fprintf(file, "  ; line %u", inst->line);
    }
    fputc('\n', file);
}

void ir_print(FILE *file, const struct ir_unit *unit)
{
    fprintf(file, "unit %s static_shared %u dynamic_shared %u local %" PRIu64 " frame %u\n",
            unit->functions[0]->name, unit->static_shared, unit->dynamic_shared_offset,
            unit->local_size, unit->frame_size);
    for (uint32_t i = 0; i < unit->function_count; i++) {
        const struct ir_function *fn = unit->functions[i];
        fprintf(file, "%s %s%s params %u returns %u slots %" PRIu64 " frame %u resume %u\n",
                fn->is_entry ? "entry" : "func", fn->name, fn->suspends ? " suspends" : "",
                fn->params_size, fn->return_size, fn->slots_size, fn->frame_size, fn->resume_count);
        for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
            fprintf(file, "  b%u:", block->number);
            for (uint32_t n = 0; n < block->pred_count; n++) {
                fprintf(file, "%s b%u", n == 0 ? " ; from" : ",", block->preds[n]->number);
            }
            if (block->resume != 0) {
                fprintf(file, " resume %u", block->resume);
            }
            fputs(block->spin ? " spin\n" : "\n", file);
            for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
                print_inst(file, unit, block, inst);
            }
        }
    }
}
