/* The two methods of "Figure out variable lifetime using SOS", Test.Main as Debug and as Release code, transposed to x86-64:
   their code with its text, and what a compiler says of them. t is the object, tp the delegate. */
#pragma once

#include "gc_stackmap.h"

#include <string.h>

typedef struct instruction {
    uint8_t bytes[16];
    uint8_t length;
    const char *text;
} instruction;

/* Code, and what belongs to it. */
typedef struct method {
    uint8_t code[256];
    uint32_t offsets[64]; /* of the instructions */
    const instruction *instructions;
    uint32_t count, bytes;
} method;

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R12 = 12, R13 };

static const instruction debug_instructions[] = {
    {{0x55}, 1, "push   rbp"},
    {{0x48, 0x89, 0xe5}, 3, "mov    rbp,rsp"},
    {{0x53}, 1, "push   rbx"},
    {{0x41, 0x54}, 2, "push   r12"},
    {{0x41, 0x55}, 2, "push   r13"},
    {{0x48, 0x83, 0xec, 0x08}, 4, "sub    rsp,0x8"},
    {{0x31, 0xdb}, 2, "xor    ebx,ebx"},
    {{0x45, 0x31, 0xe4}, 3, "xor    r12d,r12d"},
    {{0xbf, 0xe8, 0x50, 0xad, 0x00}, 5, "mov    edi,0xad50e8 (MT: Test)"},
    {{0xe8, 0xfb, 0x0f, 0x00, 0x00}, 5, "call   JitHelp: new"},
    {{0x49, 0x89, 0xc5}, 3, "mov    r13,rax"},
    {{0x4c, 0x89, 0xef}, 3, "mov    rdi,r13"},
    {{0xbe, 0x01, 0x00, 0x00, 0x00}, 5, "mov    esi,0x1"},
    {{0xff, 0x15, 0x00, 0x20, 0x00, 0x00}, 6, "call   Test..ctor"},
    {{0x4c, 0x89, 0xeb}, 3, "mov    rbx,r13"},
    {{0xbf, 0xc4, 0x51, 0xad, 0x00}, 5, "mov    edi,0xad51c4 (MT: Test/ThreadProc)"},
    {{0xe8, 0xfb, 0x0f, 0x00, 0x00}, 5, "call   JitHelp: new"},
    {{0x49, 0x89, 0xc5}, 3, "mov    r13,rax"},
    {{0x48, 0x89, 0xde}, 3, "mov    rsi,rbx"},
    {{0x4c, 0x89, 0xef}, 3, "mov    rdi,r13"},
    {{0xba, 0x93, 0x50, 0xad, 0x00}, 5, "mov    edx,0xad5093"},
    {{0xff, 0x15, 0x00, 0x20, 0x00, 0x00}, 6, "call   Test/ThreadProc..ctor"},
    {{0x4d, 0x89, 0xec}, 3, "mov    r12,r13"},
    {{0x4c, 0x89, 0xe7}, 3, "mov    rdi,r12"},
    {{0xff, 0x15, 0x00, 0x20, 0x00, 0x00}, 6, "call   Test.NewThread"},
    {{0xbf, 0xe8, 0x03, 0x00, 0x00}, 5, "mov    edi,0x3e8"},
    {{0xff, 0x15, 0x00, 0x20, 0x00, 0x00}, 6, "call   System.Threading.Thread.Sleep"},
    {{0x90}, 1, "nop"},
    {{0x48, 0x8d, 0x65, 0xe8}, 4, "lea    rsp,[rbp-0x18]"},
    {{0x41, 0x5d}, 2, "pop    r13"},
    {{0x41, 0x5c}, 2, "pop    r12"},
    {{0x5b}, 1, "pop    rbx"},
    {{0x5d}, 1, "pop    rbp"},
    {{0xc3}, 1, "ret"},
};

static const instruction release_instructions[] = {
    {{0x53}, 1, "push   rbx"},
    {{0x41, 0x54}, 2, "push   r12"},
    {{0x48, 0x83, 0xec, 0x08}, 4, "sub    rsp,0x8"},
    {{0xbf, 0xe8, 0x50, 0xad, 0x00}, 5, "mov    edi,0xad50e8 (MT: Test)"},
    {{0xe8, 0xfb, 0x0f, 0x00, 0x00}, 5, "call   JitHelp: new"},
    {{0x48, 0x89, 0xc3}, 3, "mov    rbx,rax"},
    {{0x48, 0xc7, 0x43, 0x08, 0x01, 0x00, 0x00, 0x00}, 8, "mov    QWORD PTR [rbx+0x8],0x1"},
    {{0xbf, 0xbc, 0x51, 0xad, 0x00}, 5, "mov    edi,0xad51bc (MT: Test/ThreadProc)"},
    {{0xe8, 0xfb, 0x0f, 0x00, 0x00}, 5, "call   JitHelp: new"},
    {{0x49, 0x89, 0xc4}, 3, "mov    r12,rax"},
    {{0x48, 0x83, 0xec, 0x08}, 4, "sub    rsp,0x8"},
    {{0x68, 0x93, 0x50, 0xad, 0x00}, 5, "push   0xad5093"},
    {{0x48, 0x89, 0xde}, 3, "mov    rsi,rbx"},
    {{0x4c, 0x89, 0xe7}, 3, "mov    rdi,r12"},
    {{0xff, 0x15, 0x00, 0x20, 0x00, 0x00}, 6, "call   Test/ThreadProc..ctor"},
    {{0x48, 0x83, 0xc4, 0x10}, 4, "add    rsp,0x10"},
    {{0x4c, 0x89, 0xe7}, 3, "mov    rdi,r12"},
    {{0xff, 0x15, 0x00, 0x20, 0x00, 0x00}, 6, "call   Test.NewThread"},
    {{0xbf, 0xe8, 0x03, 0x00, 0x00}, 5, "mov    edi,0x3e8"},
    {{0xff, 0x15, 0x00, 0x20, 0x00, 0x00}, 6, "call   System.Threading.Thread.Sleep"},
    {{0x48, 0x83, 0xc4, 0x08}, 4, "add    rsp,0x8"},
    {{0x41, 0x5c}, 2, "pop    r12"},
    {{0x5b}, 1, "pop    rbx"},
    {{0xc3}, 1, "ret"},
};

static inline method method_of(const instruction *instructions, uint32_t count) {
    method m;
    memset(&m, 0, sizeof m);
    m.instructions = instructions;
    m.count = count;
    for (uint32_t i = 0; i < count; i++) {
        m.offsets[i] = m.bytes;
        memcpy(m.code + m.bytes, instructions[i].bytes, instructions[i].length);
        m.bytes += instructions[i].length;
    }
    return m;
}
#define METHOD(name) method_of(name, sizeof name / sizeof *(name))

static inline size_t disassemble(void *host, const void *code, uint32_t offset, char *text, size_t room) {
    const method *m = (const method *)host;
    (void)code;
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->offsets[i] != offset) continue;
        snprintf(text, room, "%s", m->instructions[i].text);
        return m->instructions[i].length;
    }
    return 0;
}

#define AT_REGISTER(register) \
    { GC_PLACE_REGISTER, register, 0, 0, 0 }

/* Debug: fully interruptible between prolog and epilog; variables live to the end. */
static const gc_stackmap_slot debug_slots[] = {AT_REGISTER(RBX), AT_REGISTER(R12), AT_REGISTER(R13),
                                               AT_REGISTER(RAX), AT_REGISTER(RDI), AT_REGISTER(RSI)};
enum { SLOT_RBX, SLOT_R12, SLOT_R13, SLOT_RAX, SLOT_RDI, SLOT_RSI };
static const gc_stackmap_change debug_changes[] = {
    {0x0f, SLOT_RBX, true},  {0x12, SLOT_R12, true},  {0x1c, SLOT_RAX, true},  {0x1f, SLOT_R13, true},
    {0x22, SLOT_RDI, true},  {0x2d, SLOT_RAX, false}, {0x2d, SLOT_RDI, false}, {0x3a, SLOT_RAX, true},
    {0x3a, SLOT_R13, false}, {0x3d, SLOT_R13, true},  {0x40, SLOT_RSI, true},  {0x43, SLOT_RDI, true},
    {0x4e, SLOT_RAX, false}, {0x4e, SLOT_RDI, false}, {0x4e, SLOT_RSI, false}, {0x54, SLOT_RDI, true},
    {0x5a, SLOT_RDI, false}, {0x5a, SLOT_R13, false},
};
static const gc_stackmap_range debug_ranges[] = {{0x0d, 0x66}};
static const gc_stackmap_unwind debug_unwind[] = {
    {0x01, GC_UNWIND_PUSH, RBP, 0},
    {0x04, GC_UNWIND_FRAME, GC_NO_REGISTER, 0},
    {0x05, GC_UNWIND_PUSH, RBX, 0},
    {0x07, GC_UNWIND_PUSH, R12, 0},
    {0x09, GC_UNWIND_PUSH, R13, 0},
    {0x0d, GC_UNWIND_ALLOCATE, GC_NO_REGISTER, 8},
    {0x6a, GC_UNWIND_LEAVE, GC_NO_REGISTER, 24},
    {0x6c, GC_UNWIND_POP, R13, 0},
    {0x6e, GC_UNWIND_POP, R12, 0},
    {0x6f, GC_UNWIND_POP, RBX, 0},
    {0x70, GC_UNWIND_POP, RBP, 0},
};
static const gc_code_variable debug_variables[] = {{"t", AT_REGISTER(RBX), 0x0f, 0x66},
                                                   {"tp", AT_REGISTER(R12), 0x12, 0x66}};
static const gc_code_note debug_notes[] = {
    {0x12, "Test t = new Test (1);"},
    {0x30, "ThreadProc tp = new ThreadProc (t.Reflect);"},
    {0x51, "NewThread (tp);"},
    {0x5a, "Thread.Sleep (1000);"},
};

/* Release: partially interruptible; variables live to their last use. */
static const gc_stackmap_slot release_slots[] = {AT_REGISTER(RBX), AT_REGISTER(R12)};
static const uint64_t release_live[] = {0, 1, 2, 0, 0};
static const gc_stackmap_point release_points[] = {
    {0x11, &release_live[0]}, {0x26, &release_live[1]}, {0x3e, &release_live[2]},
    {0x4b, &release_live[3]}, {0x56, &release_live[4]},
};
static const gc_stackmap_unwind release_unwind[] = {
    {0x01, GC_UNWIND_PUSH, RBX, 0},
    {0x03, GC_UNWIND_PUSH, R12, 0},
    {0x07, GC_UNWIND_ALLOCATE, GC_NO_REGISTER, 8},
    {0x2d, GC_UNWIND_ALLOCATE, GC_NO_REGISTER, 8},
    {0x32, GC_UNWIND_PUSH, GC_NO_REGISTER, 0},
    {0x42, GC_UNWIND_ALLOCATE, GC_NO_REGISTER, -16},
    {0x5a, GC_UNWIND_ALLOCATE, GC_NO_REGISTER, -8},
    {0x5c, GC_UNWIND_POP, R12, 0},
    {0x5d, GC_UNWIND_POP, RBX, 0},
};
static const gc_code_variable release_variables[] = {{"t", AT_REGISTER(RBX), 0x14, 0x35},
                                                     {"tp", AT_REGISTER(R12), 0x29, 0x45}};
static const gc_code_note release_notes[] = {
    {0x07, "Test t = new Test (1);"},
    {0x1c, "ThreadProc tp = new ThreadProc (t.Reflect);"},
    {0x42, "NewThread (tp);"},
    {0x4b, "Thread.Sleep (1000);"},
};

static inline gc_stackmap_method debug_method(void) {
    gc_stackmap_method m;
    memset(&m, 0, sizeof m);
    m.code_bytes = 0x71;
    m.prolog_bytes = 0x0d;
    m.flags = GC_METHOD_EDIT_AND_CONTINUE;
    m.slots = debug_slots, m.slot_count = sizeof debug_slots / sizeof *debug_slots;
    m.ranges = debug_ranges, m.range_count = 1;
    m.changes = debug_changes, m.change_count = sizeof debug_changes / sizeof *debug_changes;
    m.unwind = debug_unwind, m.unwind_count = sizeof debug_unwind / sizeof *debug_unwind;
    return m;
}

static inline gc_stackmap_method release_method(void) {
    gc_stackmap_method m;
    memset(&m, 0, sizeof m);
    m.code_bytes = 0x5e;
    m.prolog_bytes = 0x07;
    m.slots = release_slots, m.slot_count = 2;
    m.points = release_points, m.point_count = 5;
    m.unwind = release_unwind, m.unwind_count = sizeof release_unwind / sizeof *release_unwind;
    return m;
}
