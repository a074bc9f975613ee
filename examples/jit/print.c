/* print.c - the checked program as text: what the code generator sees, with the offsets, indices and scopes. */
#include "ast.h"

#include <math.h>
#include <stdio.h>

static const char *const native_names[NATIVE_COUNT] = {
#define X(name, type) #name,
    NATIVES(X)
#undef X
};

static const char *const unary_texts[] = {"-", "~", "!", "float", "int", "sqrt"};
static const char *const binary_texts[] = {"+",  "-",  "*",  "/", "%",  "&", "|",  "^",  "<<",
                                           ">>", "==", "!=", "<", "<=", ">", ">=", "&&", "||"};

static void print_expression(const expression *e);

static void print_arguments(const expression *a) {
    putchar('(');
    for (; a; a = a->next) {
        print_expression(a);
        if (a->next) fputs(", ", stdout);
    }
    putchar(')');
}

static void print_text(const char *text, size_t bytes) {
    putchar('"');
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            fputs("\\n", stdout);
        else if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c >= ' ' && c < 127)
            putchar(c);
        else
            printf("\\x%02x", c);
    }
    putchar('"');
}

static void print_constant(const expression *e) {
    switch (e->kind) {
    case EXPRESSION_INT:
        printf("%lld", (long long)e->int_value);
        break;
    case EXPRESSION_FLOAT:
        printf(floor(e->float_value) == e->float_value ? "%.1f" : "%.17g", e->float_value);
        break;
    case EXPRESSION_BOOL:
        fputs(e->int_value ? "true" : "false", stdout);
        break;
    case EXPRESSION_STRING:
        print_text(e->text, e->text_bytes);
        break;
    default:
        fputs("null", stdout);
        break;
    }
}

static void print_operator(const expression *e) {
    if (e->kind == EXPRESSION_UNARY) {
        printf("%s(", unary_texts[e->op]);
        print_expression(e->left);
    } else {
        putchar('(');
        print_expression(e->left);
        printf(" %s ", binary_texts[e->op]);
        print_expression(e->right);
    }
    putchar(')');
}

static void print_call(const expression *e) {
    if (e->kind == EXPRESSION_CALL) {
        printf("%s", e->function->full_name);
    } else if (e->kind == EXPRESSION_CALL_NATIVE) {
        printf("native_%s", native_names[e->native]);
    } else {
        fputs("call ", stdout);
        print_expression(e->left);
    }
    print_arguments(e->arguments);
}

static void print_expression(const expression *e) {
    switch (e->kind) {
    case EXPRESSION_LOCAL:
        printf("%s", e->local->name);
        break;
    case EXPRESSION_FIELD:
        print_expression(e->left);
        printf(".%s@%d", e->field->name, e->field->offset);
        break;
    case EXPRESSION_ELEMENT:
        print_expression(e->left);
        putchar('[');
        print_expression(e->right);
        putchar(']');
        break;
    case EXPRESSION_LENGTH:
        print_expression(e->left);
        fputs(".length", stdout);
        break;
    case EXPRESSION_UNARY:
    case EXPRESSION_BINARY:
        print_operator(e);
        break;
    case EXPRESSION_CALL:
    case EXPRESSION_CALL_NATIVE:
    case EXPRESSION_CALL_DELEGATE:
        print_call(e);
        break;
    case EXPRESSION_NEW:
        printf("new %s", e->type->name);
        print_arguments(e->arguments);
        break;
    case EXPRESSION_NEW_ARRAY:
        printf("new %s(", e->type->name);
        print_expression(e->left);
        putchar(')');
        break;
    case EXPRESSION_DELEGATE:
        fputs("delegate(", stdout);
        print_expression(e->left);
        printf(", %s)", e->function->full_name);
        break;
    case EXPRESSION_KEEP_ALIVE:
        fputs("keep_alive(", stdout);
        print_expression(e->left);
        putchar(')');
        break;
    default:
        print_constant(e);
        break;
    }
}

static void print_statement(const statement *st, int depth);

static void print_block(const statement *st, int depth) {
    puts("{");
    for (; st; st = st->next) print_statement(st, depth + 1);
    printf("%*s}", 7 + 4 * depth, "");
}

/* A body is printed in braces even if it has none. */
static void print_body(const statement *body, int depth) {
    if (body->kind == STATEMENT_BLOCK) {
        print_block(body->first, depth);
        return;
    }
    puts("{");
    print_statement(body, depth + 1);
    printf("%*s}", 7 + 4 * depth, "");
}

static void print_jump(const char *word, const expression *value) {
    printf("%s%s", word, value ? " " : "");
    if (value) print_expression(value);
}

static void print_while(const statement *st, int depth) {
    fputs("while (", stdout);
    print_expression(st->value);
    fputs(") ", stdout);
    print_body(st->body, depth);
    if (!st->step) return;
    puts(" step {");
    print_statement(st->step, depth + 1);
    printf("%*s}", 7 + 4 * depth, "");
}

static void print_if(const statement *st, int depth) {
    fputs("if (", stdout);
    print_expression(st->value);
    fputs(") ", stdout);
    print_body(st->body, depth);
    if (!st->otherwise) return;
    fputs(" else ", stdout);
    print_body(st->otherwise, depth);
}

static void print_statement(const statement *st, int depth) {
    printf("%5d  %*s", st->at.line, 4 * depth, "");
    switch (st->kind) {
    case STATEMENT_BLOCK:
        print_block(st->first, depth);
        break;
    case STATEMENT_VARIABLE:
        printf("var %s: %s = ", st->local->name, st->local->type->name);
        print_expression(st->value);
        break;
    case STATEMENT_ASSIGN:
        print_expression(st->target);
        fputs(" = ", stdout);
        print_expression(st->value);
        break;
    case STATEMENT_EXPRESSION:
        print_expression(st->value);
        break;
    case STATEMENT_IF:
        print_if(st, depth);
        break;
    case STATEMENT_WHILE:
        print_while(st, depth);
        break;
    case STATEMENT_RETURN:
        print_jump("return", st->value);
        break;
    case STATEMENT_BREAK:
        print_jump("break", NULL);
        break;
    case STATEMENT_CONTINUE:
        print_jump("continue", NULL);
        break;
    case STATEMENT_FOR:
        break; /* has become a block */
    }
    putchar('\n');
}

static void print_class(const object_class *c) {
    printf("class %s, %d bytes%s\n", c->name, c->instance_bytes, c->is_hidden ? ", for captured variables" : "");
    for (const field *f = c->fields; f; f = f->next) printf("    %3d  %s: %s\n", f->offset, f->name, f->type->name);
    putchar('\n');
}

static void print_function(const function *f) {
    printf("fn %s, %s\n", f->full_name, f->type->name);
    for (const local *l = f->locals; l; l = l->next) {
        printf("    local %d  %s: %s, line %d to %d", l->index, l->name, l->type->name, l->at.line, l->end.line);
        printf("%s%s\n", l->index < f->parameter_count ? ", parameter" : "", l->is_captured ? ", captured" : "");
    }
    print_statement(f->body, 0);
    putchar('\n');
}

void program_print(const program *p) {
    for (const object_class *c = p->classes; c; c = c->next) print_class(c);
    for (const function *f = p->compiled; f; f = f->next_compiled) print_function(f);
}
