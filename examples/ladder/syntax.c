/* syntax.c - from source text to the tree, with every name resolved: a global, a local's slot, or a closure's cell.

   program    = { statement }
   statement  = "let" NAME "=" expression ";" | "fn" NAME parameters block | block
              | "if" expression block [ "else" ( block | if ) ] | "while" expression block
              | "return" [ expression ] ";" | expression [ "=" expression ] ";"
   primary    = NUMBER | STRING | NAME | "nil" | "true" | "false" | "(" expression ")" | "[" items "]"
              | "{" key ":" expression, ... "}" | "fn" parameters block
   suffix     = "(" items ")" | "[" expression "]" | "." NAME */
#include "calc.h"

#include <ctype.h>
#include <stdlib.h>

/* Tokens of one character are that character, and of two characters the first one + PAIR. */
enum {
    END = 0,
    PAIR = 128,
    NUMBER = 256,
    STRING,
    NAME,
    LET,
    FN,
    IF,
    ELSE,
    WHILE,
    RETURN,
    NIL_WORD,
    TRUE_WORD,
    FALSE_WORD,
    AND,
    OR,
    NOT
};

static const char *const words[] = {"let", "fn",   "if",    "else", "while", "return",
                                    "nil", "true", "false", "and",  "or",    "not"};

typedef struct scope {
    struct scope *outer;
    function *function;
    variable *locals; /* innermost first */
    int depth;        /* of the block; 0: the whole function */
} scope;

typedef struct parser {
    program *program;
    scope *scope;
    const char *at; /* behind the token */
    int token, line, token_line;
    const char *text; /* of the token */
    size_t length;
} parser;

static node *expression(parser *p);
static node *block(parser *p);

static void advance(parser *p) {
    for (;; p->at++) {
        if (*p->at == '#') p->at += strcspn(p->at, "\n");
        if (*p->at == '\n') p->line++;
        if (!isspace((unsigned char)*p->at)) break;
    }
    p->token_line = p->line;
    p->text = p->at;
    char c = *p->at;
    if (isdigit((unsigned char)c)) {
        char *end;
        strtod(p->at, &end);
        p->at = end;
        p->token = NUMBER;
    } else if (isalpha((unsigned char)c) || c == '_') {
        while (isalnum((unsigned char)*p->at) || *p->at == '_') p->at++;
        p->token = NAME;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i]) == (size_t)(p->at - p->text) && memcmp(words[i], p->text, strlen(words[i])) == 0)
                p->token = LET + (int)i;
    } else if (c == '"') {
        p->at++;
        p->at += strcspn(p->at, "\"\n");
        if (*p->at != '"') fail(p->line, "the string is not closed");
        p->at++;
        p->token = STRING;
    } else if (c && strchr("=!<>", c) && p->at[1] == '=') {
        p->at += 2;
        p->token = c + PAIR;
    } else {
        p->at += c != 0;
        p->token = c;
    }
    p->length = (size_t)(p->at - p->text);
}

static _Noreturn void unexpected(const parser *p) {
    if (!p->token) fail(p->token_line, "unexpected end of file");
    fail(p->token_line, "unexpected %.*s", (int)p->length, p->text);
}

static bool accept(parser *p, int token) {
    if (p->token != token) return false;
    advance(p);
    return true;
}

static void expect(parser *p, int token) {
    if (!accept(p, token)) unexpected(p);
}

static node *new_node(const parser *p, node_kind kind) {
    node *n = zeroed(sizeof *n);
    n->kind = kind;
    n->line = p->token_line;
    return n;
}

static node *new_constant(const parser *p, value v) {
    node *n = new_node(p, NODE_CONSTANT);
    n->constant = v;
    return n;
}

int program_global(program *p, const char *text, size_t length, bool is_literal) {
    for (int i = 0; i < p->global_count; i++)
        if (p->globals[i].is_literal == is_literal && p->globals[i].length == length &&
            memcmp(p->globals[i].text, text, length) == 0)
            return i;
    if (p->global_count == GLOBALS_MAX) fail(0, "more than %d globals and literals", GLOBALS_MAX);
    p->globals[p->global_count] = (global){text, length, is_literal, is_literal, 0};
    return p->global_count++;
}

static node *new_literal(const parser *p, const char *text, size_t length) {
    node *n = new_node(p, NODE_GLOBAL);
    n->index = program_global(p->program, text, length, true);
    return n;
}

/* Names. */

static variable *declare(parser *p) {
    scope *s = p->scope;
    variable *v = zeroed(sizeof *v);
    if (p->token != NAME) unexpected(p);
    *v = (variable){p->text, p->length, s->locals ? s->locals->slot + 1 : 0, s->depth, false, s->locals};
    s->locals = v;
    if (s->function->slot_count <= v->slot) s->function->slot_count = v->slot + 1;
    advance(p);
    return v;
}

static variable *find_local(const scope *s, const char *name, size_t length) {
    variable *v = s->locals;
    while (v && (v->length != length || memcmp(v->name, name, length) != 0)) v = v->outer;
    return v;
}

/* The index of the function's cell for a name of an enclosing function; -1: there is none. */
static int find_upvalue(scope *s, const char *name, size_t length) {
    if (!s->outer) return -1;
    function *f = s->function;
    variable *local = find_local(s->outer, name, length);
    capture c = {local, local ? 0 : find_upvalue(s->outer, name, length)};
    if (c.upvalue < 0) return -1;
    if (local) local->captured = true;
    for (int i = 0; i < f->capture_count; i++)
        if (f->captures[i].local == c.local && f->captures[i].upvalue == c.upvalue) return i;
    f->captures = realloc(f->captures, (size_t)(f->capture_count + 1) * sizeof c);
    if (!f->captures) fail(0, "out of memory");
    f->captures[f->capture_count] = c;
    return f->capture_count++;
}

static node *name(parser *p) {
    node *n = new_node(p, NODE_LOCAL);
    n->variable = find_local(p->scope, p->text, p->length);
    if (!n->variable) {
        n->index = find_upvalue(p->scope, p->text, p->length);
        n->kind = NODE_UPVALUE;
        if (n->index < 0) {
            n->index = program_global(p->program, p->text, p->length, false);
            n->kind = NODE_GLOBAL;
            if (!p->program->globals[n->index].line) p->program->globals[n->index].line = p->token_line;
        }
    }
    advance(p);
    return n;
}

/* The place of a new variable: a global at the top level, else a local. */
static node *new_variable(parser *p) {
    node *n;
    if (p->scope->outer || p->scope->depth) {
        n = new_node(p, NODE_LOCAL);
        n->variable = declare(p);
        return n;
    }
    if (p->token != NAME) unexpected(p);
    n = name(p);
    if (n->kind == NODE_GLOBAL) p->program->globals[n->index].is_defined = true;
    return n;
}

/* Expressions. */

static node **append(node *list, node **end, node *item) {
    *end = item;
    list->count++;
    return &item->next;
}

static node *items(parser *p, node *list, int close) {
    node **end = &list->items;
    while (p->token != close) {
        end = append(list, end, expression(p));
        if (!accept(p, ',')) break;
    }
    expect(p, close);
    return list;
}

static node *table(parser *p) {
    node *n = new_node(p, NODE_TABLE), **end = &n->items;
    expect(p, '{');
    while (p->token != '}') {
        end = append(n, end, expression(p));
        expect(p, ':');
        end = append(n, end, expression(p));
        if (!accept(p, ',')) break;
    }
    expect(p, '}');
    return n;
}

static node *function_node(parser *p) {
    node *n = new_node(p, NODE_FUNCTION);
    function *f = n->function = zeroed(sizeof *f);
    scope inner = {p->scope, f, NULL, 0};
    f->parameters = zeroed(PARAMETERS_MAX * sizeof *f->parameters);
    f->slot_count = 1;
    p->scope = &inner;
    expect(p, '(');
    while (p->token != ')') {
        if (f->parameter_count == PARAMETERS_MAX) fail(p->line, "more than %d parameters", PARAMETERS_MAX);
        f->parameters[f->parameter_count++] = declare(p);
        if (!accept(p, ',')) break;
    }
    expect(p, ')');
    f->body = block(p);
    p->scope = inner.outer;
    return n;
}

static node *primary(parser *p) {
    node *n;
    switch (p->token) {
    case NUMBER:
        n = new_constant(p, number(strtod(p->text, NULL)));
        break;
    case STRING:
        n = new_literal(p, p->text + 1, p->length - 2);
        break;
    case NIL_WORD:
        n = new_constant(p, NIL);
        break;
    case TRUE_WORD:
    case FALSE_WORD:
        n = new_constant(p, boolean(p->token == TRUE_WORD));
        break;
    case NAME:
        return name(p);
    case '{':
        return table(p);
    case FN:
        advance(p);
        return function_node(p);
    case '(':
        advance(p);
        n = expression(p);
        expect(p, ')');
        return n;
    case '[':
        n = new_node(p, NODE_LIST);
        advance(p);
        return items(p, n, ']');
    default:
        unexpected(p);
    }
    advance(p);
    return n;
}

static node *suffixed(parser *p) {
    node *n = primary(p);
    for (;;) {
        node *outer = new_node(p, p->token == '(' ? NODE_CALL : NODE_INDEX);
        outer->a = n;
        if (accept(p, '(')) {
            items(p, outer, ')');
            if (outer->count > PARAMETERS_MAX) fail(outer->line, "more than %d arguments", PARAMETERS_MAX);
        } else if (accept(p, '[')) {
            outer->b = expression(p);
            expect(p, ']');
        } else if (accept(p, '.')) {
            if (p->token != NAME) unexpected(p);
            outer->b = new_literal(p, p->text, p->length);
            advance(p);
        } else {
            free(outer);
            return n;
        }
        n = outer;
    }
}

static node *unary(parser *p) {
    if (p->token != '-' && p->token != NOT) return suffixed(p);
    node *n = new_node(p, p->token == NOT ? NODE_NOT : NODE_NEGATE);
    advance(p);
    n->a = unary(p);
    return n;
}

static const struct {
    int token, binding; /* the higher, the tighter */
    char name;          /* what node.op says */
} operators[] = {{OR, 1, 0},           {AND, 2, 0},   {'=' + PAIR, 3, '='}, {'!' + PAIR, 3, '!'}, {'<' + PAIR, 4, 'l'},
                 {'>' + PAIR, 4, 'g'}, {'<', 4, '<'}, {'>', 4, '>'},        {'+', 5, '+'},        {'-', 5, '-'},
                 {'*', 6, '*'},        {'/', 6, '/'}, {'%', 6, '%'}};

/* Operators that bind at least as tightly as `least`, the leftmost first. */
static node *operation(parser *p, int least) {
    node *left = unary(p);
    for (size_t i = 0; i < sizeof operators / sizeof *operators;) {
        if (operators[i].token != p->token || operators[i].binding < least) {
            i++;
            continue;
        }
        node *n = new_node(p, p->token == OR ? NODE_OR : p->token == AND ? NODE_AND : NODE_BINARY);
        n->op = operators[i].name;
        advance(p);
        n->a = left;
        n->b = operation(p, operators[i].binding + 1);
        left = n;
        i = 0;
    }
    return left;
}

static node *expression(parser *p) { return operation(p, 1); }

/* Statements. */

static node *if_statement(parser *p) {
    node *n = new_node(p, NODE_IF);
    expect(p, IF);
    n->a = expression(p);
    n->b = block(p);
    if (accept(p, ELSE)) n->c = p->token == IF ? if_statement(p) : block(p);
    return n;
}

static node *let_statement(parser *p) {
    node *n = new_node(p, NODE_LET);
    if (accept(p, FN)) { /* the function may refer to itself */
        n->a = new_variable(p);
        n->b = function_node(p);
        return n;
    }
    expect(p, LET);
    parser at_name = *p;
    if (p->token != NAME) unexpected(p);
    advance(p);
    expect(p, '=');
    n->b = expression(p);
    parser after = *p;
    *p = at_name; /* the new name holds from behind its initializer */
    n->a = new_variable(p);
    *p = after;
    expect(p, ';');
    return n;
}

static node *statement(parser *p) {
    node *n;
    switch (p->token) {
    case LET:
        return let_statement(p);
    case FN:
        if (isspace((unsigned char)*p->at)) return let_statement(p);
        break;
    case IF:
        return if_statement(p);
    case '{':
        return block(p);
    case WHILE:
        n = new_node(p, NODE_WHILE);
        advance(p);
        n->a = expression(p);
        n->b = block(p);
        return n;
    case RETURN:
        n = new_node(p, NODE_RETURN);
        advance(p);
        if (p->token != ';') n->a = expression(p);
        expect(p, ';');
        return n;
    default:
        break;
    }
    n = new_node(p, NODE_DISCARD);
    n->a = expression(p);
    if (accept(p, '=')) {
        if (n->a->kind != NODE_INDEX && n->a->kind != NODE_LOCAL && n->a->kind != NODE_UPVALUE &&
            n->a->kind != NODE_GLOBAL)
            fail(n->line, "this cannot be assigned to");
        n->kind = NODE_ASSIGN;
        n->b = expression(p);
    }
    expect(p, ';');
    return n;
}

static node *statements(parser *p, int close) {
    node *n = new_node(p, NODE_BLOCK), **end = &n->items;
    while (p->token != close) end = append(n, end, statement(p));
    return n;
}

static node *block(parser *p) {
    expect(p, '{');
    p->scope->depth++;
    node *n = statements(p, '}');
    while (p->scope->locals && p->scope->locals->depth == p->scope->depth) p->scope->locals = p->scope->locals->outer;
    p->scope->depth--;
    expect(p, '}');
    return n;
}

void program_parse(program *program, const char *source) {
    parser p = {.program = program, .at = source, .line = 1};
    scope outermost = {NULL, zeroed(sizeof(function)), NULL, 0};
    p.scope = &outermost;
    program->main = outermost.function;
    program->main->slot_count = 1;
    advance(&p);
    program->main->body = statements(&p, END);
    for (int i = 0; i < program->global_count; i++) {
        const global *g = &program->globals[i];
        if (!g->is_defined) fail(g->line, "%.*s is not defined", (int)g->length, g->text);
    }
}
