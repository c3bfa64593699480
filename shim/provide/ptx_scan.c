// SPDX-License-Identifier: Apache-2.0
//
// See ptx_scan.h. Sources: PTX ISA, "State Spaces, Types, and Variables" and "Kernel and Function
// Directives". A scanner of words: comments are skipped, bodies are skipped by counting braces.
#include "shim/provide/ptx_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_LIMIT = 1 << 30 }; // of a variable, bytes

struct scanner {
    const char *at;   // behind the current word
    const char *word; // its first character; words are names, numbers or single characters
    size_t length;    // 0: end of the text
};

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.';
}

static void skip_blank(struct scanner *s)
{
    for (;;) {
        while (isspace((unsigned char)*s->at)) {
            s->at++;
        }
        if (strncmp(s->at, "//", 2) == 0) {
            s->at += strcspn(s->at, "\n");
        } else if (strncmp(s->at, "/*", 2) == 0) {
            const char *end = strstr(s->at + 2, "*/");
            s->at = end ? end + 2 : s->at + strlen(s->at);
        } else {
            return;
        }
    }
}

static void next(struct scanner *s)
{
    skip_blank(s);
    s->word = s->at;
    if (*s->at == '"') {
        s->at++;
        s->at += strcspn(s->at, "\"");
        s->at += *s->at == '"';
    } else if (is_name(*s->at)) {
        while (is_name(*s->at)) {
            s->at++;
        }
    } else if (*s->at) {
        s->at++;
    }
    s->length = (size_t)(s->at - s->word);
}

static bool is(const struct scanner *s, const char *word)
{
    return s->length == strlen(word) && memcmp(s->word, word, s->length) == 0;
}

static char *copy_word(const struct scanner *s)
{
    return strndup(s->word, s->length);
}

// Bytes of a type word like ".u32", ".b8", ".f16x2", ".texref"; 0 when it is none.
static size_t type_size(const struct scanner *s)
{
    if (is(s, ".texref") || is(s, ".samplerref") || is(s, ".surfref")) {
        return 8;
    }
    if (s->length < 3 || s->word[0] != '.' || !strchr("usbf", s->word[1]) ||
        !isdigit((unsigned char)s->word[2])) {
        return 0;
    }
    char *end;
    unsigned long bits = strtoul(s->word + 2, &end, 10);
    if (strncmp(end, "x2", 2) == 0) {
        bits *= 2;
        end += 2;
    }
    bool good = end == s->word + s->length &&
                (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128);
    return good ? bits / 8 : 0;
}

static size_t number(const struct scanner *s)
{
    return s->length && isdigit((unsigned char)s->word[0]) ? strtoul(s->word, NULL, 0) : 0;
}

// Declaration of one object up to its name and array bounds: [.align n] … .type name [n][m] …
// The first word of it is current; the word behind is current on return.
struct object {
    char *name;
    size_t size, align, element;
    unsigned dimensions;
    bool managed;
};

static bool read_object(struct scanner *s, struct object *ret)
{
    size_t type = 0, align = 0, vector = 1;
    bool pointer = false;
    *ret = (struct object){0};
    for (; s->length && s->word[0] == '.'; next(s)) {
        size_t size = type_size(s);
        if (size) {
            type = size;
        } else if (is(s, ".v2") || is(s, ".v4")) {
            vector = s->word[2] == '2' ? 2 : 4;
        } else if (is(s, ".ptr")) {
            pointer = true; // what follows is about the memory that it points to
        } else if (is(s, ".align")) {
            next(s);
            align = pointer ? align : number(s);
        } else if (is(s, ".attribute")) {
            while (s->length && !is(s, ")")) {
                next(s);
                ret->managed |= is(s, ".managed");
            }
        }
    }
    if (!type || !s->length || !is_name(s->word[0])) {
        return false;
    }
    ret->name = copy_word(s);
    ret->element = type; // of one number
    type *= vector;
    ret->size = type;
    ret->align = align > type ? align : type;
    for (next(s); is(s, "["); next(s)) {
        next(s);
        size_t count = number(s);
        ret->dimensions++;
        ret->size = count && ret->size <= SIZE_LIMIT / count ? ret->size * count : 0;
        if (count) {
            next(s);
        }
    }
    return ret->name != NULL;
}

// ---- kernels ----

static bool read_parameters(struct scanner *s, struct irt_ptx_kernel *kernel)
{
    size_t offset = 0;
    while (s->length && !is(s, ")")) {
        next(s); // "(" or ","
        if (is(s, ")")) {
            break;
        }
        struct object object;
        if (!is(s, ".param") || (next(s), !read_object(s, &object))) {
            return false;
        }
        free(object.name);
        struct irt_ptx_parameter *list =
            realloc(kernel->parameters, (kernel->parameter_count + 1) * sizeof *list);
        if (!list) {
            return false;
        }
        kernel->parameters = list;
        offset = (offset + object.align - 1) / object.align * object.align;
        list[kernel->parameter_count++] =
            (struct irt_ptx_parameter){offset, object.size, object.align};
        offset += object.size;
    }
    next(s);
    return true;
}

static void read_block(struct scanner *s, uint32_t block[3])
{
    for (int i = 0; i < 3; i++) {
        next(s);
        block[i] = (uint32_t)number(s);
        if (strncmp(s->at + strspn(s->at, " \t\n"), ",", 1) != 0) {
            break;
        }
        next(s);
    }
}

static bool read_kernel(struct scanner *s, struct irt_ptx_contents *contents)
{
    struct irt_ptx_kernel kernel = {.name = copy_word(s)};
    next(s);
    bool good = kernel.name && (!is(s, "(") || read_parameters(s, &kernel));
    for (; good && s->length && !is(s, "{") && !is(s, ";"); next(s)) {
        if (is(s, ".reqntid")) {
            read_block(s, kernel.required_block);
        } else if (is(s, ".maxntid")) {
            read_block(s, kernel.max_block);
        }
    }
    struct irt_ptx_kernel *list =
        good && is(s, "{") ? realloc(contents->kernels, (contents->kernel_count + 1) * sizeof *list)
                           : NULL;
    if (list) {
        contents->kernels = list;
        list[contents->kernel_count++] = kernel;
        return true;
    }
    bool declaration = good && is(s, ";");
    free(kernel.name);
    free(kernel.parameters);
    return declaration;
}

// ---- variables ----

// One element of an initialiser: an integer, 0f…, 0d…; false for an address or expression.
static bool read_value(struct scanner *s, unsigned char *place, size_t size)
{
    bool negative = is(s, "-");
    if (negative) {
        next(s);
    }
    if (!s->length || !isdigit((unsigned char)s->word[0]) || size > 8) {
        return false;
    }
    uint64_t value;
    if (s->word[0] == '0' && s->length > 2 && strchr("fFdD", s->word[1])) {
        value = strtoull(s->word + 2, NULL, 16);
    } else if (memchr(s->word, '.', s->length)) {
        return false; // a decimal fraction; compilers do not write them
    } else {
        value = strtoull(s->word, NULL, 0);
        value = negative ? 0 - value : value;
    }
    memcpy(place, &value, size); // little endian, as the devices
    return true;
}

static bool read_initial(struct scanner *s, const struct object *object,
                         struct irt_ptx_variable *variable)
{
    size_t offset = 0;
    for (next(s); s->length && !is(s, ";"); next(s)) {
        if (is(s, ",") || is(s, "}") || (is(s, "{") && (offset == 0 || object->dimensions <= 1))) {
            continue; // rows of more dimensions may be short: only lists that are flat are read
        }
        if (offset + object->element > object->size ||
            !read_value(s, variable->value + offset, object->element)) {
            return false;
        }
        offset += object->element;
    }
    return true;
}

static bool read_variable(struct scanner *s, struct irt_ptx_contents *contents)
{
    struct object object;
    if (!read_object(s, &object)) {
        free(object.name);
        return false;
    }
    struct irt_ptx_variable variable = {.name = object.name,
                                        .size = object.size,
                                        .align = object.align,
                                        .managed = object.managed,
                                        .value = calloc(1, object.size ? object.size : 1),
                                        .known = object.size != 0};
    if (variable.value && is(s, "=")) {
        variable.known = variable.known && read_initial(s, &object, &variable);
    }
    while (s->length && !is(s, ";")) {
        next(s);
    }
    struct irt_ptx_variable *list =
        variable.value ? realloc(contents->variables, (contents->variable_count + 1) * sizeof *list)
                       : NULL;
    if (!list) {
        free(variable.name);
        free(variable.value);
        return false;
    }
    contents->variables = list;
    list[contents->variable_count++] = variable;
    return true;
}

// ---- the text ----

bool irt_ptx_scan(const char *text, struct irt_ptx_contents *contents)
{
    struct scanner s = {.at = text};
    bool good = true, external = false;
    unsigned depth = 0;
    for (next(&s); good && s.length; next(&s)) {
        if (is(&s, "}")) {
            depth -= depth > 0;
        } else if (depth == 0 && is(&s, ".extern")) {
            external = true;
        } else if (depth == 0 && is(&s, ".entry")) {
            next(&s);
            good = read_kernel(&s, contents);
            external = false;
        } else if (depth == 0 && !external && (is(&s, ".global") || is(&s, ".const"))) {
            next(&s);
            good = read_variable(&s, contents);
        } else if (is(&s, ";")) {
            external = false;
        }
        depth += is(&s, "{");
    }
    return good;
}

void irt_ptx_free(struct irt_ptx_contents *contents)
{
    for (size_t i = 0; i < contents->kernel_count; i++) {
        free(contents->kernels[i].name);
        free(contents->kernels[i].parameters);
    }
    for (size_t i = 0; i < contents->variable_count; i++) {
        free(contents->variables[i].name);
        free(contents->variables[i].value);
    }
    free(contents->kernels);
    free(contents->variables);
    *contents = (struct irt_ptx_contents){0};
}
