/* interpret.c - runs a checked program by walking its tree, slowly and without a collector: what compiled code is compared
   with. It shares nothing with the code generator, not even the layout of objects. It frees nothing before the end.
   Threads run at once, when they are started; there are no collections. */
#include "interpret.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEPTH_MAX = 5000, NUMBER_BYTES = 40 };

typedef struct object object;

typedef union word {
    int64_t i;
    double f;
    object *ref;
} word;

/* Any object: fields, elements, bytes, or a function with its receiver. */
struct object {
    const function *function;
    int64_t length; /* of words, or of bytes */
    word words[];
};

typedef struct frame {
    const function *function;
    word *locals;
    word result;
} frame;

/* How a statement ended. */
typedef enum outcome { GOES_ON, BREAKS, CONTINUES, RETURNS } outcome;

static const program *running;
static const jit_options *options;
static int depth;
static void **memory; /* all that was allocated, linked by the first word */

static _Noreturn void fail_at(const frame *f, position at, const char *message) {
    fflush(stdout);
    fprintf(stderr, "%s:%d: error: %s, in %s\n", running->path, at.line, message, f->function->full_name);
    exit(1);
}

static _Noreturn void fail_null(const frame *f, position at) {
    fail_at(f, at, "null has no fields, elements or methods, and cannot be called");
}

static object *allocate(const frame *f, position at, int64_t length, size_t bytes) {
    void **block = calloc(1, sizeof(void *) + sizeof(object) + bytes);
    if (!block) fail_at(f, at, "out of memory");
    *block = memory;
    memory = block;
    object *made = (object *)(block + 1);
    made->length = length;
    return made;
}

static object *new_words(const frame *f, position at, int64_t count) {
    if (count < 0 || count > INT64_MAX / 16) fail_at(f, at, "the length of an array is negative or too large");
    return allocate(f, at, count, (size_t)count * sizeof(word));
}

static char *bytes_of(object *s) { return (char *)s->words; }

static object *new_string(const frame *f, position at, const char *bytes, size_t count) {
    object *made = allocate(f, at, (int64_t)count, count + 1);
    if (bytes) memcpy(bytes_of(made), bytes, count);
    return made;
}

/* Operators. */

static int64_t divide(int64_t a, int64_t b) { return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b; }
static int64_t remainder_of(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
static int64_t shift_right(int64_t a, int count) { return a < 0 ? ~(~a >> count) : a >> count; }

static int64_t int_operator(const frame *f, const expression *e, int64_t a, int64_t b) {
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    if (b == 0 && (e->op == BINARY_DIVIDE || e->op == BINARY_REMAINDER)) fail_at(f, e->at, "division by zero");
    switch (e->op) {
    case BINARY_ADD:
        return (int64_t)(ua + ub);
    case BINARY_SUBTRACT:
        return (int64_t)(ua - ub);
    case BINARY_MULTIPLY:
        return (int64_t)(ua * ub);
    case BINARY_DIVIDE:
        return divide(a, b);
    case BINARY_REMAINDER:
        return remainder_of(a, b);
    case BINARY_AND_BITS:
        return a & b;
    case BINARY_OR_BITS:
        return a | b;
    case BINARY_XOR_BITS:
        return a ^ b;
    case BINARY_SHIFT_LEFT:
        return (int64_t)(ua << (ub & 63));
    case BINARY_SHIFT_RIGHT:
        return shift_right(a, (int)(ub & 63));
    case BINARY_EQUAL:
        return a == b;
    case BINARY_NOT_EQUAL:
        return a != b;
    case BINARY_LESS:
        return a < b;
    case BINARY_LESS_EQUAL:
        return a <= b;
    case BINARY_GREATER:
        return a > b;
    default:
        return a >= b;
    }
}

static word float_operator(int op, double a, double b) {
    switch (op) {
    case BINARY_ADD:
        return (word){.f = a + b};
    case BINARY_SUBTRACT:
        return (word){.f = a - b};
    case BINARY_MULTIPLY:
        return (word){.f = a * b};
    case BINARY_DIVIDE:
        return (word){.f = a / b};
    case BINARY_EQUAL:
        return (word){.i = a == b};
    case BINARY_NOT_EQUAL:
        return (word){.i = a != b};
    case BINARY_LESS:
        return (word){.i = a < b};
    case BINARY_LESS_EQUAL:
        return (word){.i = a <= b};
    case BINARY_GREATER:
        return (word){.i = a > b};
    default:
        return (word){.i = a >= b};
    }
}

static word evaluate(frame *f, const expression *e);

static word binary(frame *f, const expression *e) {
    word a = evaluate(f, e->left);
    if (e->op == BINARY_AND && !a.i) return a;
    if (e->op == BINARY_OR && a.i) return a;
    word b = evaluate(f, e->right);
    if (e->op == BINARY_AND || e->op == BINARY_OR) return b;
    if (e->left->type->kind == TYPE_FLOAT) return float_operator(e->op, a.f, b.f);
    if (!type_is_reference(e->left->type)) return (word){.i = int_operator(f, e, a.i, b.i)};
    return (word){.i = (a.ref == b.ref) == (e->op == BINARY_EQUAL)};
}

static word unary(frame *f, const expression *e) {
    word a = evaluate(f, e->left);
    switch ((unary_op)e->op) {
    case UNARY_NEGATE:
        if (e->type->kind == TYPE_FLOAT)
            a.f = -a.f;
        else
            a.i = (int64_t)(0 - (uint64_t)a.i);
        break;
    case UNARY_COMPLEMENT:
        a.i = ~a.i;
        break;
    case UNARY_NOT:
        a.i = !a.i;
        break;
    case UNARY_TO_FLOAT:
        a.f = (double)a.i;
        break;
    case UNARY_TO_INT:
        a.i = a.f >= -0x1p63 && a.f < 0x1p63 ? (int64_t)a.f : INT64_MIN;
        break;
    case UNARY_SQRT:
        a.f = sqrt(a.f);
        break;
    }
    return a;
}

/* Calls. */

static outcome run(frame *f, const statement *st);

/* Calls the function with arguments in `locals`, which has room for all of its locals. */
static word invoke(const function *callee, word *locals) {
    frame inner = {.function = callee, .locals = locals};
    if (++depth > DEPTH_MAX) fail_at(&inner, callee->at, "stack overflow");
    run(&inner, callee->body);
    depth--;
    free(locals);
    return inner.result;
}

static word *new_locals(const frame *f, position at, const function *callee) {
    word *locals = calloc((size_t)callee->local_count + 1, sizeof *locals);
    if (!locals) fail_at(f, at, "out of memory");
    return locals;
}

static void evaluate_all(frame *f, const expression *arguments, word *values) {
    for (; arguments; arguments = arguments->next) *values++ = evaluate(f, arguments);
}

static word call(frame *f, const expression *e) {
    word *locals = new_locals(f, e->at, e->function);
    evaluate_all(f, e->arguments, locals);
    if (e->function->has_receiver && !locals[0].ref) fail_null(f, e->at);
    return invoke(e->function, locals);
}

static word call_delegate(frame *f, const expression *e) {
    object *callee = evaluate(f, e->left).ref;
    word arguments[PARAMETERS_MAX];
    evaluate_all(f, e->arguments, arguments);
    if (!callee) fail_null(f, e->at);
    word *locals = new_locals(f, e->at, callee->function);
    locals[0] = callee->words[0];
    memcpy(locals + 1, arguments, (size_t)e->argument_count * sizeof(word));
    return invoke(callee->function, locals);
}

/* Native functions. */

static size_t format_float(char text[NUMBER_BYTES], double number) {
    if (isnan(number)) return (size_t)snprintf(text, NUMBER_BYTES, "nan");
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, NUMBER_BYTES, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    if (strspn(text, "-0123456789") == strlen(text)) strcat(text, ".0");
    return strlen(text);
}

static object *concat(const frame *f, position at, object *a, object *b) {
    size_t a_bytes = a ? (size_t)a->length : 0, b_bytes = b ? (size_t)b->length : 0;
    object *both = new_string(f, at, NULL, a_bytes + b_bytes);
    if (a) memcpy(bytes_of(both), bytes_of(a), a_bytes);
    if (b) memcpy(bytes_of(both) + a_bytes, bytes_of(b), b_bytes);
    return both;
}

static int64_t compare(object *a, object *b) {
    int64_t a_bytes = a ? a->length : 0, b_bytes = b ? b->length : 0, common = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = common ? memcmp(bytes_of(a), bytes_of(b), (size_t)common) : 0;
    return order ? order : a_bytes - b_bytes;
}

static object *substring(const frame *f, position at, object *s, int64_t from, int64_t end) {
    if (from < 0 || end < from || end > (s ? s->length : 0)) fail_at(f, at, "the index is out of bounds");
    return new_string(f, at, s ? bytes_of(s) + from : NULL, (size_t)(end - from));
}

static object *text_of_int(const frame *f, position at, int64_t number) {
    char text[NUMBER_BYTES];
    return new_string(f, at, text, (size_t)snprintf(text, NUMBER_BYTES, "%lld", (long long)number));
}

static void write_string(object *s) {
    if (s)
        fwrite(bytes_of(s), 1, (size_t)s->length, stdout);
    else
        fputs("null", stdout);
}

static void start_thread(frame *f, const expression *e, object *callee) {
    if (!callee) fail_null(f, e->at);
    word *locals = new_locals(f, e->at, callee->function);
    locals[0] = callee->words[0];
    invoke(callee->function, locals);
}

static word call_native(frame *f, const expression *e) {
    word a[3] = {{0}};
    char text[NUMBER_BYTES];
    position at = e->at;
    evaluate_all(f, e->arguments, a);
    switch (e->native) {
    case NATIVE_write_int:
        printf("%lld", (long long)a[0].i);
        break;
    case NATIVE_write_float:
        printf("%.*s", (int)format_float(text, a[0].f), text);
        break;
    case NATIVE_write_bool:
        fputs(a[0].i ? "true" : "false", stdout);
        break;
    case NATIVE_write_string:
        write_string(a[0].ref);
        break;
    case NATIVE_concat:
        return (word){.ref = concat(f, at, a[0].ref, a[1].ref)};
    case NATIVE_compare:
        return (word){.i = compare(a[0].ref, a[1].ref)};
    case NATIVE_equal:
        return (word){.i = !a[0].ref == !a[1].ref && compare(a[0].ref, a[1].ref) == 0};
    case NATIVE_int_to_string:
        return (word){.ref = text_of_int(f, at, a[0].i)};
    case NATIVE_float_to_string:
        return (word){.ref = new_string(f, at, text, format_float(text, a[0].f))};
    case NATIVE_bool_to_string:
        return (word){.ref = new_string(f, at, a[0].i ? "true" : "false", a[0].i ? 4 : 5)};
    case NATIVE_char_to_string:
        text[0] = (char)a[0].i;
        return (word){.ref = new_string(f, at, text, 1)};
    case NATIVE_substring:
        return (word){.ref = substring(f, at, a[0].ref, a[1].i, a[2].i)};
    case NATIVE_arg:
        return a[0].i >= 0 && a[0].i < options->argument_count ? (word){.i = options->arguments[a[0].i]} : a[1];
    case NATIVE_fail:
        fail_at(f, at, a[0].ref ? bytes_of(a[0].ref) : "");
    case NATIVE_new_thread:
        start_thread(f, e, a[0].ref);
        break;
    case NATIVE_clock_ns:
        return (word){.i = (int64_t)clock() * (1000000000 / CLOCKS_PER_SEC)};
    default:
        break;
    }
    return (word){0};
}

/* Objects. */

/* A field's offset numbers it: each has 8 bytes. */
static word *field_of(object *o, const field *member) { return &o->words[(member->offset - OBJECT_HEADER_BYTES) / 8]; }

static object *new_object(frame *f, const expression *e) {
    const object_class *c = e->type->of_class;
    word fields[FIELDS_MAX];
    evaluate_all(f, e->arguments, fields);
    object *made = new_words(f, e->at, c->field_count);
    memcpy(made->words, fields, (size_t)e->argument_count * sizeof(word));
    return made;
}

static object *new_delegate(frame *f, const expression *e) {
    word receiver = evaluate(f, e->left);
    if (!receiver.ref && e->left->kind != EXPRESSION_NULL) fail_null(f, e->at);
    object *made = new_words(f, e->at, 1);
    made->function = e->function;
    made->words[0] = receiver;
    return made;
}

static word element(frame *f, const expression *e) {
    object *of = evaluate(f, e->left).ref;
    int64_t i = evaluate(f, e->right).i;
    if (!of) fail_null(f, e->at);
    if (i < 0 || i >= of->length) fail_at(f, e->at, "the index is out of bounds");
    if (e->left->type->kind == TYPE_STRING) return (word){.i = (unsigned char)bytes_of(of)[i]};
    return of->words[i];
}

static object *not_null(frame *f, const expression *e, position at) {
    object *o = evaluate(f, e).ref;
    if (!o) fail_null(f, at);
    return o;
}

static word evaluate(frame *f, const expression *e) {
    switch (e->kind) {
    case EXPRESSION_INT:
    case EXPRESSION_BOOL:
        return (word){.i = e->int_value};
    case EXPRESSION_FLOAT:
        return (word){.f = e->float_value};
    case EXPRESSION_STRING:
        return (word){.ref = new_string(f, e->at, e->text, e->text_bytes)};
    case EXPRESSION_LOCAL:
        return f->locals[e->local->index];
    case EXPRESSION_FIELD:
        return *field_of(not_null(f, e->left, e->at), e->field);
    case EXPRESSION_ELEMENT:
        return element(f, e);
    case EXPRESSION_LENGTH:
        return (word){.i = not_null(f, e->left, e->at)->length};
    case EXPRESSION_UNARY:
        return unary(f, e);
    case EXPRESSION_BINARY:
        return binary(f, e);
    case EXPRESSION_CALL:
        return call(f, e);
    case EXPRESSION_CALL_NATIVE:
        return call_native(f, e);
    case EXPRESSION_CALL_DELEGATE:
        return call_delegate(f, e);
    case EXPRESSION_NEW:
        return (word){.ref = new_object(f, e)};
    case EXPRESSION_NEW_ARRAY:
        return (word){.ref = new_words(f, e->at, evaluate(f, e->left).i)};
    case EXPRESSION_DELEGATE:
        return (word){.ref = new_delegate(f, e)};
    case EXPRESSION_KEEP_ALIVE:
        return evaluate(f, e->left);
    default:
        return (word){0}; /* null; the others do not come out of the checker */
    }
}

/* Statements. */

static void assign(frame *f, const statement *st) {
    const expression *target = st->target;
    if (target->kind == EXPRESSION_LOCAL) {
        f->locals[target->local->index] = evaluate(f, st->value);
        return;
    }
    object *of = evaluate(f, target->left).ref;
    int64_t i = target->kind == EXPRESSION_ELEMENT ? evaluate(f, target->right).i : 0;
    word value = evaluate(f, st->value);
    if (!of) fail_null(f, target->at);
    if (target->kind == EXPRESSION_FIELD) {
        *field_of(of, target->field) = value;
        return;
    }
    if (i < 0 || i >= of->length) fail_at(f, target->at, "the index is out of bounds");
    of->words[i] = value;
}

static outcome run_while(frame *f, const statement *st) {
    while (evaluate(f, st->value).i) {
        outcome ended = run(f, st->body);
        if (ended == RETURNS) return ended;
        if (ended == BREAKS) break;
        if (st->step) run(f, st->step);
    }
    return GOES_ON;
}

static outcome run(frame *f, const statement *st) {
    outcome ended = GOES_ON;
    switch (st->kind) {
    case STATEMENT_BLOCK:
        for (st = st->first; st && ended == GOES_ON; st = st->next) ended = run(f, st);
        return ended;
    case STATEMENT_VARIABLE:
        f->locals[st->local->index] = evaluate(f, st->value);
        break;
    case STATEMENT_ASSIGN:
        assign(f, st);
        break;
    case STATEMENT_EXPRESSION:
        evaluate(f, st->value);
        break;
    case STATEMENT_IF:
        if (evaluate(f, st->value).i) return run(f, st->body);
        return st->otherwise ? run(f, st->otherwise) : GOES_ON;
    case STATEMENT_WHILE:
        return run_while(f, st);
    case STATEMENT_RETURN:
        if (st->value) f->result = evaluate(f, st->value);
        return RETURNS;
    case STATEMENT_BREAK:
        return BREAKS;
    case STATEMENT_CONTINUE:
        return CONTINUES;
    case STATEMENT_FOR:
        break;
    }
    return GOES_ON;
}

int interpret(const program *p, const jit_options *wanted) {
    running = p;
    options = wanted;
    frame outermost = {.function = p->main};
    invoke(p->main, new_locals(&outermost, p->main->at, p->main));
    for (void **block = memory, **next; block; block = next) {
        next = *block;
        free(block);
    }
    memory = NULL;
    return 0;
}
