/* call.c - calls, coroutines, and errors. */
#include "vm.h"

#include <stdarg.h>
#include <stdio.h>

/* Where the running coroutine is: the line of its innermost call. */
static int current_line(const coroutine *co) {
    int line = 0;
    for (int i = co->frame_count - 1; i >= 0; i--)
        if (at_line(co->frames[i].closure->function, co->frames[i].ip, &line)) break;
    return line;
}

bool fail(const char *format, ...) {
    char bytes[256];
    text t = {0};
    va_list list;
    va_start(list, format);
    vsnprintf(bytes, sizeof bytes, format, list);
    va_end(list);
    text_format(&t, "%d: %s", current_line(vm.current), bytes);
    vm.error = value_of(new_string(t.bytes, t.length));
    text_free(&t);
    return false;
}

bool push_frame(coroutine *co, closure *c, int count) {
    const function *f = c->function;
    if (count != f->arity) return fail("the function takes %d arguments, not %d", f->arity, count);
    if (co->frame_count == co->frame_capacity && !frames_grow(co)) return false;
    if (co->limit - co->top < f->stack_size && !stack_grow(co, f->stack_size)) return false;
    frame *frame = &co->frames[co->frame_count++];
    frame->closure = c;
    frame->ip = f->code;
    frame->slots = co->top - count - 1;
    return true;
}

static bool call_native(const native *n, int count) {
    coroutine *co = vm.current;
    value *arguments = co->top - count;
    if (n->arity >= 0 && count != n->arity) return fail("%s takes %d arguments, not %d", n->name, n->arity, count);
    if (!n->call(count, arguments)) return false;
    co->top = arguments; /* the result is below it; or that of a coroutine which runs now will be */
    return true;
}

static bool call_class(class *class, int count) {
    coroutine *co = vm.current;
    value init;
    co->top[-count - 1] = value_of(new_instance(class));
    if (map_get(&class->methods, value_of(vm.init), &init)) return push_frame(co, object_of(init), count);
    if (count) return fail("the class has no init, so it takes no arguments");
    return true;
}

/* The function and its arguments are on the stack. */
bool call_value(value callee, int count) {
    coroutine *co = vm.current;
    if (!is_object(callee)) return fail("a %s cannot be called", kind_name(callee));
    switch (kind_of(callee)) {
    case KIND_CLOSURE:
        return push_frame(co, object_of(callee), count);
    case KIND_NATIVE:
        return call_native(object_of(callee), count);
    case KIND_CLASS:
        return call_class(object_of(callee), count);
    case KIND_BOUND:
        co->top[-count - 1] = ((bound *)object_of(callee))->receiver;
        return push_frame(co, ((bound *)object_of(callee))->method, count);
    default:
        return fail("a %s cannot be called", kind_name(callee));
    }
}

/* Has the new coroutine begin with this call, as soon as it runs. */
bool coroutine_start(coroutine *co, value callee, int count, const value *arguments) {
    if (!is_kind(callee, KIND_CLOSURE)) return fail("a coroutine runs a function, not a %s", kind_name(callee));
    if (co->limit - co->top <= count && !stack_grow(co, count + 1)) return false;
    *co->top++ = callee;
    for (int i = 0; i < count; i++) *co->top++ = arguments[i];
    return push_frame(co, object_of(callee), count);
}

static void end_coroutine(coroutine *co) {
    close_upvalues(co, co->stack);
    vm.current = co->resumer;
    co->resumer = NULL;
    co->state = STATE_DONE;
    co->frame_count = 0;
    co->top = co->stack;
    if (vm.current) vm.current->state = STATE_RUNNING;
}

/* What try() returns. */
static void deliver(bool ok, value result) {
    vm.current->top[-1] = result;
    array *pair = new_array(2);
    array_push(pair, boolean(ok));
    array_push(pair, vm.current->top[-1]);
    vm.current->top[-1] = value_of(pair);
}

/* The running coroutine returns to its resumer. False: it was the main one. */
bool coroutine_leave(value result) {
    bool catches = vm.current->catches;
    end_coroutine(vm.current);
    if (!vm.current) return false;
    if (catches)
        deliver(true, result);
    else
        vm.current->top[-1] = result;
    return true;
}

/* After an error: ends coroutines up to one that catches it, and goes on behind its try. False: none does. */
bool unwind(void) {
    const coroutine *catcher = vm.current;
    while (catcher && !catcher->catches) catcher = catcher->resumer;
    if (!catcher) return false;
    while (vm.current != catcher) end_coroutine(vm.current);
    end_coroutine(vm.current);
    deliver(false, vm.error);
    vm.error = NIL;
    return true;
}

void print_error(void) {
    text t = {0};
    int line;
    text_format(&t, "%s:", vm.script);
    if (!is_kind(vm.error, KIND_STRING)) text_format(&t, "%d: ", current_line(vm.current));
    text_show(&t, vm.error, 0);
    text_add(&t, "\n", 1);
    for (const coroutine *co = vm.current; co; co = co->resumer) {
        int shown = 0;
        for (int i = co->frame_count - 1; i >= 0 && shown < 10; i--, shown++) {
            const function *f = co->frames[i].closure->function;
            const char *name = f->name ? f->name->bytes : co->resumer || i ? "?" : "main";
            if (at_line(f, co->frames[i].ip, &line)) text_format(&t, "  %s, line %d\n", name, line);
        }
    }
    fflush(stdout);
    fwrite(t.bytes, 1, t.length, stderr);
    text_free(&t);
}
