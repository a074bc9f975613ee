/* The stack maps of LLVM: sections built by hand, every kind of location, every refusal, frames by pointer and by size. */
#include "../inside.h"
#include "gc_stackmap.h"
#include "../fixture.h"

enum { REGISTER = 1, DIRECT, INDIRECT, CONSTANT, INDEX };
enum { RAX = 0, RBX = 3, RBP = 6, RSP = 7, R12 = 12, R15 = 15, XMM0 = 17 }; /* as DWARF numbers them */

/* A section that is being built. */
static unsigned char section[1 << 20];
static size_t used, section_start, record_start, locations;

static void put(uint64_t value, size_t bytes) {
    memcpy(section + used, &value, bytes);
    used += bytes;
}

static void poke(size_t at, uint64_t value, size_t bytes) { memcpy(section + at, &value, bytes); }
static void align(void) {
    while (used % 8) put(0, 1);
}

static void header(uint32_t functions, uint32_t constants, uint32_t records) {
    section_start = used;
    put(3, 4), put(functions, 4), put(constants, 4), put(records, 4);
}

static void function(const void *address, uint64_t stack_bytes, uint64_t records) {
    put((uintptr_t)address, 8), put(stack_bytes, 8), put(records, 8);
}

static void location(int type, int bytes, int number, int32_t offset) {
    put((unsigned)type, 2), put((unsigned)bytes, 2), put((unsigned)number, 4), put((uint32_t)offset, 4);
    locations++;
}

static void record(uint32_t offset) {
    record_start = used;
    locations = 0;
    put(0xABCDEF00, 8), put(offset, 4), put(0, 4);
}

static void record_ends(unsigned live_outs) {
    poke(record_start + 14, locations, 2);
    align();
    put(0, 2), put(live_outs, 2);
    for (unsigned i = 0; i < live_outs; i++) put(7 | 8u << 24, 4);
    align();
}

static void statepoint(uint32_t offset, int deopt) {
    record(offset);
    location(CONSTANT, 8, 0, 0), location(CONSTANT, 8, 0, 0), location(CONSTANT, 8, 0, deopt);
}

static void pair(int base, int derived) { location(INDIRECT, 8, RSP, base), location(INDIRECT, 8, RSP, derived); }

static unsigned char code[1 << 16] __attribute__((aligned(16)));

/* One function with one record, whose locations follow until end_one. */
static void one(int deopt) {
    used = 0;
    header(1, 1, 1), function(code, 40, 1), put(0x123456789, 8);
    statepoint(0x20, deopt);
}

/* Adds what was built, from memory that ends where it ends, so that sanitizers see every read beyond. */
static gc_llvm_module *add(unsigned flags) {
    unsigned char *copy = malloc(used ? used : 1);
    memcpy(copy, section, used);
    gc_llvm_module *module = gc_code_add_llvm(copy, used, flags);
    free(copy);
    return module;
}

static gc_llvm_module *add_one(void) {
    record_ends(0);
    gc_llvm_module *module = add(0);
    if (!module) diag("%s", gc_last_message());
    return module;
}

/* The frame of that function: sp is &stack[8]. */
static uintptr_t stack[64], held[GC_CODE_REGISTERS];
static int stack_words = 64;

static gc_code_cursor frame_of(uint32_t offset) {
    gc_code_cursor frame = {0};
    frame.code = gc_code_find(code);
    frame.heap = (gc_heap *)(void *)stack; /* in a walk without one, a profile's, layouts give no reason */
    frame.pc = (uintptr_t)code + offset;
    frame.sp = (uintptr_t)&stack[8];
    frame.end = (uintptr_t)(stack + stack_words);
    frame.registers[GC__LLVM_RBP] = &held[GC__LLVM_RBP];
    return frame;
}

/* What a visit reports, as text: "8x1" is one word at sp + 8, "rbx" a register, "16<8" a word derived from the one at 8. */
typedef struct spy {
    gc_visitor visitor;
    char text[1024];
} spy;

static void spy_slot(char *text, size_t room, const void *slot) {
    const uintptr_t *word = slot;
    if (word >= held && word < held + GC_CODE_REGISTERS)
        snprintf(text, room, "%s", gc__register_name((unsigned)(word - held)));
    else
        snprintf(text, room, "%td", (const char *)slot - (char *)&stack[8]);
}

static void spy_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    char *text = ((spy *)visitor)->text, a[32], b[32];
    const gc__derived *derived = slot;
    spy_slot(a, sizeof a, flags == GC__SLOT_DERIVED ? derived->slot : slot);
    size_t at = strlen(text);
    if (flags == GC__SLOT_DERIVED) {
        spy_slot(b, sizeof b, derived->base);
        snprintf(text + at, sizeof((spy *)visitor)->text - at, " %s<%s", a, b);
    } else {
        snprintf(text + at, sizeof((spy *)visitor)->text - at, " %sx%zu%s", a, count, flags ? "?" : "");
    }
}

static const char *visited(const gc_code_cursor *frame) {
    static spy spy;
    memset(&spy, 0, sizeof spy);
    spy.visitor.visit = spy_visit;
    const char *why = frame->code->format->visit(frame, &spy.visitor);
    return why ? why : spy.text[0] ? spy.text + 1 : "";
}

/* Adds the record that was begun by one(), and visits its frame with all preserved registers known, or none. */
static const char *visits(bool known) {
    gc_llvm_module *module = add_one();
    if (!module) return "refused";
    gc_code_cursor frame = frame_of(0x20);
    for (int i = 0; i < GC_CODE_REGISTERS; i++) frame.registers[i] = known ? &held[i] : NULL;
    static char text[1024];
    snprintf(text, sizeof text, "%s", visited(&frame));
    gc_code_remove_llvm(module);
    return text;
}

#define VISITS(known, expected, ...)                                         \
    do {                                                                     \
        const char *got_ = visits(known);                                    \
        if (!ok(strcmp(got_, expected) == 0, __VA_ARGS__)) diag("%s", got_); \
    } while (0)

static void test_places(void) {
    one(0);
    VISITS(true, "", "a record without references visits nothing");
    one(0), pair(8, 8);
    VISITS(false, "8x1", "a base is visited once");
    one(0), pair(8, 8), pair(16, 16), pair(8, 8), pair(8, 24), pair(8, 24);
    VISITS(false, "8x1 16x1 24<8", "each slot is visited once, however many pairs name it");
    one(0), pair(32, 16), pair(32, 32);
    VISITS(false, "32x1 16<32", "derived before base");
    one(0), pair(32, 16);
    VISITS(false, "32x1 16<32", "a base that no pair of its own lists");
    one(0), pair(8, 24), pair(16, 24), pair(8, 8), pair(16, 16);
    VISITS(false, "8x1 16x1 24<8", "a derived slot with two bases is visited once");
    one(0), pair(8, 16), pair(16, 16), pair(8, 8);
    VISITS(false, "8x1 16x1", "a derived slot that is also a base is visited as one");
    one(2), location(INDIRECT, 8, RSP, 8), location(CONSTANT, 8, 0, -1), pair(8, 8);
    VISITS(false, "8x1", "deopt operands are skipped, also one that is a reference");
    one(3), location(DIRECT, 8, RSP, 3), location(REGISTER, 8, XMM0, 0), location(INDEX, 8, 0, 0), pair(0, 0);
    VISITS(false, "0x1", "deopt operands may be anything");
    one(0), location(CONSTANT, 8, 0, 0), location(CONSTANT, 8, 0, 0), pair(8, 8);
    VISITS(false, "8x1", "null");
    one(0), location(CONSTANT, 8, 0, 0), location(INDIRECT, 8, RSP, 8);
    VISITS(false, "", "a pointer derived from null stays");
    one(0), location(INDEX, 8, 0, 0), location(INDIRECT, 8, RSP, 8);
    VISITS(false, "", "one derived from a constant stays");
    one(0), location(INDIRECT, 8, RSP, 8), location(CONSTANT, 8, 0, 0);
    VISITS(false, "8x1", "a constant that is derived from an object");
    one(0), location(INDIRECT, 16, RSP, 8), location(INDIRECT, 16, RSP, 8);
    VISITS(false, "8x2", "a vector");
    one(0), location(INDIRECT, 24, RSP, 8), location(INDIRECT, 24, RSP, 64);
    VISITS(false, "8x3 64<8 72<16 80<24", "a derived vector");
    held[GC__LLVM_RBP] = (uintptr_t)&stack[20];
    held[3] = (uintptr_t)&stack[30];
    one(0), location(INDIRECT, 8, RBP, -8), location(INDIRECT, 8, RBP, -16);
    VISITS(true, "88x1 80<88", "at an offset from rbp");
    one(0), location(INDIRECT, 8, RBX, 8), location(INDIRECT, 8, RSP, 8);
    VISITS(true, "184x1 8<184", "at an offset from rbx, the base of a frame that is realigned and of variable size");
    one(0), location(INDIRECT, 8, RBX, 0), location(INDIRECT, 8, RBX, 0), location(REGISTER, 8, RBX, 0),
        location(REGISTER, 8, RBX, 0);
    VISITS(true, "rbxx1 176x1", "in a register, and where it points to");
    one(0), location(REGISTER, 8, RBX, 0), location(REGISTER, 8, R15, 0), location(REGISTER, 8, R12, 0),
        location(REGISTER, 8, R12, 0), location(INDIRECT, 8, RSP, 8), location(REGISTER, 8, RBP, 0);
    VISITS(true, "rbxx1 8x1 r12x1 rbp<8 r15<rbx", "in registers");
    one(0), pair(-16, 0x7FFFFFF8);
    VISITS(false, "-16x1 2147483640<-16", "far offsets");
}

static void test_unknown_registers(void) {
    one(0), location(REGISTER, 8, RBX, 0), location(REGISTER, 8, RBX, 0);
    const char *why = visits(false);
    has(why, "in rbx", "a register that is not known is named");
    has(why, "-max-registers-for-gc-values", "and the remedy");
    one(0), location(INDIRECT, 8, RBP, 8), location(INDIRECT, 8, RBP, 8);
    why = visits(false);
    has(why, "offset from rbp", "a slot by a register that is not known: the register is named");
    has(why, "--frame-pointer=all", "and the remedy");
    one(0), pair(8, 8), location(INDIRECT, 8, RSP, 8), location(INDIRECT, 8, RBP, 8);
    has(visits(false), "offset from rbp", "the same of a derived pointer");
}

/* What a section must not be: one word of a whole one is replaced, at a byte that is counted from `from`. */
enum { HEADER = 0, FUNCTION = 16, POOL = 40, RECORD = 48, FIRST = 64, PAIR = 64 + 36 + 12 };
typedef struct fault {
    size_t at, bytes;
    uint64_t value;
    size_t named; /* the byte that the message names */
    const char *message;
} fault;

static const fault faults[] = {
    {0, 1, 2, 0, "the version is 2: gc.h reads version 3"},
    {0, 1, 4, 0, "the version is 4"},
    {1, 1, 1, 0, "reserved bytes of the header"},
    {3, 1, 1, 0, "reserved bytes of the header"},
    {4, 4, 0, 0, "the functions have less than the 1 records"},
    {4, 4, 2, 0, "the functions have more than the 1 records"},
    {4, 4, 0xFFFFFFFF, 16, "the list of functions and constants takes 103079215"},
    {8, 4, 0xFFFFFFFF, 16, "the list of functions and constants takes 3435973838"},
    {8, 4, 1000, 16, "the list of functions and constants takes 8024 bytes, but only"},
    {12, 4, 0, 0, "the functions have more than the 0 records"},
    {12, 4, 2, 0, "the functions have less than the 2 records"},
    {12, 4, 0xFFFFFFFF, 0, "the functions have less than the 4294967295 records"},
    {FUNCTION, 8, 0, FUNCTION, "relocations must be applied to the section first"},
    {FUNCTION, 8, UINT64_MAX, FUNCTION, "0xffffffffffffffff is not the address of a function"},
    {FUNCTION, 8, 0xFFFF00000002, FUNCTION, "0xffff00000002 is not the address of a function"},
    {FUNCTION, 8, 0xFFFF00000001, 0, NULL},
    {FUNCTION + 8, 8, 12, FUNCTION, "a stack size of 12 bytes"},
    {FUNCTION + 8, 8, UINT64_MAX - 7, FUNCTION, "a stack size of"},
    {FUNCTION + 8, 8, (1 << 30) + 8, FUNCTION, "a stack size of 1073741832 bytes"},
    {FUNCTION + 8, 8, 1 << 30, 0, NULL},
    {FUNCTION + 16, 8, 0, 0, "the functions have less than the 1 records"},
    {FUNCTION + 16, 8, 2, 0, "the functions have more than the 1 records"},
    {FUNCTION + 16, 8, UINT64_MAX, 0, "the functions have more than the 1 records"},
    {RECORD + 8, 4, 0, RECORD, "is the start of its function"},
    {RECORD + 12, 2, 1, RECORD, "reserved bytes of a record"},
    {RECORD + 14, 2, 65535, RECORD, "a record with its locations takes 786"},
    {FIRST, 1, REGISTER, FIRST, "the record's calling convention is no constant"},
    {FIRST + 12, 1, INDIRECT, FIRST + 12, "the record's flags is no constant"},
    {FIRST + 24, 1, DIRECT, FIRST + 24, "the record's number of deopt operands is no constant"},
    {FIRST + 24, 1, INDEX, FIRST + 24, "a location names constant 1, but the section has 1"},
    {FIRST + 8, 4, 0xFFFFFFFF, FIRST, "the record's calling convention is no constant"},
    {FIRST + 12 + 8, 4, 4, FIRST + 36, "the statepoint's flags are 4: unknown ones"},
    {FIRST + 24 + 8, 4, 4, FIRST + 36, "the statepoint has 4 deopt operands, but the record only 6"},
    {FIRST + 24 + 8, 4, 2, FIRST + 60, "1 locations are left for pairs of base and derived pointer: odd"},
    {FIRST + 24 + 8, 4, 0x7FFFFFFF, FIRST + 36, "the statepoint has 2147483647 deopt operands"},
    {FIRST + 24 + 8, 4, 0, FIRST + 36, "3 locations are left for pairs of base and derived pointer: odd"},
    {FIRST + 24 + 8, 4, 3, 0, NULL},
    {FIRST + 24 + 8, 4, 1, 0, NULL},
    {FIRST + 36, 1, 0, FIRST + 36, "a location has type 0, which is none of version 3"},
    {FIRST + 36, 1, 6, FIRST + 36, "a location has type 6"},
    {FIRST + 36 + 1, 1, 1, FIRST + 36, "reserved bytes of a location"},
    {FIRST + 36 + 6, 2, 1, FIRST + 36, "reserved bytes of a location"},
    {FIRST + 36 + 8, 4, 1, FIRST + 36, "a location names constant 1, but the section has 1"},
    {FIRST + 36 + 8, 4, 0xFFFFFFFF, FIRST + 36, "a location names constant 4294967295"},
    {PAIR - 12 + 12, 1, 0, PAIR, "a location has type 0"},
    {PAIR, 1, DIRECT, PAIR, "the address of a variable on the stack (Direct)"},
    {PAIR + 12, 1, DIRECT, PAIR + 12, "the address of a variable on the stack (Direct)"},
    {PAIR, 1, REGISTER, PAIR, "a reference depends on rsp"},
    {PAIR + 4, 2, RAX, PAIR, "a reference depends on rax, which the call does not preserve"},
    {PAIR + 4, 2, 5, PAIR, "a reference depends on rdi"},
    {PAIR + 4, 2, 11, PAIR, "a reference depends on r11"},
    {PAIR + 4, 2, 16, PAIR, "DWARF's register 16, which is no general one"},
    {PAIR + 4, 2, XMM0, PAIR, "DWARF's register 17"},
    {PAIR + 4, 2, 0xFFFF, PAIR, "DWARF's register 65535"},
    {PAIR + 2, 2, 0, PAIR, "a reference of 0 bytes at offset 8"},
    {PAIR + 2, 2, 4, PAIR, "a reference of 4 bytes at offset 8"},
    {PAIR + 2, 2, 12, PAIR, "a reference of 12 bytes at offset 8"},
    {PAIR + 2, 2, 16, PAIR, "references of one record overlap"},
    {PAIR + 8, 4, 12, PAIR, "a reference of 8 bytes at offset 12"},
    {PAIR + 12 + 2, 2, 16, PAIR, "a pair has a base and a derived pointer of different sizes"},
    {PAIR + 24, 2, 1, RECORD, "reserved bytes of a record"},
    {PAIR + 24 + 2, 2, 3, RECORD, "a record with its live-outs takes"},
    {PAIR + 24 + 2, 2, 65535, RECORD, "a record with its live-outs takes"},
};

static void refused(const char *message, const char *what) {
    record_ends(0);
    gc_llvm_module *module = add(0);
    ok(!module, "%s is refused", what);
    if (!module) has(gc_last_message(), message, "%s: %s", what, message);
    gc_code_remove_llvm(module);
}

/* Faults of whole records. */
static void test_refused_records(void) {
    used = 0, header(1, 0, 1), function(code, 8, 1), record(4);
    refused("the record has 0 locations: a statepoint's has at least 3", "a record without locations");
    used = 0, header(1, 0, 1), function(code, 8, 1), record(4), location(CONSTANT, 8, 0, 0),
    location(CONSTANT, 8, 0, 0);
    refused("the record has 2 locations", "a record of two locations");
    one(0), pair(8, 8), location(INDIRECT, 8, RSP, 16);
    refused("3 locations are left for pairs of base and derived pointer: odd", "half a pair");
    one(0), location(INDIRECT, 16, RSP, 0), location(INDIRECT, 16, RSP, 0), pair(8, 8);
    refused("references of one record overlap", "a base within another one");
    one(0), pair(8, 8), location(INDIRECT, 16, RSP, 0), location(INDIRECT, 16, RSP, 0);
    refused("references of one record overlap", "the same in another order");
    one(0), location(INDIRECT, 16, RSP, 0), location(INDIRECT, 16, RSP, 32);
    location(INDIRECT, 16, RSP, 16), location(INDIRECT, 16, RSP, 40);
    refused("references of one record overlap", "a derived pointer within another one");
    one(0), location(INDIRECT, 16, RSP, 0), location(INDIRECT, 16, RSP, 8);
    refused("references of one record overlap", "one within its base");
    one(0), location(REGISTER, 8, RBX, 0), location(REGISTER, 8, RBX, 0);
    location(INDIRECT, 16, RBX, -8), location(INDIRECT, 16, RBX, -8), location(INDIRECT, 8, RBX, 0),
        location(INDIRECT, 8, RBX, 0);
    refused("references of one record overlap", "an overlap by a register that holds a reference as well");
    used = 0, header(2, 0, 1), function(code, 8, 5), function(code + 64, 8, UINT64_MAX), statepoint(4, 0);
    refused("the functions have more than the 1 records", "counts whose sum is right but for its overflow");
}

/* What is no call of gc_code_add_llvm. */
static void test_refused_calls(void) {
    one(0), record_ends(0);
    for (unsigned flags = GC_LLVM_FRAMES_BY_SIZE << 1; flags; flags <<= 1) {
        char part[64];
        snprintf(part, sizeof part, "the flags %#x are not known: GC_LLVM_FRAMES_BY_SIZE or 0", flags | 1);
        ok(!add(flags | 1) && gc_last_result() == GC_ERROR_OPTION && !gc_code_find(code),
           "a flag that is not known is refused");
        has(gc_last_message(), part, "with those that are");
    }
    if (GC_DEBUG < 1) {
        ok(!gc_code_add_llvm(NULL, used, 0) && gc_last_result() == GC_ERROR_ARGUMENT, "a section at NULL is refused");
        has(gc_last_message(), "gc_code_add_llvm: section is NULL", "and named");
    }
    ok(!gc_code_add_llvm(NULL, 0, 99) && gc_last_result() == GC_ERROR_OPTION,
       "flags are checked without a section, too");
    static const size_t sizes[] = {(size_t)-8, (size_t)1 << GC__TREE_ADDRESS_BITS};
    for (int i = 0; i < 2; i++) {
        ok(!gc_code_add_llvm(section, sizes[i], 0) && gc_last_result() == GC_ERROR_FORMAT, "a wrong size is refused");
        has(gc_last_message(), "is the size of no section: it is its end - its start", "of bytes");
    }
}

/* A section in which all kinds of things can be wrong. */
static void whole(void) {
    one(1), location(INDEX, 8, 0, 0), location(CONSTANT, 8, 0, 0);
    locations--, used -= 12; /* 36 + 12 bytes of locations before the pair */
    pair(8, 16);
    record_ends(0);
}

/* Each fault is in memory of its own, which ends with the section. */
static void test_faults(void) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const fault *fault = &faults[i];
        char named[64];
        whole();
        poke(fault->at, fault->value, fault->bytes);
        gc_llvm_module *module = add(0);
        snprintf(named, sizeof named, "at byte %zu of the section, ", fault->named);
        if (!fault->message) {
            ok(module, "%zu bytes at %zu: whole", fault->bytes, fault->at);
        } else {
            is(gc_last_result(), GC_ERROR_FORMAT, "%zu bytes at %zu are %#llx: refused", fault->bytes, fault->at,
               (unsigned long long)fault->value);
            ok(!module && strstr(gc_last_message(), named) && strstr(gc_last_message(), fault->message), "%s%s", named,
               fault->message);
            if (module || !strstr(gc_last_message(), named)) diag("%s", gc_last_message());
        }
        gc_code_remove_llvm(module);
    }
}

/* Two sections, as a linker puts those of two modules together; 3 functions, of which one has no records, and 4 records. */
static size_t two_sections(void) {
    used = 0;
    header(2, 1, 3), function(code + 0x1000, 24, 1), function(code, UINT64_MAX, 2), put(77, 8);
    statepoint(0x11, 0), pair(0, 0), record_ends(3);
    statepoint(0x40, 0), pair(0, 8), record_ends(0);
    statepoint(0x30, 0), record_ends(2);
    size_t second = used;
    header(2, 0, 1), function(code + 0x3000, 24, 0), function(code + 0x2000, 8, 1);
    statepoint(0xFFFF, 1), location(CONSTANT, 8, 0, 5), pair(16, 16), record_ends(0);
    return second;
}

static void test_modules(void) {
    size_t second = two_sections(), before = gc_code_count(), accepted = 0;
    gc_llvm_module *module = add(0);
    ok(module, "two sections of two modules");
    is(gc_code_count() - before, 3, "each function that has records is registered");
    is(((uintptr_t)gc_code_find(code + 0x3F) == 0) + 2 * (gc_code_find(code + 0x40) != NULL), 0,
       "up to its last return address");
    gc_code_cursor frame = frame_of(0x30);
    char address[64];
    snprintf(address, sizeof address, "LLVM's function %p", (void *)code);
    ok(strcmp(frame.code->name, address) == 0, "reports name the function by its address");
    ok(strcmp(visited(&frame), "") == 0, "records need not ascend: the later one");
    frame.pc = (uintptr_t)code + 0x40;
    ok(strcmp(visited(&frame), "0x1 8<0") == 0, "and the former one");
    frame.pc = (uintptr_t)code + 0x31;
    has(visited(&frame), "is no statepoint", "a return address without a record is refused");
    char dump[4096] = "";
    FILE *file = fmemopen(dump, sizeof dump - 1, "w");
    ok(gc_code_dump(code, file, NULL), "the function is dumped");
    fclose(file);
    has(dump, address, "with its name");
    has(dump, "call [ [rsp+0], [rsp+8] derived from [rsp+0] ]", "and what lives after a call");
    has(dump, "call [ ]", "also if that is nothing");
    ok(!add(0), "the same functions are not added twice");
    is(gc_code_count() - before, 3, "and nothing of a module that was refused stays");
    gc_code_remove_llvm(module);
    is(gc_code_count(), before, "what is removed is registered no more");
    gc_code_remove_llvm(NULL);

    size_t whole_bytes = used;
    for (used = 0; used < whole_bytes; used++) {
        module = add(0);
        accepted += module != NULL;
        if (module && used && used != second) diag("%zu bytes were accepted", used);
        gc_code_remove_llvm(module);
    }
    is(accepted, 2, "a section that is cut off anywhere is refused: only none at all, and the first of two, are whole");
    used = whole_bytes;
    put(0, 8);
    ok(!add(0), "bytes after the last section are refused");
    has(gc_last_message(), "the header takes 16 bytes, but only 8 are left", "for they are no section");
    used = 0;
    ok((module = gc_code_add_llvm(NULL, 0, 0)) != NULL, "a module without statepoints has no section");
    gc_code_remove_llvm(module);
}

/* Functions of which the linker kept one of several copies. */
enum { ONE, DERIVED, FARTHER, ELSEWHERE, TWO, SIZE, RECORDS, OFFSET };
static const int copies[][2] = {{DERIVED, DERIVED}, {ONE, TWO},  {ONE, DERIVED}, {DERIVED, FARTHER},
                                {ONE, ELSEWHERE},   {ONE, SIZE}, {ONE, RECORDS}, {ONE, OFFSET}};

static void copy(int kind) {
    header(1, 0, kind == RECORDS ? 2 : 1), function(code, kind == SIZE ? 32 : 24, kind == RECORDS ? 2 : 1);
    statepoint(kind == OFFSET ? 0x12 : 0x11, 0);
    if (kind == DERIVED || kind == FARTHER)
        pair(0, kind == FARTHER ? 16 : 8);
    else
        pair(kind == ELSEWHERE ? 8 : 0, kind == ELSEWHERE ? 8 : 0);
    if (kind == TWO) pair(24, 24);
    record_ends(0);
    if (kind == RECORDS) statepoint(0x20, 0), record_ends(0);
}

static void test_copies(void) {
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        bool same = copies[i][0] == copies[i][1];
        used = 0;
        copy(copies[i][0]), copy(copies[i][1]);
        gc_llvm_module *module = add(0);
        ok(same ? module != NULL : !module, "copies of a function of kinds %d and %d", copies[i][0], copies[i][1]);
        if (same)
            is(module->function_count, 1, "are one");
        else
            has(gc_last_message(), "two modules have different records for the function at", "are not alike");
        gc_code_remove_llvm(module);
    }
    one(0), record_ends(0), poke(4, 1, 4), poke(12, 2, 4), poke(16 + 16, 2, 8);
    statepoint(0x20, 0), record_ends(0);
    ok(!add(0), "two records for one return address");
    has(gc_last_message(), "two records for the return address at its byte 32", "are refused");
    used = 0;
    header(2, 0, 2), function(code, 24, 1), function(code + 8, 24, 1);
    for (int i = 0; i < 2; i++) statepoint(0x11, 0), record_ends(0);
    ok(!add(0), "functions that overlap");
    is(gc_code_find(code) != NULL, 0, "and the first of them was not left behind");
}

/* Every return address of many is found, and none beside them. */
static void test_lookup(void) {
    static uint32_t offsets[1000];
    uint32_t at = 0;
    used = 0;
    header(1, 0, 1000), function(code, 24, 1000);
    for (int i = 0; i < 1000; i++) offsets[i] = at += 2 + (uint32_t)(random_bits() % 40);
    for (int i = 999; i >= 0; i--) statepoint(offsets[i], 0), pair(i % 50 * 8, i % 50 * 8), record_ends(0);
    gc_llvm_module *module = add(0);
    int found = 0, right = 0, i = 0;
    for (uint32_t offset = 0; offset <= at + 8; offset++) {
        char expected[32] = "";
        gc_code_cursor frame = frame_of(offset);
        bool is_one = i < 1000 && offsets[i] == offset;
        if (is_one) snprintf(expected, sizeof expected, "%dx1", i++ % 50 * 8);
        const char *text = visited(&frame);
        found += is_one;
        right += is_one ? strcmp(text, expected) == 0 : strstr(text, "no statepoint") != NULL;
    }
    is(found, 1000, "1000 return addresses");
    is(right, at + 9, "are found, and no others");
    gc_code_remove_llvm(module);
}

/* A compacting collection moves the objects to which a frame refers. */
static gc_code_cursor moving;
static void scan_moving(void *host, gc_thread *thread, gc_visitor *visitor) {
    (void)host, (void)thread;
    if (moving.code) moving.code->format->visit(&moving, visitor);
}

static void test_moves(void) {
    gc_options options = {.scan_roots = scan_moving};
    begin_verified(options);
    one(2), pair(0, 0);                                                         /* deopt operands */
    pair(8, 16), pair(8, 8), pair(24, 24), pair(40, 32), pair(40, 40);          /* null, and derived before base */
    location(REGISTER, 8, RBX, 0), location(REGISTER, 8, R12, 0), pair(56, 64); /* in registers; of null */
    location(INDIRECT, 16, RSP, 72), location(INDIRECT, 16, RSP, 88), pair(104, 112); /* vectors; far outside */
    gc_llvm_module *module = add_one();
    ok(module, "a record with all kinds of pairs");
    moving = frame_of(0x20);
    moving.registers[GC__LLVM_RSP] = NULL;
    moving.registers[3] = &held[3], moving.registers[12] = &held[12];
    uintptr_t *sp = &stack[8], before[16], rbx;
    for (uint64_t i = 0; i < 15; i++) sp[i] = 0;
    for (uint64_t i = 1; i < 15; i += 4) sp[i] = (uintptr_t)new_node(i);
    sp[2] = sp[1] + 16;
    sp[4] = sp[5] - 1000;
    sp[8] = 0x1234;
    sp[9] = (uintptr_t)new_node(9), sp[10] = (uintptr_t)new_node(10);
    sp[11] = sp[9] + 8, sp[12] = sp[10] + 24;
    sp[13] = (uintptr_t)new_node(13);
    sp[14] = sp[13] + ((uintptr_t)1 << 40);
    held[3] = (uintptr_t)new_node(3);
    held[12] = held[3] + 5;
    rbx = held[3];
    memcpy(before, sp, sizeof before);
    compact(), compact();
    ok(sp[1] != before[1] && sp[5] != before[5] && sp[9] != before[9] && held[3] != rbx, "their objects have moved");
    ok(((node *)sp[1])->value == 1 && ((node *)sp[5])->value == 5 && ((node *)sp[9])->value == 9, "and are whole");
    ok(sp[2] == sp[1] + 16 && sp[4] == sp[5] - 1000 && sp[14] == sp[13] + ((uintptr_t)1 << 40),
       "derived pointers keep their distances, also before their bases and outside of the object");
    ok(sp[11] == sp[9] + 8 && sp[12] == sp[10] + 24 && ((node *)sp[10])->value == 10, "so do those of vectors");
    ok(held[12] == held[3] + 5 && ((node *)held[3])->value == 3, "and those in registers");
    ok(sp[3] == 0 && sp[7] == 0 && sp[8] == 0x1234, "null stays, and so does what is derived from it");
    moving.code = NULL;
    end();
    gc_code_remove_llvm(module);
}

static gc_llvm_module *sized(uint64_t stack_bytes, unsigned flags) {
    one(0), poke(16 + 8, stack_bytes, 8), record_ends(0);
    return add(flags);
}

/* Lays out a frame whose return address is at stack[13] if its size is 40, and where rbp is `frame_pointer` or not known. */
static uintptr_t at(int word) { return (uintptr_t)(stack + word); }

static gc_code_cursor laid_out(uint64_t stack_bytes, unsigned flags, uintptr_t frame_pointer, const char **why) {
    gc_llvm_module *module = sized(stack_bytes, flags);
    gc_code_cursor frame = frame_of(0x20);
    held[GC__LLVM_RBP] = frame_pointer;
    if (!frame_pointer) frame.registers[GC__LLVM_RBP] = NULL;
    *why = frame.code->format->layout(&frame);
    gc_code_remove_llvm(module);
    return frame;
}

static void test_frames_by_pointer(void) {
    const char *why;
    gc_code_cursor frame = laid_out(40, 0, at(12), &why);
    ok(!why && frame.cfa == (uintptr_t)&stack[14] && frame.saved[5] == -16,
       "a frame by rbp, which agrees with its size");
    ok(frame.saved[3] == GC_SAVED_SOMEWHERE && frame.saved[15] == GC_SAVED_SOMEWHERE,
       "where rbx and r15 are is not known");
    frame = laid_out(UINT64_MAX, 0, at(40), &why);
    ok(!why && frame.cfa == (uintptr_t)&stack[42], "a frame of unknown size");
    laid_out(40, 0, at(16), &why);
    has(why ? why : "", "rbp holds no frame pointer of its frame",
        "rbp of a caller, in a function that does not set it");
    has(why ? why : "", "--frame-pointer=all", "is refused with the remedy");
    has(why ? why : "", "GC_LLVM_FRAMES_BY_SIZE", "and the other one");
    memcpy(code + 1, "\x55\x48\x89\xE5", 4);
    frame = laid_out(40, 0, at(16), &why);
    ok(!why && frame.cfa == (uintptr_t)&stack[18], "in a function that sets it, the call has pushed arguments");
    laid_out(40, 0, at(11), &why);
    ok(why != NULL, "rbp within the frame is refused");
    laid_out(40, 0, at(16) + 4, &why);
    ok(why != NULL, "so is one that is not aligned");
    laid_out(40, 0, at(16) + ((uintptr_t)1 << 40), &why);
    ok(why != NULL, "and one that is far away");
    laid_out(40, 0, 0, &why);
    ok(why != NULL, "and one that is not known");
    laid_out(UINT64_MAX, 0, at(6), &why);
    ok(why != NULL, "and one below the frame, of unknown size");
    memset(code, 0, 16);
    memcpy(code + 0x1D, "\x55\x48\x89\xE5", 4);
    laid_out(40, 0, at(16), &why);
    ok(why != NULL, "what looks like setting rbp does not count after the call");
    memset(code, 0, 64);
}

/* A call that ends before a return address, by its bytes. */
static bool unwinds_after(const char *call, size_t bytes) {
    const char *why;
    unsigned char *from = code + 0x4000;
    memset(from, 0x90, 64);
    memcpy(from + 32 - bytes, call, bytes);
    stack[13] = (uintptr_t)from + 32;
    gc_code_cursor frame = laid_out(40, GC_LLVM_FRAMES_BY_SIZE, at(60), &why);
    return !why && frame.cfa == (uintptr_t)&stack[14] && frame.saved[5] == GC_SAVED_SOMEWHERE;
}

static void test_frames_by_size(void) {
    const char *why;
    stack[13] = (uintptr_t)code + 0x10;
    gc_code_cursor frame = laid_out(40, GC_LLVM_FRAMES_BY_SIZE, 0, &why);
    ok(!why && frame.cfa == (uintptr_t)&stack[14], "a frame by its size, with a return address in registered code");
    frame = laid_out(40, GC_LLVM_FRAMES_BY_SIZE, at(12), &why);
    ok(!why && frame.saved[5] == -16, "one that has a frame pointer nevertheless");
    is(unwinds_after("\xE8\1\2\3\4", 5), 1, "a return address of native code: call NAME");
    is(unwinds_after("\xFF\xD0", 2), 1, "call rax");
    is(unwinds_after("\x41\xFF\xD3", 3), 1, "call r11");
    is(unwinds_after("\xFF\x15\1\2\3\4", 6), 1, "call [rip + n]");
    is(unwinds_after("\xFF\x54\x24\x10", 4), 1, "call [rsp + n]");
    is(unwinds_after("\xFF\x94\x24\1\2\3\4", 7), 1, "call [rsp + n], far");
    is(unwinds_after("\xFF\xC0", 2), 0, "inc eax is no call");
    is(unwinds_after("", 0), 0, "nor is nop");
    stack[13] = 0;
    laid_out(40, GC_LLVM_FRAMES_BY_SIZE, 0, &why);
    has(why ? why : "", "the stack size of 40 bytes leads to no return address",
        "a size that leads to null is refused");
    has(why ? why : "", "-no-x86-call-frame-opt", "with the remedy");
    stack[13] = 0x123456789;
    laid_out(40, GC_LLVM_FRAMES_BY_SIZE, 0, &why);
    ok(why != NULL, "so is one that leads to a number");
    stack[13] = UINTPTR_MAX;
    laid_out(40, GC_LLVM_FRAMES_BY_SIZE, 0, &why);
    ok(why != NULL, "and to the highest one");
    stack[13] = (uintptr_t)code + 0x10;
    for (stack_words = 13; stack_words <= 14; stack_words++) {
        laid_out(40, GC_LLVM_FRAMES_BY_SIZE, 0, &why);
        is(why == NULL, stack_words == 14, "a size that leads beyond what is walked is refused, not to its end");
        laid_out(UINT64_MAX, 0, at(12), &why);
        is(why == NULL, stack_words == 14, "so is a frame pointer");
    }
    stack_words = 64;
    laid_out(UINT64_MAX, GC_LLVM_FRAMES_BY_SIZE, 0, &why);
    has(why ? why : "", "the size of this frame is not known", "a frame of unknown size needs rbp");
}

/* Sections with random faults: they are refused or not, but nothing is read outside of them. */
static void test_random_faults(void) {
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        two_sections();
        for (uint64_t n = random_bits() % 4 + 1; n; n--) {
            size_t at = random_bits() % used;
            section[at] = random_bits() % 2 ? (unsigned char)random_bits() : (unsigned char)(1u << random_bits() % 8);
        }
        gc_llvm_module *module = add(0);
        refused += !module;
        for (size_t f = 0; module && f < module->function_count; f++) {
            const gc__llvm_function *function = &module->functions[f];
            gc_code_cursor frame = frame_of(0);
            frame.code = &function->code;
            frame.pc = (uintptr_t)function->code.start + function->code.bytes;
            for (int r = 0; r < GC_CODE_REGISTERS; r++) frame.registers[r] = &held[r];
            visited(&frame);
        }
        gc_code_remove_llvm(module);
    }
    ok(refused > 5000 && refused < 19500, "%d of 20000 sections with random faults are refused", refused);
}

/* The same places as text. */
static void test_dump(void) {
    static char text[2000];
    one(0), pair(8, 8), location(INDIRECT, 16, RBP, -32), location(INDIRECT, 16, RBP, -32), pair(8, 24),
        location(REGISTER, 8, RBX, 0), location(REGISTER, 8, R15, 0);
    gc_llvm_module *module = add_one();
    gc_dump_options options = {.address = 0x1000};
    FILE *out = fmemopen(text, sizeof text, "w");
    ok(module && gc_code_dump((const char *)code + 0x20, out, &options), "the code of a module is dumped");
    fclose(out);
    has(text, "    tables             = LLVM\n    stack frame size   = 40 bytes\n    statepoints        = 1\n",
        "header");
    has(text,
        "    GCInfo:      0020        call [ rbx, [rsp+8], [rbp-32], [rbp-24], [rsp+24] derived from [rsp+8], "
        "r15 derived from rbx ]\n",
        "a row for each statepoint");
    out = fmemopen(text, sizeof text, "w");
    gc_code_explain((const char *)code + 0x20, NULL, out, NULL);
    fclose(out);
    has(text, "The tables of LLVM have at +0x20: call [ rbx, [rsp+8], ", "the row of an address");
    out = fmemopen(text, sizeof text, "w");
    gc_code_explain((const char *)code + 0x1f, NULL, out, NULL);
    fclose(out);
    has(text, "The tables of LLVM have at +0x1f: nothing; the row after it is at +0x20.\n", "where there is none");
    gc_code_remove_llvm(module);
}

int main(void) {
    test_dump();
    test_frames_by_pointer();
    test_frames_by_size();
    test_random_faults();
    test_modules();
    test_copies();
    test_lookup();
    test_moves();
    test_places();
    test_unknown_registers();
    test_faults();
    test_refused_records();
    test_refused_calls();
    return done();
}
