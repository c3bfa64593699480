// SPDX-License-Identifier: Apache-2.0
//
// See line_table.h. The line program is that of DWARF 4, section 6.2.
#include "line_table.h"

#include <string.h>

#include "exec_util.h"

static bool fits(const struct exec_object *o, uint64_t offset, uint64_t size)
{
    return offset <= o->size && size <= o->size - offset;
}

static const char *text_at(const struct exec_object *o, const Elf64_Shdr *strings, uint64_t offset)
{
    if (offset >= strings->sh_size || !fits(o, strings->sh_offset, strings->sh_size)) {
        return "";
    }
    const char *text = (const char *)o->data + strings->sh_offset + offset;
    return memchr(text, '\0', strings->sh_size - offset) != NULL ? text : "";
}

const Elf64_Shdr *exec_object_section(const struct exec_object *o, const char *name)
{
    const Elf64_Ehdr *header = (const void *)o->data;
    const Elf64_Shdr *names = &o->sections[header->e_shstrndx];
    for (unsigned i = 1; i < o->count; i++) {
        if (strcmp(text_at(o, names, o->sections[i].sh_name), name) == 0) {
            return &o->sections[i];
        }
    }
    return NULL;
}

static unsigned code_section(const struct exec_object *o)
{
    for (unsigned i = 1; i < o->count; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_EXECINSTR) && s->sh_size != 0) {
            return i;
        }
    }
    return 0;
}

bool exec_object_open(const void *data, size_t size, struct exec_object *ret_object)
{
    struct exec_object o = {.data = data, .size = size};
    const Elf64_Ehdr *header = data;
    if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL ||
        header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % 8 != 0 ||
        !fits(&o, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)) ||
        header->e_shstrndx >= header->e_shnum) {
        return false;
    }
    o.sections = (const void *)(o.data + header->e_shoff);
    o.count = header->e_shnum;
    for (unsigned i = 0; i < o.count; i++) {
        const Elf64_Shdr *s = &o.sections[i];
        if (s->sh_type != SHT_NOBITS && !fits(&o, s->sh_offset, s->sh_size)) {
            return false;
        }
    }
    o.text = code_section(&o);
    *ret_object = o;
    return o.text != 0;
}

bool exec_object_function(const struct exec_object *o, size_t n,
                          struct exec_object_function *ret_function)
{
    for (unsigned i = 1; i < o->count; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= o->count || s->sh_offset % 8 != 0) {
            continue;
        }
        const Elf64_Sym *symbols = (const void *)(o->data + s->sh_offset);
        for (size_t k = 0; k < s->sh_size / sizeof(Elf64_Sym); k++) {
            if (ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC && symbols[k].st_shndx == o->text &&
                n-- == 0) {
                *ret_function = (struct exec_object_function){
                    .name = text_at(o, &o->sections[s->sh_link], symbols[k].st_name),
                    .start = symbols[k].st_value,
                    .size = symbols[k].st_size,
                };
                return true;
            }
        }
    }
    return false;
}

// ---------------------------------------------------------------- line program

struct reader {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t number(struct reader *r, unsigned size)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < size) {
        r->bad = true;
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, size); // little-endian, as the processors that we compile for
    r->at += size;
    return value;
}

static uint64_t uleb(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = number(r, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        if (byte < 0x80) {
            return value;
        }
    }
}

static int64_t sleb(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint64_t byte = number(r, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
        if (byte < 0x80) {
            return (int64_t)(shift < 64 && (byte & 0x40) ? value | ~UINT64_C(0) << shift : value);
        }
    }
}

static const char *string(struct reader *r)
{
    const char *text = (const char *)r->at;
    const void *nul = memchr(r->at, '\0', (size_t)(r->end - r->at));
    if (nul == NULL) {
        r->bad = true;
        r->at = r->end;
        return "";
    }
    r->at = (const unsigned char *)nul + 1;
    return text;
}

struct program {
    struct reader folders, names, code; // the first two: from their tables
    unsigned instruction, range, opcode_base;
    int base;
    const unsigned char *lengths;
};

static bool open_program(const struct exec_object *o, const Elf64_Shdr *section,
                         struct program *ret_program)
{
    const unsigned char *data = o->data + section->sh_offset;
    struct reader r = {.at = data, .end = data + section->sh_size};
    uint64_t length = number(&r, 4);
    if (length > (uint64_t)(r.end - r.at)) {
        return false;
    }
    r.end = r.at + length;
    uint64_t version = number(&r, 2), header = number(&r, 4);
    if (version != 4 || header > (uint64_t)(r.end - r.at)) {
        return false;
    }
    struct program p = {.code = {.at = r.at + header, .end = r.end}};
    p.instruction = (unsigned)number(&r, 1);
    number(&r, 2); // operations of an instruction, whether rows are statements
    p.base = (int)number(&r, 1);
    p.base -= p.base > 127 ? 256 : 0; // one signed byte
    p.range = (unsigned)number(&r, 1);
    p.opcode_base = (unsigned)number(&r, 1);
    p.lengths = r.at;
    for (unsigned i = 1; i < p.opcode_base; i++) {
        number(&r, 1);
    }
    p.folders = r;
    while (*string(&r) != '\0') {
    }
    p.names = r;
    *ret_program = p;
    return !r.bad && p.range != 0;
}

static const char *folder_name(const struct program *p, uint64_t index)
{
    struct reader r = p->folders;
    const char *name = "";
    for (uint64_t i = 0; i < index && (i == 0 || *name != '\0'); i++) {
        name = string(&r);
    }
    return name;
}

static void file_name(const struct program *p, uint64_t index, struct exec_line *line)
{
    struct reader r = p->names;
    line->folder = "";
    line->file = "?";
    for (uint64_t i = 1; i <= index; i++) {
        const char *name = string(&r);
        uint64_t folder = uleb(&r);
        if (*name == '\0' || r.bad) {
            return;
        }
        if (i == index) {
            line->file = name;
            line->folder = folder_name(p, folder);
        }
        uleb(&r); // time and size
        uleb(&r);
    }
}

// The address at this place of .debug_line is that of a relocation to the code.
static uint64_t relocated(const struct exec_object *o, const Elf64_Shdr *section, uint64_t offset,
                          uint64_t value)
{
    const Elf64_Shdr *s = exec_object_section(o, ".rela.debug_line");
    if (s == NULL || s->sh_type != SHT_RELA || s->sh_offset % 8 != 0 ||
        &o->sections[s->sh_info % o->count] != section) {
        return value;
    }
    const Elf64_Rela *entries = (const void *)(o->data + s->sh_offset);
    for (size_t i = 0; i < s->sh_size / sizeof(Elf64_Rela); i++) {
        if (entries[i].r_offset == offset) {
            return (uint64_t)entries[i].r_addend;
        }
    }
    return value;
}

struct state {
    uint64_t address, file, line; // line: modulo 2^64, so that nothing overflows
};

static const struct state first_state = {.file = 1, .line = 1};

static bool emit_row(const struct program *p, const struct state *s, bool end,
                     bool (*row)(void *data, const struct exec_line *line), void *data)
{
    struct exec_line line = {
        .start = s->address,
        .line = s->line <= UINT32_MAX ? (uint32_t)s->line : 0,
        .end = end,
    };
    file_name(p, s->file, &line);
    return row(data, &line);
}

enum { EXTENDED, COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC = 8, FIXED_ADVANCE_PC };
enum { END_SEQUENCE = 1, SET_ADDRESS };

bool exec_object_lines(const struct exec_object *o,
                       bool (*row)(void *data, const struct exec_line *line), void *data)
{
    const Elf64_Shdr *section = exec_object_section(o, ".debug_line");
    struct program p;
    if (section == NULL || section->sh_type == SHT_NOBITS || !open_program(o, section, &p)) {
        return false;
    }
    struct reader *r = &p.code;
    struct state s = first_state;
    bool more = true;
    while (more && !r->bad && r->at < r->end) {
        unsigned opcode = (unsigned)number(r, 1);
        if (opcode >= p.opcode_base) {
            unsigned step = opcode - p.opcode_base;
            s.address += (uint64_t)p.instruction * (step / p.range);
            s.line += (uint64_t)(int64_t)(p.base + (int)(step % p.range));
            more = emit_row(&p, &s, false, row, data);
            continue;
        }
        switch (opcode) {
        case EXTENDED: {
            uint64_t length = uleb(r);
            if (length == 0 || length > (uint64_t)(r->end - r->at)) {
                return true;
            }
            const unsigned char *next = r->at + length;
            unsigned what = (unsigned)number(r, 1);
            if (what == END_SEQUENCE) {
                more = emit_row(&p, &s, true, row, data);
                s = first_state;
            } else if (what == SET_ADDRESS && length == 9) {
                uint64_t place = (uint64_t)(r->at - o->data) - section->sh_offset;
                s.address = relocated(o, section, place, number(r, 8));
            }
            r->at = next;
            break;
        }
        case COPY:
            more = emit_row(&p, &s, false, row, data);
            break;
        case ADVANCE_PC:
            s.address += p.instruction * uleb(r);
            break;
        case ADVANCE_LINE:
            s.line += (uint64_t)sleb(r);
            break;
        case SET_FILE:
            s.file = uleb(r);
            break;
        case CONST_ADD_PC:
            s.address += (uint64_t)p.instruction * ((255 - p.opcode_base) / p.range);
            break;
        case FIXED_ADVANCE_PC:
            s.address += number(r, 2);
            break;
        default: // says nothing about lines
            for (unsigned n = p.lengths[opcode - 1]; n > 0; n--) {
                uleb(r);
            }
            break;
        }
    }
    return true;
}
