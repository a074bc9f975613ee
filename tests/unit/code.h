/* Small methods of compiled code for tests: an assembler of a few x86-64 instructions that also writes the method's stack
   map, and executable memory.

   A test begins a method, appends instructions, and ends it, which encodes the map and registers the code:
       method *m = method_begin("name");
       unsigned x = slot(m, GC_PLACE_REGISTER, RBX, 0);
       enter(m), save(m, RBX);
       move(m, RBX, RDI), call_native(m, collect_now, BIT(x)), move(m, RAX, RBX);
       restore(m, RBX), leave(m), ret(m);
       method_end(m);
   Methods keep the System V calling convention, and have the gc_thread in r15, where gc_code_call puts it. */
#pragma once

#include <sys/mman.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum { IF_ZERO = 4, IF_NOT_ZERO = 5, IF_LESS = 12, IF_NOT_LESS = 13 }; /* the conditions of jump_if */

#define METHOD_BYTES 4096
#define BIT(i) ((uint64_t)1 << (i))

typedef struct method {
    gc_code code;
    struct method *next;
    unsigned char *start;
    uint32_t at; /* bytes that were written */
    gc_stackmap_method map;
    gc_stackmap_slot slots[64];
    gc_stackmap_point points[64];
    uint64_t live[64];
    gc_stackmap_range ranges[16];
    gc_stackmap_change changes[256];
    gc_stackmap_unwind unwind[64];
    void *encoded;
} method;

/* Memory for code, not yet executable. */
static inline unsigned char *code_memory(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) printf("Bail out! no memory for code\n"), exit(2);
    return (unsigned char *)memory;
}

/* From now on it is executable, and can no longer be written. */
static inline void code_protect(void *memory, size_t size) {
    if (mprotect(memory, size, PROT_READ | PROT_EXEC)) printf("Bail out! no executable memory\n"), exit(2);
}

static method *methods; /* all of them, which tests need not free */

static inline method *method_begin(const char *name) {
    method *m = (method *)calloc(1, sizeof *m);
    if (!m) abort();
    m->next = methods, methods = m;
    m->start = code_memory(METHOD_BYTES);
    m->code.name = name;
    m->map.slots = m->slots, m->map.points = m->points, m->map.ranges = m->ranges, m->map.changes = m->changes;
    m->map.unwind = m->unwind;
    return m;
}

/* Instructions. */

static inline void byte(method *m, unsigned value) {
    if (m->at == METHOD_BYTES) abort();
    m->start[m->at++] = (unsigned char)value;
}

static inline void bytes_of(method *m, uint64_t value, unsigned count) {
    for (unsigned i = 0; i < count; i++) byte(m, (unsigned)(value >> i * 8) & 255);
}

/* REX, the opcode, and the ModRM for two registers, or for a register and the memory at base + offset. */
static inline void op_registers(method *m, unsigned opcode, unsigned reg, unsigned rm) {
    byte(m, 0x48 | (reg >> 3) << 2 | rm >> 3), byte(m, opcode), byte(m, 0xC0 | (reg & 7) << 3 | (rm & 7));
}

static inline void op_memory(method *m, unsigned opcode, unsigned reg, unsigned base, int32_t offset) {
    byte(m, 0x48 | (reg >> 3) << 2 | base >> 3), byte(m, opcode), byte(m, 0x80 | (reg & 7) << 3 | (base & 7));
    if ((base & 7) == RSP) byte(m, 0x24);
    bytes_of(m, (uint32_t)offset, 4);
}

static inline void move(method *m, unsigned to, unsigned from) { op_registers(m, 0x89, from, to); }
static inline void load(method *m, unsigned to, unsigned base, int32_t offset) { op_memory(m, 0x8B, to, base, offset); }
static inline void store(method *m, unsigned base, int32_t offset, unsigned from) {
    op_memory(m, 0x89, from, base, offset);
}
static inline void address(method *m, unsigned to, unsigned base, int32_t offset) {
    op_memory(m, 0x8D, to, base, offset);
}
static inline void add(method *m, unsigned to, unsigned from) { op_registers(m, 0x01, from, to); }
static inline void compare(method *m, unsigned a, unsigned b) { op_registers(m, 0x39, b, a); }
static inline void clear(method *m, unsigned to) { op_registers(m, 0x31, to, to); }
static inline void nop(method *m) { byte(m, 0x90); }

static inline void add_number(method *m, unsigned to, int32_t number) {
    op_registers(m, 0x81, 0, to), bytes_of(m, (uint32_t)number, 4);
}

static inline void number(method *m, unsigned to, uint64_t value) {
    byte(m, 0x48 | to >> 3), byte(m, 0xB8 | (to & 7)), bytes_of(m, value, 8);
}

static inline void push_raw(method *m, unsigned reg) {
    if (reg >= R8) byte(m, 0x41);
    byte(m, 0x50 | (reg & 7));
}

static inline void pop_raw(method *m, unsigned reg) {
    if (reg >= R8) byte(m, 0x41);
    byte(m, 0x58 | (reg & 7));
}

/* A jump back to where the method was at `to`; and one ahead, whose result `land` takes where it goes. */
static inline void jump_back(method *m, unsigned condition, uint32_t to) {
    byte(m, 0x0F), byte(m, 0x80 | condition), bytes_of(m, to - (m->at + 4), 4);
}

static inline uint32_t jump_if(method *m, unsigned condition) {
    byte(m, 0x0F), byte(m, 0x80 | condition), bytes_of(m, 0, 4);
    return m->at;
}

static inline void land(method *m, uint32_t jump) {
    uint32_t distance = m->at - jump;
    memcpy(m->start + jump - 4, &distance, 4);
}

/* The map. */

static inline unsigned slot(method *m, gc_stackmap_place place, int where, unsigned flags) {
    gc_stackmap_slot *s = &m->slots[m->map.slot_count];
    s->place = (uint8_t)place, s->flags = (uint8_t)flags;
    if (place == GC_PLACE_REGISTER)
        s->number = (uint8_t)where;
    else
        s->offset = where;
    return m->map.slot_count++;
}

/* The instruction that was just written is a call, after which the slots in `live` are live. */
static inline void point(method *m, uint64_t live) {
    uint32_t i = m->map.point_count++;
    m->live[i] = live;
    m->points[i].offset = m->at;
    m->points[i].live = &m->live[i];
}

/* From here to the end of the range the code is fully interruptible. */
static inline void range_begin(method *m) { m->ranges[m->map.range_count].start = m->at; }
static inline void range_end(method *m) { m->ranges[m->map.range_count++].end = m->at; }

/* From here on the slot is live, or dead. */
static inline void change(method *m, unsigned which, bool live) {
    gc_stackmap_change *row = &m->changes[m->map.change_count++];
    row->offset = m->at, row->slot = which, row->live = live;
}

/* What the instruction that was just written does to the frame. */
static inline void unwind(method *m, gc_unwind_op op, unsigned reg, int32_t count) {
    gc_stackmap_unwind *row = &m->unwind[m->map.unwind_count++];
    row->offset = m->at, row->op = (uint8_t)op, row->number = (uint8_t)reg, row->bytes = count;
}

/* Instructions with their unwind rows. */

static inline void save(method *m, unsigned reg) { push_raw(m, reg), unwind(m, GC_UNWIND_PUSH, reg, 0); }
static inline void restore(method *m, unsigned reg) { pop_raw(m, reg), unwind(m, GC_UNWIND_POP, reg, 0); }
static inline void push(method *m, unsigned reg) { push_raw(m, reg), unwind(m, GC_UNWIND_PUSH, GC_NO_REGISTER, 0); }
static inline void pop(method *m, unsigned reg) { pop_raw(m, reg), unwind(m, GC_UNWIND_POP, GC_NO_REGISTER, 0); }
static inline void allocate(method *m, int32_t count) {
    add_number(m, RSP, -count), unwind(m, GC_UNWIND_ALLOCATE, 0, count);
}
static inline void prolog_end(method *m) { m->map.prolog_bytes = m->at; }

/* The frame pointer: push rbp; mov rbp, rsp. And its end: leave. */
static inline void enter(method *m) { save(m, RBP), move(m, RBP, RSP), unwind(m, GC_UNWIND_FRAME, 0, 0); }
static inline void leave(method *m) {
    byte(m, 0xC9), unwind(m, GC_UNWIND_LEAVE, 0, 0), unwind(m, GC_UNWIND_POP, RBP, 0);
}
static inline void ret(method *m) { byte(m, 0xC3), unwind(m, GC_UNWIND_BODY, 0, 0); }

/* Calls, which overwrite rax. */
static inline void call_code(method *m, const void *start, uint64_t live) {
    number(m, RAX, (uintptr_t)start);
    byte(m, 0xFF), byte(m, 0xD0);
    point(m, live);
}

static inline void call_method(method *m, const method *callee, uint64_t live) { call_code(m, callee->start, live); }

static inline void call_stub(method *m, void (*stub)(void), void (*function)(void), uint64_t live) {
    move(m, R10, R15), number(m, R11, (uintptr_t)function);
    call_code(m, (const void *)(uintptr_t)stub, live);
}

/* Native functions get what the argument registers hold. */
#define call_native(m, function, live) call_stub(m, gc_code_call_native, (void (*)(void))(function), live)
#define call_native_ref(m, function, live) call_stub(m, gc_code_call_native_ref, (void (*)(void))(function), live)

/* Ends a method. The map is encoded and the code registered, unless tests do so themselves. */
static inline void method_protect(method *m) {
    if (m->map.unwind_count && m->unwind[m->map.unwind_count - 1].offset == m->at)
        m->map.unwind_count--; /* the last return */
    m->map.code_bytes = m->at;
    m->code.start = m->start;
    m->code.bytes = m->at;
    code_protect(m->start, METHOD_BYTES);
}

static inline bool method_encode(method *m) {
    m->code.map_bytes = gc_stackmap_encode(&m->map, NULL, 0);
    if (!m->code.map_bytes) return false;
    m->code.map = m->encoded = malloc(m->code.map_bytes);
    return m->encoded && gc_stackmap_encode(&m->map, m->encoded, m->code.map_bytes) == m->code.map_bytes;
}

static inline method *method_end(method *m) {
    method_protect(m);
    if (method_encode(m) && gc_code_add(&m->code) == GC_OK) return m;
    printf("Bail out! %s: %s\n", m->code.name, gc_last_message());
    exit(2);
}

/* The method is not registered. */
static inline void method_discard(method *m) {
    method **link = &methods;
    while (*link != m) link = &(*link)->next;
    *link = m->next;
    munmap(m->start, METHOD_BYTES);
    free(m->encoded);
    free(m);
}

static inline void method_free(method *m) {
    gc_code_remove(&m->code);
    method_discard(m);
}
