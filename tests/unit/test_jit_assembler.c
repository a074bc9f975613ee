/* The assembler of examples/jit: for each form and many operands, `as` makes the same bytes of the text that is recorded. So
   both the encodings and the texts in dumps are right. */
#define _GNU_SOURCE
#include "../../examples/jit/assembler.c"
#include "../tap.h"
#include "folders.h"

static uint64_t seed = 20111;

static uint64_t random_below(uint64_t n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % n;
}

static int any(void) { return (int)random_below(16); }

static int32_t any_offset(void) {
    static const int32_t edges[] = {0, 1, -1, 8, 127, 128, -128, -129, 4096, INT32_MAX, INT32_MIN};
    return random_below(2) ? edges[random_below(sizeof edges / sizeof *edges)] : (int32_t)random_below(1000) - 500;
}

static int64_t any_value(void) {
    static const int64_t edges[] = {0,
                                    -1,
                                    INT32_MAX,
                                    INT32_MIN,
                                    (int64_t)INT32_MAX + 1,
                                    (int64_t)INT32_MIN - 1,
                                    UINT32_MAX,
                                    (int64_t)UINT32_MAX + 1,
                                    INT64_MAX,
                                    INT64_MIN};
    return random_below(2) ? edges[random_below(sizeof edges / sizeof *edges)] : any_offset();
}

static asm_memory any_memory(void) {
    static const int scales[] = {1, 2, 4, 8};
    int index = any();
    if (random_below(8) == 0) return at_fs(any_offset());
    if (random_below(2) || index == RSP) return at(any(), any_offset());
    return at_index(any(), index, scales[random_below(4)], any_offset());
}

static asm_memory based_memory(void) {
    asm_memory m;
    do m = any_memory();
    while (m.base < 0);
    return m;
}

static asm_condition any_condition(void) { return (asm_condition)(2 + random_below(14)); }
static asm_operation any_operation(void) {
    static const asm_operation all[] = {ASM_ADD, ASM_OR, ASM_AND, ASM_SUB, ASM_XOR, ASM_CMP};
    return all[random_below(6)];
}
static asm_shift any_shift(void) {
    static const asm_shift all[] = {ASM_SHL, ASM_SHR, ASM_SAR};
    return all[random_below(3)];
}
static asm_float any_float(void) {
    static const asm_float all[] = {FLOAT_SQRT, FLOAT_ADD, FLOAT_MUL, FLOAT_SUB, FLOAT_DIV};
    return all[random_below(5)];
}

/* Every form with random operands. */
static void write_all(assembler *a) {
    int back = asm_label(a), ahead = asm_label(a);
    asm_place(a, back);
    asm_jump(a, back);
    asm_jump_if(a, any_condition(), back);
    asm_mov(a, any(), any());
    asm_mov_imm(a, any(), any_value());
    asm_mov_address(a, any(), (const void *)(uintptr_t)any_value());
    asm_zero(a, any());
    asm_load(a, any(), any_memory());
    asm_load_byte(a, any(), any_memory());
    asm_store(a, any_memory(), any());
    asm_store_imm(a, any_memory(), any_offset());
    asm_store_byte(a, any_memory(), any());
    asm_store_byte_imm(a, any_memory(), (int)random_below(256));
    asm_lea(a, any(), based_memory());
    asm_lea_symbol(a, any(), 0, "elsewhere");
    asm_xchg(a, 1 + (int)random_below(15), 1 + (int)random_below(15));
    asm_push(a, any());
    asm_pop(a, any());
    asm_alu(a, any_operation(), any(), any());
    asm_alu_imm(a, any_operation(), any(), any_offset());
    asm_alu_load(a, any_operation(), any(), any_memory());
    asm_alu_store(a, any_operation(), any_memory(), any());
    asm_alu_store_imm(a, any_operation(), any_memory(), any_offset());
    asm_cmp_word_imm(a, any_memory(), any_offset());
    asm_cmp_byte_imm(a, any_memory(), (int)random_below(256));
    asm_test(a, any(), any());
    asm_imul(a, any(), any());
    asm_imul_load(a, any(), any_memory());
    asm_imul_imm(a, any(), any(), any_offset());
    asm_neg(a, any());
    asm_not(a, any());
    asm_cqo(a);
    asm_idiv(a, any());
    asm_shift_cl(a, any_shift(), any());
    asm_shift_imm(a, any_shift(), any(), 1 + (int)random_below(63));
    asm_set(a, any_condition(), any());
    asm_extend_byte(a, any(), any());
    asm_jump_if(a, any_condition(), ahead);
    asm_jump(a, ahead);
    asm_call(a, 0, "elsewhere");
    asm_call_register(a, any());
    asm_call_memory(a, any_memory());
    asm_jump_memory(a, any_memory());
    asm_leave(a);
    asm_ret(a);
    asm_nop(a);
    asm_trap(a);
    asm_float_mov(a, any(), any());
    asm_float_load(a, any(), any_memory());
    asm_float_store(a, any_memory(), any());
    asm_float_alu(a, any_float(), any(), any());
    asm_float_alu_load(a, any_float(), any(), any_memory());
    asm_float_compare(a, any(), any());
    asm_float_zero(a, any());
    asm_float_xor(a, any(), any());
    asm_float_from_int(a, any(), any());
    asm_int_from_float(a, any(), any());
    asm_float_from_bits(a, any(), any());
    asm_bits_from_float(a, any(), any());
    asm_jump_if(a, any_condition(), back);
    asm_place(a, ahead);
}

/* One line for each instruction. What has two encodings gets the one that `as` would not choose named before it. */
static void write_source(const assembler *a, FILE *file) {
    fputs(".intel_syntax noprefix\nstart:\n", file);
    for (uint32_t i = 0; i < a->instruction_count; i++) {
        const asm_instruction *each = &a->instructions[i];
        uint32_t end = i + 1 < a->instruction_count ? each[1].offset : a->bytes;
        char text[160];
        asm_text(a, each, text, sizeof text);
        if (each->label < 0) {
            fprintf(file, "%s\n", text);
            continue;
        }
        char *target = strrchr(text, ' ') + 1;
        fprintf(file, "%s %.*s start+0x%s\n", end - each->offset > 2 ? "{disp32}" : "", (int)(target - text), text,
                target);
    }
}

static size_t assembled(const char *directory, uint8_t *bytes, size_t room) {
    char command[512], path[256];
    snprintf(command, sizeof command,
             "cd '%s' && as --64 -o test.o test.s && objcopy -O binary -j .text test.o test.bin", directory);
    if (system(command) != 0) return 0;
    snprintf(path, sizeof path, "%s/test.bin", directory);
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    size_t count = fread(bytes, 1, room, file);
    fclose(file);
    return count;
}

/* The first instruction that `as` encodes in another way, or NULL. */
static const asm_instruction *first_difference(const assembler *a, const uint8_t *bytes, size_t count) {
    for (uint32_t i = 0; i < a->instruction_count; i++) {
        const asm_instruction *each = &a->instructions[i];
        uint32_t end = i + 1 < a->instruction_count ? each[1].offset : a->bytes;
        if (end > count || memcmp(a->code + each->offset, bytes + each->offset, end - each->offset) != 0) return each;
    }
    return NULL;
}

int main(void) {
    assembler a = {0};
    char directory[] = "/tmp/jit_assembler.XXXXXX", path[256], text[160] = "";
    if (!mkdtemp(directory)) return 1;
    snprintf(path, sizeof path, "%s/test.s", directory);
    for (int i = 0; i < 300; i++) a.line = (uint32_t)i, write_all(&a);
    asm_finish(&a);
    FILE *file = fopen(path, "w");
    write_source(&a, file);
    fclose(file);

    uint8_t *bytes = malloc(a.bytes + 1);
    size_t count = assembled(directory, bytes, a.bytes + 1);
    const asm_instruction *other = first_difference(&a, bytes, count);
    if (other) {
        asm_text(&a, other, text, sizeof text);
        for (uint32_t i = other->offset; i < other->offset + 12 && i < count; i++)
            diag("%s: %02x, as: %02x", text, a.code[i], bytes[i]);
    }
    ok(!other, "%u instructions are those that `as` makes of their texts", a.instruction_count);
    is(count, a.bytes, "nothing is left over");

    const asm_instruction *some = &a.instructions[100];
    ok(asm_find(&a, some->offset) == some, "an instruction is found by its offset");
    ok(!asm_find(&a, a.bytes), "there is none at the end");
    ok(!asm_find(&a, a.instructions[3].offset + 1), "there is none within another");
    is(a.instructions[a.instruction_count - 1].line, 299, "an instruction has its line");
    asm_nop(&a);
    asm_comment(&a, "for %s", "rest");
    asm_text(&a, &a.instructions[a.instruction_count - 1], text, sizeof text);
    ok(strcmp(text, "nop  # for rest") == 0, "a comment ends the text: %s", text);

    ok(remove_folder(directory), "its files are gone");
    free(bytes);
    asm_free(&a);
    return done();
}
