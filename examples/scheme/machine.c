/* machine.c - the machine's life: its heap, its roots, its stack. */
#include "compile.h"

#include <stdlib.h>

/* The stack's memory is only touched as it is used. It never moves, so primitives may keep pointers into it. */
enum { STACK_VALUES = 16 << 20, STACK_RESERVE = 64 << 10 };

/* Called by the collector: the live part of the stack. Every word of it is a value (see vm.c). The registers are added
   once as roots, since they stay where they are; frames of C code report themselves. */
static void scan_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    machine *m = host;
    (void)thread;
    if (m->sp > m->stack) gc_visit(visitor, m->stack, (size_t)(m->sp - m->stack), GC_SLOT_VALUE);
}

static void collection_end(void *host, const gc_collection *collection) {
    (void)collection;
    ((machine *)host)->collections++;
}

static _Noreturn void fail(const char *message) {
    fprintf(stderr, "scheme: %s\n", message);
    exit(70);
}

/* Handlers of stack overflow and of memory exhaustion need some of what has run out. For the stack that is a part of it;
   for the heap a region's worth of string that nobody reads, dropped when memory runs out. Once the stack is unwound both
   are put by again, if there is room. */
void machine_unwound(machine *m) {
    m->stack_limit = m->stack_end - STACK_RESERVE;
    if (m->r.reserve != NIL) return;
    void *reserve = gc_new_with(m->gc, &types[KIND_STRING], GC_REGION_BYTES / 2, GC_NEW_RAW);
    if (reserve) m->r.reserve = value_of(reserve);
}

static void make_stack(machine *m) {
    m->stack = malloc(STACK_VALUES * sizeof(value));
    if (!m->stack) fail("there is no memory for the stack");
    m->stack_end = m->stack + STACK_VALUES;
    m->stack_limit = m->stack_end - STACK_RESERVE;
    m->sp = m->stack;
}

/* Registers must hold values before the first collection: zero, a fixnum, is one. */
static void make_registers(machine *m) {
    value *first = (value *)&m->r;
    if (gc_roots_add(m->heap, first, sizeof m->r / sizeof(value), GC_SLOT_VALUE) != GC_OK) fail(gc_last_message());
    m->r.handlers = m->r.winds = m->r.escapes = m->r.arguments = NIL;
    m->r.thrown = NONE;
    m->r.reserve = NIL;
    m->r.memory_exhausted = make_string(m, "out of memory", 13);
    condition *c = make(m, KIND_CONDITION);
    c->message = m->r.memory_exhausted;
    c->irritants = NIL;
    c->where = FALSE_VALUE;
    m->r.memory_exhausted = value_of(c);
    m->r.literals = make_vector(m, 256, fixnum(0));
    m->r.symbols = make_vector(m, 512, fixnum(0));
    m->r.globals = make_vector(m, 512, UNDEFINED);
    m->r.symbol_index = make_vector(m, 2048, fixnum(0));
    m->r.output = port_standard(m, stdout, false);
    m->r.input = port_standard(m, stdin, true);
}

static value load_prelude(machine *m, void *context) {
    (void)context;
    value port = port_open_string(m, make_string(m, prelude_source, strlen(prelude_source)), "prelude");
    GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, port);
    for (;;) {
        value form = read_datum(m, port, true);
        if (form == END_OF_FILE) return NONE;
        machine_push(m, compile_datum(m, form, 0, 1));
        vm_call(m, 0);
    }
}

void machine_init(machine *m, const gc_options *options) {
    gc_options o = *options;
    o.host = m;
    o.scan_roots = scan_roots;
    o.collection_end = collection_end;
    profile_init(m);
    m->heap = gc_heap_create(&o);
    if (!m->heap || !(m->gc = gc_thread_attach(m->heap))) fail(gc_last_message());
    file_id(m, "prelude");
    make_stack(m);
    make_registers(m);
    expand_init(m);
    list_init(m);
    number_init(m);
    string_init(m);
    table_init(m);
    port_init(m);
    control_init(m);
    value ignored;
    if (!error_protect(m, load_prelude, NULL, &ignored)) fail("the prelude does not load");
    machine_unwound(m);
}

void machine_destroy(machine *m) {
    gc_heap_destroy(m->heap);
    for (code *c = m->codes, *next; c; c = next) {
        next = c->next;
        free(c->instructions);
        free(c->lines);
        free(c->children);
        free(c);
    }
    arena_reset(m);
    for (uint32_t i = 0; i < m->files_count; i++) free(m->files[i]);
    free(m->files);
    text_free(&m->token);
    free(m->stack);
}

void machine_push(machine *m, value v) {
    if (m->sp >= m->stack_limit) machine_overflow(m);
    *m->sp++ = v;
}

/* Opens the reserve to whoever handles this; if that is used up too, nobody can. */
void machine_overflow(machine *m) {
    size_t megabytes = (size_t)((char *)m->stack_end - (char *)m->stack) >> 20;
    bool reserve_open = m->stack_limit == m->stack_end;
    m->stack_limit = m->stack_end;
    if (reserve_open) error_abort(m, intern_text(m, "stack-full-in-an-error-handler"));
    error_throw(m, "the stack is full (%zu MB): recursion is too deep, or an argument list too long", megabytes);
}

value machine_list(machine *m, size_t count) {
    machine_push(m, NIL);
    for (; count > 0; count--) {
        pair *p = make(m, KIND_PAIR);
        p->car = m->sp[-2];
        p->cdr = m->sp[-1];
        m->sp--;
        m->sp[-1] = value_of(p);
    }
    return machine_pop(m);
}

value *machine_global(machine *m, uint32_t id) { return &vector_of(m->r.globals)->items[id]; }

void machine_define(machine *m, const primitive_info *infos, size_t count) {
    for (size_t i = 0; i < count; i++) {
        value p = make_primitive(m, &infos[i]);
        GC_ROOTS_WITH(m->gc, GC_SLOT_VALUE, p);
        value name = intern_text(m, infos[i].name);
        set_field(m, machine_global(m, symbol_of(name)->id), p);
    }
}
