/* scope.c - functions that are being compiled, and where a name leads to. */
#include "compile.h"

void compiler_open(compiler *c, function_kind kind, string *name) {
    memset(c, 0, offsetof(compiler, locals));
    c->local_count = c->depth = 0;
    c->height = 0;
    c->loop = NULL;
    c->kind = kind;
    c->outer = vm.compiler;
    c->has_base = c->outer && c->outer->has_base;
    c->function = new_function(name);
    vm.compiler = c;
    bool is_method = kind == FUNCTION_METHOD || kind == FUNCTION_INIT;
    local_add(is_method ? "self" : NULL, is_method ? 4 : 0);
    local_ready();
    height_changes(1);
}

/* The code ends with a return. Locals need not be dropped: that does it. */
function *compiler_close(void) {
    compiler *c = vm.compiler;
    if (c->kind == FUNCTION_INIT)
        emit_with_byte(OP_GET_LOCAL, 0);
    else
        emit(OP_NIL);
    emit(OP_RETURN);
    vm.compiler = c->outer;
    return c->function;
}

void scope_open(void) { vm.compiler->depth++; }

/* Emits what takes the locals from `down_to` on off the stack; they stay known. */
void locals_drop(int down_to) {
    compiler *c = vm.compiler;
    int height = c->height;
    for (int i = c->local_count - 1; i >= down_to; i--) emit(c->locals[i].is_captured ? OP_CLOSE_UPVALUE : OP_POP);
    c->height = height;
}

void scope_close(void) {
    compiler *c = vm.compiler;
    int left = c->local_count;
    c->depth--;
    while (left > 0 && c->locals[left - 1].depth > c->depth) left--;
    locals_drop(left);
    height_changes(left - c->local_count);
    c->local_count = left;
}

static bool is_named(const local *l, const char *name, int length) {
    return l->name && l->length == length && memcmp(l->name, name, (size_t)length) == 0;
}

/* The value on top of the stack becomes a local variable, after local_ready. */
int local_add(const char *name, int length) {
    compiler *c = vm.compiler;
    if (c->local_count == LOCALS_MAX)
        syntax_error(&parsing.previous, "a function has at most %d variables", LOCALS_MAX - 1);
    for (int i = c->local_count - 1; name && i >= 0 && (c->locals[i].depth == c->depth || c->locals[i].depth < 0); i--)
        if (is_named(&c->locals[i], name, length))
            syntax_error(&parsing.previous, "the scope has a variable of this name");
    local l = {name, length, -1, false};
    c->locals[c->local_count] = l;
    return c->local_count++;
}

void local_ready(void) { vm.compiler->locals[vm.compiler->local_count - 1].depth = vm.compiler->depth; }

static int find_local(const compiler *c, const token *name) {
    for (int i = c->local_count - 1; i >= 0; i--)
        if (c->locals[i].depth >= 0 && is_named(&c->locals[i], name->start, name->length)) return i;
    return -1;
}

static int add_capture(compiler *c, int index, bool is_local) {
    int count = c->function->upvalue_count;
    for (int i = 0; i < count; i++)
        if (c->captures[i].index == index && c->captures[i].is_local == is_local) return i;
    if (count == CAPTURES_MAX)
        syntax_error(&parsing.previous, "a function captures at most %d variables", CAPTURES_MAX);
    c->captures[count].index = (uint8_t)index;
    c->captures[count].is_local = is_local;
    return c->function->upvalue_count++;
}

static int find_capture(compiler *c, const token *name) {
    if (!c->outer) return -1;
    int index = find_local(c->outer, name);
    if (index >= 0) {
        c->outer->locals[index].is_captured = true;
        return add_capture(c, index, true);
    }
    index = find_capture(c->outer, name);
    return index < 0 ? -1 : add_capture(c, index, false);
}

/* The index of the global variable of that name, which is made if there is none. */
int global_index(string *name) {
    for (int i = 0; i < vm.global_count; i++)
        if (vm.global_names[i] == name) return i;
    if (vm.global_count == GLOBALS_MAX) syntax_error(&parsing.previous, "there are too many global variables");
    if (vm.global_count == vm.global_capacity) {
        size_t before = (size_t)vm.global_capacity, after = before ? before * 2 : 64;
        vm.globals = reallocate(vm.globals, before * sizeof(value), after * sizeof(value));
        vm.global_names = reallocate(vm.global_names, before * sizeof(string *), after * sizeof(string *));
        vm.global_capacity = (int)after;
    }
    vm.globals[vm.global_count] = ABSENT;
    vm.global_names[vm.global_count] = name;
    return vm.global_count++;
}

static void access(const token *name, opcode local_op, opcode upvalue_op, opcode global_op) {
    int index = find_local(vm.compiler, name);
    if (index >= 0) {
        emit_with_byte(local_op, index);
        return;
    }
    index = find_capture(vm.compiler, name);
    if (index >= 0)
        emit_with_byte(upvalue_op, index);
    else
        emit_with_short(global_op, global_index(new_string(name->start, (size_t)name->length)));
}

void variable_get(const token *name) { access(name, OP_GET_LOCAL, OP_GET_UPVALUE, OP_GET_GLOBAL); }
void variable_set(const token *name) { access(name, OP_SET_LOCAL, OP_SET_UPVALUE, OP_SET_GLOBAL); }
