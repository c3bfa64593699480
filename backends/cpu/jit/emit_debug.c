// SPDX-License-Identifier: Apache-2.0
//
// Debug information (DWARF) for kernels whose PTX has .loc: one compile unit a module, a subprogram
// for each function and for each function that was inlined, a position on each instruction. Without
// .loc nothing is made. It does not change the code, and nothing else in jit/ looks at it; only where
// LLVM schedules behind the allocation of registers is the set-up of the frame ordered otherwise.
#include "emit.h"

#include <stdlib.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>

#include "shim/util/demangle.h"

enum { NAME_SIZE = 1024, DWARF_VERSION = 4 }; // version: what exec/line_table.c reads

struct file {
    const char *name; // compared as pointer: names come from the tables of the PTX units
    LLVMMetadataRef md;
};

struct subprogram {
    const char *name;
    LLVMMetadataRef file, md;
};

struct emit_debug {
    LLVMDIBuilderRef b;
    LLVMMetadataRef type; // of all functions
    struct file *files;
    size_t file_count;
    struct subprogram *subs; // of inlined functions
    size_t sub_count;
    const struct ir_function *fn; // current, with lines; or NULL
    LLVMMetadataRef scope, file, nowhere;
    const struct ir_loc *last; // of the current function
    LLVMMetadataRef last_md;
};

// One more element behind `count`; NULL without memory.
static void *add(void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0) { // room for the next power of two
        return array;
    }
    return realloc(array, (count == 0 ? 1 : 2 * count) * size);
}

static LLVMMetadataRef make_file(struct emit_debug *d, const char *name)
{
    return LLVMDIBuilderCreateFile(d->b, name, strlen(name), "", 0); // a path: no folders apart
}

static LLVMMetadataRef file_of(struct emit_debug *d, const char *name)
{
    for (size_t i = 0; i < d->file_count; i++) {
        if (d->files[i].name == name) {
            return d->files[i].md;
        }
    }
    LLVMMetadataRef md = make_file(d, name);
    struct file *files = add(d->files, d->file_count, sizeof(*files));
    if (files != NULL) { // else it is made again the next time
        d->files = files;
        d->files[d->file_count++] = (struct file){name, md};
    }
    return md;
}

static LLVMMetadataRef make_subprogram(struct emit_debug *d, const char *name, LLVMMetadataRef file,
                                       unsigned line)
{
    char text[NAME_SIZE];
    irt_demangle_short(name, text, sizeof(text));
    bool mangled = strcmp(text, name) != 0;
    return LLVMDIBuilderCreateFunction(d->b, file, text, strlen(text), mangled ? name : "",
                                       mangled ? strlen(name) : 0, file, line, d->type, true, true,
                                       line, LLVMDIFlagZero, true);
}

static LLVMMetadataRef inlined_subprogram(struct emit_debug *d, const struct ir_loc *loc)
{
    const char *name = loc->function != NULL ? loc->function : "?";
    LLVMMetadataRef file = file_of(d, loc->file);
    for (size_t i = 0; i < d->sub_count; i++) {
        if (strcmp(d->subs[i].name, name) == 0 && d->subs[i].file == file) {
            return d->subs[i].md;
        }
    }
    LLVMMetadataRef md = make_subprogram(d, name, file, loc->line);
    struct subprogram *subs = add(d->subs, d->sub_count, sizeof(*subs));
    if (subs != NULL) {
        d->subs = subs;
        d->subs[d->sub_count++] = (struct subprogram){name, file, md};
    }
    return md;
}

static LLVMMetadataRef position(struct emit *e, const struct ir_loc *loc)
{
    struct emit_debug *d = e->debug;
    LLVMMetadataRef scope, outer = NULL;
    if (loc->inlined_at != NULL) {
        scope = inlined_subprogram(d, loc);
        outer = position(e, loc->inlined_at);
    } else {
        LLVMMetadataRef file = file_of(d, loc->file);
        scope = file == d->file ? d->scope
                                : LLVMDIBuilderCreateLexicalBlockFile(d->b, d->scope, file, 0);
    }
    return LLVMDIBuilderCreateDebugLocation(e->cx, loc->line, loc->column, scope, outer);
}

void emit_debug_begin(struct emit *e)
{
    const struct ir_loc *loc = e->unit->functions[0]->loc;
    if (loc == NULL) {
        return;
    }
    struct emit_debug *d = e->debug = calloc(1, sizeof(*d));
    if (d == NULL) {
        return;
    }
    static const struct {
        const char *name;
        unsigned value;
    } flags[] = {{"Debug Info Version", 0}, {"Dwarf Version", DWARF_VERSION}};
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        unsigned value = flags[i].value != 0 ? flags[i].value : LLVMDebugMetadataVersion();
        LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, flags[i].name,
                          strlen(flags[i].name),
                          LLVMValueAsMetadata(LLVMConstInt(e->i32, value, false)));
    }
    static const char producer[] = "InfiniRT";
    d->b = LLVMCreateDIBuilder(e->module);
    LLVMDIBuilderCreateCompileUnit(d->b, LLVMDWARFSourceLanguageC_plus_plus_14,
                                   file_of(d, loc->file), producer, sizeof(producer) - 1, true, "",
                                   0, 0, "", 0, LLVMDWARFEmissionFull, 0, true, false, "", 0, "",
                                   0);
    d->type =
        LLVMDIBuilderCreateSubroutineType(d->b, file_of(d, loc->file), NULL, 0, LLVMDIFlagZero);
}

// The builders stand at the start of `llvm_fn`, whose code is of `fn`.
void emit_debug_function(struct emit *e, LLVMValueRef llvm_fn, const struct ir_function *fn,
                         const char *name)
{
    struct emit_debug *d = e->debug;
    if (d == NULL) {
        return;
    }
    d->fn = fn->loc != NULL ? fn : NULL;
    d->last = NULL;
    d->nowhere = NULL;
    if (d->fn != NULL) {
        d->file = file_of(d, fn->loc->file);
        d->scope = make_subprogram(d, name, d->file, fn->loc->line);
        LLVMSetSubprogram(llvm_fn, d->scope);
        d->nowhere = LLVMDIBuilderCreateDebugLocation(e->cx, 0, 0, d->scope, NULL);
    }
    LLVMSetCurrentDebugLocation2(e->b, d->nowhere);
    LLVMSetCurrentDebugLocation2(e->pb, d->nowhere);
}

void emit_debug_at(struct emit *e, const struct ir_inst *inst)
{
    struct emit_debug *d = e->debug;
    if (d == NULL) {
        return;
    }
    const struct ir_loc *loc = inst != NULL && d->fn != NULL ? inst->loc : NULL;
    if (loc != NULL && loc != d->last) {
        d->last_md = position(e, loc);
        d->last = loc;
    }
    LLVMSetCurrentDebugLocation2(e->b, loc != NULL ? d->last_md : d->nowhere);
}

// LLVM wants a position on each call of a function that has positions itself.
static void complete(struct emit *e, LLVMValueRef fn)
{
    LLVMMetadataRef scope = LLVMGetSubprogram(fn);
    if (scope == NULL) {
        return;
    }
    LLVMMetadataRef nowhere = LLVMDIBuilderCreateDebugLocation(e->cx, 0, 0, scope, NULL);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b != NULL;
         b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL;
             i = LLVMGetNextInstruction(i)) {
            if (LLVMGetInstructionOpcode(i) == LLVMCall && LLVMInstructionGetDebugLoc(i) == NULL) {
                LLVMInstructionSetDebugLoc(i, nowhere);
            }
        }
    }
}

void emit_debug_end(struct emit *e)
{
    struct emit_debug *d = e->debug;
    if (d == NULL) {
        return;
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(e->module); f != NULL; f = LLVMGetNextFunction(f)) {
        complete(e, f);
    }
    LLVMDIBuilderFinalize(d->b);
    LLVMDisposeDIBuilder(d->b);
    free(d->files);
    free(d->subs);
    free(d);
    e->debug = NULL;
}
