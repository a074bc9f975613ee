/* The stack maps of LLVM: version 3 of the section, with the records of statepoints, for x86-64.

   A section is a header, functions, constants, and the records of all functions in their order. The record of a statepoint
   belongs to a return address, and has locations: the calling convention, flags and the number of deopt operands, as
   constants; the deopt operands; and pairs of a base and a derived pointer. A location is named by many pairs, in any order.

   What is read once, when a module is added, is kept in a form that needs no checks, memory or search for what is equal when
   frames are visited: for each return address the distinct places of bases, and then pairs of a derived place and its base's. */
#pragma once

#include "../api/stackmap_dump.h"
#include "walk.h"

#define GC__LLVM_VERSION 3
#define GC__LLVM_HEADER_BYTES 16
#define GC__LLVM_FUNCTION_BYTES 24
#define GC__LLVM_RECORD_BYTES 16
#define GC__LLVM_LOCATION_BYTES 12
#define GC__LLVM_RECORD_BYTES_MIN 64 /* three locations and no live-outs */
#define GC__LLVM_UNKNOWN \
    UINT64_MAX /* the stack size of a function that realigns its stack, or allocates from it at run time */
#define GC__LLVM_STACK_BYTES_MAX ((uint64_t)1 << 30)

enum { GC__LLVM_REGISTER = 1, GC__LLVM_DIRECT, GC__LLVM_INDIRECT, GC__LLVM_CONSTANT, GC__LLVM_CONSTANT_INDEX };
enum {
    GC__LLVM_RSP = 4,
    GC__LLVM_RBP = 5,
    GC__LLVM_PRESERVED = 0xF028
}; /* the machine's numbers; rbx, rbp, r12 to r15 */

/* `count` words at register + offset that hold references; 0: the register holds one itself. */
typedef struct gc__llvm_place {
    int32_t offset;
    uint16_t count;
    uint16_t number; /* the machine's, of the register */
} gc__llvm_place;

/* A call: at places[first] are `bases` places, and then `pairs` pairs of a derived place and that of its base. */
typedef struct gc__llvm_point {
    uint32_t offset; /* the return address's, from the start of the function */
    uint16_t bases, pairs;
    size_t first;
} gc__llvm_point;

typedef struct gc__llvm_function {
    gc_code code;
    char name[36]; /* the section has none */
    const gc_llvm_module *module;
    size_t first, count; /* its points, ascending */
    uint64_t stack_bytes;
} gc__llvm_function;

struct gc_llvm_module {
    gc__llvm_function *functions; /* ascending */
    gc__llvm_point *points;
    gc__llvm_place *places;
    size_t function_count, point_count, place_count, registered;
    unsigned flags;
};

/* One section after another is read, each to its end. Offsets are from the start of the first. */
typedef struct gc__llvm_reader {
    const unsigned char *section;
    size_t bytes;
    size_t start; /* of the section that is being read */
    size_t at;
    uint32_t constants; /* their number in this section */
    gc_llvm_module *module;
} gc__llvm_reader;

/* Every refusal names the byte at which the fault is. */
#define GC__LLVM_REFUSE(at, ...)                                                                \
    (gc__fail(GC_ERROR_FORMAT, "gc_code_add_llvm: at byte %zu of the section, ", (size_t)(at)), \
     gc__fail_more(__VA_ARGS__), false)

GC__FN uint64_t gc__llvm_read(const gc__llvm_reader *reader, size_t at, size_t bytes) {
    uint64_t word = 0;
    memcpy(&word, reader->section + at, bytes);
    return GC__LITTLE(64, word); /* as x86-64 writes the section */
}

GC__FN uint32_t gc__llvm_u32(const gc__llvm_reader *reader, size_t at) {
    return (uint32_t)gc__llvm_read(reader, at, 4);
}
GC__FN uint16_t gc__llvm_u16(const gc__llvm_reader *reader, size_t at) {
    return (uint16_t)gc__llvm_read(reader, at, 2);
}

GC__FN bool gc__llvm_need(const gc__llvm_reader *reader, uint64_t bytes, const char *what) {
    size_t left = reader->bytes - reader->at;
    if (bytes <= left) return true;
    return GC__LLVM_REFUSE(reader->at, "%s takes %llu bytes, but only %zu are left: the section was cut off", what,
                           (unsigned long long)bytes, left);
}

/* The machine's number of a register that DWARF numbers so; GC_NO_REGISTER: none of the sixteen. */
GC__FN unsigned gc__llvm_register(uint16_t dwarf) {
    static const uint8_t numbers[] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};
    return dwarf < sizeof numbers ? numbers[dwarf] : GC_NO_REGISTER;
}

typedef struct gc__llvm_location {
    uint8_t type;
    uint16_t bytes, dwarf;
    int32_t offset;
} gc__llvm_location;

/* The location at `at`, whose bytes are there. */
GC__FN bool gc__llvm_read_location(const gc__llvm_reader *reader, size_t at, gc__llvm_location *location) {
    location->type = (uint8_t)gc__llvm_read(reader, at, 1);
    location->bytes = gc__llvm_u16(reader, at + 2);
    location->dwarf = gc__llvm_u16(reader, at + 4);
    location->offset = (int32_t)gc__llvm_u32(reader, at + 8);
    if (location->type < GC__LLVM_REGISTER || location->type > GC__LLVM_CONSTANT_INDEX)
        return GC__LLVM_REFUSE(at, "a location has type %u, which is none of version 3", location->type);
    if (gc__llvm_read(reader, at + 1, 1) || gc__llvm_u16(reader, at + 6))
        return GC__LLVM_REFUSE(at, "reserved bytes of a location are not 0");
    if (location->type == GC__LLVM_CONSTANT_INDEX && (uint32_t)location->offset >= reader->constants)
        return GC__LLVM_REFUSE(at, "a location names constant %u, but the section has %u", (unsigned)location->offset,
                               (unsigned)reader->constants);
    return true;
}

/* A location that a pair may have. *is_place: it is a place, and no constant. */
GC__FN bool gc__llvm_read_place(const gc__llvm_reader *reader, size_t at, gc__llvm_place *place, bool *is_place) {
    gc__llvm_location location;
    if (!gc__llvm_read_location(reader, at, &location)) return false;
    *is_place = location.type < GC__LLVM_CONSTANT;
    if (!*is_place) return true;
    if (location.type == GC__LLVM_DIRECT)
        return GC__LLVM_REFUSE(at, "a pair is the address of a variable on the stack (Direct): list what the variable "
                                   "holds in \"gc-live\", not the alloca, and run mem2reg before the rewrite");
    unsigned number = gc__llvm_register(location.dwarf);
    bool held = location.type == GC__LLVM_REGISTER;
    if (number == GC_NO_REGISTER)
        return GC__LLVM_REFUSE(at,
                               "a reference is in, or at an offset from, DWARF's register %u, which is no general one",
                               location.dwarf);
    if (number == GC__LLVM_RSP ? held : !(GC__LLVM_PRESERVED >> number & 1))
        return GC__LLVM_REFUSE(at, "a reference depends on %s, which the call does not preserve",
                               gc__register_name(number));
    if (held ? location.bytes != 8 || location.offset : !location.bytes || location.bytes % 8 || location.offset % 8)
        return GC__LLVM_REFUSE(at, "a reference of %u bytes at offset %d is not made of aligned words of 8 bytes",
                               location.bytes, (int)location.offset);
    place->offset = location.offset;
    place->count = held ? 0 : location.bytes / 8;
    place->number = (uint16_t)number;
    return true;
}

/* A total order. Places in a register come before those in memory. */
GC__FN int gc__llvm_order(const void *a, const void *b) {
    const gc__llvm_place *x = (const gc__llvm_place *)a, *y = (const gc__llvm_place *)b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    if (!x->count != !y->count) return x->count ? 1 : -1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->count > y->count) - (x->count < y->count);
}

GC__FN bool gc__llvm_overlap(const gc__llvm_place *a, const gc__llvm_place *b) {
    if (a->number != b->number || !a->count != !b->count) return false;
    if (!a->count) return true;
    return a->offset < (int64_t)b->offset + 8 * b->count && b->offset < (int64_t)a->offset + 8 * a->count;
}

/* Makes `count` sorted places, or with step 2 pairs, distinct. Returns how many are left; SIZE_MAX: two overlap. */
GC__FN size_t gc__llvm_distinct(gc__llvm_place *places, size_t count, size_t step) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const gc__llvm_place *next = &places[i * step], *last = kept ? &places[(kept - 1) * step] : NULL;
        if (last && gc__llvm_order(last, next) == 0) continue;
        if (last && gc__llvm_overlap(last, next)) return SIZE_MAX;
        memmove(&places[kept++ * step], next, step * sizeof *next);
    }
    return kept;
}

/* The one of the sorted places, which are disjoint, that `place` overlaps; NULL: none. */
GC__FN const gc__llvm_place *gc__llvm_covering(const gc__llvm_place *places, size_t count,
                                               const gc__llvm_place *place) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (gc__llvm_overlap(&places[middle], place)) return &places[middle];
        if (gc__llvm_order(&places[middle], place) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

GC__FN bool gc__llvm_refuse_overlap(size_t at) {
    return GC__LLVM_REFUSE(at, "references of one record overlap on the stack");
}

/* Reads the bases of `count` pairs to the end of the module's places. */
GC__FN bool gc__llvm_read_bases(gc__llvm_reader *reader, size_t at, size_t count, gc__llvm_point *point) {
    gc__llvm_place *bases = reader->module->places + point->first;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_place;
        if (!gc__llvm_read_place(reader, at + i * 2 * GC__LLVM_LOCATION_BYTES, &bases[found], &is_place)) return false;
        found += is_place;
    }
    qsort(bases, found, sizeof *bases, gc__llvm_order);
    found = gc__llvm_distinct(bases, found, 1);
    if (found == SIZE_MAX) return gc__llvm_refuse_overlap(at);
    point->bases = (uint16_t)found;
    return true;
}

/* Reads the derived pointers of the pairs, after the bases. One that is also a base needs no update of its own, and neither
   does one whose base is a constant: null, or the address of what is no object. */
GC__FN bool gc__llvm_read_derived(gc__llvm_reader *reader, size_t first, size_t count, gc__llvm_point *point) {
    gc__llvm_place *bases = reader->module->places + point->first, *pairs = bases + point->bases;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        gc__llvm_place *derived = &pairs[2 * found], *base = derived + 1;
        size_t at = first + i * 2 * GC__LLVM_LOCATION_BYTES;
        bool is_place, has_base;
        if (!gc__llvm_read_place(reader, at, base, &has_base)) return false;
        if (!gc__llvm_read_place(reader, at + GC__LLVM_LOCATION_BYTES, derived, &is_place)) return false;
        if (!is_place || !has_base) continue;
        const gc__llvm_place *covering = gc__llvm_covering(bases, point->bases, derived);
        if (covering && gc__llvm_order(covering, derived) != 0) return gc__llvm_refuse_overlap(at);
        if (covering) continue;
        if ((derived->count ? derived->count : 1) != (base->count ? base->count : 1))
            return GC__LLVM_REFUSE(at, "a pair has a base and a derived pointer of different sizes");
        found++;
    }
    qsort(pairs, found, 2 * sizeof *pairs, gc__llvm_order);
    found = gc__llvm_distinct(pairs, found, 2);
    if (found == SIZE_MAX) return gc__llvm_refuse_overlap(first);
    point->pairs = (uint16_t)found;
    reader->module->place_count = point->first + point->bases + 2 * found;
    return true;
}

/* Constant `i` of the three that begin the record of a statepoint. */
GC__FN bool gc__llvm_read_prefix(const gc__llvm_reader *reader, size_t at, int i, uint32_t *value) {
    static const char *const names[] = {"calling convention", "flags", "number of deopt operands"};
    gc__llvm_location location;
    if (!gc__llvm_read_location(reader, at, &location)) return false;
    *value = (uint32_t)location.offset;
    if (location.type == GC__LLVM_CONSTANT && location.offset >= 0) return true;
    return GC__LLVM_REFUSE(at,
                           "the record's %s is no constant: it is not of a statepoint, but perhaps of "
                           "llvm.experimental.stackmap or patchpoint, for which gc.h has no use",
                           names[i]);
}

/* The locations of a record. */
GC__FN bool gc__llvm_read_locations(gc__llvm_reader *reader, size_t at, size_t count, gc__llvm_point *point) {
    uint32_t prefix[3];
    if (count < 3) return GC__LLVM_REFUSE(at, "the record has %zu locations: a statepoint's has at least 3", count);
    for (int i = 0; i < 3; i++, at += GC__LLVM_LOCATION_BYTES)
        if (!gc__llvm_read_prefix(reader, at, i, &prefix[i])) return false;
    if (prefix[1] > 3) return GC__LLVM_REFUSE(at, "the statepoint's flags are %u: unknown ones", (unsigned)prefix[1]);
    if (prefix[2] > count - 3)
        return GC__LLVM_REFUSE(at, "the statepoint has %u deopt operands, but the record only %zu locations",
                               (unsigned)prefix[2], count);
    for (uint32_t i = 0; i < prefix[2]; i++, at += GC__LLVM_LOCATION_BYTES) {
        gc__llvm_location operand;
        if (!gc__llvm_read_location(reader, at, &operand)) return false;
    }
    size_t rest = count - 3 - prefix[2];
    if (rest % 2) return GC__LLVM_REFUSE(at, "%zu locations are left for pairs of base and derived pointer: odd", rest);
    return gc__llvm_read_bases(reader, at, rest / 2, point) && gc__llvm_read_derived(reader, at, rest / 2, point);
}

/* The record at reader->at, which it passes. */
GC__FN bool gc__llvm_read_record(gc__llvm_reader *reader) {
    size_t at = reader->at;
    if (!gc__llvm_need(reader, GC__LLVM_RECORD_BYTES, "a record")) return false;
    size_t count = gc__llvm_u16(reader, at + 14);
    size_t bytes = (GC__LLVM_RECORD_BYTES + GC__LLVM_LOCATION_BYTES * count + 7) & ~(size_t)7;
    if (!gc__llvm_need(reader, bytes + 8, "a record with its locations")) return false;
    size_t live_outs = gc__llvm_u16(reader, at + bytes + 2);
    size_t tail = (4 + 4 * live_outs + 7) & ~(size_t)7;
    if (!gc__llvm_need(reader, bytes + tail, "a record with its live-outs")) return false;
    if (gc__llvm_u16(reader, at + 12) || gc__llvm_u16(reader, at + bytes))
        return GC__LLVM_REFUSE(at, "reserved bytes of a record are not 0");
    gc__llvm_point point = {gc__llvm_u32(reader, at + 8), 0, 0, reader->module->place_count};
    if (point.offset == 0) return GC__LLVM_REFUSE(at, "the return address of a call is the start of its function");
    if (!gc__llvm_read_locations(reader, at + GC__LLVM_RECORD_BYTES, count, &point)) return false;
    reader->module->points[reader->module->point_count++] = point;
    reader->at = at + bytes + tail;
    return true;
}

GC__FN int gc__llvm_point_order(const void *a, const void *b) {
    uint32_t x = ((const gc__llvm_point *)a)->offset, y = ((const gc__llvm_point *)b)->offset;
    return (x > y) - (x < y);
}

/* The function whose entry is at `entry`, with its records, which start at reader->at. */
GC__FN bool gc__llvm_read_function(gc__llvm_reader *reader, size_t entry) {
    gc_llvm_module *module = reader->module;
    uint64_t address = gc__llvm_read(reader, entry, 8), stack_bytes = gc__llvm_read(reader, entry + 8, 8),
             count = gc__llvm_read(reader, entry + 16, 8);
    if (!address)
        return GC__LLVM_REFUSE(entry,
                               "the address of a function is 0: relocations must be applied to the section first (in a "
                               "linked program they are; an object file's R_X86_64_64 are symbol + addend)");
    if (address > ((uint64_t)1 << GC__TREE_ADDRESS_BITS) - UINT32_MAX)
        return GC__LLVM_REFUSE(entry, "%#llx is not the address of a function", (unsigned long long)address);
    if (stack_bytes != GC__LLVM_UNKNOWN && (stack_bytes % 8 || stack_bytes > GC__LLVM_STACK_BYTES_MAX))
        return GC__LLVM_REFUSE(entry, "a function has a stack size of %llu bytes", (unsigned long long)stack_bytes);
    if (!count) return true;
    gc__llvm_function *function = &module->functions[module->function_count];
    memset(function, 0, sizeof *function);
    function->module = module;
    function->first = module->point_count;
    function->count = (size_t)count;
    function->stack_bytes = stack_bytes;
    for (uint64_t i = 0; i < count; i++)
        if (!gc__llvm_read_record(reader)) return false;
    gc__llvm_point *points = module->points + function->first;
    qsort(points, function->count, sizeof *points, gc__llvm_point_order);
    for (size_t i = 1; i < function->count; i++)
        if (points[i - 1].offset == points[i].offset)
            return GC__LLVM_REFUSE(entry, "the function has two records for the return address at its byte %u",
                                   (unsigned)points[i].offset);
    function->code.start = (const void *)(uintptr_t)address;
    function->code.bytes = points[function->count - 1].offset;
    snprintf(function->name, sizeof function->name, "LLVM's function %p", function->code.start);
    function->code.map_bytes = sizeof *function;
    module->function_count++;
    return true;
}

/* The section at reader->start, which it passes. */
GC__FN bool gc__llvm_read_section(gc__llvm_reader *reader) {
    size_t start = reader->at;
    reader->start = start;
    if (!gc__llvm_need(reader, GC__LLVM_HEADER_BYTES, "the header")) return false;
    unsigned version = (unsigned)gc__llvm_read(reader, start, 1);
    if (version != GC__LLVM_VERSION)
        return GC__LLVM_REFUSE(start, "the version is %u: gc.h reads version %d of LLVM's stack maps", version,
                               GC__LLVM_VERSION);
    if (gc__llvm_read(reader, start + 1, 3)) return GC__LLVM_REFUSE(start, "reserved bytes of the header are not 0");
    uint64_t functions = gc__llvm_u32(reader, start + 4), records = gc__llvm_u32(reader, start + 12), counted = 0;
    reader->constants = gc__llvm_u32(reader, start + 8);
    reader->at += GC__LLVM_HEADER_BYTES;
    if (!gc__llvm_need(reader, functions * GC__LLVM_FUNCTION_BYTES + 8ull * reader->constants,
                       "the list of functions and constants"))
        return false;
    size_t entry = reader->at;
    for (uint64_t i = 0; i < functions; i++) {
        uint64_t count = gc__llvm_read(reader, entry + i * GC__LLVM_FUNCTION_BYTES + 16, 8);
        counted = count > records - counted ? records + 1 : counted + count;
        if (counted > records) break;
    }
    if (counted != records)
        return GC__LLVM_REFUSE(start, "the functions have %s than the %llu records that the header counts",
                               counted > records ? "more" : "less", (unsigned long long)records);
    reader->at += functions * GC__LLVM_FUNCTION_BYTES + 8ull * reader->constants;
    for (uint64_t i = 0; i < functions; i++, entry += GC__LLVM_FUNCTION_BYTES)
        if (!gc__llvm_read_function(reader, entry)) return false;
    return true;
}

GC__FN int gc__llvm_function_order(const void *a, const void *b) {
    const char *x = (const char *)((const gc__llvm_function *)a)->code.start,
               *y = (const char *)((const gc__llvm_function *)b)->code.start;
    return (x > y) - (x < y);
}

GC__FN bool gc__llvm_is_same(const gc__llvm_function *a, const gc__llvm_function *b) {
    const gc__llvm_point *x = a->module->points + a->first, *y = b->module->points + b->first;
    if (a->count != b->count || a->stack_bytes != b->stack_bytes) return false;
    for (size_t i = 0; i < a->count; i++) {
        if (x[i].offset != y[i].offset || x[i].bases != y[i].bases || x[i].pairs != y[i].pairs) return false;
        if (memcmp(a->module->places + x[i].first, a->module->places + y[i].first,
                   (x[i].bases + 2u * x[i].pairs) * sizeof *a->module->places))
            return false;
    }
    return true;
}

/* Sorts the functions. Modules that were linked together may each list a function of which the linker kept one copy. */
GC__FN bool gc__llvm_merge(gc_llvm_module *module) {
    gc__llvm_function *functions = module->functions;
    size_t kept = 0;
    qsort(functions, module->function_count, sizeof *functions, gc__llvm_function_order);
    for (size_t i = 0; i < module->function_count; i++) {
        bool again = kept && functions[kept - 1].code.start == functions[i].code.start;
        if (again && !gc__llvm_is_same(&functions[kept - 1], &functions[i])) {
            gc__fail(
                GC_ERROR_FORMAT,
                "gc_code_add_llvm: two modules have different records for the function at %p: of its copies, which "
                "were not compiled alike, the linker kept one (linkonce_odr): compile all modules by the same options",
                functions[i].code.start);
            return false;
        }
        if (!again) functions[kept++] = functions[i];
    }
    module->function_count = kept;
    for (size_t i = 0; i < kept; i++) {
        functions[i].code.map = &functions[i];
        functions[i].code.name = functions[i].name;
    }
    return true;
}

/* Gives back what of `capacity` items is not used. */
GC__FN void *gc__llvm_shrink(void *items, size_t bytes) {
    void *shorter = realloc(items, bytes ? bytes : 1);
    return shorter ? shorter : items;
}

/* Memory for all that sections of so many bytes can hold. */
GC__FN bool gc__llvm_reserve(gc_llvm_module *module, size_t bytes) {
    size_t records = bytes / GC__LLVM_RECORD_BYTES_MIN, pairs = bytes / (2 * GC__LLVM_LOCATION_BYTES);
    module->functions = (gc__llvm_function *)malloc((records + 1) * sizeof *module->functions);
    module->points = (gc__llvm_point *)malloc((records + 1) * sizeof *module->points);
    module->places = (gc__llvm_place *)malloc((3 * pairs + 1) * sizeof *module->places);
    if (module->functions && module->points && module->places) return true;
    gc__fail(GC_ERROR_MEMORY, "gc_code_add_llvm: the system gives no memory for a section of %zu bytes", bytes);
    return false;
}

GC__FN bool gc__llvm_load(gc_llvm_module *module, const void *section, size_t bytes) {
    gc__llvm_reader reader = {(const unsigned char *)section, bytes, 0, 0, 0, module};
    if (!gc__llvm_reserve(module, bytes)) return false;
    while (reader.at < bytes)
        if (!gc__llvm_read_section(&reader)) return false;
    module->points = (gc__llvm_point *)gc__llvm_shrink(module->points, module->point_count * sizeof *module->points);
    module->places = (gc__llvm_place *)gc__llvm_shrink(module->places, module->place_count * sizeof *module->places);
    module->functions =
        (gc__llvm_function *)gc__llvm_shrink(module->functions, module->function_count * sizeof *module->functions);
    return gc__llvm_merge(module);
}

GC__FN const gc__llvm_function *gc__llvm_of(const gc_code_cursor *frame) {
    return (const gc__llvm_function *)frame->code->map;
}

GC__FN const gc__llvm_point *gc__llvm_find(const gc__llvm_function *function, uintptr_t pc) {
    const gc__llvm_point *points = function->module->points + function->first;
    uintptr_t offset = pc - (uintptr_t)function->code.start;
    size_t low = 0, high = function->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (points[middle].offset == offset) return &points[middle];
        if (points[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Makes the sentence why a frame cannot be visited or laid out. */
#define GC__LLVM_CANNOT(...) (gc__fail(GC_ERROR_FORMAT, __VA_ARGS__), gc_last_message())

/* Where the place is in the frame; NULL: it depends on a register whose value is not known. */
GC__FN void *gc__llvm_address(const gc_code_cursor *frame, const gc__llvm_place *place) {
    uintptr_t *held = frame->registers[place->number];
    if (place->number == GC__LLVM_RSP) return (void *)(frame->sp + (uintptr_t)(intptr_t)place->offset);
    if (!held || !place->count) return held;
    return (void *)(*held + (uintptr_t)(intptr_t)place->offset);
}

GC__FN const char *gc__llvm_cannot_visit(const gc__llvm_place *place) {
    const char *name = gc__register_name(place->number);
    if (place->count)
        return GC__LLVM_CANNOT("references lie at an offset from %s, and where its value was saved is not known: "
                               "compile with frame pointers (llc --frame-pointer=all)",
                               name);
    return GC__LLVM_CANNOT("a reference is in %s, and where a callee saved that is not known: compile without llc's "
                           "-max-registers-for-gc-values, so that references are on the stack",
                           name);
}

GC__FN const char *gc__llvm_visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    const gc__llvm_function *function = gc__llvm_of(frame);
    const gc__llvm_point *point = gc__llvm_find(function, frame->pc);
    if (!point)
        return GC__LLVM_CANNOT("the call there is no statepoint, and must not collect: is it, or the function that it "
                               "calls, \"gc-leaf-function\"?");
    const gc__llvm_place *place = function->module->places + point->first, *derived = place + point->bases;
    for (; place < derived; place++) {
        void *slot = gc__llvm_address(frame, place);
        if (!slot) return gc__llvm_cannot_visit(place);
        gc_visit(visitor, slot, place->count ? place->count : 1, 0);
    }
    for (const gc__llvm_place *end = derived + 2 * point->pairs; derived < end; derived += 2) {
        char *slot = (char *)gc__llvm_address(frame, derived), *base = (char *)gc__llvm_address(frame, derived + 1);
        if (!slot) return gc__llvm_cannot_visit(derived);
        for (size_t i = 0; i == 0 || i < derived->count; i++) gc_visit_derived(visitor, slot + 8 * i, base + 8 * i);
    }
    return NULL;
}

/* Whether the function has `push rbp; mov rbp, rsp` before the call. */
GC__FN bool gc__llvm_has_frame_pointer(const gc_code_cursor *frame) {
    static const unsigned char prolog[] = {0x55, 0x48, 0x89, 0xE5};
    const unsigned char *code = (const unsigned char *)frame->code->start, *end = (const unsigned char *)frame->pc;
    for (; code + sizeof prolog < end; code++)
        if (memcmp(code, prolog, sizeof prolog) == 0) return true;
    return false;
}

/* The end of the frame by its frame pointer: the address of the return address; 0: rbp holds no frame pointer.
   Without frame pointers rbp often holds one of a caller, which would silently leave out the frames between. The stack size
   tells which one it is, but for what a call has pushed. */
GC__FN uintptr_t gc__llvm_end_by_pointer(const gc_code_cursor *frame) {
    uint64_t size = gc__llvm_of(frame)->stack_bytes;
    if (!frame->registers[GC__LLVM_RBP]) return 0;
    uintptr_t end = *frame->registers[GC__LLVM_RBP] + 8;
    if (size != GC__LLVM_UNKNOWN && end == frame->sp + size) return end;
    uintptr_t least = frame->sp + (size == GC__LLVM_UNKNOWN ? 8 : size);
    if (end % 8 || end < least || end >= frame->end) return 0;
    return size == GC__LLVM_UNKNOWN || gc__llvm_has_frame_pointer(frame) ? end : 0;
}

/* Whether a call instruction is before the address: near and relative, or by any operand. */
GC__FN bool gc__llvm_follows_call(uintptr_t pc) {
    unsigned char before[7], *code = before + sizeof before;
    if (pc < sizeof before || !gc__os_read(before, (const void *)(pc - sizeof before), sizeof before)) return false;
    if (code[-5] == 0xE8) return true;
    for (int length = 2; length <= 7; length++)
        if (code[-length] == 0xFF && (code[1 - length] >> 3 & 7) == 2) return true;
    return false;
}

/* The end of the frame by the stack size; 0: no return address is there. The size is wrong where a call has pushed
   arguments, and the walk would take what it then finds for a return to native code, and end early. */
GC__FN uintptr_t gc__llvm_end_by_size(const gc_code_cursor *frame) {
    uintptr_t end = frame->sp + gc__llvm_of(frame)->stack_bytes;
    if (end >= frame->end) return 0;
    uintptr_t pc = *(uintptr_t *)end;
    return gc_code_find((const void *)(pc - 1)) || gc__llvm_follows_call(pc) ? end : 0;
}

GC__FN const char *gc__llvm_cannot_lay_out(const gc_code_cursor *frame) {
    const gc__llvm_function *function = gc__llvm_of(frame);
    bool by_size = function->module->flags & GC_LLVM_FRAMES_BY_SIZE;
    if (by_size && function->stack_bytes != GC__LLVM_UNKNOWN)
        return GC__LLVM_CANNOT("the stack size of %llu bytes leads to no return address: where a call has arguments on "
                               "the stack, compile with llc's -no-x86-call-frame-opt or with frame pointers",
                               (unsigned long long)function->stack_bytes);
    return GC__LLVM_CANNOT("rbp holds no frame pointer of its frame: compile LLVM's functions with frame pointers (llc "
                           "--frame-pointer=all, or the attribute \"frame-pointer\"=\"all\")%s",
                           by_size ? "; the size of this frame is not known"
                                   : ", or add them with GC_LLVM_FRAMES_BY_SIZE");
}

/* Where preserved registers other than rbp were saved, the section does not say. */
GC__FN const char *gc__llvm_layout(gc_code_cursor *frame) {
    const gc__llvm_function *function = gc__llvm_of(frame);
    bool by_size = function->module->flags & GC_LLVM_FRAMES_BY_SIZE && function->stack_bytes != GC__LLVM_UNKNOWN;
    uintptr_t pointed = gc__llvm_end_by_pointer(frame),
              end = !pointed && by_size ? gc__llvm_end_by_size(frame) : pointed;
    if (!end) return frame->heap ? gc__llvm_cannot_lay_out(frame) : ""; /* a profile's walk sets no error */
    frame->cfa = end + 8;
    for (int i = 0; i < GC_CODE_REGISTERS; i++)
        if (GC__LLVM_PRESERVED >> i & 1) frame->saved[i] = GC_SAVED_SOMEWHERE;
    if (pointed) frame->saved[GC__LLVM_RBP] = -16;
    return NULL;
}

GC__FN void gc__llvm_dump_place(gc_dump *dump, const gc__llvm_place *place) {
    const char *name = gc__register_name(place->number);
    if (!place->count) gc_dump_text(dump, "%s", name);
    for (uint16_t i = 0; i < place->count; i++)
        gc_dump_text(dump, "%s[%s%+d]", i ? ", " : "", name, (int)(place->offset + 8 * i));
}

/* A row for each statepoint: places of bases, and derived ones with that of their base. */
GC__FN void gc__llvm_dump(const gc_code *code, gc_dump *dump) {
    const gc__llvm_function *function = (const gc__llvm_function *)code->map;
    gc_dump_fact(dump, "stack frame size", function->stack_bytes == GC__LLVM_UNKNOWN ? "not known" : "%llu bytes",
                 (unsigned long long)function->stack_bytes);
    gc_dump_fact(dump, "statepoints", "%zu", function->count);
    const gc__llvm_point *point = function->module->points + function->first;
    for (const gc__llvm_point *end = point + function->count; point < end; point++) {
        const gc__llvm_place *place = function->module->places + point->first;
        gc_dump_row(dump, point->offset, NULL);
        gc_dump_text(dump, "call [");
        for (unsigned i = 0; i < point->bases; i++, place++) {
            gc_dump_text(dump, i ? ", " : " ");
            gc__llvm_dump_place(dump, place);
        }
        for (unsigned i = 0; i < point->pairs; i++, place += 2) {
            gc_dump_text(dump, point->bases || i ? ", " : " ");
            gc__llvm_dump_place(dump, place);
            gc_dump_text(dump, " derived from ");
            gc__llvm_dump_place(dump, place + 1);
        }
        gc_dump_text(dump, " ]");
    }
}

static const gc_code_format gc__llvm_format = {"LLVM", gc__llvm_visit, gc__llvm_layout, NULL,
                                               NULL,   NULL,           gc__llvm_dump};

GC_API void gc_code_remove_llvm(gc_llvm_module *module) {
    if (!module) return;
    while (module->registered) gc_code_remove(&module->functions[--module->registered].code);
    free(module->functions);
    free(module->points);
    free(module->places);
    free(module);
}

GC_API gc_llvm_module *gc_code_add_llvm(const void *section, size_t bytes, unsigned flags) {
    if (bytes && gc__is_null(section, "gc_code_add_llvm", "section")) return NULL;
    if (flags & ~(unsigned)GC_LLVM_FRAMES_BY_SIZE) {
        gc__fail(GC_ERROR_OPTION, "gc_code_add_llvm: the flags %#x are not known: GC_LLVM_FRAMES_BY_SIZE or 0", flags);
        return NULL;
    }
    if (bytes >> GC__TREE_ADDRESS_BITS) {
        gc__fail(GC_ERROR_FORMAT, "gc_code_add_llvm: %zu bytes is the size of no section: it is its end - its start",
                 bytes);
        return NULL;
    }
    gc_llvm_module *module = (gc_llvm_module *)calloc(1, sizeof *module);
    if (!module) {
        gc__fail(GC_ERROR_MEMORY, "gc_code_add_llvm: the system gives no memory for the module's record");
        return NULL;
    }
    module->flags = flags;
    bool added = gc__llvm_load(module, section, bytes);
    while (added && module->registered < module->function_count) {
        gc_code *code = &module->functions[module->registered].code;
        code->format = &gc__llvm_format;
        added = gc_code_add(code) == GC_OK;
        module->registered += added;
    }
    if (added) return module;
    gc_code_remove_llvm(module);
    return NULL;
}
