// SPDX-License-Identifier: Apache-2.0
//
// Names and scopes of the PTX parser. Every name has a chain of meanings, innermost first, so that
// entering a scope costs nothing and leaving it costs its own declarations. Register ranges
// (%r<12>) are kept as a prefix; a register is made when it is first used, and only then counts in
// its function. Labels are resolved when their scope ends, because they may be used before.
#include "ptx_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INDEX_DIGITS = 10 };

void *ptx_new(struct ptx_parser *p, size_t size)
{
    void *memory = ptx_arena_alloc(p->module->arena, size);
    if (memory == NULL) {
        ptx_error_at(p, &p->token, "out of memory");
        longjmp(p->fatal, 1);
    }
    return memory;
}

const char *ptx_new_text(struct ptx_parser *p, const char *text, size_t size)
{
    char *copy = ptx_new(p, size + 1);
    memcpy(copy, text, size);
    return copy;
}

void *ptx_grow(struct ptx_parser *p, void *array, size_t *capacity, size_t count, size_t size)
{
    if (count <= *capacity) {
        return array;
    }
    size_t wanted = *capacity < 16 ? 16 : *capacity * 2;
    wanted = wanted < count ? count : wanted;
    void *grown = wanted > SIZE_MAX / 2 / size ? NULL : realloc(array, wanted * size);
    if (grown == NULL) {
        ptx_error_at(p, &p->token, "out of memory");
        longjmp(p->fatal, 1);
    }
    *capacity = wanted;
    return grown;
}

static struct ptx_name *name_find(struct ptx_parser *p, const char *text, size_t size)
{
    struct ptx_name *name;
    HASH_FIND(hh, p->names, text, size, name);
    return name;
}

struct ptx_name *ptx_name_intern(struct ptx_parser *p, const char *text, size_t size)
{
    struct ptx_name *name = name_find(p, text, size);
    if (name == NULL) {
        name = ptx_new(p, sizeof(*name));
        name->text = ptx_new_text(p, text, size);
        HASH_ADD_KEYPTR(hh, p->names, name->text, size, name);
        if (name->oom) {
            ptx_error_at(p, &p->token, "out of memory");
            longjmp(p->fatal, 1);
        }
    }
    return name;
}

// Binds the name at `depth`, behind the meanings of deeper scopes.
static struct ptx_binding *bind(struct ptx_parser *p, struct ptx_name *name, unsigned depth,
                                bool prefix)
{
    struct ptx_binding **chain = prefix ? &name->prefix : &name->binding;
    struct ptx_binding *binding = p->free_bindings;
    if (binding != NULL) {
        p->free_bindings = binding->next_in_scope;
        *binding = (struct ptx_binding){0};
    } else {
        binding = ptx_new(p, sizeof(*binding));
    }
    while (*chain != NULL && (*chain)->depth > depth) {
        chain = &(*chain)->outer;
    }
    binding->depth = depth;
    binding->name = name;
    binding->outer = *chain;
    *chain = binding;
    binding->next_in_scope = p->scopes[depth].bindings;
    p->scopes[depth].bindings = binding;
    return binding;
}

static void unbind(struct ptx_binding *binding)
{
    bool prefix = binding->symbol == NULL;
    struct ptx_binding **chain = prefix ? &binding->name->prefix : &binding->name->binding;
    while (*chain != binding) {
        chain = &(*chain)->outer;
    }
    *chain = binding->outer;
}

void ptx_scope_enter(struct ptx_parser *p, const struct ptx_token *token)
{
    if (p->depth + 1 >= PTX_MAX_SCOPES) {
        ptx_error_at(p, token, "more than %d nested scopes", PTX_MAX_SCOPES);
        longjmp(p->fatal, 1);
    }
    p->depth++;
    p->scopes[p->depth] = (struct ptx_scope){0};
}

// Resolves a label or target list of this scope. False: it is not declared in this scope.
static bool resolve(struct ptx_parser *p, const struct ptx_reference *reference)
{
    const struct ptx_binding *binding = reference->name->binding;
    if (binding == NULL || binding->depth != p->depth) {
        return false;
    }
    struct ptx_symbol *symbol = binding->symbol;
    bool fits = symbol->kind == PTX_SYMBOL_LABEL ||
                (reference->target_list && symbol->kind == PTX_SYMBOL_PROTOTYPE);
    if (!fits) {
        ptx_error_at(p, &reference->token, "'%.100s' is not a label", reference->name->text);
    }
    *reference->slot = symbol;
    return true;
}

static void leave_references(struct ptx_parser *p, struct ptx_scope *scope)
{
    struct ptx_scope *outer = &p->scopes[p->depth - 1];
    while (scope->references != NULL) {
        struct ptx_reference *reference = scope->references;
        scope->references = reference->next;
        if (!resolve(p, reference)) {
            // Depth 2 is the body itself: labels of other functions cannot be reached.
            if (p->depth > 2) {
                reference->next = outer->references;
                outer->references = reference;
                continue;
            }
            ptx_error_at(p, &reference->token, "unknown label '%.100s'", reference->name->text);
        }
        reference->next = p->free_references;
        p->free_references = reference;
    }
}

void ptx_scope_leave(struct ptx_parser *p)
{
    struct ptx_scope *scope = &p->scopes[p->depth];
    leave_references(p, scope);
    while (scope->bindings != NULL) {
        struct ptx_binding *binding = scope->bindings;
        scope->bindings = binding->next_in_scope;
        unbind(binding);
        binding->next_in_scope = p->free_bindings;
        p->free_bindings = binding;
    }
    p->depth--;
}

static void count_register(struct ptx_parser *p, struct ptx_symbol *symbol)
{
    struct ptx_function *function = p->function;
    p->registers = ptx_grow(p, p->registers, &p->register_capacity,
                            (size_t)function->register_count + 1, sizeof(struct ptx_symbol *));
    symbol->index = function->register_count;
    p->registers[function->register_count++] = symbol;
}

// The meaning of the name in exactly this scope, or NULL.
static struct ptx_symbol *meaning_here(struct ptx_parser *p, const struct ptx_name *name)
{
    const struct ptx_binding *binding = name->binding;
    while (binding != NULL && binding->depth > p->depth) {
        binding = binding->outer;
    }
    return binding != NULL && binding->depth == p->depth ? binding->symbol : NULL;
}

static struct ptx_symbol *symbol_bind(struct ptx_parser *p, enum ptx_symbol_kind kind,
                                      struct ptx_name *name, unsigned depth, uint32_t line)
{
    struct ptx_symbol *symbol = ptx_new(p, sizeof(*symbol));
    symbol->kind = kind;
    symbol->name = name->text;
    symbol->line = line;
    symbol->vector = 1;
    bind(p, name, depth, false)->symbol = symbol;
    return symbol;
}

// The range of the innermost scope, at least `depth` deep, that has a register of this name.
static struct ptx_binding *find_range(struct ptx_parser *p, const char *text, size_t size,
                                      unsigned depth)
{
    struct ptx_binding *best = NULL;
    uint64_t index = 0, power = 1;
    for (size_t digits = 1; digits < size && digits <= MAX_INDEX_DIGITS; digits++) {
        char c = text[size - digits];
        if (c < '0' || c > '9') {
            break;
        }
        index += power * (uint64_t)(c - '0');
        power *= 10;
        if (c == '0' && digits > 1) {
            continue; // %r01 is no member of %r<12>
        }
        struct ptx_name *prefix = name_find(p, text, size - digits);
        for (struct ptx_binding *at = prefix != NULL ? prefix->prefix : NULL; at != NULL;
             at = at->outer) {
            if (index < at->range->count) {
                best = at->depth >= depth && (best == NULL || at->depth > best->depth) ? at : best;
                break;
            }
        }
    }
    return best;
}

struct ptx_symbol *ptx_symbol_new(struct ptx_parser *p, enum ptx_symbol_kind kind,
                                  const struct ptx_token *token)
{
    struct ptx_name *name = ptx_name_intern(p, token->start, token->length);
    bool taken = meaning_here(p, name) != NULL;
    if (taken || find_range(p, token->start, token->length, p->depth) != NULL) {
        ptx_error_at(p, token, "'%.100s' is declared twice", name->text);
    }
    return symbol_bind(p, kind, name, p->depth, token->line);
}

struct ptx_symbol *ptx_register_new(struct ptx_parser *p, const struct ptx_token *token,
                                    enum ptx_type type, uint8_t vector)
{
    struct ptx_symbol *symbol = ptx_symbol_new(p, PTX_SYMBOL_REGISTER, token);
    symbol->type = type;
    symbol->space = PTX_SPACE_REG;
    symbol->vector = vector;
    count_register(p, symbol);
    return symbol;
}

void ptx_register_range(struct ptx_parser *p, const struct ptx_token *token, uint64_t count,
                        enum ptx_type type, uint8_t vector)
{
    struct ptx_name *name = ptx_name_intern(p, token->start, token->length);
    struct ptx_range *range = ptx_new(p, sizeof(*range));
    if (name->prefix != NULL && name->prefix->depth == p->depth) {
        ptx_error_at(p, token, "'%.100s<%llu>' is declared twice", name->text,
                     (unsigned long long)count);
        return;
    }
    p->scopes[p->depth].has_ranges = true;
    *range = (struct ptx_range){count, type, vector, token->line};
    bind(p, name, p->depth, true)->range = range;
}

struct ptx_symbol *ptx_symbol_find(struct ptx_parser *p, const char *text, size_t size)
{
    struct ptx_name *name = name_find(p, text, size);
    struct ptx_binding *plain = name != NULL ? name->binding : NULL;
    unsigned depth = plain != NULL ? plain->depth + 1 : 0;
    bool hidden = plain == NULL;
    for (unsigned i = depth; i <= p->depth && !hidden; i++) {
        hidden = p->scopes[i].has_ranges;
    }
    if (!hidden) {
        return plain->symbol;
    }
    struct ptx_binding *range = find_range(p, text, size, depth);
    if (range == NULL) {
        return plain != NULL ? plain->symbol : NULL;
    }
    name = ptx_name_intern(p, text, size);
    struct ptx_symbol *symbol =
        symbol_bind(p, PTX_SYMBOL_REGISTER, name, range->depth, range->range->line);
    symbol->type = range->range->type;
    symbol->space = PTX_SPACE_REG;
    symbol->vector = range->range->vector;
    count_register(p, symbol);
    return symbol;
}

struct ptx_symbol *ptx_symbol_find_here(struct ptx_parser *p, const char *text, size_t size)
{
    struct ptx_name *name = name_find(p, text, size);
    return name != NULL ? meaning_here(p, name) : NULL;
}

void ptx_reference_add(struct ptx_parser *p, struct ptx_symbol **slot,
                       const struct ptx_token *token, bool target_list)
{
    struct ptx_reference *reference = p->free_references;
    if (reference != NULL) {
        p->free_references = reference->next;
    } else {
        reference = ptx_new(p, sizeof(*reference));
    }
    *reference = (struct ptx_reference){
        .slot = slot,
        .name = ptx_name_intern(p, token->start, token->length),
        .token = *token,
        .target_list = target_list,
        .next = p->scopes[p->depth].references,
    };
    p->scopes[p->depth].references = reference;
}
