/* expression.c - compiles expressions, by precedence. */
#include "compile.h"

#include <stdlib.h>

enum { ELEMENTS_MAX = 10000, ARGUMENTS_MAX = 200 };

typedef struct binary_operator {
    int token, level;
    opcode op;
} binary_operator;

static const binary_operator operators[] = {
    {TOKEN_OR, 1, OP_OR},
    {TOKEN_AND, 2, OP_AND},
    {TOKEN_EQUAL, 3, OP_EQUAL},
    {TOKEN_NOT_EQUAL, 3, OP_NOT_EQUAL},
    {TOKEN_PUNCTUATION + '<', 4, OP_LESS},
    {TOKEN_LESS_EQUAL, 4, OP_LESS_EQUAL},
    {TOKEN_PUNCTUATION + '>', 4, OP_GREATER},
    {TOKEN_GREATER_EQUAL, 4, OP_GREATER_EQUAL},
    {TOKEN_PUNCTUATION + '+', 5, OP_ADD},
    {TOKEN_PUNCTUATION + '-', 5, OP_SUBTRACT},
    {TOKEN_PUNCTUATION + '*', 6, OP_MULTIPLY},
    {TOKEN_PUNCTUATION + '/', 6, OP_DIVIDE},
    {TOKEN_PUNCTUATION + '%', 6, OP_MODULO},
};

static int escaped(const token *t, char c) {
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case '"':
    case '\\':
        return c;
    default:
        syntax_error(t, "the string has an unknown escape \\%c", c);
    }
}

static void string_literal(const token *t) {
    text bytes = {0};
    for (const char *at = t->start + 1; at < t->start + t->length - 1; at++) {
        char c = *at;
        if (c == '\\') c = (char)escaped(t, *++at);
        text_add(&bytes, &c, 1);
    }
    int index = constant(value_of(new_string(bytes.length ? bytes.bytes : "", bytes.length)));
    text_free(&bytes);
    emit_with_short(OP_CONSTANT, index);
}

static int arguments(void) {
    int count = 0;
    if (match_character(')')) return 0;
    do {
        if (count == ARGUMENTS_MAX) syntax_error(&parsing.current, "a call has at most %d arguments", ARGUMENTS_MAX);
        expression();
        count++;
    } while (match_character(','));
    expect_character(')');
    return count;
}

static void array_literal(void) {
    int count = 0;
    while (!match_character(']')) {
        if (count++) expect_character(',');
        if (count > ELEMENTS_MAX) syntax_error(&parsing.current, "the list is too long");
        expression();
    }
    emit_with_short(OP_ARRAY, count);
    height_changes(1 - count);
}

static void table_literal(void) {
    int count = 0;
    while (!match_character('}')) {
        if (count++) expect_character(',');
        if (count > ELEMENTS_MAX) syntax_error(&parsing.current, "the table is too long");
        if (match(TOKEN_NAME)) {
            emit_with_short(OP_CONSTANT, name_constant(&parsing.previous));
        } else if (match_character('[')) {
            expression();
            expect_character(']');
        } else {
            expect(TOKEN_STRING, "a key");
            token key = parsing.previous;
            string_literal(&key);
        }
        expect_character(':');
        expression();
    }
    emit_with_short(OP_TABLE, count);
    height_changes(1 - 2 * count);
}

/* From the parameters on. */
void function_literal(function_kind kind, string *name) {
    compiler c;
    compiler_open(&c, kind, name);
    expect_character('(');
    while (!match_character(')')) {
        if (c.function->arity++) expect_character(',');
        expect(TOKEN_NAME, "the name of a parameter");
        local_add(parsing.previous.start, parsing.previous.length);
        local_ready();
        height_changes(1);
    }
    expect_character('{');
    scope_open();
    while (!match_character('}')) statement();
    function *f = compiler_close();
    protect(f);
    emit_with_short(OP_CLOSURE, constant(value_of(f)));
    unprotect(1);
    for (int i = 0; i < f->upvalue_count; i++) {
        emit_byte(c.captures[i].is_local);
        emit_byte(c.captures[i].index);
    }
}

static void self_reference(const token *t) {
    for (const compiler *c = vm.compiler; c; c = c->outer) {
        if (c->kind != FUNCTION_METHOD && c->kind != FUNCTION_INIT) continue;
        token self = {TOKEN_NAME, "self", 4, t->line};
        variable_get(&self);
        return;
    }
    syntax_error(t, "only methods have it");
}

static void super_access(const token *t) {
    token super = {TOKEN_NAME, "super", 5, t->line};
    if (!vm.compiler->has_base) syntax_error(t, "only methods of a class that has a base have it");
    self_reference(t);
    expect_character('.');
    expect(TOKEN_NAME, "the name of a method");
    int name = name_constant(&parsing.previous);
    if (match_character('(')) {
        int count = arguments();
        variable_get(&super);
        emit_with_short(OP_INVOKE_SUPER, name);
        emit_byte(count);
        height_changes(-count - 1);
    } else {
        variable_get(&super);
        emit_with_short(OP_GET_SUPER, name);
        height_changes(-1);
    }
}

static void name_access(bool may_assign) {
    token name = parsing.previous;
    if (may_assign && match_character('=')) {
        expression();
        variable_set(&name);
    } else {
        variable_get(&name);
    }
}

static void primary(bool may_assign) {
    advance();
    token t = parsing.previous;
    switch (t.kind) {
    case TOKEN_NUMBER:
        emit_with_short(OP_CONSTANT, constant(number(strtod(t.start, NULL))));
        return;
    case TOKEN_STRING:
        string_literal(&t);
        return;
    case TOKEN_NIL:
        emit(OP_NIL);
        return;
    case TOKEN_TRUE:
        emit(OP_TRUE);
        return;
    case TOKEN_FALSE:
        emit(OP_FALSE);
        return;
    case TOKEN_NAME:
        name_access(may_assign);
        return;
    case TOKEN_SELF:
        self_reference(&t);
        return;
    case TOKEN_SUPER:
        super_access(&t);
        return;
    case TOKEN_FN:
        function_literal(FUNCTION_PLAIN, NULL);
        return;
    case TOKEN_PUNCTUATION + '(':
        expression();
        expect_character(')');
        return;
    case TOKEN_PUNCTUATION + '[':
        array_literal();
        return;
    case TOKEN_PUNCTUATION + '{':
        table_literal();
        return;
    default:
        syntax_error(&t, "an expression is expected");
    }
}

static void field(bool may_assign) {
    expect(TOKEN_NAME, "the name of a field");
    int name = name_constant(&parsing.previous);
    if (may_assign && match_character('=')) {
        expression();
        emit_with_short(OP_SET_FIELD, name);
    } else if (match_character('(')) {
        int count = arguments();
        emit_with_short(OP_INVOKE, name);
        emit_byte(count);
        height_changes(-count);
    } else {
        emit_with_short(OP_GET_FIELD, name);
    }
}

static void postfix(bool may_assign) {
    primary(may_assign);
    for (;;) {
        if (match_character('(')) {
            int count = arguments();
            emit_with_byte(OP_CALL, count);
            height_changes(-count);
        } else if (match_character('.')) {
            field(may_assign);
        } else if (match_character('[')) {
            expression();
            expect_character(']');
            if (may_assign && match_character('=')) {
                expression();
                emit(OP_SET_INDEX);
            } else {
                emit(OP_GET_INDEX);
            }
        } else {
            return;
        }
    }
}

static void unary(bool may_assign) {
    if (match_character('-')) {
        unary(false);
        emit(OP_NEGATE);
    } else if (match(TOKEN_NOT)) {
        unary(false);
        emit(OP_NOT);
    } else {
        postfix(may_assign);
    }
}

static const binary_operator *current_operator(void) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].token == parsing.current.kind) return &operators[i];
    return NULL;
}

static void binary(int level, bool may_assign) {
    unary(may_assign);
    for (;;) {
        const binary_operator *o = current_operator();
        if (!o || o->level < level) break;
        advance();
        int line = parsing.previous.line;
        int end = o->level <= 2 ? emit_jump(o->op) : 0;
        binary(o->level + 1, false);
        if (o->level <= 2) {
            patch_jump(end);
        } else {
            int behind = parsing.previous.line;
            parsing.previous.line = line; /* errors are those of the operator */
            emit(o->op);
            parsing.previous.line = behind;
        }
    }
    if (parsing.current.kind == TOKEN_PUNCTUATION + '=')
        syntax_error(&parsing.current, "nothing can be assigned to this");
}

void expression(void) { binary(1, true); }
