/* statement.c - compiles statements, and whole programs. */
#include "compile.h"

static void block(void) {
    expect_character('{');
    scope_open();
    while (!match_character('}')) statement();
    scope_close();
}

static bool is_global_scope(void) { return vm.compiler->depth == 0 && vm.compiler->kind == FUNCTION_MAIN; }

/* A variable is declared before its value is computed, and defined after that. Returns a global variable's index. */
static int declare(const token *name) {
    if (is_global_scope()) return global_index(new_string(name->start, (size_t)name->length));
    local_add(name->start, name->length);
    return 0;
}

static void define(int global) {
    if (is_global_scope())
        emit_with_short(OP_DEFINE_GLOBAL, global);
    else
        local_ready();
}

static void let_statement(void) {
    expect(TOKEN_NAME, "the name of a variable");
    int global = declare(&parsing.previous);
    if (match_character('='))
        expression();
    else
        emit(OP_NIL);
    expect_character(';');
    define(global);
}

static void function_statement(void) {
    expect(TOKEN_NAME, "the name of a function");
    token name = parsing.previous;
    int global = declare(&name);
    if (!is_global_scope()) local_ready(); /* it may call itself */
    function_literal(FUNCTION_PLAIN, new_string(name.start, (size_t)name.length));
    define(global);
}

static void method(void) {
    expect(TOKEN_FN, "a method");
    expect(TOKEN_NAME, "the name of a method");
    string *name = new_string(parsing.previous.start, (size_t)parsing.previous.length);
    int index = constant(value_of(name));
    function_literal(name == vm.init ? FUNCTION_INIT : FUNCTION_METHOD, name);
    emit_with_short(OP_METHOD, index);
}

/* The base, if there is one, is a local variable `super` around the methods. */
static void class_statement(void) {
    expect(TOKEN_NAME, "the name of a class");
    token name = parsing.previous;
    int global = declare(&name);
    bool had_base = vm.compiler->has_base;
    emit_with_short(OP_CLASS, name_constant(&name));
    define(global);
    scope_open();
    vm.compiler->has_base = match_character(':');
    if (vm.compiler->has_base) {
        expect(TOKEN_NAME, "the name of a class");
        variable_get(&parsing.previous);
        local_add("super", 5);
        local_ready();
    }
    variable_get(&name);
    if (vm.compiler->has_base) emit(OP_INHERIT);
    expect_character('{');
    while (!match_character('}')) method();
    emit(OP_POP);
    scope_close();
    vm.compiler->has_base = had_base;
}

static void if_statement(void) {
    expression();
    int otherwise = emit_jump(OP_JUMP_IF_FALSE);
    block();
    if (!match(TOKEN_ELSE)) {
        patch_jump(otherwise);
        return;
    }
    int end = emit_jump(OP_JUMP);
    patch_jump(otherwise);
    if (match(TOKEN_IF))
        if_statement();
    else
        block();
    patch_jump(end);
}

static void loop_open(loop *l) {
    l->outer = vm.compiler->loop;
    l->start = vm.compiler->function->code_count;
    l->local_count = vm.compiler->local_count;
    l->break_count = 0;
    vm.compiler->loop = l;
}

static void loop_close(const loop *l) {
    emit_loop(l->start);
    for (int i = 0; i < l->break_count; i++) patch_jump(l->breaks[i]);
    vm.compiler->loop = l->outer;
}

static void while_statement(void) {
    loop l;
    loop_open(&l);
    expression();
    int end = emit_jump(OP_JUMP_IF_FALSE);
    block();
    loop_close(&l);
    patch_jump(end);
}

/* Two locals of the compiler's: where the loop is, and its limit or array. The loop's own variable is new each time. */
static void for_statement(void) {
    loop l;
    expect(TOKEN_NAME, "the name of a variable");
    token name = parsing.previous;
    expect(TOKEN_IN, "'in'");
    scope_open();
    expression();
    int place = local_add(NULL, 0);
    local_ready();
    bool is_range = match(TOKEN_RANGE);
    if (is_range)
        expression();
    else
        emit_with_short(OP_CONSTANT, constant(number(0)));
    local_add(NULL, 0);
    local_ready();
    loop_open(&l);
    emit_with_byte(is_range ? OP_FOR_RANGE : OP_FOR_EACH, place);
    emit_byte(0);
    emit_byte(0);
    int end = vm.compiler->function->code_count - 2;
    scope_open();
    local_add(name.start, name.length);
    local_ready();
    block();
    scope_close();
    loop_close(&l);
    patch_jump(end);
    scope_close();
}

static void jump_statement(bool is_break) {
    loop *l = vm.compiler->loop;
    if (!l) syntax_error(&parsing.previous, "it stands in no loop");
    expect_character(';');
    locals_drop(l->local_count);
    if (!is_break) {
        emit_loop(l->start);
        return;
    }
    if (l->break_count == JUMPS_MAX) syntax_error(&parsing.previous, "the loop has too many breaks");
    l->breaks[l->break_count++] = emit_jump(OP_JUMP);
}

static void return_statement(void) {
    compiler *c = vm.compiler;
    if (c->kind == FUNCTION_INIT) {
        expect_character(';');
        emit_with_byte(OP_GET_LOCAL, 0);
    } else if (match_character(';')) {
        emit(OP_NIL);
    } else {
        expression();
        expect_character(';');
    }
    emit(OP_RETURN);
}

void statement(void) {
    if (match(TOKEN_LET)) {
        let_statement();
    } else if (match(TOKEN_FN)) {
        function_statement();
    } else if (match(TOKEN_CLASS)) {
        class_statement();
    } else if (match(TOKEN_IF)) {
        if_statement();
    } else if (match(TOKEN_WHILE)) {
        while_statement();
    } else if (match(TOKEN_FOR)) {
        for_statement();
    } else if (match(TOKEN_BREAK)) {
        jump_statement(true);
    } else if (match(TOKEN_CONTINUE)) {
        jump_statement(false);
    } else if (match(TOKEN_RETURN)) {
        return_statement();
    } else if (parsing.current.kind == TOKEN_PUNCTUATION + '{') {
        block();
    } else {
        expression();
        expect_character(';');
        emit(OP_POP);
    }
}

function *compile(const char *source) {
    compiler c;
    if (setjmp(parsing.failed)) {
        vm.compiler = NULL;
        vm.held_count = 0;
        return NULL;
    }
    lexer_start(source);
    compiler_open(&c, FUNCTION_MAIN, NULL);
    while (!match(TOKEN_END)) statement();
    return compiler_close();
}
