/* vm.c - the machine's instructions.

   A frame on the stack, upwards: arguments, closure, return pc, caller's fp, then (from fp on) variables and temporaries.
   The pc and fp words are multiples of 4, which makes them fixnums to the collector: the whole stack can be scanned as
   values. The registers live in a local `state`, and in the machine while anything else runs that may collect or fail:
   save() comes before. Allocation is the only safe point there needs to be as long as there is one mutator thread. */
#include "compile.h"

#define INLINE static inline __attribute__((always_inline))
#define COLD static __attribute__((noinline, cold))
#define LIKELY(x) __builtin_expect(!!(x), 1)

typedef struct state {
    const uint32_t *pc; /* the next instruction */
    value *sp, *fp;
} state;

INLINE void save(machine *m, const state *s) {
    m->pc = s->pc;
    m->sp = s->sp;
    m->fp = s->fp;
}

INLINE void load(const machine *m, state *s) {
    s->pc = m->pc;
    s->sp = m->sp;
    s->fp = m->fp;
}

INLINE void push(state *s, value v) { *s->sp++ = v; }

/* Variables. */

COLD _Noreturn void fail_undefined(machine *m) { error_throw(m, "a variable is used before its definition"); }

COLD _Noreturn void fail_global(machine *m, uint32_t id) {
    value name = symbol_of(vector_of(m->r.symbols)->items[id])->name;
    error_throw(m, "unbound variable: %.*s", (int)string_length(name), string_of(name)->bytes);
}

INLINE value defined(machine *m, state *s, value v) {
    if (!LIKELY(v != UNDEFINED)) save(m, s), fail_undefined(m);
    return v;
}

INLINE value *box_content(value v) { return &((box *)object_of(v))->content; }
INLINE closure *this_closure(state *s) { return closure_of(s->fp[-3]); }

INLINE value global(machine *m, state *s, uint32_t id) {
    value v = vector_of(m->r.globals)->items[id];
    if (!LIKELY(v != UNDEFINED)) save(m, s), fail_global(m, id);
    return v;
}

INLINE void op_IMMEDIATE(machine *m, state *s, int32_t n) { (void)m, push(s, (value)(intptr_t)n); }
INLINE void op_LITERAL(machine *m, state *s, int32_t n) { push(s, vector_of(m->r.literals)->items[n]); }
INLINE void op_LOCAL(machine *m, state *s, int32_t n) { (void)m, push(s, s->fp[n]); }
INLINE void op_LOCAL_CHECKED(machine *m, state *s, int32_t n) { push(s, defined(m, s, s->fp[n])); }
INLINE void op_LOCAL_BOX(machine *m, state *s, int32_t n) { push(s, defined(m, s, *box_content(s->fp[n]))); }
INLINE void op_CAPTURE(machine *m, state *s, int32_t n) { (void)m, push(s, this_closure(s)->captures[n]); }
INLINE void op_CAPTURE_BOX(machine *m, state *s, int32_t n) {
    push(s, defined(m, s, *box_content(this_closure(s)->captures[n])));
}
INLINE void op_GLOBAL(machine *m, state *s, int32_t n) { push(s, global(m, s, (uint32_t)n)); }

INLINE void op_SET_LOCAL(machine *m, state *s, int32_t n) { (void)m, s->fp[n] = *--s->sp; }
INLINE void op_SET_LOCAL_BOX(machine *m, state *s, int32_t n) { set_field(m, box_content(s->fp[n]), *--s->sp); }
INLINE void op_SET_CAPTURE_BOX(machine *m, state *s, int32_t n) {
    set_field(m, box_content(this_closure(s)->captures[n]), *--s->sp);
}
INLINE void op_DEFINE(machine *m, state *s, int32_t n) { set_field(m, &vector_of(m->r.globals)->items[n], *--s->sp); }
INLINE void op_SET_GLOBAL(machine *m, state *s, int32_t n) {
    global(m, s, (uint32_t)n);
    op_DEFINE(m, s, n);
}

INLINE void op_BOX_LOCAL(machine *m, state *s, int32_t n) {
    save(m, s);
    box *b = make(m, KIND_BOX);
    b->content = s->fp[n];
    s->fp[n] = value_of(b);
}

INLINE void op_POP(machine *m, state *s, int32_t n) { (void)m, (void)n, s->sp--; }
INLINE void op_SLIDE(machine *m, state *s, int32_t n) {
    (void)m;
    s->sp[-1 - n] = s->sp[-1];
    s->sp -= n;
}

/* Jumps. */

INLINE void op_JUMP(machine *m, state *s, int32_t n) { (void)m, s->pc += n; }
INLINE void jump_if(state *s, bool condition, int32_t n) {
    if (condition) s->pc += n;
}
INLINE void op_JUMP_IF_FALSE(machine *m, state *s, int32_t n) { (void)m, jump_if(s, *--s->sp == FALSE_VALUE, n); }
INLINE void op_JUMP_IF_TRUE(machine *m, state *s, int32_t n) { (void)m, jump_if(s, *--s->sp != FALSE_VALUE, n); }
INLINE void op_JUMP_OR_POP(machine *m, state *s, int32_t n) {
    (void)m;
    if (s->sp[-1] != FALSE_VALUE)
        s->pc += n;
    else
        s->sp--;
}
INLINE void op_JUMP_UNLESS_PAIR(machine *m, state *s, int32_t n) { (void)m, jump_if(s, !is_pair(*--s->sp), n); }
INLINE void op_JUMP_UNLESS_NULL(machine *m, state *s, int32_t n) { (void)m, jump_if(s, *--s->sp != NIL, n); }
INLINE void op_JUMP_UNLESS_EQ(machine *m, state *s, int32_t n) {
    (void)m;
    s->sp -= 2;
    jump_if(s, s->sp[0] != s->sp[1], n);
}

/* The order of two numbers, as number_compare tells it. */
INLINE int compare(machine *m, state *s, const char *who) {
    value a = s->sp[-2], b = s->sp[-1];
    if (LIKELY(are_fixnums(a, b))) return ((intptr_t)a > (intptr_t)b) - ((intptr_t)a < (intptr_t)b);
    save(m, s);
    return number_compare(m, who, a, b);
}

#define COMPARISON(NAME, name, condition)                                \
    INLINE void op_##NAME(machine *m, state *s, int32_t n) {             \
        (void)n;                                                         \
        int order = compare(m, s, name);                                 \
        s->sp--;                                                         \
        s->sp[-1] = boolean(condition);                                  \
    }                                                                    \
    INLINE void op_JUMP_UNLESS_##NAME(machine *m, state *s, int32_t n) { \
        int order = compare(m, s, name);                                 \
        s->sp -= 2;                                                      \
        jump_if(s, !(condition), n);                                     \
    }
COMPARISON(NUMBER_EQUAL, "=", order == 0)
COMPARISON(LESS, "<", order == -1)
COMPARISON(GREATER, ">", order == 1)
COMPARISON(LESS_EQUAL, "<=", order <= 0)
COMPARISON(GREATER_EQUAL, ">=", order == 0 || order == 1)

/* Continues a named let or do: the topmost values become its variables. */
INLINE void op_LOOP(machine *m, state *s, int32_t base) {
    (void)m;
    uint32_t count = s->pc[0];
    value *from = s->sp - count, *to = s->fp + base;
    for (uint32_t i = 0; i < count; i++) to[i] = from[i];
    s->sp = to + count;
    s->pc += 2 + (int32_t)s->pc[1];
}

/* Procedures. */

INLINE void op_CLOSURE(machine *m, state *s, int32_t n) {
    save(m, s);
    uint32_t count = *s->pc++;
    closure *c = make_array(m, KIND_CLOSURE, count);
    c->code = this_closure(s)->code->children[n];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = *s->pc++;
        int32_t index = operand_of(from);
        c->captures[i] = (from & 0xff) == OP_LOCAL ? s->fp[index] : this_closure(s)->captures[index];
    }
    push(s, value_of(c));
}

/* The closure may have been promoted since it was made: hence a barrier. */
INLINE void op_PATCH(machine *m, state *s, int32_t n) {
    closure *c = closure_of(*--s->sp);
    set_field(m, &c->captures[n], s->fp[operand_of(*s->pc++)]);
}

static void name_text(machine *m, uint32_t id, char *buffer, size_t bytes) {
    if (id == NO_NAME)
        snprintf(buffer, bytes, "procedure");
    else
        print_brief(buffer, bytes, vector_of(m->r.symbols)->items[id]);
}

COLD _Noreturn void fail_arity(machine *m, const char *name, int minimum, bool more, uint32_t count) {
    error_throw(m, "%s: expected %s%d argument%s, got %u", name, more ? "at least " : "", minimum,
                minimum == 1 ? "" : "s", count);
}

/* Fits the arguments of the call on top of the stack to a closure that takes another number of them, or a rest list. */
static __attribute__((noinline)) void fit_arguments(machine *m, const code *c, uint32_t count) {
    uint32_t required = c->parameters - c->rest;
    if (count < required || (!c->rest && count > required)) {
        char name[80];
        name_text(m, c->name, name, sizeof name);
        fail_arity(m, name, (int)required, c->rest, count);
    }
    value *arguments = m->sp - 1 - count;
    machine_push(m, NIL);
    for (uint32_t i = count; i-- > required;) {
        pair *p = make(m, KIND_PAIR);
        p->car = arguments[i];
        p->cdr = m->sp[-1];
        m->sp[-1] = value_of(p);
    }
    value rest = m->sp[-1], callee = m->sp[-2];
    arguments[required] = rest;
    arguments[required + 1] = callee;
    m->sp = arguments + required + 2;
}

INLINE const code *fit(machine *m, state *s, uint32_t count) {
    const code *c = closure_of(s->sp[-1])->code;
    if (!LIKELY(count == c->parameters && !c->rest)) {
        save(m, s);
        fit_arguments(m, c, count);
        s->sp = m->sp;
    }
    if (!LIKELY(s->sp + c->slots + FRAME_SLOTS < m->stack_limit)) save(m, s), machine_overflow(m);
    return c;
}

INLINE void enter(state *s, const code *c, value return_pc, value caller_fp) {
    push(s, return_pc);
    push(s, caller_fp);
    s->fp = s->sp;
    s->pc = c->instructions;
}

/* Leaves the frame at fp with that value. */
static void machine_return(machine *m, value *fp, value v) {
    m->sp = fp - FRAME_SLOTS - closure_of(fp[-3])->code->parameters;
    m->pc = (const uint32_t *)fp[-2];
    m->fp = (value *)fp[-1];
    *m->sp++ = v;
}

/* What a call of something other than a closure has led to. */
enum outcome { RETURNED, ESCAPED, CALL_OTHER };

static enum outcome call_escape(machine *m, escape *e) {
    value v = m->sp[-2]; /* the prelude has made sure that e is alive, and that there is one value */
    value inner = m->r.escapes;
    while (object_of(inner) != e) { /* those made since die with their frames */
        ((escape *)object_of(inner))->alive = false;
        inner = ((escape *)object_of(inner))->outer;
    }
    e->alive = false;
    m->r.escapes = e->outer;
    m->r.handlers = e->handlers;
    machine_return(m, m->stack + e->frame, v);
    machine_unwound(m);
    return ESCAPED;
}

/* Calls what is on top of the stack and is no closure. CALL_OTHER: another call, of m->call_count arguments, is there
   in its place. */
static __attribute__((noinline)) enum outcome call_other(machine *m, uint32_t count) {
    value callee = m->sp[-1], *arguments = m->sp - 1 - count;
    if (is_kind(callee, KIND_ESCAPE)) return call_escape(m, object_of(callee));
    if (!is_kind(callee, KIND_PRIMITIVE)) {
        char text[80];
        print_brief(text, sizeof text, callee);
        error_throw(m, "not a procedure: %s", text);
    }
    const primitive_info *info = ((primitive *)object_of(callee))->info;
    if ((int)count < info->arguments_min || (info->arguments_max >= 0 && (int)count > info->arguments_max))
        fail_arity(m, info->name, (int)count < info->arguments_min ? info->arguments_min : info->arguments_max,
                   info->arguments_max != info->arguments_min && (int)count < info->arguments_min, count);
    value result = info->function(m, arguments, count);
    if (result == CALL_AGAIN) return CALL_OTHER;
    m->sp = arguments;
    *m->sp++ = result;
    return RETURNED;
}

INLINE void op_RETURN(machine *m, state *s, int32_t parameters) {
    (void)m;
    value v = s->sp[-1], *fp = s->fp;
    s->sp = fp - FRAME_SLOTS - parameters;
    s->pc = (const uint32_t *)fp[-2];
    s->fp = (value *)fp[-1];
    push(s, v);
}

INLINE void op_CALL(machine *m, state *s, int32_t n) {
    uint32_t count = (uint32_t)n;
    while (!LIKELY(is_kind(s->sp[-1], KIND_CLOSURE))) {
        save(m, s);
        enum outcome o = call_other(m, count);
        load(m, s);
        if (o != CALL_OTHER) return;
        count = m->call_count;
    }
    const code *c = fit(m, s, count);
    enter(s, c, (value)s->pc, (value)s->fp);
}

INLINE void op_TAIL_CALL(machine *m, state *s, int32_t n) {
    uint32_t count = (uint32_t)n & 0xfff, parameters = (uint32_t)n >> 12;
    while (!LIKELY(is_kind(s->sp[-1], KIND_CLOSURE))) {
        save(m, s);
        enum outcome o = call_other(m, count);
        load(m, s);
        if (o == RETURNED) op_RETURN(m, s, (int32_t)parameters);
        if (o != CALL_OTHER) return;
        count = m->call_count;
    }
    const code *c = fit(m, s, count);
    value return_pc = s->fp[-2], caller_fp = s->fp[-1];
    value *from = s->sp - 1 - c->parameters, *to = s->fp - FRAME_SLOTS - parameters;
    for (uint32_t i = 0; i <= c->parameters; i++) to[i] = from[i];
    s->sp = to + c->parameters + 1;
    enter(s, c, return_pc, caller_fp);
}

INLINE void op_CALL_GLOBAL(machine *m, state *s, int32_t n) {
    push(s, global(m, s, *s->pc++));
    op_CALL(m, s, n);
}

INLINE void op_TAIL_CALL_GLOBAL(machine *m, state *s, int32_t n) {
    push(s, global(m, s, *s->pc++));
    op_TAIL_CALL(m, s, n);
}

INLINE void op_ESCAPE_NEW(machine *m, state *s, int32_t n) {
    (void)n;
    save(m, s);
    escape *e = make(m, KIND_ESCAPE);
    e->outer = m->r.escapes;
    e->handlers = m->r.handlers;
    e->frame = (size_t)(s->fp - m->stack);
    e->alive = true;
    m->r.escapes = value_of(e);
    push(s, m->r.escapes);
}

/* Data. */

COLD _Noreturn void fail_argument(machine *m, const char *who, uint32_t index, const char *expected, value got) {
    error_argument(m, who, index, expected, got);
}

INLINE pair *want_pair(machine *m, state *s, const char *who, value v) {
    if (!LIKELY(is_pair(v))) save(m, s), fail_argument(m, who, 0, "a pair", v);
    return pair_of(v);
}

INLINE void op_CAR(machine *m, state *s, int32_t n) { (void)n, s->sp[-1] = want_pair(m, s, "car", s->sp[-1])->car; }
INLINE void op_CDR(machine *m, state *s, int32_t n) { (void)n, s->sp[-1] = want_pair(m, s, "cdr", s->sp[-1])->cdr; }
INLINE void op_CADR(machine *m, state *s, int32_t n) {
    (void)n;
    s->sp[-1] = want_pair(m, s, "cadr", want_pair(m, s, "cadr", s->sp[-1])->cdr)->car;
}

/* Both parts stay on the stack, and so are roots, until the pair is there. */
INLINE void op_CONS(machine *m, state *s, int32_t n) {
    (void)n;
    save(m, s);
    pair *p = make(m, KIND_PAIR);
    p->car = s->sp[-2];
    p->cdr = s->sp[-1];
    s->sp--;
    s->sp[-1] = value_of(p);
}

INLINE void op_SET_CAR(machine *m, state *s, int32_t n) {
    (void)n;
    set_field(m, &want_pair(m, s, "set-car!", s->sp[-2])->car, s->sp[-1]);
    s->sp--;
    s->sp[-1] = NONE;
}
INLINE void op_SET_CDR(machine *m, state *s, int32_t n) {
    (void)n;
    set_field(m, &want_pair(m, s, "set-cdr!", s->sp[-2])->cdr, s->sp[-1]);
    s->sp--;
    s->sp[-1] = NONE;
}

INLINE void op_EQ(machine *m, state *s, int32_t n) {
    (void)m, (void)n, s->sp--;
    s->sp[-1] = boolean(s->sp[-1] == s->sp[0]);
}
INLINE void op_EQV(machine *m, state *s, int32_t n) {
    (void)m, (void)n, s->sp--;
    s->sp[-1] = boolean(is_eqv(s->sp[-1], s->sp[0]));
}
INLINE void op_NOT(machine *m, state *s, int32_t n) { (void)m, (void)n, s->sp[-1] = boolean(s->sp[-1] == FALSE_VALUE); }
INLINE void op_IS_NULL(machine *m, state *s, int32_t n) { (void)m, (void)n, s->sp[-1] = boolean(s->sp[-1] == NIL); }
INLINE void op_IS_PAIR(machine *m, state *s, int32_t n) { (void)m, (void)n, s->sp[-1] = boolean(is_pair(s->sp[-1])); }

COLD _Noreturn void fail_index(machine *m, const char *who, int kind, const char *name, value *arguments) {
    want_kind(m, who, arguments, 0, kind, name);
    intptr_t index = want_fixnum(m, who, arguments, 1);
    error_range(m, who, index, ((gc_array *)object_of(arguments[0]))->length);
}

/* Checks the container and the index that follows it on the stack. */
INLINE size_t want_element(machine *m, state *s, const char *who, int kind, const char *name, value *arguments) {
    value v = arguments[0], i = arguments[1];
    if (!LIKELY(is_kind(v, kind) && is_fixnum(i) && (size_t)fixnum_of(i) < ((gc_array *)object_of(v))->length))
        save(m, s), fail_index(m, who, kind, name, arguments);
    return (size_t)fixnum_of(i);
}

INLINE void op_VECTOR_REF(machine *m, state *s, int32_t n) {
    (void)n, s->sp -= 1;
    size_t i = want_element(m, s, "vector-ref", KIND_VECTOR, "a vector", s->sp - 1);
    s->sp[-1] = vector_of(s->sp[-1])->items[i];
}
INLINE void op_VECTOR_SET(machine *m, state *s, int32_t n) {
    (void)n, s->sp -= 2;
    size_t i = want_element(m, s, "vector-set!", KIND_VECTOR, "a vector", s->sp - 1);
    set_field(m, &vector_of(s->sp[-1])->items[i], s->sp[1]);
    s->sp[-1] = NONE;
}
INLINE void op_STRING_REF(machine *m, state *s, int32_t n) {
    (void)n, s->sp -= 1;
    size_t i = want_element(m, s, "string-ref", KIND_STRING, "a string", s->sp - 1);
    s->sp[-1] = character((unsigned char)string_of(s->sp[-1])->bytes[i]);
}

COLD _Noreturn void fail_record(machine *m, value got, value type) {
    char who[80], expected[100], name[80];
    name_text(m, closure_of(m->fp[-3])->code->name, who, sizeof who);
    print_brief(name, sizeof name, is_kind(type, KIND_RECORD_TYPE) ? ((record_type *)object_of(type))->name : type);
    snprintf(expected, sizeof expected, "a record of type %s", name);
    error_argument(m, who, 0, expected, got);
}

INLINE value *record_field(machine *m, state *s, value r, value type, value index) {
    if (!LIKELY(is_kind(r, KIND_RECORD) && record_of(r)->type == type)) save(m, s), fail_record(m, r, type);
    return &record_of(r)->fields[fixnum_of(index)];
}
INLINE void op_RECORD_REF(machine *m, state *s, int32_t n) {
    (void)n, s->sp -= 2;
    s->sp[-1] = *record_field(m, s, s->sp[-1], s->sp[0], s->sp[1]);
}
INLINE void op_RECORD_SET(machine *m, state *s, int32_t n) {
    (void)n, s->sp -= 3;
    set_field(m, record_field(m, s, s->sp[-1], s->sp[0], s->sp[1]), s->sp[2]);
    s->sp[-1] = NONE;
}

/* Numbers: fixnums here, all else in number.c. Both operands are tagged 00, so tagged words can be added as they are. */

INLINE void op_ADD(machine *m, state *s, int32_t n) {
    (void)n;
    value a = s->sp[-2], b = s->sp[-1];
    intptr_t sum;
    if (LIKELY(are_fixnums(a, b) && !__builtin_add_overflow((intptr_t)a, (intptr_t)b, &sum)))
        s->sp[-2] = (value)sum;
    else
        save(m, s), s->sp[-2] = number_add(m, a, b);
    s->sp--;
}
INLINE void op_SUBTRACT(machine *m, state *s, int32_t n) {
    (void)n;
    value a = s->sp[-2], b = s->sp[-1];
    intptr_t difference;
    if (LIKELY(are_fixnums(a, b) && !__builtin_sub_overflow((intptr_t)a, (intptr_t)b, &difference)))
        s->sp[-2] = (value)difference;
    else
        save(m, s), s->sp[-2] = number_subtract(m, a, b);
    s->sp--;
}
INLINE void op_MULTIPLY(machine *m, state *s, int32_t n) {
    (void)n;
    value a = s->sp[-2], b = s->sp[-1];
    intptr_t product;
    if (LIKELY(are_fixnums(a, b) && !__builtin_mul_overflow((intptr_t)a, fixnum_of(b), &product)))
        s->sp[-2] = (value)product;
    else
        save(m, s), s->sp[-2] = number_multiply(m, a, b);
    s->sp--;
}
INLINE void op_ADD_IMMEDIATE(machine *m, state *s, int32_t n) {
    value a = s->sp[-1];
    intptr_t sum;
    if (LIKELY(is_fixnum(a) && !__builtin_add_overflow((intptr_t)a, (intptr_t)n * 4, &sum)))
        s->sp[-1] = (value)sum;
    else
        save(m, s), s->sp[-1] = number_add(m, a, fixnum(n));
}
INLINE void op_QUOTIENT(machine *m, state *s, int32_t n) {
    (void)n;
    value a = s->sp[-2], b = s->sp[-1];
    if (LIKELY(are_fixnums(a, b) && (intptr_t)b > 0))
        s->sp[-2] = fixnum((intptr_t)a / (intptr_t)b);
    else
        save(m, s), s->sp[-2] = number_quotient(m, a, b);
    s->sp--;
}
INLINE void op_REMAINDER(machine *m, state *s, int32_t n) {
    (void)n;
    value a = s->sp[-2], b = s->sp[-1];
    if (LIKELY(are_fixnums(a, b) && (intptr_t)b > 0))
        s->sp[-2] = (value)((intptr_t)a % (intptr_t)b);
    else
        save(m, s), s->sp[-2] = number_remainder(m, a, b);
    s->sp--;
}

static value run(machine *m, state start) {
    state s = start;
    m->loop = __builtin_frame_address(0);
    for (;;) {
        uint32_t word = *s.pc++;
        switch (word & 0xff) {
#define OPCODE_CASE(name)                   \
    case OP_##name:                         \
        op_##name(m, &s, operand_of(word)); \
        break;
            OPCODES(OPCODE_CASE)
#undef OPCODE_CASE
        case OP_HALT:
            m->sp = s.sp - 1;
            return *m->sp;
        default:
            __builtin_unreachable();
        }
    }
}

value vm_resume(machine *m, uint32_t count) {
    state s;
    load(m, &s);
    op_CALL(m, &s, (int32_t)count);
    void *outer = m->loop;
    value result = run(m, s);
    m->loop = outer;
    m->running = false;
    return result;
}

value vm_call(machine *m, uint32_t count) {
    static const uint32_t halt[] = {OP_HALT};
    m->pc = halt;
    m->fp = NULL;
    m->running = true;
    return vm_resume(m, count);
}
