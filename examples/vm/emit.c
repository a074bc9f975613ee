/* emit.c - writes bytecode. */
#include "compile.h"

static const signed char effects[] = {
#define X(name, effect) effect,
    OPCODES(X)
#undef X
};

void height_changes(int by) {
    compiler *c = vm.compiler;
    c->height += by;
    if (c->height > c->function->stack_size) c->function->stack_size = c->height;
}

void emit_byte(int byte) {
    function *f = vm.compiler->function;
    if (f->code_count == f->code_capacity) {
        size_t before = (size_t)f->code_capacity, after = before ? before * 2 : 16;
        f->code = reallocate(f->code, before, after);
        f->lines = reallocate(f->lines, before * sizeof(int), after * sizeof(int));
        f->code_capacity = (int)after;
    }
    f->code[f->code_count] = (uint8_t)byte;
    f->lines[f->code_count++] = parsing.previous.line;
}

void emit(opcode op) {
    emit_byte(op);
    height_changes(effects[op]);
}

void emit_with_byte(opcode op, int operand) {
    emit(op);
    emit_byte(operand);
}

void emit_with_short(opcode op, int operand) {
    emit(op);
    emit_byte(operand >> 8);
    emit_byte(operand & 0xFF);
}

/* Returns where the distance is to be written. */
int emit_jump(opcode op) {
    emit_with_short(op, 0);
    return vm.compiler->function->code_count - 2;
}

static int distance(int bytes) {
    if (bytes > 0xFFFF) syntax_error(&parsing.previous, "the function is too long");
    return bytes;
}

void patch_jump(int at) {
    function *f = vm.compiler->function;
    int jump = distance(f->code_count - at - 2);
    f->code[at] = (uint8_t)(jump >> 8);
    f->code[at + 1] = (uint8_t)jump;
}

void emit_loop(int start) { emit_with_short(OP_LOOP, distance(vm.compiler->function->code_count + 3 - start)); }

int constant(value v) {
    function *f = vm.compiler->function;
    for (int i = 0; i < f->constant_count; i++)
        if (f->constants[i] == v) return i;
    if (f->constant_count == 0xFFFF) syntax_error(&parsing.previous, "the function has too many constants");
    if (f->constant_count == f->constant_capacity) {
        size_t before = (size_t)f->constant_capacity, after = before ? before * 2 : 8;
        f->constants = reallocate(f->constants, before * sizeof(value), after * sizeof(value));
        f->constant_capacity = (int)after;
    }
    f->constants[f->constant_count] = v;
    return f->constant_count++;
}

int name_constant(const token *name) { return constant(value_of(new_string(name->start, (size_t)name->length))); }

/* The line of the instruction before ip. */
bool at_line(const function *f, const uint8_t *ip, int *line) {
    if (ip <= f->code) return false;
    *line = f->lines[ip - f->code - 1];
    return true;
}
