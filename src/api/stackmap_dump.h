/* Stack maps as text, for the authors of compilers: which slot becomes live or dead where, beside the code; and why a variable
   is not live at an offset, in sentences. A debugger can call these as well: call gc_code_dump($pc, stdout, 0).

   Offsets are hexadecimal. A row says what holds from the instruction at its offset on, so it stands before that instruction,
   after the call if it is one of a call. Slots are registers by name, [rsp+16], [rbp-8], [cfa-24]. Source: what !gcinfo and
   !u -gcinfo show of the CLR's GC info. */
#pragma once

#include "code.h"

/* Where a variable is: debug information, which stack maps do not have. A variable may have several, also at a time. */
typedef struct gc_code_variable {
    const char *name;
    gc_stackmap_slot slot; /* its flags are ignored */
    uint32_t start, end;   /* the code in which the variable is there: [start, end) */
} gc_code_variable;

/* A line to print before the instruction at the offset: for instance the source. */
typedef struct gc_code_note {
    uint32_t offset;
    const char *text;
} gc_code_note;

/* Writes the text of the instruction at `code` + offset to `text`, which has `room` bytes, ended by 0, and returns the bytes
   of the instruction. 0: there is none that it knows. Implemented by the host. */
typedef size_t (*gc_code_disassemble)(void *host, const void *code, uint32_t offset, char *text, size_t room);

/* What a dump shows. All zero, or NULL instead: header and pointer table. */
typedef struct gc_dump_options {
    bool no_header, no_encoding,
        no_unwinding; /* leaves out the header, the encoded bytes, the rows of pushes and pops */
    const void *code; /* the method's: it is printed, too, and the rows between its instructions. 0: the rows alone */
    uint64_t address; /* at which the code is said to be; 0: where it is */
    const void *mark; /* an address in the code: its instruction is marked by >>>; 0: none */
    gc_code_disassemble disassemble; /* 0: instructions are shown as bytes, from one boundary to the next */
    void *host;                      /* for disassemble */
    const uint32_t *boundaries;      /* offsets of instructions, ascending; used if there is no disassemble */
    uint32_t boundary_count;         /* 0: the code is cut where rows are */
    uint32_t note_count;
    const gc_code_note *notes; /* ascending */
    const gc_code_variable *variables;
    uint32_t variable_count;
} gc_dump_options;

/* Prints a map: its header and its pointer table, the table with the code if options->code is set. [any thread; never
   collects; cannot fail] */
GC_API void gc_stackmap_dump(const void *map, FILE *to, const gc_dump_options *options);

/* Says in sentences where the variable is at `offset`, whether it is live there, from where to where, and if it is not, why,
   and what to do. NULL instead of a name: which slots and variables are live there. The offset is that of an instruction before
   which a thread may be stopped, or of one after a call. False: options have no variable of this name. [any thread; never
   collects; false: an unknown name] */
GC_API bool gc_stackmap_explain(const void *map, uint32_t offset, const char *variable, FILE *to,
                                const gc_dump_options *options);

/* The same for the registered code that covers pc, or ends there; pc is marked in it. False: there is none, or no variable of
   this name. [any thread; never collects; false: no such code or variable] */
GC_API bool gc_code_dump(const void *pc, FILE *to, const gc_dump_options *options);
GC_API bool gc_code_explain(const void *pc, const char *variable, FILE *to, const gc_dump_options *options);

/* For gc_code_format.dump: adds a line to the header, "    name = value"; begins a row of the table, in the order of offsets,
   with its bytes in hexadecimal; adds text to the row. [any thread; never collects; cannot fail] */
GC_API void gc_dump_fact(gc_dump *dump, const char *name, const char *format, ...)
    __attribute__((GC__PRINTF(3, 4)));
GC_API void gc_dump_row(gc_dump *dump, uint32_t offset, const char *encoded);
GC_API void gc_dump_text(gc_dump *dump, const char *format, ...) __attribute__((GC__PRINTF(2, 3)));
