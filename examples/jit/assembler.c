/* assembler.c - see assembler.h. An opcode here is one number: its last byte, 0x0F00 for the two-byte opcodes, and a mandatory
   prefix above these. */
#include "assembler.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX(byte) ((unsigned)(byte) << 16)
#define ESCAPE 0x0F00u

enum { NARROW, WIDE, BYTE }; /* operands of 32, 64 and 8 bits */

static void *grown(void *array, uint32_t *room, uint32_t count, size_t element_bytes) {
    if (count <= *room) return array;
    *room = count < 32 ? 64 : count * 2;
    void *larger = realloc(array, *room * element_bytes);
    if (!larger) fprintf(stderr, "jit: no memory for %u more elements of code\n", *room), exit(1);
    return larger;
}
#define GROW(array, count, room) ((array) = grown((array), &(room), (count), sizeof *(array)))

void asm_free(assembler *a) {
    free(a->code);
    free(a->instructions);
    free(a->text);
    free(a->labels);
    free(a->jumps);
    free(a->calls);
    memset(a, 0, sizeof *a);
}

/* Text. */

static const char *const names_wide[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                         "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
static const char *const names_narrow[] = {"eax", "ecx", "edx",  "ebx",  "esp",  "ebp",  "esi",  "edi",
                                           "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"};
static const char *const names_byte[] = {"al",  "cl",  "dl",   "bl",   "spl",  "bpl",  "sil",  "dil",
                                         "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"};
static const char *const conditions[] = {"o", "no", "b", "ae", "e", "ne", "be", "a",
                                         "s", "ns", "p", "np", "l", "ge", "le", "g"};
static const char *const operations[] = {"add", "or", "adc", "sbb", "and", "sub", "xor", "cmp"};
static const char *const shifts[] = {"rol", "ror", "rcl", "rcr", "shl", "shr", "sal", "sar"};

const char *asm_register_name(int reg) { return names_wide[reg]; }

static void write_text(assembler *a, const char *format, va_list arguments) {
    char text[160];
    int length = vsnprintf(text, sizeof text, format, arguments);
    if (length >= (int)sizeof text) length = sizeof text - 1;
    GROW(a->text, a->text_bytes + (uint32_t)length + 1, a->text_room);
    memcpy(a->text + a->text_bytes, text, (size_t)length + 1);
    a->text_bytes += (uint32_t)length;
}

/* Begins an instruction. */
static __attribute__((format(printf, 2, 3))) asm_instruction *say(assembler *a, const char *format, ...) {
    va_list arguments;
    GROW(a->instructions, a->instruction_count + 1, a->instruction_room);
    asm_instruction *made = &a->instructions[a->instruction_count++];
    if (a->text_bytes) a->text_bytes++; /* the end of the last text */
    *made = (asm_instruction){a->bytes, a->text_bytes, a->line, -1, -1};
    va_start(arguments, format);
    write_text(a, format, arguments);
    va_end(arguments);
    return made;
}

void asm_comment(assembler *a, const char *format, ...) {
    va_list arguments;
    GROW(a->text, a->text_bytes + 8, a->text_room);
    a->text_bytes += (uint32_t)sprintf(a->text + a->text_bytes, "  # ");
    va_start(arguments, format);
    write_text(a, format, arguments);
    va_end(arguments);
}

typedef struct operand_text {
    char text[64];
} operand_text;

static operand_text memory_text(const char *size, asm_memory m) {
    operand_text t;
    char index[16] = "", offset[24] = "";
    if (m.base < 0) {
        snprintf(t.text, sizeof t.text, "%sfs:0x%llx", size, (unsigned long long)(int64_t)m.offset);
        return t;
    }
    if (m.index >= 0) snprintf(index, sizeof index, "+%s*%d", names_wide[m.index], m.scale);
    if (m.offset < 0)
        snprintf(offset, sizeof offset, "-0x%llx", -(long long)m.offset);
    else if (m.offset > 0)
        snprintf(offset, sizeof offset, "+0x%x", (unsigned)m.offset);
    snprintf(t.text, sizeof t.text, "%s[%s%s%s]", size, names_wide[m.base], index, offset);
    return t;
}
#define QWORD(m) memory_text("QWORD PTR ", m).text
#define DWORD(m) memory_text("DWORD PTR ", m).text
#define BYTE_PTR(m) memory_text("BYTE PTR ", m).text
#define NO_SIZE(m) memory_text("", m).text

void asm_text(const assembler *a, const asm_instruction *instruction, char *text, size_t room) {
    const char *recorded = a->text + instruction->text;
    if (instruction->label < 0)
        snprintf(text, room, "%s", recorded);
    else
        snprintf(text, room, "%s%04llx", recorded, (long long)a->labels[instruction->label]);
}

const asm_instruction *asm_find(const assembler *a, uint32_t offset) {
    uint32_t low = 0, high = a->instruction_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->instructions[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->instruction_count && a->instructions[low].offset == offset ? &a->instructions[low] : NULL;
}

/* Bytes. */

static void byte(assembler *a, unsigned value) {
    GROW(a->code, a->bytes + 1, a->room);
    a->code[a->bytes++] = (uint8_t)value;
}

static void bytes(assembler *a, uint64_t value, int count) {
    for (int i = 0; i < count; i++) byte(a, (unsigned)(value >> 8 * i) & 0xFF);
}

static bool is_byte(int64_t value) { return value == (int8_t)value; }

/* Prefixes and opcode. In byte operands, 4 to 7 mean spl to dil only after a REX prefix. */
static void opcode(assembler *a, unsigned code, int size, int reg, int index, int base, bool byte_register) {
    unsigned rex =
        (size == WIDE ? 8u : 0) | (unsigned)(reg & 8) >> 1 | (unsigned)(index & 8) >> 2 | (unsigned)(base & 8) >> 3;
    if (code >> 16) byte(a, code >> 16);
    if (rex || byte_register) byte(a, 0x40 | rex);
    if (code & ESCAPE) byte(a, 0x0F);
    byte(a, code & 0xFF);
}

static void modrm(assembler *a, unsigned mode, int reg, int rm) {
    byte(a, mode << 6 | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}

static void with_register(assembler *a, unsigned code, int size, int reg, int rm, bool byte_register) {
    opcode(a, code, size, reg, 0, rm, byte_register);
    modrm(a, 3, reg, rm);
}

static void with_memory(assembler *a, unsigned code, int size, int reg, asm_memory m) {
    int index = m.index < 0 ? RSP : m.index; /* as an index, rsp means none */
    if (m.base < 0) byte(a, 0x64);
    opcode(a, code, size, reg, index & 8, m.base < 0 ? 0 : m.base, size == BYTE && reg >= RSP && reg <= RDI);
    if (m.base < 0) { /* an absolute address in fs */
        modrm(a, 0, reg, RSP);
        modrm(a, 0, RSP, RBP);
        bytes(a, (uint32_t)m.offset, 4);
        return;
    }
    unsigned mode = m.offset == 0 && (m.base & 7) != RBP ? 0 : is_byte(m.offset) ? 1 : 2;
    if (m.index >= 0 || (m.base & 7) == RSP) {
        modrm(a, mode, reg, RSP);
        modrm(a, m.scale == 8 ? 3 : m.scale == 4 ? 2 : m.scale == 2 ? 1 : 0, index, m.base);
    } else {
        modrm(a, mode, reg, m.base);
    }
    bytes(a, (uint32_t)m.offset, mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

/* Moves. */

void asm_mov(assembler *a, int to, int from) {
    say(a, "mov    %s,%s", names_wide[to], names_wide[from]);
    with_register(a, 0x89, WIDE, from, to, false);
}

void asm_mov_address(assembler *a, int to, const void *address) {
    say(a, "movabs %s,0x%llx", names_wide[to], (unsigned long long)(uintptr_t)address);
    opcode(a, 0xB8 + (to & 7), WIDE, 0, 0, to, false);
    bytes(a, (uint64_t)(uintptr_t)address, 8);
}

void asm_mov_imm(assembler *a, int to, int64_t value) {
    if (value == (int64_t)(uint32_t)value) {
        say(a, "mov    %s,0x%llx", names_narrow[to], (unsigned long long)value);
        opcode(a, 0xB8 + (to & 7), NARROW, 0, 0, to, false);
        bytes(a, (uint64_t)value, 4);
    } else if (value == (int32_t)value) {
        say(a, "mov    %s,0x%llx", names_wide[to], (unsigned long long)value);
        with_register(a, 0xC7, WIDE, 0, to, false);
        bytes(a, (uint64_t)value, 4);
    } else {
        say(a, "movabs %s,0x%llx", names_wide[to], (unsigned long long)value);
        opcode(a, 0xB8 + (to & 7), WIDE, 0, 0, to, false);
        bytes(a, (uint64_t)value, 8);
    }
}

void asm_zero(assembler *a, int to) {
    say(a, "xor    %s,%s", names_narrow[to], names_narrow[to]);
    with_register(a, 0x31, NARROW, to, to, false);
}

void asm_load(assembler *a, int to, asm_memory from) {
    say(a, "mov    %s,%s", names_wide[to], QWORD(from));
    with_memory(a, 0x8B, WIDE, to, from);
}

void asm_load_byte(assembler *a, int to, asm_memory from) {
    say(a, "movzx  %s,%s", names_narrow[to], BYTE_PTR(from));
    with_memory(a, ESCAPE | 0xB6, NARROW, to, from);
}

void asm_store(assembler *a, asm_memory to, int from) {
    say(a, "mov    %s,%s", QWORD(to), names_wide[from]);
    with_memory(a, 0x89, WIDE, from, to);
}

void asm_store_imm(assembler *a, asm_memory to, int32_t value) {
    say(a, "mov    %s,0x%llx", QWORD(to), (unsigned long long)(int64_t)value);
    with_memory(a, 0xC7, WIDE, 0, to);
    bytes(a, (uint32_t)value, 4);
}

void asm_store_byte(assembler *a, asm_memory to, int from) {
    say(a, "mov    %s,%s", BYTE_PTR(to), names_byte[from]);
    with_memory(a, 0x88, BYTE, from, to);
}

void asm_store_byte_imm(assembler *a, asm_memory to, int value) {
    say(a, "mov    %s,0x%x", BYTE_PTR(to), (unsigned)value & 0xFF);
    with_memory(a, 0xC6, BYTE, 0, to);
    byte(a, (unsigned)value & 0xFF);
}

void asm_lea(assembler *a, int to, asm_memory address) {
    say(a, "lea    %s,%s", names_wide[to], NO_SIZE(address));
    with_memory(a, 0x8D, WIDE, to, address);
}

static void to_symbol(assembler *a, int symbol) {
    GROW(a->calls, a->call_count + 1, a->call_room);
    a->calls[a->call_count++] = (asm_fixup){a->bytes, symbol};
    bytes(a, 0, 4);
}

void asm_lea_symbol(assembler *a, int to, int symbol, const char *name) {
    say(a, "lea    %s,[rip+%s]", names_wide[to], name);
    opcode(a, 0x8D, WIDE, to, 0, 0, false);
    modrm(a, 0, to, RBP);
    to_symbol(a, symbol);
}

void asm_xchg(assembler *a, int one, int other) {
    say(a, "xchg   %s,%s", names_wide[one], names_wide[other]);
    with_register(a, 0x87, WIDE, other, one, false);
}

void asm_push(assembler *a, int reg) {
    say(a, "push   %s", names_wide[reg]);
    opcode(a, 0x50 + (reg & 7), NARROW, 0, 0, reg, false);
}

void asm_pop(assembler *a, int reg) {
    say(a, "pop    %s", names_wide[reg]);
    opcode(a, 0x58 + (reg & 7), NARROW, 0, 0, reg, false);
}

/* Arithmetic. */

void asm_alu(assembler *a, asm_operation operation, int to, int from) {
    say(a, "%-6s %s,%s", operations[operation], names_wide[to], names_wide[from]);
    with_register(a, operation * 8u + 1, WIDE, from, to, false);
}

void asm_alu_imm(assembler *a, asm_operation operation, int to, int32_t value) {
    say(a, "%-6s %s,0x%llx", operations[operation], names_wide[to], (unsigned long long)(int64_t)value);
    if (is_byte(value)) {
        with_register(a, 0x83, WIDE, (int)operation, to, false);
        byte(a, (unsigned)value & 0xFF);
        return;
    }
    if (to == RAX)
        opcode(a, operation * 8u + 5, WIDE, 0, 0, 0, false);
    else
        with_register(a, 0x81, WIDE, (int)operation, to, false);
    bytes(a, (uint32_t)value, 4);
}

void asm_alu_load(assembler *a, asm_operation operation, int to, asm_memory from) {
    say(a, "%-6s %s,%s", operations[operation], names_wide[to], QWORD(from));
    with_memory(a, operation * 8u + 3, WIDE, to, from);
}

void asm_alu_store(assembler *a, asm_operation operation, asm_memory to, int from) {
    say(a, "%-6s %s,%s", operations[operation], QWORD(to), names_wide[from]);
    with_memory(a, operation * 8u + 1, WIDE, from, to);
}

void asm_alu_store_imm(assembler *a, asm_operation operation, asm_memory to, int32_t value) {
    say(a, "%-6s %s,0x%llx", operations[operation], QWORD(to), (unsigned long long)(int64_t)value);
    with_memory(a, is_byte(value) ? 0x83 : 0x81, WIDE, (int)operation, to);
    bytes(a, (uint32_t)value, is_byte(value) ? 1 : 4);
}

void asm_cmp_word_imm(assembler *a, asm_memory to, int32_t value) {
    say(a, "cmp    %s,0x%x", DWORD(to), (unsigned)value);
    with_memory(a, is_byte(value) ? 0x83 : 0x81, NARROW, ASM_CMP, to);
    bytes(a, (uint32_t)value, is_byte(value) ? 1 : 4);
}

void asm_cmp_byte_imm(assembler *a, asm_memory to, int value) {
    say(a, "cmp    %s,0x%x", BYTE_PTR(to), (unsigned)value & 0xFF);
    with_memory(a, 0x80, NARROW, ASM_CMP, to);
    byte(a, (unsigned)value & 0xFF);
}

void asm_test(assembler *a, int one, int other) {
    say(a, "test   %s,%s", names_wide[one], names_wide[other]);
    with_register(a, 0x85, WIDE, other, one, false);
}

void asm_imul(assembler *a, int to, int from) {
    say(a, "imul   %s,%s", names_wide[to], names_wide[from]);
    with_register(a, ESCAPE | 0xAF, WIDE, to, from, false);
}

void asm_imul_load(assembler *a, int to, asm_memory from) {
    say(a, "imul   %s,%s", names_wide[to], QWORD(from));
    with_memory(a, ESCAPE | 0xAF, WIDE, to, from);
}

void asm_imul_imm(assembler *a, int to, int from, int32_t value) {
    say(a, "imul   %s,%s,0x%llx", names_wide[to], names_wide[from], (unsigned long long)(int64_t)value);
    with_register(a, is_byte(value) ? 0x6B : 0x69, WIDE, to, from, false);
    bytes(a, (uint32_t)value, is_byte(value) ? 1 : 4);
}

void asm_neg(assembler *a, int to) {
    say(a, "neg    %s", names_wide[to]);
    with_register(a, 0xF7, WIDE, 3, to, false);
}

void asm_not(assembler *a, int to) {
    say(a, "not    %s", names_wide[to]);
    with_register(a, 0xF7, WIDE, 2, to, false);
}

void asm_cqo(assembler *a) {
    say(a, "cqo");
    bytes(a, 0x9948, 2);
}

void asm_idiv(assembler *a, int by) {
    say(a, "idiv   %s", names_wide[by]);
    with_register(a, 0xF7, WIDE, 7, by, false);
}

void asm_shift_cl(assembler *a, asm_shift shift, int to) {
    say(a, "%s    %s,cl", shifts[shift], names_wide[to]);
    with_register(a, 0xD3, WIDE, (int)shift, to, false);
}

void asm_shift_imm(assembler *a, asm_shift shift, int to, int count) {
    say(a, "%s    %s,0x%x", shifts[shift], names_wide[to], (unsigned)count);
    with_register(a, count == 1 ? 0xD1 : 0xC1, WIDE, (int)shift, to, false);
    if (count != 1) byte(a, (unsigned)count);
}

void asm_set(assembler *a, asm_condition condition, int to) {
    say(a, "set%-3s %s", conditions[condition], names_byte[to]);
    with_register(a, ESCAPE | (0x90u + condition), NARROW, 0, to, to >= RSP && to <= RDI);
}

void asm_extend_byte(assembler *a, int to, int from) {
    say(a, "movzx  %s,%s", names_narrow[to], names_byte[from]);
    with_register(a, ESCAPE | 0xB6, NARROW, to, from, from >= RSP && from <= RDI);
}

/* Jumps. */

int asm_label(assembler *a) {
    GROW(a->labels, a->label_count + 1, a->label_room);
    a->labels[a->label_count] = -1;
    return (int)a->label_count++;
}

void asm_place(assembler *a, int label) { a->labels[label] = a->bytes; }

/* Backward jumps are as short as can be; forward ones have 32 bits. */
static void jump(assembler *a, unsigned short_code, unsigned long_code, int label) {
    int64_t distance = a->labels[label] - (int64_t)a->bytes - 2;
    if (a->labels[label] >= 0 && is_byte(distance)) {
        byte(a, short_code);
        byte(a, (unsigned)distance & 0xFF);
        return;
    }
    if (long_code & ESCAPE) byte(a, 0x0F);
    byte(a, long_code & 0xFF);
    GROW(a->jumps, a->jump_count + 1, a->jump_room);
    a->jumps[a->jump_count++] = (asm_fixup){a->bytes, label};
    bytes(a, 0, 4);
}

void asm_jump(assembler *a, int label) {
    say(a, "jmp    ")->label = label;
    jump(a, 0xEB, 0xE9, label);
}

void asm_jump_if(assembler *a, asm_condition condition, int label) {
    say(a, "j%-5s ", conditions[condition])->label = label;
    jump(a, 0x70u + condition, ESCAPE | (0x80u + condition), label);
}

void asm_finish(assembler *a) {
    for (uint32_t i = 0; i < a->jump_count; i++) {
        int64_t target = a->labels[a->jumps[i].target];
        if (target < 0) fprintf(stderr, "jit: a label was never placed\n"), abort();
        int32_t distance = (int32_t)(target - (int64_t)a->jumps[i].at - 4);
        memcpy(a->code + a->jumps[i].at, &distance, 4);
    }
}

void asm_call(assembler *a, int symbol, const char *name) {
    say(a, "call   %s", name)->symbol = symbol;
    byte(a, 0xE8);
    to_symbol(a, symbol);
}

void asm_call_register(assembler *a, int reg) {
    say(a, "call   %s", names_wide[reg]);
    with_register(a, 0xFF, NARROW, 2, reg, false);
}

void asm_call_memory(assembler *a, asm_memory address) {
    say(a, "call   %s", QWORD(address));
    with_memory(a, 0xFF, NARROW, 2, address);
}

void asm_jump_memory(assembler *a, asm_memory address) {
    say(a, "jmp    %s", QWORD(address));
    with_memory(a, 0xFF, NARROW, 4, address);
}

void asm_leave(assembler *a) {
    say(a, "leave");
    byte(a, 0xC9);
}

void asm_ret(assembler *a) {
    say(a, "ret");
    byte(a, 0xC3);
}

void asm_nop(assembler *a) {
    say(a, "nop");
    byte(a, 0x90);
}

void asm_trap(assembler *a) {
    say(a, "ud2");
    bytes(a, 0x0B0F, 2);
}

/* Floating point. */

static const char *float_name(asm_float operation) {
    return operation == FLOAT_SQRT  ? "sqrtsd"
           : operation == FLOAT_ADD ? "addsd"
           : operation == FLOAT_MUL ? "mulsd"
           : operation == FLOAT_SUB ? "subsd"
                                    : "divsd";
}

void asm_float_mov(assembler *a, int to, int from) {
    say(a, "movaps xmm%d,xmm%d", to, from);
    with_register(a, ESCAPE | 0x28, NARROW, to, from, false);
}

void asm_float_load(assembler *a, int to, asm_memory from) {
    say(a, "movsd  xmm%d,%s", to, QWORD(from));
    with_memory(a, PREFIX(0xF2) | ESCAPE | 0x10, NARROW, to, from);
}

void asm_float_store(assembler *a, asm_memory to, int from) {
    say(a, "movsd  %s,xmm%d", QWORD(to), from);
    with_memory(a, PREFIX(0xF2) | ESCAPE | 0x11, NARROW, from, to);
}

void asm_float_alu(assembler *a, asm_float operation, int to, int from) {
    say(a, "%-6s xmm%d,xmm%d", float_name(operation), to, from);
    with_register(a, PREFIX(0xF2) | ESCAPE | (unsigned)operation, NARROW, to, from, false);
}

void asm_float_alu_load(assembler *a, asm_float operation, int to, asm_memory from) {
    say(a, "%-6s xmm%d,%s", float_name(operation), to, QWORD(from));
    with_memory(a, PREFIX(0xF2) | ESCAPE | (unsigned)operation, NARROW, to, from);
}

void asm_float_compare(assembler *a, int one, int other) {
    say(a, "ucomisd xmm%d,xmm%d", one, other);
    with_register(a, PREFIX(0x66) | ESCAPE | 0x2E, NARROW, one, other, false);
}

void asm_float_xor(assembler *a, int to, int from) {
    say(a, "xorpd  xmm%d,xmm%d", to, from);
    with_register(a, PREFIX(0x66) | ESCAPE | 0x57, NARROW, to, from, false);
}

void asm_float_zero(assembler *a, int to) { asm_float_xor(a, to, to); }

void asm_float_from_int(assembler *a, int to, int from) {
    say(a, "cvtsi2sd xmm%d,%s", to, names_wide[from]);
    with_register(a, PREFIX(0xF2) | ESCAPE | 0x2A, WIDE, to, from, false);
}

void asm_int_from_float(assembler *a, int to, int from) {
    say(a, "cvttsd2si %s,xmm%d", names_wide[to], from);
    with_register(a, PREFIX(0xF2) | ESCAPE | 0x2C, WIDE, to, from, false);
}

void asm_float_from_bits(assembler *a, int to, int from) {
    say(a, "movq   xmm%d,%s", to, names_wide[from]);
    with_register(a, PREFIX(0x66) | ESCAPE | 0x6E, WIDE, to, from, false);
}

void asm_bits_from_float(assembler *a, int to, int from) {
    say(a, "movq   %s,xmm%d", names_wide[to], from);
    with_register(a, PREFIX(0x66) | ESCAPE | 0x7E, WIDE, from, to, false);
}
