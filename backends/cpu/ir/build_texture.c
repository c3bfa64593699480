// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface instructions: each becomes one operation whose word says what to do
// (image_ops.h), with its operands as 32-bit words. Objects are 64-bit values: a register holds
// one, a .texref, .samplerref or .surfref variable or parameter is an 8-byte slot that holds one.
#include "ir_internal.h"

#include "../image_ops.h"

// ---------------------------------------------------------------- operands

bool ir_is_opaque(enum ptx_type type)
{
    return type == PTX_TEXREF || type == PTX_SAMPLERREF || type == PTX_SURFREF;
}

struct ir_operand ir_image_object(struct ir_build *b, const struct ptx_symbol *symbol)
{
    if (symbol->variable != NULL && symbol->variable->is_array) {
        ir_fail(b, "%s: arrays of opaque variables are not compiled by this version", symbol->name);
    }
    const struct ptx_operand slot = {.kind = PTX_OPERAND_ADDRESS,
                                     .symbol = (struct ptx_symbol *)symbol};
    struct ir_address address = ir_address(b, &slot, PTX_SPACE_NONE);
    return ir_use(ir_load(b, &address, IR_I64, 1)->dst[0]);
}

// The object named inside brackets: a register or an opaque variable.
static struct ir_operand object_of(struct ir_build *b, const struct ptx_operand *operand)
{
    const struct ptx_symbol *symbol = operand->symbol;
    if (symbol == NULL || operand->integer != 0) {
        ir_fail(b, "the operand is neither a register nor an opaque variable");
    }
    if (symbol->kind != PTX_SYMBOL_REGISTER && !ir_is_opaque(symbol->type)) {
        ir_fail(b, "%s is no .texref, .samplerref or .surfref variable", symbol->name);
    }
    struct ptx_operand plain = *operand;
    if (plain.kind == PTX_OPERAND_ADDRESS) {
        plain.kind = PTX_OPERAND_SYMBOL;
    }
    return ir_read(b, &plain, PTX_U64);
}

// How many elements { … }, a vector register or another operand has.
static unsigned length(const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_VECTOR) {
        return operand->count;
    }
    bool vector = operand->kind == PTX_OPERAND_SYMBOL && operand->symbol->vector > 1;
    return vector ? operand->symbol->vector : 1;
}

// Element n < length(operand).
static struct ptx_operand item(const struct ptx_operand *operand, unsigned n)
{
    if (operand->kind == PTX_OPERAND_VECTOR) {
        return operand->elements[n];
    }
    struct ptx_operand element = *operand;
    if (length(operand) > 1) {
        element.kind = PTX_OPERAND_COMPONENT;
        element.component = (uint8_t)n;
    }
    return element;
}

// Element n of a coordinate vector as a 32-bit pattern.
static struct ir_operand word(struct ir_build *b, const struct ptx_operand *operand, unsigned n,
                              enum ptx_type type)
{
    if (n >= length(operand) || operand->kind == PTX_OPERAND_NONE) {
        ir_fail(b, "too few elements in a coordinate vector");
    }
    struct ptx_operand element = item(operand, n);
    return ir_read(b, &element, type);
}

static enum exec_geometry geometry_of(struct ir_build *b)
{
    static const struct {
        enum ptx_modifier modifier;
        enum exec_geometry geometry;
    } table[] = {
        {PTX_MOD_1d, EXEC_GEOMETRY_1D},       {PTX_MOD_2d, EXEC_GEOMETRY_2D},
        {PTX_MOD_3d, EXEC_GEOMETRY_3D},       {PTX_MOD_a1d, EXEC_GEOMETRY_A1D},
        {PTX_MOD_a2d, EXEC_GEOMETRY_A2D},     {PTX_MOD_cube, EXEC_GEOMETRY_CUBE},
        {PTX_MOD_acube, EXEC_GEOMETRY_ACUBE},
    };
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (ir_mod(b, table[i].modifier)) {
            return table[i].geometry;
        }
    }
    ir_fail(b, "textures with several samples cannot be made with CUDA");
}

static bool is_layered(enum exec_geometry geometry)
{
    return geometry == EXEC_GEOMETRY_A1D || geometry == EXEC_GEOMETRY_A2D ||
           geometry == EXEC_GEOMETRY_ACUBE;
}

// Coordinates besides the layer.
static unsigned coordinates_of(enum exec_geometry geometry)
{
    switch (geometry) {
    case EXEC_GEOMETRY_1D:
    case EXEC_GEOMETRY_A1D:
        return 1;
    case EXEC_GEOMETRY_2D:
    case EXEC_GEOMETRY_A2D:
        return 2;
    default:
        return 3;
    }
}

// Fills layer, x, y, z from a coordinate vector.
static void read_coordinates(struct ir_build *b, const struct ptx_operand *vector,
                             enum exec_geometry geometry, enum ptx_type type,
                             struct ir_operand words[4])
{
    unsigned at = 0, count = coordinates_of(geometry);
    words[EXEC_WORD_LAYER] = is_layered(geometry) ? word(b, vector, at++, PTX_U32) : ir_constant(0);
    for (unsigned i = 0; i < 3; i++) {
        words[EXEC_WORD_X + i] = i < count ? word(b, vector, at++, type) : ir_constant(0);
    }
}

// Destination of a vector instruction, without the predicate.
static const struct ptx_operand *values_of(struct ir_build *b)
{
    const struct ptx_operand *destination = ir_operand_at(b, 0);
    return destination->kind == PTX_OPERAND_PAIR ? &destination->elements[0] : destination;
}

// Writes the elements, and the predicate "is in memory", which is always true here: memory behind
// textures is never sparse.
static void write_results(struct ir_build *b, const struct ir_operand *results, unsigned count,
                          enum ptx_type type)
{
    const struct ptx_operand *destination = ir_operand_at(b, 0), *values = values_of(b);
    bool wanted = values->kind != PTX_OPERAND_SINK;
    if (wanted && length(values) != count) {
        ir_fail(b, "the destination is no vector of %u", count);
    }
    for (unsigned i = 0; i < count && wanted; i++) {
        struct ptx_operand element = item(values, i);
        ir_write(b, &element, type, results[i]);
    }
    if (destination->kind == PTX_OPERAND_PAIR) {
        ir_write(b, &destination->elements[1], PTX_PRED, ir_constant(1));
    }
}

// ---------------------------------------------------------------- tex, tld4

struct fetch {
    struct ir_operand object, sampler, words[EXEC_WORD_COUNT];
    unsigned count; // words
    uint32_t op;
};

static void append_fetch(struct ir_build *b, const struct fetch *f, enum ptx_type type)
{
    bool half = type == PTX_F16 || type == PTX_F16X2;
    enum ir_type element = type == PTX_F16 ? IR_I16 : IR_I32;
    unsigned results = type == PTX_F16X2 ? 2 : 4;
    struct ir_inst *inst = ir_append(b, IR_texture, element, results, 2 + f->count);
    inst->index = f->op | (half ? EXEC_TEXTURE_HALF : 0);
    inst->src[0] = f->object;
    inst->src[1] = f->sampler;
    for (unsigned i = 0; i < f->count; i++) {
        inst->src[2 + i] = f->words[i];
    }
    struct ir_operand values[4];
    for (unsigned i = 0; i < results; i++) {
        values[i] = ir_use(ir_result(b, inst, i));
    }
    write_results(b, values, results, type);
}

static void read_vector(struct ir_build *b, unsigned operand, unsigned count, enum ptx_type type,
                        struct ir_operand *words)
{
    for (unsigned i = 0; i < 3; i++) {
        words[i] = i < count ? word(b, ir_operand_at(b, operand), i, type) : ir_constant(0);
    }
}

// Operands e (offset, a vector) and f (depth compare) from operand `at` on.
static void read_options(struct ir_build *b, struct fetch *f, enum exec_geometry geometry,
                         unsigned at)
{
    const struct ptx_operand *offset = ir_operand_at(b, at);
    if (offset->kind == PTX_OPERAND_VECTOR || length(offset) > 1) {
        if (geometry == EXEC_GEOMETRY_CUBE || geometry == EXEC_GEOMETRY_ACUBE) {
            ir_fail(b, "offsets in cubemaps do not exist");
        }
        f->op |= EXEC_TEXTURE_OFFSET;
        read_vector(b, at, coordinates_of(geometry), PTX_S32, &f->words[EXEC_WORD_OFFSET]);
        at++;
    }
    if (ir_operand_at(b, at)->kind != PTX_OPERAND_NONE) {
        ir_fail(b, "the depth compare operand is not compiled by this version: depth textures "
                   "cannot be made with CUDA");
    }
}

// [a, c] or [a, b, c].
static const struct ptx_operand *read_objects(struct ir_build *b, struct fetch *f)
{
    const struct ptx_operand *address = ir_operand_at(b, 1);
    if (address->kind != PTX_OPERAND_TEXADDR || address->count < 2 || address->count > 3) {
        ir_fail(b, "[texture, coordinates] is missing");
    }
    f->object = object_of(b, &address->elements[0]);
    f->sampler = ir_constant(0);
    if (address->count == 3) {
        f->sampler = object_of(b, &address->elements[1]);
        f->op |= EXEC_TEXTURE_SAMPLER;
    }
    return &address->elements[address->count - 1];
}

void ir_build_tex(struct ir_build *b)
{
    enum exec_geometry geometry = geometry_of(b);
    enum ptx_type type = ir_type_at(b, 0), coordinate = ir_type_at(b, 1);
    struct fetch f = {.count = EXEC_WORD_Z + 1, .op = geometry};
    for (unsigned i = 0; i < EXEC_WORD_COUNT; i++) {
        f.words[i] = ir_constant(0);
    }
    const struct ptx_operand *vector = read_objects(b, &f);
    bool cube = geometry == EXEC_GEOMETRY_CUBE || geometry == EXEC_GEOMETRY_ACUBE;
    if (coordinate == PTX_S32) {
        if (cube) {
            ir_fail(b, "cubemaps have no integer coordinates");
        }
        f.op |= EXEC_TEXTURE_INTEGER;
    }
    read_coordinates(b, vector, geometry, coordinate, f.words);
    unsigned at = 2;
    ir_mod(b, PTX_MOD_base); // the level of a fetch without .level and .grad
    if (ir_mod(b, PTX_MOD_level)) {
        f.op |= EXEC_TEXTURE_LEVEL;
        f.words[EXEC_WORD_LEVEL] = ir_src(b, at++, coordinate);
        f.count = EXEC_WORD_LEVEL + 1;
    } else if (ir_mod(b, PTX_MOD_grad)) {
        f.op |= EXEC_TEXTURE_GRADIENT;
        unsigned count = coordinates_of(geometry);
        read_vector(b, at++, count, PTX_F32, &f.words[EXEC_WORD_GRADIENT]);
        read_vector(b, at++, count, PTX_F32, &f.words[EXEC_WORD_GRADIENT + 3]);
        f.count = EXEC_WORD_COUNT;
    }
    read_options(b, &f, geometry, at);
    if ((f.op & EXEC_TEXTURE_OFFSET) != 0 && f.count < EXEC_WORD_OFFSET + 3) {
        f.count = EXEC_WORD_OFFSET + 3;
    }
    append_fetch(b, &f, type);
}

void ir_build_tld4(struct ir_build *b)
{
    static const enum ptx_modifier components[] = {PTX_MOD_r, PTX_MOD_g, PTX_MOD_b, PTX_MOD_a};
    enum exec_geometry geometry = geometry_of(b);
    struct fetch f = {.count = EXEC_WORD_Z + 1, .op = geometry | EXEC_TEXTURE_GATHER};
    for (unsigned i = 0; i < 4; i++) {
        if (ir_mod(b, components[i])) {
            f.op |= i << EXEC_TEXTURE_COMPONENT_SHIFT;
        }
    }
    const struct ptx_operand *vector = read_objects(b, &f);
    read_coordinates(b, vector, geometry, PTX_F32, f.words);
    read_options(b, &f, geometry, 2);
    if ((f.op & EXEC_TEXTURE_OFFSET) != 0) {
        f.count = EXEC_WORD_OFFSET + 3;
    }
    append_fetch(b, &f, ir_type_at(b, 0));
}

// ---------------------------------------------------------------- queries

static struct ir_operand query(struct ir_build *b, struct ir_operand object, uint32_t what,
                               struct ir_operand level)
{
    struct ir_inst *inst = ir_append(b, IR_image_query, IR_I32, 1, 2);
    inst->index = what;
    inst->src[0] = object;
    inst->src[1] = level;
    return ir_use(ir_result(b, inst, 0));
}

void ir_build_image_query(struct ir_build *b)
{
    static const struct {
        enum ptx_modifier modifier;
        enum exec_query what;
    } table[] = {
        {PTX_MOD_width, EXEC_QUERY_WIDTH},
        {PTX_MOD_height, EXEC_QUERY_HEIGHT},
        {PTX_MOD_depth, EXEC_QUERY_DEPTH},
        {PTX_MOD_array_size, EXEC_QUERY_ARRAY_SIZE},
        {PTX_MOD_num_mipmap_levels, EXEC_QUERY_LEVELS},
        {PTX_MOD_num_samples, EXEC_QUERY_SAMPLES},
        {PTX_MOD_normalized_coords, EXEC_QUERY_NORMALIZED},
        {PTX_MOD_force_unnormalized_coords, EXEC_QUERY_UNNORMALIZED},
        {PTX_MOD_filter_mode, EXEC_QUERY_FILTER},
        {PTX_MOD_addr_mode_0, EXEC_QUERY_ADDRESS_0},
        {PTX_MOD_addr_mode_1, EXEC_QUERY_ADDRESS_1},
        {PTX_MOD_addr_mode_2, EXEC_QUERY_ADDRESS_2},
        {PTX_MOD_memory_layout, EXEC_QUERY_MEMORY_LAYOUT},
    };
    const char *name = ptx_opcode_name(b->in->opcode);
    if (ptx_has(b->in, PTX_MOD_channel_data_type) || ptx_has(b->in, PTX_MOD_channel_order)) {
        ir_fail(b,
                "%s of channel types and orders is not compiled: the numbers are those of the "
                "source language, and CUDA has none",
                name);
    }
    uint32_t what = b->in->opcode == PTX_OP_suq ? EXEC_QUERY_SURFACE : 0;
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (ir_mod(b, table[i].modifier)) {
            what |= table[i].what;
        }
    }
    struct ir_operand object = object_of(b, ir_operand_at(b, 1));
    struct ir_operand level = ir_mod(b, PTX_MOD_level) ? ir_src(b, 2, PTX_U32) : ir_constant(0);
    ir_dst(b, 0, PTX_B32, query(b, object, what, level));
}

void ir_build_istypep(struct ir_build *b)
{
    uint32_t what = ir_type_at(b, 0) == PTX_TEXREF       ? EXEC_QUERY_IS_TEXTURE
                    : ir_type_at(b, 0) == PTX_SAMPLERREF ? EXEC_QUERY_IS_SAMPLER
                                                         : EXEC_QUERY_IS_SURFACE;
    struct ir_operand is = query(b, ir_src(b, 1, PTX_U64), what, ir_constant(0));
    ir_dst(b, 0, PTX_PRED, ir_setp(b, IR_NE, IR_I32, 0, is, ir_constant(0)));
}

// ---------------------------------------------------------------- surfaces

static unsigned log2_of(unsigned n)
{
    unsigned log = 0;
    while (n > 1) {
        n >>= 1;
        log++;
    }
    return log;
}

static uint32_t bounds_word(struct ir_build *b)
{
    enum exec_surface_bounds bounds = ir_mod(b, PTX_MOD_clamp)  ? EXEC_BOUNDS_CLAMP
                                      : ir_mod(b, PTX_MOD_zero) ? EXEC_BOUNDS_ZERO
                                                                : EXEC_BOUNDS_TRAP;
    ir_mod(b, PTX_MOD_trap);
    return (uint32_t)bounds << EXEC_SURFACE_BOUNDS_SHIFT;
}

// One surface operation with `count` elements of `type`; loads have results, others sources.
static void surface(struct ir_build *b, enum exec_surface_kind kind, uint32_t extra,
                    enum ptx_type type, unsigned count, unsigned address_at,
                    const struct ptx_operand *values)
{
    struct ir_reading reading = ir_reading(b, type);
    unsigned bytes = ir_bits(reading.storage) / 8;
    if (bytes * count > 16) {
        ir_fail(b, "a surface access of more than 16 bytes");
    }
    enum exec_geometry geometry = geometry_of(b);
    const struct ptx_operand *address = ir_operand_at(b, address_at);
    if (address->kind != PTX_OPERAND_TEXADDR || address->count != 2) {
        ir_fail(b, "[surface, coordinates] is missing");
    }
    struct ir_operand object = object_of(b, &address->elements[0]), words[4], data[4];
    read_coordinates(b, &address->elements[1], geometry, PTX_S32, words);
    bool load = kind == EXEC_SURFACE_LOAD;
    for (unsigned i = 0; i < count && !load; i++) {
        struct ptx_operand element = item(values, i);
        data[i] = ir_read(b, &element, type);
    }
    uint32_t op = (uint32_t)geometry | (uint32_t)kind << EXEC_SURFACE_KIND_SHIFT | bounds_word(b) |
                  log2_of(bytes) << EXEC_SURFACE_SIZE_SHIFT |
                  log2_of(count) << EXEC_SURFACE_VECTOR_SHIFT | extra;
    struct ir_inst *inst =
        ir_append(b, IR_surface, reading.storage, load ? count : 0, 5 + (load ? 0 : count));
    inst->index = op;
    inst->src[0] = object;
    for (unsigned i = 0; i < 4; i++) {
        inst->src[1 + i] = words[i];
    }
    for (unsigned i = 0; i < count; i++) {
        if (load) {
            data[i] = ir_use(ir_result(b, inst, i));
        } else {
            inst->src[5 + i] = data[i];
        }
    }
    if (load) {
        write_results(b, data, count, type);
    }
}

static unsigned vector_of(const struct ir_build *b)
{
    return b->in->vector > 1 ? b->in->vector : 1;
}

// The values to store: { … } or one operand, `count` of them.
static const struct ptx_operand *stored(struct ir_build *b, unsigned count)
{
    const struct ptx_operand *values = ir_operand_at(b, 1);
    if (length(values) != count) {
        ir_fail(b, "the source is no vector of %u", count);
    }
    return values;
}

void ir_build_suld(struct ir_build *b)
{
    ir_mod(b, PTX_MOD_b);
    surface(b, EXEC_SURFACE_LOAD, 0, ir_type_at(b, 0), vector_of(b), 1, NULL);
}

void ir_build_sust(struct ir_build *b)
{
    bool formatted = ir_mod(b, PTX_MOD_p);
    ir_mod(b, PTX_MOD_b);
    unsigned count = vector_of(b);
    surface(b, formatted ? EXEC_SURFACE_STORE_FORMATTED : EXEC_SURFACE_STORE, 0, ir_type_at(b, 0),
            count, 0, stored(b, count));
}

void ir_build_sured(struct ir_build *b)
{
    static const struct {
        enum ptx_modifier modifier;
        enum exec_surface_reduction reduction;
    } table[] = {
        {PTX_MOD_add, EXEC_REDUCE_ADD}, {PTX_MOD_min, EXEC_REDUCE_MIN},
        {PTX_MOD_max, EXEC_REDUCE_MAX}, {PTX_MOD_and, EXEC_REDUCE_AND},
        {PTX_MOD_or, EXEC_REDUCE_OR},
    };
    enum ptx_type type = ir_type_at(b, 0);
    bool formatted = ir_mod(b, PTX_MOD_p);
    ir_mod(b, PTX_MOD_b);
    uint32_t extra = type == PTX_S32 || type == PTX_S64 ? EXEC_SURFACE_SIGNED : 0;
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (ir_mod(b, table[i].modifier)) {
            extra |= (uint32_t)table[i].reduction << EXEC_SURFACE_REDUCE_SHIFT;
        }
    }
    surface(b, formatted ? EXEC_SURFACE_REDUCE_FORMATTED : EXEC_SURFACE_REDUCE, extra, type, 1, 0,
            stored(b, 1));
}
