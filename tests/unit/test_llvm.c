/* The stack maps of LLVM: sections built by hand, every kind of location, every refusal, frames by pointer and by size. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"
#include "fixture.h"

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

static gc_code_cursor frame_of(const gc_llvm_module *module, uint32_t offset) {
    gc_code_cursor frame = {0};
    frame.code = gc_code_find(code);
    frame.pc = (uintptr_t)code + offset;
    frame.sp = (uintptr_t)&stack[8];
    frame.registers[GC__LLVM_RBP] = &held[GC__LLVM_RBP];
    (void)module;
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
        snprintf(text, room, "%s", gc__llvm_register_name((unsigned)(word - held)));
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
    gc_code_cursor frame = frame_of(module, 0x20);
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
    one(0), location(REGISTER, 8, RBX, 0), location(REGISTER, 8, R15, 0), location(REGISTER, 8, R12, 0),
        location(REGISTER, 8, R12, 0), location(INDIRECT, 8, RSP, 8), location(REGISTER, 8, RBP, 0);
    VISITS(true, "rbxx1 8x1 r12x1 rbp<8 r15<rbx", "in registers");
    one(0), pair(-16, 0x7FFFFFF8);
    VISITS(false, "-16x1 2147483640<-16", "far offsets");
}

static void test_unknown_registers(void) {
    one(0), location(REGISTER, 8, RBX, 0), location(REGISTER, 8, RBX, 0);
    const char *why = visits(false);
    char address[64];
    snprintf(address, sizeof address, "%p", (void *)code);
    has(why, address, "a register that is not known: the function");
    has(why, "in rbx", "and the register are named");
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
    {FUNCTION, 8, UINT64_MAX - 0xFFFFFFFE, FUNCTION, "is not the address of a function"},
    {FUNCTION + 8, 8, 12, FUNCTION, "a stack size of 12 bytes"},
    {FUNCTION + 8, 8, UINT64_MAX - 7, FUNCTION, "a stack size of"},
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

int main(void) {
    test_places();
    test_unknown_registers();
    test_faults();
    return done();
}
