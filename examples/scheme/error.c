/* error.c - conditions: making them, finding the source line, and the ways out of C code that met one. */
#include "compile.h"

#include <stdarg.h>
#include <stdlib.h>

/* "file:line" of the innermost frame that is not the prelude's. */
bool error_where(machine *m, char *buffer, size_t bytes) {
    const value *fp = m->fp;
    const uint32_t *pc = m->pc;
    while (m->running && fp) {
        const code *c = closure_of(fp[-3])->code;
        if (c->file != 0) {
            snprintf(buffer, bytes, "%s:%u", m->files[c->file], c->lines[pc - c->instructions - 1]);
            return true;
        }
        pc = (const uint32_t *)fp[-2];
        fp = (const value *)fp[-1];
    }
    return false;
}

/* Leaves the C code that failed. Its shadow-stack frames are dropped by error_protect, which set the jump up. */
_Noreturn void error_throw_value(machine *m, value v) {
    m->r.thrown = v;
    longjmp(m->recover, m->running ? RECOVER_RAISE : RECOVER_ABORT);
}

static _Noreturn void throw_text(machine *m, const char *where, const char *format, va_list arguments) {
    char message[512];
    vsnprintf(message, sizeof message, format, arguments);
    value text = make_string(m, message, strlen(message)), place = FALSE_VALUE;
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, text, place);
    if (where) place = make_string(m, where, strlen(where));
    condition *c = make(m, KIND_CONDITION);
    c->message = text;
    c->irritants = NIL;
    c->where = place;
    error_throw_value(m, value_of(c));
}

void error_throw(machine *m, const char *format, ...) {
    char where[300];
    bool known = error_where(m, where, sizeof where);
    va_list arguments;
    va_start(arguments, format);
    throw_text(m, known ? where : NULL, format, arguments);
}

void error_throw_at(machine *m, uint32_t file, uint32_t line, const char *format, ...) {
    char where[300];
    if (file != 0 || !error_where(m, where, sizeof where)) snprintf(where, sizeof where, "%s:%u", m->files[file], line);
    va_list arguments;
    va_start(arguments, format);
    throw_text(m, where, format, arguments);
}

void error_argument(machine *m, const char *who, uint32_t index, const char *expected, value got) {
    char text[120];
    print_brief(text, sizeof text, got);
    error_throw(m, "%s: argument %u must be %s, not %s", who, index + 1, expected, text);
}

void error_range(machine *m, const char *who, intptr_t index, size_t length) {
    error_throw(m, "%s: index %td is out of range for length %zu", who, index, length);
}

void error_memory(machine *m) {
    m->r.reserve = NIL;
    error_throw_value(m, m->r.memory_exhausted);
}

static void report_condition(const condition *c) {
    text t = {0};
    if (c->where != FALSE_VALUE) {
        print_value(&t, c->where, false);
        text_add(&t, ": ", 2);
    }
    text_add(&t, "error: ", 7);
    print_value(&t, c->message, false);
    for (value v = c->irritants; is_pair(v); v = cdr(v)) {
        text_add(&t, " ", 1);
        print_value(&t, car(v), true);
    }
    fprintf(stderr, "%.*s\n", (int)t.length, t.bytes);
    text_free(&t);
}

/* Tells the user of a condition that nobody handled. */
static void report(machine *m, value v) {
    fflush(stdout);
    char where[300], what[200];
    if (is_kind(v, KIND_CONDITION) && v != m->r.memory_exhausted) {
        report_condition(object_of(v));
        return;
    }
    if (error_where(m, where, sizeof where)) fprintf(stderr, "%s: ", where);
    if (v == m->r.memory_exhausted) {
        fprintf(stderr, "error: out of memory: %s\n", gc_last_message());
        return;
    }
    print_brief(what, sizeof what, v);
    fprintf(stderr, "error: uncaught object %s\n", what);
}

void error_abort(machine *m, value v) {
    report(m, v);
    m->r.thrown = NONE; /* it is reported already */
    longjmp(m->recover, RECOVER_ABORT);
}

/* Runs body with a place to return to when it fails. A throw while Scheme code runs comes back as RAISE and goes on as a
   call of the prelude's %raise on top of the machine's stack; C code in between is gone, and with it its frames. */
bool error_protect(machine *m, value (*body)(machine *m, void *context), void *context, value *result) {
    gc_frame *frames = gc_frames_mark(m->gc);
    ptrdiff_t base = m->sp - m->stack;
    int how = setjmp(m->recover);
    if (how == 0) {
        *result = body(m, context);
        return true;
    }
    gc_frames_restore(m->gc, frames);
    value raise = m->running ? *machine_global(m, symbol_of(intern_text(m, "%raise"))->id) : UNDEFINED;
    if (how == RECOVER_RAISE && raise != UNDEFINED) {
        machine_push(m, m->r.thrown);
        machine_push(m, raise);
        *result = vm_resume(m, 1);
        return true;
    }
    if (m->r.thrown != NONE) {
        value thrown = m->r.thrown;
        m->r.thrown = NONE;
        report(m, thrown);
    }
    m->sp = m->stack + base;
    m->running = false;
    m->r.handlers = m->r.winds = m->r.escapes = NIL;
    machine_unwound(m);
    return false;
}
