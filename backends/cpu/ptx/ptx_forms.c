// SPDX-License-Identifier: Apache-2.0
//
// Interprets the forms of ptx_ops.def: which modifiers go together, and which operands then follow.
// Called once for each different opcode text of a module (ptx_body.c keeps the results), so it may
// be slow and simple. The language of the forms is described at the head of ptx_ops.def.
#include "ptx_internal.h"

#include <string.h>

enum { MAX_WORDS = 24, MAX_GROUPS = 24 };

struct word {
    const char *text;
    size_t size;
};

// One group of a form: the words that may stand in its place.
struct group {
    const char *words;
    size_t size;
    bool optional, repeated, used;
};

static unsigned split_groups(const char *modifiers, struct group *groups)
{
    unsigned count = 0;
    const char *at = modifiers;
    while (*at != '\0' && count < MAX_GROUPS) {
        struct group *group = &groups[count++];
        *group = (struct group){.optional = *at == '[' || *at == '{', .repeated = *at == '{'};
        at += group->optional;
        group->words = at;
        group->size = strcspn(at, " ]}");
        at += group->size;
        at += strspn(at, " ]}");
    }
    return count;
}

static bool group_has(const struct group *group, const struct word *word)
{
    const char *end = group->words + group->size;
    for (const char *at = group->words; at < end;) {
        const char *stop = memchr(at, '|', (size_t)(end - at));
        size_t size = (size_t)((stop != NULL ? stop : end) - at);
        if (size == word->size && memcmp(at, word->text, size) == 0) {
            return true;
        }
        at += size + 1;
    }
    return false;
}

// Every word takes the first free group that has it; types only move forward.
static bool form_fits(const char *modifiers, const struct word *words, unsigned word_count)
{
    struct group groups[MAX_GROUPS];
    unsigned group_count = split_groups(modifiers, groups);
    unsigned type_from = 0;
    for (unsigned i = 0; i < word_count; i++) {
        bool is_type = ptx_type_find(words[i].text, words[i].size) != PTX_TYPE_NONE;
        unsigned g = is_type ? type_from : 0;
        while (g < group_count && (groups[g].used || !group_has(&groups[g], &words[i]))) {
            g++;
        }
        if (g == group_count) {
            return false;
        }
        groups[g].used = !groups[g].repeated;
        type_from = is_type ? g : type_from;
    }
    for (unsigned g = 0; g < group_count; g++) {
        if (!groups[g].used && !groups[g].optional) {
            return false;
        }
    }
    return true;
}

static bool row_knows(const struct ptx_op_row *row, const struct word *word)
{
    for (size_t f = 0; f < row->form_count; f++) {
        struct group groups[MAX_GROUPS];
        unsigned count = split_groups(row->forms[f].modifiers, groups);
        for (unsigned g = 0; g < count; g++) {
            if (group_has(&groups[g], word)) {
                return true;
            }
        }
    }
    return false;
}

// Sorts a known word into the phrase. Repeats that the fields cannot hold do not fit any form.
static bool phrase_add(struct ptx_phrase *phrase, const struct word *word)
{
    enum ptx_space space = ptx_space_find(word->text, word->size);
    enum ptx_type type = ptx_type_find(word->text, word->size);
    unsigned vector = ptx_vector_find(word->text, word->size);
    if (type != PTX_TYPE_NONE) {
        if (phrase->type_count == PTX_MAX_TYPES) {
            return false;
        }
        phrase->types[phrase->type_count++] = type;
    } else if (space != PTX_SPACE_NONE) {
        if (phrase->space2 != PTX_SPACE_NONE) {
            return false;
        }
        *(phrase->space == PTX_SPACE_NONE ? &phrase->space : &phrase->space2) = space;
    } else if (vector != 0) {
        phrase->vector = (uint8_t)vector;
    } else {
        if (phrase->modifier_count == PTX_MAX_MODIFIERS) {
            return false;
        }
        phrase->modifiers[phrase->modifier_count++] = ptx_modifier_find(word->text, word->size);
    }
    return true;
}

int ptx_phrase_parse(const char *text, size_t size, struct ptx_phrase *phrase, char error[200])
{
    struct word words[MAX_WORDS];
    unsigned word_count = 0;
    size_t at = strcspn(text, ".") < size ? strcspn(text, ".") : size;
    *phrase = (struct ptx_phrase){.vector = 1};
    phrase->opcode = ptx_opcode_find(text, at);
    if (phrase->opcode == PTX_OP_INVALID) {
        snprintf(error, 200, "unknown instruction '%.*s'", (int)(at < 100 ? at : 100), text);
        return -1;
    }
    const struct ptx_op_row *row = ptx_op_row(phrase->opcode);
    while (at < size) {
        struct word word = {text + at + 1, 0};
        while (at + 1 + word.size < size && word.text[word.size] != '.') {
            word.size++;
        }
        at += 1 + word.size;
        if (!row_knows(row, &word)) {
            snprintf(error, 200, "unknown modifier '.%.*s' of '%s'",
                     (int)(word.size < 100 ? word.size : 100), word.text, row->name);
            return -1;
        }
        if (word_count == MAX_WORDS || !phrase_add(phrase, &word)) {
            snprintf(error, 200, "too many modifiers of '%s'", row->name);
            return -1;
        }
        words[word_count++] = word;
    }
    for (size_t f = 0; f < row->form_count && phrase->form_count < PTX_MAX_FORMS; f++) {
        if (form_fits(row->forms[f].modifiers, words, word_count)) {
            phrase->operands[phrase->form_count++] = row->forms[f].operands;
        }
    }
    if (phrase->form_count == 0) {
        snprintf(error, 200, "no form of '%s' has the modifiers '%.*s'", row->name,
                 (int)(size < 120 ? size : 120), text);
        return -1;
    }
    return 0;
}

// ---------------------------------------------------------------- operands

static bool scalar_source(enum ptx_operand_kind kind)
{
    switch (kind) {
    case PTX_OPERAND_SYMBOL:
    case PTX_OPERAND_IMM_INT:
    case PTX_OPERAND_IMM_F32:
    case PTX_OPERAND_IMM_F64:
    case PTX_OPERAND_SREG:
    case PTX_OPERAND_COMPONENT:
    case PTX_OPERAND_SYMBOL_OFFSET:
        return true;
    default:
        return false;
    }
}

static bool letter_fits(char letter, const struct ptx_operand *operand)
{
    enum ptx_operand_kind kind = operand->kind;
    bool destination =
        kind == PTX_OPERAND_SYMBOL || kind == PTX_OPERAND_COMPONENT || kind == PTX_OPERAND_SINK;
    // Braces around one register are the register (some producers write them).
    bool braced = kind == PTX_OPERAND_VECTOR && operand->count == 1;
    switch (letter) {
    case 'r':
        return (destination || braced) && !operand->negated;
    case 'R':
        return (destination || kind == PTX_OPERAND_VECTOR) && !operand->negated;
    case 'q':
        return (destination || kind == PTX_OPERAND_PAIR || kind == PTX_OPERAND_VECTOR) &&
               !operand->negated;
    case 'p':
        return scalar_source(kind);
    case 'a':
        return (scalar_source(kind) || braced) && !operand->negated;
    case 'A':
        return (scalar_source(kind) && !operand->negated) || kind == PTX_OPERAND_VECTOR ||
               kind == PTX_OPERAND_SINK;
    case 'm':
        return kind == PTX_OPERAND_ADDRESS;
    case 't':
        return kind == PTX_OPERAND_ADDRESS || kind == PTX_OPERAND_TEXADDR;
    case 'l':
        return kind == PTX_OPERAND_SYMBOL;
    default:
        return letter == '*';
    }
}

static const char *letter_name(char letter)
{
    switch (letter) {
    case 'r':
        return "a destination register";
    case 'R':
        return "a destination register or vector";
    case 'q':
        return "a destination register or pair";
    case 'a':
        return "a register or constant";
    case 'A':
        return "a register, constant or vector";
    case 'p':
        return "a predicate";
    case 'm':
        return "an address in [ ]";
    case 't':
        return "an address [object, coordinates]";
    default:
        return "a label";
    }
}

static void count_letters(const char *form, unsigned *ret_required, unsigned *ret_places)
{
    unsigned places = 0, optional = 0;
    for (const char *at = form; *at != '\0'; at++) {
        *(*at == '?' ? &optional : &places) += 1;
    }
    *ret_required = places - optional;
    *ret_places = places;
}

// Letters for `count` operands: the first optional places are filled first.
static void spread_letters(const char *form, unsigned count, unsigned required, char *letters)
{
    unsigned spare = count - required, n = 0;
    for (const char *at = form; *at != '\0'; at++) {
        if (at[1] != '?') {
            letters[n++] = *at;
            continue;
        }
        if (spare > 0) {
            letters[n++] = *at;
            spare--;
        }
        at++;
    }
}

int ptx_phrase_match(const struct ptx_phrase *phrase, const struct ptx_operand *operands,
                     unsigned count, char letters[PTX_MAX_OPERANDS], unsigned *ret_places,
                     char error[200])
{
    const char *name = ptx_opcode_name(phrase->opcode);
    bool counted = false;
    unsigned least = PTX_MAX_OPERANDS, most = 0;
    for (unsigned f = 0; f < phrase->form_count; f++) {
        unsigned required, places, i;
        const char *form = phrase->operands[f];
        if (form[0] == '*') {
            memset(letters, '*', count);
            *ret_places = count;
            return 0;
        }
        count_letters(form, &required, &places);
        least = required < least ? required : least;
        most = places > most ? places : most;
        if (count < required || count > places) {
            continue;
        }
        spread_letters(form, count, required, letters);
        for (i = 0; i < count && letter_fits(letters[i], &operands[i]); i++) {
        }
        if (i == count) {
            *ret_places = places;
            return 0;
        }
        if (!counted) {
            snprintf(error, 200, "operand %u of '%s' must be %s", i + 1, name,
                     letter_name(letters[i]));
        }
        counted = true;
    }
    if (!counted && least == most) {
        snprintf(error, 200, "'%s' takes %u operand%s, not %u", name, most, most == 1 ? "" : "s",
                 count);
    } else if (!counted) {
        snprintf(error, 200, "'%s' takes %u to %u operands, not %u", name, least, most, count);
    }
    return -1;
}
