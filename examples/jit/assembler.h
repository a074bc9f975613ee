/* assembler.h - writes x86-64 instructions, and keeps of each one its offset, source line, and text in the manner of objdump
   -M intel: so a dump needs no disassembler. It knows the forms that the code generator uses, and no others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers have the machine's numbers, as in stack maps. Vector registers have the same numbers. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, NO_REG = -1 };

/* Conditions have the machine's numbers, too: toggling bit 0 negates one. */
typedef enum asm_condition {
    IF_BELOW = 2,
    IF_ABOVE_EQUAL,
    IF_EQUAL,
    IF_NOT_EQUAL,
    IF_BELOW_EQUAL,
    IF_ABOVE,
    IF_SIGN,
    IF_NO_SIGN,
    IF_PARITY,
    IF_NO_PARITY,
    IF_LESS,
    IF_GREATER_EQUAL,
    IF_LESS_EQUAL,
    IF_GREATER
} asm_condition;

static inline asm_condition asm_negated(asm_condition condition) { return (asm_condition)(condition ^ 1); }

typedef enum asm_operation { ASM_ADD, ASM_OR, ASM_AND = 4, ASM_SUB, ASM_XOR, ASM_CMP } asm_operation;
typedef enum asm_shift { ASM_SHL = 4, ASM_SHR, ASM_SAR = 7 } asm_shift;
typedef enum asm_float { FLOAT_SQRT = 0x51, FLOAT_ADD = 0x58, FLOAT_MUL, FLOAT_SUB = 0x5C, FLOAT_DIV = 0x5E } asm_float;

/* [base + index * scale + offset], or fs:[offset] without a base. */
typedef struct asm_memory {
    int base, index, scale;
    int32_t offset;
} asm_memory;

static inline asm_memory at(int base, int32_t offset) { return (asm_memory){base, NO_REG, 1, offset}; }
static inline asm_memory at_index(int base, int index, int scale, int32_t offset) {
    return (asm_memory){base, index, scale, offset};
}
static inline asm_memory at_fs(int32_t offset) { return (asm_memory){NO_REG, NO_REG, 1, offset}; }

typedef struct asm_instruction {
    uint32_t offset;
    uint32_t text; /* in assembler.text */
    uint32_t line; /* of the source */
    int label;     /* whose offset ends the text; -1: none */
    int symbol;    /* that a call names; -1: none */
} asm_instruction;

/* A 32-bit distance that is written when its target is known: a label's, or a symbol's, which the linker knows. */
typedef struct asm_fixup {
    uint32_t at;
    int target;
} asm_fixup;

typedef struct assembler {
    uint8_t *code;
    uint32_t bytes, room;
    asm_instruction *instructions;
    uint32_t instruction_count, instruction_room;
    char *text;
    uint32_t text_bytes, text_room;
    int64_t *labels; /* their offsets; -1: not yet known */
    uint32_t label_count, label_room;
    asm_fixup *jumps; /* to labels */
    uint32_t jump_count, jump_room;
    asm_fixup *calls; /* to symbols; also their addresses */
    uint32_t call_count, call_room;
    uint32_t line; /* of the instructions that follow */
} assembler;

void asm_free(assembler *a);
/* Writes all distances to labels; each must have been placed. */
void asm_finish(assembler *a);

int asm_label(assembler *a);
void asm_place(assembler *a, int label);

/* The instruction that starts at the offset, or NULL. Its text goes to `text`, cut to `room`. */
const asm_instruction *asm_find(const assembler *a, uint32_t offset);
void asm_text(const assembler *a, const asm_instruction *instruction, char *text, size_t room);
/* Adds "# ..." to the text of the last instruction. */
void asm_comment(assembler *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *asm_register_name(int reg);

void asm_mov(assembler *a, int to, int from);
void asm_mov_imm(assembler *a, int to, int64_t value);           /* in the shortest way that leaves the flags alone */
void asm_mov_address(assembler *a, int to, const void *address); /* always ten bytes */
void asm_zero(assembler *a, int to);                             /* changes the flags */
void asm_load(assembler *a, int to, asm_memory from);
void asm_load_byte(assembler *a, int to, asm_memory from); /* zero-extended */
void asm_store(assembler *a, asm_memory to, int from);
void asm_store_imm(assembler *a, asm_memory to, int32_t value);
void asm_store_byte(assembler *a, asm_memory to, int from);
void asm_store_byte_imm(assembler *a, asm_memory to, int value);
void asm_lea(assembler *a, int to, asm_memory address);
void asm_lea_symbol(assembler *a, int to, int symbol, const char *name);
void asm_xchg(assembler *a, int one, int other); /* neither is rax */
void asm_push(assembler *a, int reg);
void asm_pop(assembler *a, int reg);

void asm_alu(assembler *a, asm_operation operation, int to, int from);
void asm_alu_imm(assembler *a, asm_operation operation, int to, int32_t value);
void asm_alu_load(assembler *a, asm_operation operation, int to, asm_memory from);
void asm_alu_store(assembler *a, asm_operation operation, asm_memory to, int from);
void asm_alu_store_imm(assembler *a, asm_operation operation, asm_memory to, int32_t value);
void asm_cmp_word_imm(assembler *a, asm_memory to, int32_t value); /* 32 bits of memory */
void asm_cmp_byte_imm(assembler *a, asm_memory to, int value);
void asm_test(assembler *a, int one, int other);
void asm_imul(assembler *a, int to, int from);
void asm_imul_load(assembler *a, int to, asm_memory from);
void asm_imul_imm(assembler *a, int to, int from, int32_t value);
void asm_neg(assembler *a, int to);
void asm_not(assembler *a, int to);
void asm_cqo(assembler *a);
void asm_idiv(assembler *a, int by);
void asm_shift_cl(assembler *a, asm_shift shift, int to);
void asm_shift_imm(assembler *a, asm_shift shift, int to, int count);
void asm_set(assembler *a, asm_condition condition, int to); /* its lowest byte */
void asm_extend_byte(assembler *a, int to, int from);

void asm_jump(assembler *a, int label);
void asm_jump_if(assembler *a, asm_condition condition, int label);
void asm_call(assembler *a, int symbol, const char *name);
void asm_call_register(assembler *a, int reg);
void asm_call_memory(assembler *a, asm_memory address);
void asm_jump_memory(assembler *a, asm_memory address);
void asm_leave(assembler *a);
void asm_ret(assembler *a);
void asm_nop(assembler *a);
void asm_trap(assembler *a);

void asm_float_mov(assembler *a, int to, int from);
void asm_float_load(assembler *a, int to, asm_memory from);
void asm_float_store(assembler *a, asm_memory to, int from);
void asm_float_alu(assembler *a, asm_float operation, int to, int from);
void asm_float_alu_load(assembler *a, asm_float operation, int to, asm_memory from);
void asm_float_compare(assembler *a, int one, int other); /* unordered: IF_PARITY, and IF_BELOW and IF_EQUAL */
void asm_float_zero(assembler *a, int to);
void asm_float_xor(assembler *a, int to, int from);
void asm_float_from_int(assembler *a, int to, int from);
void asm_int_from_float(assembler *a, int to, int from); /* truncated */
void asm_float_from_bits(assembler *a, int to, int from);
void asm_bits_from_float(assembler *a, int to, int from);
