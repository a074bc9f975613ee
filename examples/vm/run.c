/* run.c - the interpreter's loop. Compile with -DVM_SWITCH for a switch instead of computed goto. */
#include "compile.h"

#include <math.h>

static bool get_field(value *top, value name) {
    value o = top[-1], found;
    if (is_kind(o, KIND_INSTANCE)) {
        instance *i = object_of(o);
        if (map_get(&i->fields, name, &top[-1])) return true;
        if (!map_get(&i->class->methods, name, &found))
            return fail("there is no field %s", ((string *)object_of(name))->bytes);
        top[-1] = value_of(new_bound(o, object_of(found)));
        return true;
    }
    if (!is_kind(o, KIND_TABLE)) return fail("a %s has no fields", kind_name(o));
    if (!map_get(&((table *)object_of(o))->map, name, &top[-1])) top[-1] = NIL;
    return true;
}

/* The value is on top, and what is to have it below. */
static bool set_field(value *top, value name) {
    if (is_kind(top[-2], KIND_INSTANCE))
        map_set(&((instance *)object_of(top[-2]))->fields, name, top[-1]);
    else if (is_kind(top[-2], KIND_TABLE))
        map_set(&((table *)object_of(top[-2]))->map, name, top[-1]);
    else
        return fail("a %s has no fields", kind_name(top[-2]));
    top[-2] = top[-1];
    return true;
}

static bool in_array(const array *a, value key, size_t *index) {
    double d = is_number(key) ? number_of(key) : -1;
    if (!(d >= 0 && d < (double)a->count)) return fail("the index must be a number from 0 to %d", (int)a->count - 1);
    *index = (size_t)d;
    return true;
}

static bool get_index(value *top) {
    value o = top[-2];
    size_t index = 0;
    if (is_kind(o, KIND_ARRAY)) {
        if (!in_array(object_of(o), top[-1], &index)) return false;
        top[-2] = ((array *)object_of(o))->values->items[index];
    } else if (is_kind(o, KIND_TABLE)) {
        if (!map_get(&((table *)object_of(o))->map, as_key(top[-1]), &top[-2])) top[-2] = NIL;
    } else {
        return fail("a %s has no elements", kind_name(o));
    }
    return true;
}

static bool set_index(value *top) {
    value o = top[-3];
    size_t index = 0;
    if (is_kind(o, KIND_ARRAY)) {
        if (!in_array(object_of(o), top[-2], &index)) return false;
        ((array *)object_of(o))->values->items[index] = top[-1];
    } else if (is_kind(o, KIND_TABLE)) {
        if (top[-2] == NIL) return fail("nil cannot be a key");
        if (is_number(top[-2]) && isnan(number_of(top[-2]))) return fail("a key must be equal to itself");
        map_set(&((table *)object_of(o))->map, as_key(top[-2]), top[-1]);
    } else {
        return fail("a %s has no elements", kind_name(o));
    }
    top[-3] = top[-1];
    return true;
}

static bool arithmetic_fails(const value *top, const char *what) {
    return fail("%s does not take a %s and a %s", what, kind_name(top[-2]), kind_name(top[-1]));
}

static bool add(value *top) {
    if (!is_kind(top[-2], KIND_STRING) || !is_kind(top[-1], KIND_STRING)) return arithmetic_fails(top, "+");
    top[-2] = value_of(concatenate(object_of(top[-2]), object_of(top[-1])));
    return true;
}

/* The receiver is below the arguments. */
static bool invoke(value name, int count) {
    value receiver = vm.current->top[-count - 1], method;
    if (is_kind(receiver, KIND_INSTANCE)) {
        instance *i = object_of(receiver);
        if (map_get(&i->class->methods, name, &method) && !map_get(&i->fields, name, &method))
            return push_frame(vm.current, object_of(method), count);
    }
    value *place = &vm.current->top[-count - 1];
    if (!get_field(place + 1, name)) return false;
    return call_value(*place, count);
}

/* The class is on top; the receiver is below it and the arguments. */
static bool invoke_super(value name, int count) {
    value method;
    class *base = object_of(*--vm.current->top);
    if (!map_get(&base->methods, name, &method))
        return fail("there is no method %s", ((string *)object_of(name))->bytes);
    return push_frame(vm.current, object_of(method), count);
}

static bool get_super(value *top, value name) {
    value method;
    class *base = object_of(top[-1]);
    if (!map_get(&base->methods, name, &method))
        return fail("there is no method %s", ((string *)object_of(name))->bytes);
    top[-2] = value_of(new_bound(top[-2], object_of(method)));
    return true;
}

static bool inherit(value *top) {
    if (!is_kind(top[-2], KIND_CLASS)) return fail("a %s is no class", kind_name(top[-2]));
    class *derived = object_of(top[-1]), *base = object_of(top[-2]);
    derived->base = base;
    map_copy(&derived->methods, &base->methods);
    return true;
}

static void make_array(value *top, int count) {
    array *a = new_array((size_t)count);
    for (int i = 0; i < count; i++) array_push(a, top[i - count]);
    top[-count] = value_of(a);
}

static bool make_table(value *top, int count) {
    table *t = new_table();
    protect(t);
    for (int i = -2 * count; i < 0; i += 2) {
        if (top[i] == NIL) return fail("nil cannot be a key");
        map_set(&t->map, as_key(top[i]), top[i + 1]);
    }
    top[-2 * count] = value_of(t);
    unprotect(1);
    return true;
}

/* The new closure is on the stack already, since capturing allocates. */
static const uint8_t *capture_all(const frame *f, value made, const uint8_t *operands) {
    closure *c = object_of(made);
    for (size_t i = 0; i < c->length; i++, operands += 2) {
        if (operands[0])
            c->upvalues[i] = capture(vm.current, f->slots + operands[1]);
        else
            c->upvalues[i] = f->closure->upvalues[operands[1]];
    }
    return operands;
}

/* Pushes the next item, unless there is none. */
static int next_item(value *state, value *top) {
    const array *a = object_of(state[0]);
    if (!is_kind(state[0], KIND_ARRAY))
        return fail("for goes through an array or a range, not a %s", kind_name(state[0])), -1;
    size_t index = (size_t)number_of(state[1]);
    if (index >= a->count) return 0;
    *top = a->values->items[index];
    state[1] = number((double)index + 1);
    return 1;
}

static double modulo(double a, double b) { return a - floor(a / b) * b; }

/* What the loop has in local variables, written to and read from the coroutine. */
#define SAVE() (f->ip = ip, co->top = top)
#define LOAD()                                                                            \
    (co = vm.current, f = &co->frames[co->frame_count - 1], ip = f->ip, slots = f->slots, \
     constants = f->closure->function->constants, top = co->top)
#define TRY(call)                 \
    do {                          \
        SAVE();                   \
        if (!(call)) goto failed; \
    } while (0)
#define SHORT() (ip += 2, (ip[-2] << 8) | ip[-1])

#ifdef VM_SWITCH
#define DISPATCH() goto next
#define OP(name) case OP_##name:
#else
#define DISPATCH() goto *labels[*ip++]
#define OP(name) do_##name:
#endif

#define NUMBERS(what)                                                                 \
    if (!is_number(top[-2]) || !is_number(top[-1])) TRY(arithmetic_fails(top, what)); \
    top--
#define ARITHMETIC(what, expression)                        \
    do {                                                    \
        NUMBERS(what);                                      \
        double a = number_of(top[-1]), b = number_of(*top); \
        top[-1] = expression;                               \
    } while (0)

bool run(void) {
    coroutine *co;
    frame *f;
    const uint8_t *ip;
    value *slots, *top;
    const value *constants;
    int operand, count;
#ifndef VM_SWITCH
    static void *const labels[] = {
#define X(name, effect) &&do_##name,
        OPCODES(X)
#undef X
    };
#endif
    LOAD();
#ifdef VM_SWITCH
next:
    switch ((opcode)*ip++) {
    default:
        quit("there is no opcode %d", ip[-1]);
#else
    DISPATCH();
#endif
        OP(CONSTANT) {
            *top++ = constants[SHORT()];
            DISPATCH();
        }
        OP(NIL) {
            *top++ = NIL;
            DISPATCH();
        }
        OP(TRUE) {
            *top++ = TRUE_VALUE;
            DISPATCH();
        }
        OP(FALSE) {
            *top++ = FALSE_VALUE;
            DISPATCH();
        }
        OP(POP) {
            top--;
            DISPATCH();
        }
        OP(GET_LOCAL) {
            *top++ = slots[*ip++];
            DISPATCH();
        }
        OP(SET_LOCAL) {
            slots[*ip++] = top[-1];
            DISPATCH();
        }
        OP(GET_GLOBAL) {
            operand = SHORT();
            *top++ = vm.globals[operand];
            if (top[-1] == ABSENT) TRY(fail("%s is not defined", vm.global_names[operand]->bytes));
            DISPATCH();
        }
        OP(SET_GLOBAL) {
            operand = SHORT();
            if (vm.globals[operand] == ABSENT) TRY(fail("%s is not defined", vm.global_names[operand]->bytes));
            vm.globals[operand] = top[-1];
            DISPATCH();
        }
        OP(DEFINE_GLOBAL) {
            vm.globals[SHORT()] = *--top;
            DISPATCH();
        }
        OP(GET_UPVALUE) {
            *top++ = *f->closure->upvalues[*ip++]->location;
            DISPATCH();
        }
        OP(SET_UPVALUE) {
            *f->closure->upvalues[*ip++]->location = top[-1];
            DISPATCH();
        }
        OP(GET_FIELD) {
            operand = SHORT();
            TRY(get_field(top, constants[operand]));
            DISPATCH();
        }
        OP(SET_FIELD) {
            operand = SHORT();
            TRY(set_field(top, constants[operand]));
            top--;
            DISPATCH();
        }
        OP(GET_INDEX) {
            TRY(get_index(top));
            top--;
            DISPATCH();
        }
        OP(SET_INDEX) {
            TRY(set_index(top));
            top -= 2;
            DISPATCH();
        }
        OP(GET_SUPER) {
            operand = SHORT();
            TRY(get_super(top, constants[operand]));
            top--;
            DISPATCH();
        }
        OP(EQUAL) {
            top--;
            top[-1] = boolean(is_number(*top) && is_number(top[-1]) ? number_of(*top) == number_of(top[-1])
                                                                    : *top == top[-1]);
            DISPATCH();
        }
        OP(NOT_EQUAL) {
            top--;
            top[-1] = boolean(is_number(*top) && is_number(top[-1]) ? number_of(*top) != number_of(top[-1])
                                                                    : *top != top[-1]);
            DISPATCH();
        }
        OP(LESS) {
            ARITHMETIC("<", boolean(a < b));
            DISPATCH();
        }
        OP(LESS_EQUAL) {
            ARITHMETIC("<=", boolean(a <= b));
            DISPATCH();
        }
        OP(GREATER) {
            ARITHMETIC(">", boolean(a > b));
            DISPATCH();
        }
        OP(GREATER_EQUAL) {
            ARITHMETIC(">=", boolean(a >= b));
            DISPATCH();
        }
        OP(ADD) {
            if (is_number(top[-2]) && is_number(top[-1]))
                top[-2] = number(number_of(top[-2]) + number_of(top[-1]));
            else
                TRY(add(top));
            top--;
            DISPATCH();
        }
        OP(SUBTRACT) {
            ARITHMETIC("-", number(a - b));
            DISPATCH();
        }
        OP(MULTIPLY) {
            ARITHMETIC("*", number(a * b));
            DISPATCH();
        }
        OP(DIVIDE) {
            ARITHMETIC("/", number(a / b));
            DISPATCH();
        }
        OP(MODULO) {
            ARITHMETIC("%", number(modulo(a, b)));
            DISPATCH();
        }
        OP(NEGATE) {
            if (!is_number(top[-1])) TRY(fail("a %s cannot be negated", kind_name(top[-1])));
            top[-1] = number(-number_of(top[-1]));
            DISPATCH();
        }
        OP(NOT) {
            top[-1] = boolean(!is_true(top[-1]));
            DISPATCH();
        }
        OP(JUMP) {
            operand = SHORT();
            ip += operand;
            DISPATCH();
        }
        OP(JUMP_IF_FALSE) {
            operand = SHORT();
            if (!is_true(*--top)) ip += operand;
            DISPATCH();
        }
        OP(AND) {
            operand = SHORT();
            if (is_true(top[-1]))
                top--;
            else
                ip += operand;
            DISPATCH();
        }
        OP(OR) {
            operand = SHORT();
            if (is_true(top[-1]))
                ip += operand;
            else
                top--;
            DISPATCH();
        }
        OP(LOOP) {
            operand = SHORT();
            ip -= operand;
            DISPATCH();
        }
        OP(FOR_RANGE) {
            count = *ip++;
            operand = SHORT();
            if (!is_number(slots[count]) || !is_number(slots[count + 1])) TRY(fail("a range is between two numbers"));
            if (number_of(slots[count]) < number_of(slots[count + 1])) {
                *top++ = slots[count];
                slots[count] = number(number_of(slots[count]) + 1);
            } else {
                ip += operand;
            }
            DISPATCH();
        }
        OP(FOR_EACH) {
            operand = *ip++;
            SAVE();
            count = next_item(slots + operand, top);
            if (count < 0) goto failed;
            operand = SHORT();
            if (count)
                top++;
            else
                ip += operand;
            DISPATCH();
        }
        OP(CALL) {
            count = *ip++;
            SAVE();
            if (is_kind(top[-count - 1], KIND_CLOSURE)) {
                if (!push_frame(co, object_of(top[-count - 1]), count)) goto failed;
            } else if (!call_value(top[-count - 1], count)) {
                goto failed;
            }
            LOAD();
            DISPATCH();
        }
        OP(INVOKE) {
            operand = SHORT();
            count = *ip++;
            TRY(invoke(constants[operand], count));
            LOAD();
            DISPATCH();
        }
        OP(INVOKE_SUPER) {
            operand = SHORT();
            count = *ip++;
            TRY(invoke_super(constants[operand], count));
            LOAD();
            DISPATCH();
        }
        OP(CLOSURE) {
            operand = SHORT();
            SAVE();
            *top++ = value_of(new_closure(object_of(constants[operand])));
            SAVE();
            ip = capture_all(f, top[-1], ip);
            DISPATCH();
        }
        OP(CLOSE_UPVALUE) {
            close_upvalues(co, --top);
            DISPATCH();
        }
        OP(RETURN) {
            if (co->open) close_upvalues(co, slots);
            if (co->frame_count == 1) {
                SAVE();
                if (!coroutine_leave(top[-1])) return true;
            } else {
                co->frame_count--;
                *slots = top[-1];
                co->top = slots + 1;
            }
            LOAD();
            DISPATCH();
        }
        OP(ARRAY) {
            operand = SHORT();
            SAVE();
            make_array(top, operand);
            top -= operand - 1;
            DISPATCH();
        }
        OP(TABLE) {
            operand = SHORT();
            TRY(make_table(top, operand));
            top -= 2 * operand - 1;
            DISPATCH();
        }
        OP(CLASS) {
            operand = SHORT();
            SAVE();
            *top++ = value_of(new_class(object_of(constants[operand])));
            DISPATCH();
        }
        OP(INHERIT) {
            TRY(inherit(top));
            DISPATCH();
        }
        OP(METHOD) {
            operand = SHORT();
            map_set(&((class *)object_of(top[-2]))->methods, constants[operand], top[-1]);
            top--;
            DISPATCH();
        }
#ifdef VM_SWITCH
    }
#endif
failed:
    if (!unwind()) {
        print_error();
        return false;
    }
    LOAD();
    DISPATCH();
}
