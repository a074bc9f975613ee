/* parse.c - the grammar, by recursive descent. The first error ends it.

     program     (class | function | "native" NAME signature ";")*
     class       "class" NAME "{" (NAME ":" type ";" | function)* "}"
     function    "fn" NAME signature block
     signature   "(" [NAME ":" type ("," NAME ":" type)*] ")" [":" type]
     type        NAME | "[" "]" type | "fn" "(" [type ("," type)*] ")" [":" type]
     block       "{" statement* "}"
     statement   block | variable ";" | simple ";" | "if" "(" expression ")" statement ["else" statement]
               | "while" "(" expression ")" statement | "for" "(" [variable | simple] ";" [expression] ";" [simple] ")" statement
               | "return" [expression] ";" | "break" ";" | "continue" ";"
     variable    "var" NAME [":" type] ["=" expression]
     simple      expression [("=" | "+=" | "-=" | "*=" | "/=" | "%=") expression | "++" | "--"]
     expression  by the table of binary operators, of unary
     unary       ("-" | "!" | "~") unary | postfix
     postfix     primary ("." NAME | "[" expression "]" | "(" arguments ")")*
     primary     constant | NAME | "(" expression ")" | "new" type "(" arguments ")" | "fn" signature block */
#include "source.h"

enum { DEPTH_MAX = 400 };

static _Noreturn void leave(source *s) { longjmp(*s->syntax_error, 1); }

/* What the next token is, as messages name it. */
static const char *found(source *s) {
    const token *t = &s->token;
    switch (t->kind) {
    case TOKEN_NAME:
        return arena_format(s, "the name %s", t->text);
    case TOKEN_END:
    case TOKEN_INT:
    case TOKEN_FLOAT:
    case TOKEN_STRING:
        return token_texts[t->kind];
    default:
        return arena_format(s, "'%s'", token_texts[t->kind]);
    }
}

static _Noreturn void expected(source *s, const char *what) {
    error_at(s, s->token.at, "expected %s, found %s", what, found(s));
    leave(s);
}

static bool next_is(const source *s, token_kind kind) { return s->token.kind == kind; }

static bool accept(source *s, token_kind kind) {
    if (!next_is(s, kind)) return false;
    next_token(s);
    return true;
}

/* Reads the token; `where` ends the message: "expected ';' after the statement". */
static void require(source *s, token_kind kind, const char *where) {
    if (!accept(s, kind)) expected(s, arena_format(s, "'%s' %s", token_texts[kind], where));
}

static const char *require_name(source *s, const char *what) {
    if (!next_is(s, TOKEN_NAME)) expected(s, what);
    const char *name = s->token.text;
    next_token(s);
    return name;
}

/* Each nested construct counts, so that neither the parser nor those who walk the tree overflow the stack. */
static void deeper(source *s) {
    if (++s->depth <= DEPTH_MAX) return;
    error_at(s, s->token.at, "the program is nested too deeply: more than %d levels", DEPTH_MAX);
    leave(s);
}

/* Types. */

static type_written *parse_type(source *s);

static void parse_function_type(source *s, type_written *t) {
    require(s, TOKEN_OPEN, "after 'fn' in a type");
    type_written **last = &t->parameters;
    while (!accept(s, TOKEN_CLOSE)) {
        if (t->parameter_count++) require(s, TOKEN_COMMA, "or ')' between the types of parameters");
        *last = parse_type(s);
        last = &(*last)->next;
    }
    if (accept(s, TOKEN_COLON)) t->result = parse_type(s);
}

static type_written *parse_type(source *s) {
    deeper(s);
    type_written *t = ARENA_NEW(s, type_written);
    t->at = s->token.at;
    if (accept(s, TOKEN_OPEN_BRACKET)) {
        require(s, TOKEN_CLOSE_BRACKET, "after '[' in a type: []int is the type of arrays of int");
        t->element = parse_type(s);
    } else if (accept(s, TOKEN_FN)) {
        parse_function_type(s, t);
    } else {
        t->name = require_name(s, "a type");
    }
    s->depth--;
    return t;
}

/* Expressions. */

static expression *parse_expression(source *s);
static statement *parse_block(source *s, const char *where);
static void parse_signature(source *s, function *f);

static void parse_arguments(source *s, expression *e) {
    require(s, TOKEN_OPEN, "before the arguments");
    expression **last = &e->arguments;
    while (!accept(s, TOKEN_CLOSE)) {
        if (e->argument_count++) require(s, TOKEN_COMMA, "or ')' after an argument");
        *last = parse_expression(s);
        last = &(*last)->next;
    }
}

static expression *parse_new(source *s) {
    expression *e = new_expression(s, EXPRESSION_NEW_TYPE, s->token.at);
    next_token(s);
    e->type_written = parse_type(s);
    parse_arguments(s, e);
    return e;
}

static expression *parse_function_value(source *s) {
    expression *e = new_expression(s, EXPRESSION_FUNCTION, s->token.at);
    next_token(s);
    function *f = ARENA_NEW(s, function);
    f->native = -1;
    f->at = e->at;
    parse_signature(s, f);
    f->body = parse_block(s, "of a function");
    f->end = f->body->end;
    e->function = f;
    return e;
}

static expression *parse_constant(source *s) {
    const token *t = &s->token;
    expression *e = new_expression(s, EXPRESSION_INT, t->at);
    switch (t->kind) {
    case TOKEN_INT:
        if (t->needs_minus) {
            error_at(s, t->at, "the integer has more than 64 bits");
            leave(s);
        }
        e->int_value = (int64_t)t->int_value;
        break;
    case TOKEN_FLOAT:
        e->kind = EXPRESSION_FLOAT;
        e->float_value = t->float_value;
        break;
    case TOKEN_STRING:
        e->kind = EXPRESSION_STRING;
        e->text = t->text;
        e->text_bytes = t->text_bytes;
        break;
    case TOKEN_TRUE:
    case TOKEN_FALSE:
        e->kind = EXPRESSION_BOOL;
        e->int_value = t->kind == TOKEN_TRUE;
        break;
    case TOKEN_NULL:
        e->kind = EXPRESSION_NULL;
        break;
    case TOKEN_NAME:
        e->kind = EXPRESSION_NAME;
        e->text = t->text;
        break;
    default:
        expected(s, "an expression");
    }
    next_token(s);
    return e;
}

static expression *parse_primary(source *s) {
    if (next_is(s, TOKEN_NEW)) return parse_new(s);
    if (next_is(s, TOKEN_FN)) return parse_function_value(s);
    if (!accept(s, TOKEN_OPEN)) return parse_constant(s);
    expression *e = parse_expression(s);
    require(s, TOKEN_CLOSE, "after an expression in parentheses");
    return e;
}

static expression *parse_postfix(source *s) {
    int depth = s->depth;
    expression *e = parse_primary(s);
    for (;;) {
        expression *inner = e;
        position at = s->token.at;
        deeper(s);
        if (accept(s, TOKEN_DOT)) {
            e = new_expression(s, EXPRESSION_MEMBER, s->token.at);
            e->text = require_name(s, "the name of a field or method after '.'");
        } else if (accept(s, TOKEN_OPEN_BRACKET)) {
            e = new_expression(s, EXPRESSION_ELEMENT, at);
            e->right = parse_expression(s);
            require(s, TOKEN_CLOSE_BRACKET, "after an index");
        } else if (next_is(s, TOKEN_OPEN)) {
            e = new_expression(s, EXPRESSION_INVOKE, at);
            parse_arguments(s, e);
        } else {
            break;
        }
        e->left = inner;
    }
    s->depth = depth;
    return e;
}

/* A minus belongs to the integer after it, so that the least integer can be written. */
static expression *parse_negative(source *s, position at) {
    expression *e = new_expression(s, EXPRESSION_INT, at);
    e->int_value = (int64_t)(0 - s->token.int_value);
    next_token(s);
    return e;
}

static expression *parse_unary(source *s) {
    int op;
    switch (s->token.kind) {
    case TOKEN_MINUS:
        op = UNARY_NEGATE;
        break;
    case TOKEN_NOT:
        op = UNARY_NOT;
        break;
    case TOKEN_COMPLEMENT:
        op = UNARY_COMPLEMENT;
        break;
    default:
        return parse_postfix(s);
    }
    position at = s->token.at;
    next_token(s);
    if (op == UNARY_NEGATE && next_is(s, TOKEN_INT)) return parse_negative(s, at);
    expression *e = new_expression(s, EXPRESSION_UNARY, at);
    e->op = op;
    deeper(s);
    e->left = parse_unary(s);
    s->depth--;
    return e;
}

/* Operators that bind more tightly have higher levels. */
static const struct {
    token_kind token;
    int level, op;
} binary_operators[] = {
    {TOKEN_OR, 1, BINARY_OR},
    {TOKEN_AND, 2, BINARY_AND},
    {TOKEN_EQUAL, 3, BINARY_EQUAL},
    {TOKEN_NOT_EQUAL, 3, BINARY_NOT_EQUAL},
    {TOKEN_LESS, 3, BINARY_LESS},
    {TOKEN_LESS_EQUAL, 3, BINARY_LESS_EQUAL},
    {TOKEN_GREATER, 3, BINARY_GREATER},
    {TOKEN_GREATER_EQUAL, 3, BINARY_GREATER_EQUAL},
    {TOKEN_OR_BITS, 4, BINARY_OR_BITS},
    {TOKEN_XOR_BITS, 5, BINARY_XOR_BITS},
    {TOKEN_AND_BITS, 6, BINARY_AND_BITS},
    {TOKEN_SHIFT_LEFT, 7, BINARY_SHIFT_LEFT},
    {TOKEN_SHIFT_RIGHT, 7, BINARY_SHIFT_RIGHT},
    {TOKEN_PLUS, 8, BINARY_ADD},
    {TOKEN_MINUS, 8, BINARY_SUBTRACT},
    {TOKEN_TIMES, 9, BINARY_MULTIPLY},
    {TOKEN_OVER, 9, BINARY_DIVIDE},
    {TOKEN_REMAINDER, 9, BINARY_REMAINDER},
};

static int find_operator(const source *s) {
    int count = (int)(sizeof binary_operators / sizeof binary_operators[0]);
    for (int i = 0; i < count; i++) {
        if (binary_operators[i].token == s->token.kind) return i;
    }
    return -1;
}

static expression *parse_binary(source *s, int level_min) {
    int depth = s->depth;
    deeper(s);
    expression *e = parse_unary(s);
    for (int i; (i = find_operator(s)) >= 0 && binary_operators[i].level >= level_min;) {
        expression *binary = new_expression(s, EXPRESSION_BINARY, s->token.at);
        deeper(s);
        next_token(s);
        binary->op = binary_operators[i].op;
        binary->left = e;
        binary->right = parse_binary(s, binary_operators[i].level + 1);
        e = binary;
    }
    s->depth = depth;
    return e;
}

static expression *parse_expression(source *s) { return parse_binary(s, 1); }

/* Statements. */

static statement *parse_statement(source *s);

static statement *parse_block(source *s, const char *where) {
    statement *st = new_statement(s, STATEMENT_BLOCK, s->token.at), **last = &st->first;
    require(s, TOKEN_OPEN_BRACE, where);
    while (!next_is(s, TOKEN_CLOSE_BRACE)) {
        if (next_is(s, TOKEN_END))
            expected(s, arena_format(s, "a statement, or '}' for the '{' of line %d", st->at.line));
        *last = parse_statement(s);
        last = &(*last)->next;
    }
    st->end = s->token.at;
    next_token(s);
    return st;
}

static statement *parse_variable(source *s) {
    statement *st = new_statement(s, STATEMENT_VARIABLE, s->token.at);
    next_token(s);
    st->local = ARENA_NEW(s, local);
    st->local->at = s->token.at;
    st->local->name = require_name(s, "the name of a variable");
    if (accept(s, TOKEN_COLON)) st->type_written = parse_type(s);
    if (accept(s, TOKEN_ASSIGN))
        st->value = parse_expression(s);
    else if (!st->type_written)
        expected(s, "':' and a type, or '=' and a value, after the variable's name");
    return st;
}

/* The operator of an assignment; -1 for a plain one. */
static int assignment_operator(token_kind kind) {
    switch (kind) {
    case TOKEN_PLUS_PLUS:
    case TOKEN_PLUS_ASSIGN:
        return BINARY_ADD;
    case TOKEN_MINUS_MINUS:
    case TOKEN_MINUS_ASSIGN:
        return BINARY_SUBTRACT;
    case TOKEN_TIMES_ASSIGN:
        return BINARY_MULTIPLY;
    case TOKEN_OVER_ASSIGN:
        return BINARY_DIVIDE;
    case TOKEN_REMAINDER_ASSIGN:
        return BINARY_REMAINDER;
    default:
        return -1;
    }
}

static statement *parse_simple(source *s) {
    statement *st = new_statement(s, STATEMENT_EXPRESSION, s->token.at);
    st->value = parse_expression(s);
    token t = s->token;
    st->op = assignment_operator(t.kind);
    if (st->op < 0 && t.kind != TOKEN_ASSIGN) return st;
    st->kind = STATEMENT_ASSIGN;
    st->target = st->value;
    next_token(s);
    if (t.kind == TOKEN_PLUS_PLUS || t.kind == TOKEN_MINUS_MINUS) {
        st->value = new_expression(s, EXPRESSION_INT, t.at);
        st->value->int_value = 1;
    } else {
        st->value = parse_expression(s);
    }
    return st;
}

static expression *parse_condition(source *s, const char *what) {
    require(s, TOKEN_OPEN, arena_format(s, "after '%s'", what));
    expression *e = parse_expression(s);
    require(s, TOKEN_CLOSE, "after the condition");
    return e;
}

static statement *parse_if(source *s) {
    statement *st = new_statement(s, STATEMENT_IF, s->token.at);
    next_token(s);
    st->value = parse_condition(s, "if");
    st->body = parse_statement(s);
    if (accept(s, TOKEN_ELSE)) st->otherwise = parse_statement(s);
    return st;
}

static statement *parse_while(source *s) {
    statement *st = new_statement(s, STATEMENT_WHILE, s->token.at);
    next_token(s);
    st->value = parse_condition(s, "while");
    st->body = parse_statement(s);
    return st;
}

static statement *parse_for(source *s) {
    statement *st = new_statement(s, STATEMENT_FOR, s->token.at);
    next_token(s);
    require(s, TOKEN_OPEN, "after 'for'");
    if (next_is(s, TOKEN_VAR))
        st->first = parse_variable(s);
    else if (!next_is(s, TOKEN_SEMICOLON))
        st->first = parse_simple(s);
    require(s, TOKEN_SEMICOLON, "after the first part of 'for'");
    if (!next_is(s, TOKEN_SEMICOLON)) st->value = parse_expression(s);
    require(s, TOKEN_SEMICOLON, "after the condition of 'for'");
    if (!next_is(s, TOKEN_CLOSE)) st->step = parse_simple(s);
    require(s, TOKEN_CLOSE, "after the last part of 'for'");
    st->body = parse_statement(s);
    st->end = s->token.at;
    return st;
}

static statement *parse_return(source *s) {
    statement *st = new_statement(s, STATEMENT_RETURN, s->token.at);
    next_token(s);
    if (!next_is(s, TOKEN_SEMICOLON)) st->value = parse_expression(s);
    require(s, TOKEN_SEMICOLON, "after 'return'");
    return st;
}

static statement *parse_jump(source *s, statement_kind kind) {
    statement *st = new_statement(s, kind, s->token.at);
    const char *where = arena_format(s, "after '%s'", token_texts[s->token.kind]);
    next_token(s);
    require(s, TOKEN_SEMICOLON, where);
    return st;
}

static statement *parse_any_statement(source *s) {
    switch (s->token.kind) {
    case TOKEN_OPEN_BRACE:
        return parse_block(s, "");
    case TOKEN_IF:
        return parse_if(s);
    case TOKEN_WHILE:
        return parse_while(s);
    case TOKEN_FOR:
        return parse_for(s);
    case TOKEN_RETURN:
        return parse_return(s);
    case TOKEN_BREAK:
        return parse_jump(s, STATEMENT_BREAK);
    case TOKEN_CONTINUE:
        return parse_jump(s, STATEMENT_CONTINUE);
    default:
        break;
    }
    statement *st = next_is(s, TOKEN_VAR) ? parse_variable(s) : parse_simple(s);
    require(s, TOKEN_SEMICOLON, "after the statement");
    return st;
}

static statement *parse_statement(source *s) {
    deeper(s);
    statement *st = parse_any_statement(s);
    s->depth--;
    return st;
}

/* Declarations. */

/* Parameters become the function's first locals, and its types one written type. */
static void parse_signature(source *s, function *f) {
    type_written *t = ARENA_NEW(s, type_written), **last_type = &t->parameters;
    local **last = &f->locals;
    t->at = s->token.at;
    require(s, TOKEN_OPEN, "before the parameters");
    while (!accept(s, TOKEN_CLOSE)) {
        if (t->parameter_count++) require(s, TOKEN_COMMA, "or ')' after a parameter");
        *last = ARENA_NEW(s, local);
        (*last)->at = s->token.at;
        (*last)->name = require_name(s, "the name of a parameter");
        last = &(*last)->next;
        require(s, TOKEN_COLON, "and a type after the name of a parameter");
        *last_type = parse_type(s);
        last_type = &(*last_type)->next;
    }
    if (accept(s, TOKEN_COLON)) t->result = parse_type(s);
    f->type_written = t;
}

/* After "fn" or "native". */
static function *parse_function(source *s, bool is_native) {
    function *f = ARENA_NEW(s, function);
    f->native = -1;
    f->at = s->token.at;
    f->name = require_name(s, "the name of a function");
    parse_signature(s, f);
    f->end = s->token.at;
    if (is_native) {
        f->native = 0;
        require(s, TOKEN_SEMICOLON, "after the declaration of a native function");
    } else {
        f->body = parse_block(s, "before the body of a function");
        f->end = f->body->end;
    }
    return f;
}

static void parse_class(source *s, object_class *c) {
    field **last_field = &c->fields;
    function **last_method = &c->methods;
    c->at = s->token.at;
    c->name = require_name(s, "the name of a class");
    require(s, TOKEN_OPEN_BRACE, "before the members of a class");
    while (!accept(s, TOKEN_CLOSE_BRACE)) {
        if (accept(s, TOKEN_FN)) {
            *last_method = parse_function(s, false);
            last_method = &(*last_method)->next;
            continue;
        }
        field *member = ARENA_NEW(s, field);
        member->at = s->token.at;
        member->name = require_name(s, "a field, 'fn', or '}' in a class");
        require(s, TOKEN_COLON, "and a type after the name of a field");
        member->type_written = parse_type(s);
        require(s, TOKEN_SEMICOLON, "after a field");
        *last_field = member;
        last_field = &member->next;
        c->field_count++;
    }
}

static void parse_program(source *s) {
    object_class **last_class = &s->program.classes;
    function **last = &s->program.functions;
    s->cursor = s->text;
    s->cursor_at = (position){1, 1};
    next_token(s);
    while (!next_is(s, TOKEN_END)) {
        if (accept(s, TOKEN_CLASS)) {
            *last_class = ARENA_NEW(s, object_class);
            parse_class(s, *last_class);
            last_class = &(*last_class)->next;
        } else if (next_is(s, TOKEN_FN) || next_is(s, TOKEN_NATIVE)) {
            bool is_native = next_is(s, TOKEN_NATIVE);
            next_token(s);
            *last = parse_function(s, is_native);
            last = &(*last)->next;
        } else {
            expected(s, "'class', 'fn' or 'native'");
        }
    }
}

bool parse_source(source *s) {
    jmp_buf syntax_error;
    s->syntax_error = &syntax_error;
    if (setjmp(syntax_error)) return false;
    parse_program(s);
    return true;
}
