/* The collector of Lua 5.4, by gc.h: non-moving, precise, each collection a full one. Replaces lgc.c.

   Lua's core keeps everything that it uses reachable at each allocation, since its own collector may run there when memory
   is short. So gc.h may collect in any of them. Finalizers, and stacks that shrink, wait for luaC_step.

   gc.h calls all functions here on the thread that runs Lua, and one heap belongs to each global_State. */
#define lgc_c
#define LUA_CORE
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "lprefix.h"

#include "lua.h"

#include "ldebug.h"
#include "ldo.h"
#include "lfunc.h"
#include "lgc.h"
#include "lmem.h"
#include "lstring.h"
#include "ltable.h"
#include "ltm.h"

#include <stdlib.h>

/* An object with a __gc that has not been called. Not dead: in `registered`, the youngest first. Else in `due`. */
typedef struct Finalizer {
    gc_finalizer gc;
    global_State *g;
    GCObject *object;
    size_t number; /* in the order of setmetatable */
    struct Finalizer *previous, *next;
} Finalizer;

typedef struct List {
    void **items;
    size_t count, room;
} List;

typedef struct luaC_State {
    gc_heap *heap;
    List fixed;  /* objects that never die */
    List owners; /* prototypes and coroutines: what they own is freed when they die */
    Finalizer *registered, *due, **due_end;
    List dead;              /* finalizers on their way from gc.h to `due` */
    size_t number;          /* of finalizers so far */
    size_t finalizers;      /* registered, or dead: `dead` has room for so many */
    int explicit;   /* the collection was asked for */
    int hidden;     /* Lua has stopped its collector: nothing that it can see may die */
    int collecting; /* between the hooks at the start and the end of a collection */
    int deferred;   /* luaC_step was called while that was not allowed */
    lu_mem stopped_live;        /* bytes when Lua stopped its collector */
    uint64_t stopped_allocated; /* until then */
    lu_mem credit;              /* bytes of steps asked for, towards a collection */
} luaC_State;

static _Thread_local global_State *collected; /* whose heap this thread may collect now: trace functions know their object only */

TString luaC_removed[1] = {{.shrlen = 0xFF}};

/* Makes room for `count` items in all. */
static int reserve(List *list, size_t count) {
    if (count <= list->room) return 1;
    size_t room = count < 32 ? 64 : count * 2;
    void **items = (void **)realloc(list->items, room * sizeof(void *));
    if (!items) return 0;
    list->items = items;
    list->room = room;
    return 1;
}

static int add(List *list, void *item) {
    if (!reserve(list, list->count + 1)) return 0;
    list->items[list->count++] = item;
    return 1;
}

static void drop(List *list) {
    free(list->items);
    *list = (List){0};
}

/* Slots. */

static inline void visit_values(gc_visitor *visitor, TValue *first, size_t count, unsigned flags) {
    gc_visit(visitor, first, count, flags | GC_SLOT_VALUE);
}

static inline void visit_key(gc_visitor *visitor, Node *n) {
    if (keyiscollectable(n)) gc_visit(visitor, &gckey(n), 1, 0);
}

/* Strings are values: they never go from a weak table. */
static inline int is_weak(int tag) { return (tag & BIT_ISCOLLECTABLE) && novariant(tag) != LUA_TSTRING; }

static void visit_weak(gc_visitor *visitor, void *key, void *value, gc_weak_kind kind, unsigned flags,
                       void (*cleared)(void *key, void *value)) {
    gc_weak_entries entry = {key, value, 1, 0, kind, flags, 0, 0, NULL, cleared};
    gc_visit_weak(visitor, &entry);
}

/* Called just before gc.h clears their words. */
static void value_cleared(void *value, void *none) {
    (void)none;
    setempty((TValue *)value);
}
static void node_cleared(Node *n) {
    setempty(gval(n));
    if (keyiscollectable(n)) setdeadkey(n);
}
static void node_value_cleared(void *value, void *none) {
    (void)none;
    node_cleared((Node *)value);
}
static void node_key_cleared(void *key, void *value) {
    (void)value;
    node_cleared((Node *)(void *)((char *)key - offsetof(Node, u.key_val)));
}

/* Trace functions. */

/* An open one holds its value too, as its coroutine may be dead, and the next one of that. */
static void trace_upvalue(void *object, gc_visitor *visitor) {
    UpVal *u = (UpVal *)object;
    if (u->v.p == &u->u.value) {
        visit_values(visitor, u->v.p, 1, 0);
    } else if (u->v.p) {
        visit_values(visitor, u->v.p, 1, GC_SLOT_OWNED);
        gc_visit(visitor, &u->u.open.next, 1, 0);
    }
}

static void trace_userdata(void *object, gc_visitor *visitor) {
    Udata *u = (Udata *)object;
    visit_values(visitor, &u->uv[0].uv, u->nuvalue, 0);
}

static void trace_prototype(void *object, gc_visitor *visitor) {
    Proto *p = (Proto *)object;
    gc_visit(visitor, p->p, (size_t)p->sizep, GC_SLOT_OWNED);
    visit_values(visitor, p->k, (size_t)p->sizek, GC_SLOT_OWNED);
    for (int i = 0; i < p->sizeupvalues; i++) gc_visit(visitor, &p->upvalues[i].name, 1, GC_SLOT_OWNED);
    for (int i = 0; i < p->sizelocvars; i++) gc_visit(visitor, &p->locvars[i].varname, 1, GC_SLOT_OWNED);
}

static void visit_thread(lua_State *L, gc_visitor *visitor, unsigned flags) {
    if (!L->stack.p) return;
    visit_values(visitor, s2v(L->stack.p), (size_t)(L->top.p - L->stack.p), flags);
    /* What lies above may come into use again, as registers of a function, before it is written. */
    for (StkId s = L->top.p; s < L->stack_last.p + EXTRA_STACK; s++) setnilvalue(s2v(s));
    gc_visit(visitor, &L->openupval, 1, 0);
}

static void trace_thread(void *object, gc_visitor *visitor) { visit_thread((lua_State *)object, visitor, GC_SLOT_OWNED); }

static void trace_weak_array(void *object, gc_visitor *visitor) {
    luaC_Array *a = (luaC_Array *)object;
    for (size_t i = 0; i < a->length; i++) {
        TValue *v = &a->items[i];
        if (is_weak(rawtt(v)))
            visit_weak(visitor, &val_(v).gc, NULL, GC_WEAK_REFS, 0, value_cleared);
        else
            visit_values(visitor, v, 1, 0);
    }
}

/* An entry without a value stays for the sake of lua_next, but does not keep its key. */
static inline int is_entry(Node *n) {
    if (!isempty(gval(n))) return 1;
    if (keyiscollectable(n)) setdeadkey(n);
    return 0;
}

static void trace_nodes(void *object, gc_visitor *visitor) {
    luaC_Nodes *nodes = (luaC_Nodes *)object;
    for (size_t i = 0; i < nodes->length; i++) {
        Node *n = &nodes->items[i];
        if (!is_entry(n)) continue;
        visit_key(visitor, n);
        visit_values(visitor, gval(n), 1, 0);
    }
}

/* Weak values go before finalizers run, weak keys when they are gone for good. */
static void trace_weak_nodes(luaC_Nodes *nodes, gc_visitor *visitor, int keys, int values) {
    for (size_t i = 0; i < nodes->length; i++) {
        Node *n = &nodes->items[i];
        if (!is_entry(n)) continue;
        int weak_key = keys && is_weak(keytt(n));
        int weak_value = values && is_weak(rawtt(gval(n)));
        if (weak_key && !values && iscollectable(gval(n))) {
            visit_weak(visitor, &gckey(n), &val_(gval(n)).gc, GC_WEAK_EPHEMERONS, 0, node_key_cleared);
            continue;
        }
        if (weak_key)
            visit_weak(visitor, &gckey(n), NULL, GC_WEAK_REFS, GC_SLOT_WEAK_LONG, node_key_cleared);
        else
            visit_key(visitor, n);
        if (weak_value)
            visit_weak(visitor, &val_(gval(n)).gc, NULL, GC_WEAK_REFS, 0, node_value_cleared);
        else
            visit_values(visitor, gval(n), 1, 0);
    }
}

static void trace_ephemerons(void *object, gc_visitor *visitor) { trace_weak_nodes((luaC_Nodes *)object, visitor, 1, 0); }
static void trace_weak_values(void *object, gc_visitor *visitor) { trace_weak_nodes((luaC_Nodes *)object, visitor, 0, 1); }
static void trace_weak_pairs(void *object, gc_visitor *visitor) { trace_weak_nodes((luaC_Nodes *)object, visitor, 1, 1); }

#define PART(T, name, values, trace) \
    { name, offsetof(T, items), sizeof(((T *)0)->items[0]), 0, 0, 0, values, trace, NULL, NULL, {0}, 0 }

/* What a part of a table holds weakly is a matter of its type: bit 0 for keys, bit 1 for values. */
static const gc_type array_types[2] = {PART(luaC_Array, "array", 1, NULL), PART(luaC_Array, "weak array", 0, trace_weak_array)};
static const gc_type nodes_types[4] = {
    PART(luaC_Nodes, "nodes", 0, trace_nodes), PART(luaC_Nodes, "ephemerons", 0, trace_ephemerons),
    PART(luaC_Nodes, "weak values", 0, trace_weak_values), PART(luaC_Nodes, "weak pairs", 0, trace_weak_pairs)};

static int weakness(Table *metatable) {
    const TValue *mode = collected->gcs->hidden ? NULL : gfasttm(collected, metatable, TM_MODE);
    if (!mode || !ttisstring(mode)) return 0;
    const char *text = getstr(tsvalue(mode));
    return (strchr(text, 'k') ? 1 : 0) | (strchr(text, 'v') ? 2 : 0);
}

/* It reads another object, the metatable, and writes the type of others, its parts: allowed only since nothing moves, and
   nothing runs beside the collection. The parts are reached by no other way. */
static void trace_table(void *object, gc_visitor *visitor) {
    Table *t = (Table *)object;
    int weak = 0;
    if (t->metatable) {
        weak = weakness(t->metatable);
        gc_visit(visitor, &t->metatable, 1, 0);
    }
    if (t->array) {
        ((gc_object *)t->array)->type = &array_types[weak >> 1];
        gc_visit(visitor, &t->array, 1, 0);
    }
    if (!isdummy(t)) {
        ((gc_object *)t->node)->type = &nodes_types[weak];
        gc_visit(visitor, &t->node, 1, 0);
    }
}

#define FIXED(T, name, refs, trace) \
    { name, sizeof(T), 0, refs, 0, 0, 0, trace, NULL, NULL, {0}, 0 }
#define SIZED(T, member, element, name, refs, element_refs, element_values, trace) \
    { name, offsetof(T, member), element, refs, 0, element_refs, element_values, trace, NULL, NULL, {0}, 0 }
#define STRING(name) \
    { name, offsetof(TString, contents) + 1, 1, 0, 0, 0, 0, NULL, NULL, "contents", {offsetof(TString, contents)}, 0 }

const luaC_Kind luaC_kinds[LUA_VCCL + 1] = {
    [LUA_VSHRSTR] = {STRING("string"), LUA_VSHRSTR},
    [LUA_VLNGSTR] = {STRING("long string"), LUA_VLNGSTR},
    [LUA_VTABLE] = {FIXED(Table, "table", 0, trace_table), LUA_VTABLE},
    [LUA_VLCL] = {SIZED(LClosure, upvals, sizeof(UpVal *), "function", GC_FIELDS(LClosure, p), 1, 0, NULL), LUA_VLCL},
    [LUA_VCCL] = {SIZED(CClosure, upvalue, sizeof(TValue), "C function", 0, 0, 1, NULL), LUA_VCCL},
    [LUA_VUSERDATA] = {SIZED(Udata0, bindata, 1, "userdata", GC_FIELDS(Udata0, metatable), 0, 0, trace_userdata),
                       LUA_VUSERDATA},
    [LUA_VTHREAD] = {FIXED(lua_State, "thread", 0, trace_thread), LUA_VTHREAD},
    [LUA_VUPVAL] = {FIXED(UpVal, "upvalue", 0, trace_upvalue), LUA_VUPVAL},
    [LUA_VPROTO] = {FIXED(Proto, "prototype", GC_FIELDS(Proto, source), trace_prototype), LUA_VPROTO},
};

_Static_assert(offsetof(luaC_Array, items) == sizeof(TValue) && offsetof(luaC_Nodes, items) == sizeof(Node),
               "the header of a part is as large as an element");
_Static_assert(offsetof(TValue, tt_) == 8 && BIT_ISCOLLECTABLE == 1 << 6, "GC_VALUE_SLOT_IS_REF finds the tag");
_Static_assert(offsetof(Udata0, bindata) == offsetof(Udata, uv), "userdata with and without values begin alike");

/* Callbacks of gc.h. */

static void scan_roots(void *host, gc_thread *thread, gc_visitor *visitor) {
    global_State *g = (global_State *)host;
    luaC_State *s = g->gcs;
    (void)thread;
    visit_thread(g->mainthread, visitor, 0);
    gc_visit(visitor, &g->running, 1, 0);
    visit_values(visitor, &g->l_registry, 1, 0);
    gc_visit(visitor, g->mt, LUA_NUMTYPES, 0);
    gc_visit(visitor, &g->newpart, 1, 0);
    if (s->fixed.count) gc_visit(visitor, s->fixed.items, s->fixed.count, 0);
    for (Finalizer *f = s->due; f; f = f->next) gc_visit(visitor, &f->object, 1, 0);
    for (size_t i = 0; i < s->dead.count; i++) gc_visit(visitor, &((Finalizer *)s->dead.items[i])->object, 1, 0);
    if (!g->strt.size) return;
    gc_weak_entries strings = {g->strt.hash, NULL, (size_t)g->strt.size, 0, GC_WEAK_REFS, 0, (uintptr_t)luaC_removed, 0,
                               &g->strt.removed, NULL};
    gc_visit_weak(visitor, &strings);
}

static void collection_start(void *host, const gc_collection *collection) {
    global_State *g = (global_State *)host;
    luaC_State *s = g->gcs;
    (void)collection;
    s->collecting = 1;
    s->hidden = (g->gcstp & GCSTPUSR) && !s->explicit;
}

/* What a dead prototype or coroutine owns goes here and not by a finalizer, which would run while another finalizer can
   still bring the object back. The upvalues of a dead coroutine take their values with them. */
static void collection_traced(void *host, const gc_collection *collection) {
    global_State *g = (global_State *)host;
    luaC_State *s = g->gcs;
    size_t kept = 0;
    (void)collection;
    for (size_t i = 0; i < s->owners.count; i++) {
        GCObject *o = (GCObject *)s->owners.items[i];
        if (gc_collection_find(s->heap, o))
            s->owners.items[kept++] = o;
        else if (gctt(o) == LUA_VPROTO)
            luaF_freeproto(g->mainthread, gco2p(o));
        else
            luaE_freethread(g->mainthread, gco2th(o));
    }
    s->owners.count = kept;
}

static void collection_end(void *host, const gc_collection *collection) {
    global_State *g = (global_State *)host;
    (void)collection;
    if (g->memerrmsg) luaS_clearcache(g);
    g->gcs->collecting = 0;
    g->gcpending = 1;
}

static void finalizers_ready(void *host) { ((global_State *)host)->gcpending = 1; }

/* Finalizers. gc.h hands over dead objects in no order. */

static void object_is_dead(gc_thread *thread, void *object) {
    Finalizer *f = (Finalizer *)(uintptr_t)gc_finalizer_running(thread);
    luaC_State *s = f->g->gcs;
    (void)object;
    *(f->previous ? &f->previous->next : &s->registered) = f->next;
    if (f->next) f->next->previous = f->previous;
    s->dead.items[s->dead.count++] = f;
}

static int youngest_first(const void *a, const void *b) {
    size_t x = (*(Finalizer *const *)a)->number, y = (*(Finalizer *const *)b)->number;
    return x < y ? 1 : -1;
}

static void make_due(luaC_State *s, Finalizer *f) {
    f->next = NULL;
    *s->due_end = f;
    s->due_end = &f->next;
}

static void gather_dead(global_State *g) {
    luaC_State *s = g->gcs;
    gc_finalizer_run(g->gc, SIZE_MAX);
    qsort(s->dead.items, s->dead.count, sizeof(void *), youngest_first);
    for (size_t i = 0; i < s->dead.count; i++) make_due(s, (Finalizer *)s->dead.items[i]);
    s->finalizers -= s->dead.count;
    s->dead.count = 0;
}

static lu_byte *finalized(GCObject *o) { return gctt(o) == LUA_VTABLE ? &gco2t(o)->finalized : &gco2u(o)->finalized; }

static void call(lua_State *L, void *unused) {
    (void)unused;
    luaD_callnoyield(L, L->top.p - 2, 0);
}

/* Calls __gc of an object, in protected mode, without hooks, and without another finalizer meanwhile. */
static void finalize(lua_State *L, GCObject *o) {
    global_State *g = G(L);
    TValue value;
    setgcovalue(L, &value, o);
    *finalized(o) = 0; /* it may get a finalizer anew */
    const TValue *gc = luaT_gettmbyobj(L, &value, TM_GC);
    if (notm(gc)) return;
    lu_byte hooks = L->allowhook, stopped = g->gcstp;
    L->allowhook = 0;
    g->gcstp |= GCSTPGC;
    setobj2s(L, L->top.p, gc);
    setobj2s(L, L->top.p + 1, &value);
    L->top.p += 2;
    L->ci->callstatus |= CIST_FIN;
    int status = luaD_pcall(L, call, NULL, savestack(L, L->top.p - 2), 0);
    L->ci->callstatus &= (unsigned short)~CIST_FIN;
    L->allowhook = hooks;
    g->gcstp = stopped;
    if (l_unlikely(status != LUA_OK)) {
        luaE_warnerror(L, "__gc");
        L->top.p--;
    }
}

static void finalize_due(lua_State *L) {
    luaC_State *s = G(L)->gcs;
    while (s->due) {
        Finalizer *f = s->due;
        GCObject *o = f->object;
        s->due = f->next;
        if (!s->due) s->due_end = &s->due;
        if (!(G(L)->gcstp & GCSTPCLS)) free(f); /* else gc.h still knows it */
        finalize(L, o); /* it is a root on the stack before anything is allocated */
    }
}

void luaC_checkfinalizer(lua_State *L, GCObject *o, Table *mt) {
    global_State *g = G(L);
    luaC_State *s = g->gcs;
    if (!gfasttm(g, mt, TM_GC) || *finalized(o) || (g->gcstp & GCSTPCLS)) return;
    Finalizer *f = (Finalizer *)malloc(sizeof(Finalizer));
    if (f) *f = (Finalizer){{object_is_dead, 0, NULL}, g, o, s->number++, NULL, s->registered};
    if (!f || !reserve(&s->dead, s->finalizers + 1) || gc_finalizer_register(g->gc, o, &f->gc) != GC_OK) {
        free(f);
        luaM_error(L);
    }
    if (s->registered) s->registered->previous = f;
    s->registered = f;
    s->finalizers++;
    *finalized(o) = 1;
}

/* What waited for a place at which Lua may be called. */
static void finish(lua_State *L) {
    global_State *g = G(L);
    luaC_State *s = g->gcs;
    g->gcpending = 0;
    luaD_shrinkstack(g->mainthread);
    for (size_t i = 0; i < s->owners.count; i++) {
        GCObject *o = (GCObject *)s->owners.items[i];
        if (gctt(o) == LUA_VTHREAD && gco2th(o)->stack.p) luaD_shrinkstack(gco2th(o));
    }
    if (g->strt.nuse - (int)g->strt.removed < g->strt.size / 8 && g->strt.size > 2 * MINSTRTABSIZE)
        luaS_resize(L, g->strt.size / 2);
    for (gather_dead(g); s->due; gather_dead(g)) finalize_due(L);
}

/* The interface to the core. */

void luaC_step(lua_State *L) {
    global_State *g = G(L);
    g->gcpending = 0;
    if (gcrunning(g))
        finish(L);
    else
        g->gcs->deferred = 1;
}

/* From now on it counts what is allocated. */
static void count_anew(luaC_State *s) {
    gc_stats stats;
    gc_heap_stats(s->heap, &stats);
    s->stopped_live = stats.live_bytes;
    s->stopped_allocated = stats.allocated_bytes;
}

static void collect(lua_State *L, int generation) {
    global_State *g = G(L);
    luaC_State *s = g->gcs;
    collected = g;
    g->running = L;
    s->explicit = 1;
    gc_collect(s->heap, generation, GC_COLLECT_DEFAULT);
    s->explicit = 0;
    count_anew(s);
}

void luaC_fullgc(lua_State *L, int isemergency) {
    collect(L, 2);
    if (!isemergency) finish(L);
}

/* While Lua has stopped its collector, it does not see that gc.h frees something. */
lu_mem luaC_count(global_State *g) {
    const luaC_State *s = g->gcs;
    gc_stats stats;
    gc_heap_stats(s->heap, &stats);
    lu_mem live = stats.live_bytes;
    if (g->gcstp & GCSTPUSR) live = s->stopped_live + (lu_mem)(stats.allocated_bytes - s->stopped_allocated);
    return live + g->external + (lu_mem)g->GCdebt;
}

/* A step asks for some KiB of work; when that adds up to what there is, all is done at once. */
static int step(lua_State *L, int kib) {
    global_State *g = G(L);
    luaC_State *s = g->gcs;
    lu_byte stopped = g->gcstp;
    int done = g->gckind == KGC_GEN && kib == 0;
    g->gcstp = 0;
    s->credit += kib ? (lu_mem)kib * 1024 : 1024;
    if (s->credit >= luaC_count(g)) done = 1;
    if (done) {
        s->credit = 0;
        collect(L, g->gckind == KGC_GEN && kib == 0 ? 1 : 2);
    }
    finish(L);
    g->gcstp = stopped;
    return done;
}

static int change_kind(global_State *g, int kind) {
    int before = g->gckind == KGC_GEN ? LUA_GCGEN : LUA_GCINC;
    g->gckind = (lu_byte)kind;
    return before;
}

static int exchange(lu_byte *parameter, int value) {
    int before = getgcparam(*parameter);
    setgcparam(*parameter, value);
    return before;
}

/* What Lua has set of it: Lua's pause of 200 is a heap that grows by 100 % of what lives. */
static void set_pacing(global_State *g) {
    int pause = getgcparam(g->gcpause);
    gc_pacing pacing;
    gc_heap_pacing(g->gcs->heap, &pacing);
    pacing.paused = (g->gcstp & GCSTPUSR) != 0;
    pacing.growth_percent = pause > 110 ? (unsigned)pause - 100 : 10;
    gc_heap_set_pacing(g->gcs->heap, &pacing);
}

int luaC_control(lua_State *L, int what, va_list arguments) {
    global_State *g = G(L);
    luaC_State *s = g->gcs;
    switch (what) {
    case LUA_GCSTOP:
        if (!(g->gcstp & GCSTPUSR)) count_anew(s);
        g->gcstp = GCSTPUSR;
        set_pacing(g);
        return 0;
    case LUA_GCRESTART:
        g->gcstp = 0;
        set_pacing(g);
        g->gcpending |= (lu_byte)s->deferred;
        s->deferred = 0;
        return 0;
    case LUA_GCCOLLECT: luaC_fullgc(L, 0); return 0;
    case LUA_GCCOUNT: return (int)(luaC_count(g) >> 10);
    case LUA_GCCOUNTB: return (int)(luaC_count(g) & 0x3ff);
    case LUA_GCSTEP: return step(L, va_arg(arguments, int));
    case LUA_GCSETPAUSE: {
        int before = exchange(&g->gcpause, va_arg(arguments, int));
        set_pacing(g);
        return before;
    }
    case LUA_GCSETSTEPMUL: return exchange(&g->gcstepmul, va_arg(arguments, int));
    case LUA_GCISRUNNING: return gcrunning(g);
    case LUA_GCGEN: return change_kind(g, KGC_GEN);
    case LUA_GCINC: return change_kind(g, KGC_INC);
    default: return -1;
    }
}

void luaC_fix(lua_State *L, GCObject *o) {
    if (!add(&G(L)->gcs->fixed, o)) luaM_error(L);
}

void luaC_tell(global_State *g) {
    if (!g->gcs || g->gcs->collecting) return;
    if (gc_heap_add_external(g->gcs->heap, g->GCdebt) != GC_OK) return; /* it is tried again */
    g->external += (lu_mem)g->GCdebt;
    g->GCdebt = 0;
}

void *luaC_new(lua_State *L, const gc_type *type, size_t length, unsigned flags) {
    global_State *g = G(L);
    collected = g;
    g->running = L;
    void *o = gc_new_with(g->gc, type, length, flags);
    if (l_unlikely(!o)) luaM_error(L);
    return o;
}

/* An object that will own malloc'ed memory. */
void *luaC_newowner(lua_State *L, const gc_type *type) {
    luaC_State *s = G(L)->gcs;
    if (!reserve(&s->owners, s->owners.count + 1)) luaM_error(L);
    void *o = luaC_new(L, type, 0, 0);
    add(&s->owners, o);
    return o;
}

/* A new array part of t, with its elements. The nodes of `newt`, which t will get too, are anchored nowhere yet. */
TValue *luaC_newarray(lua_State *L, Table *t, Table *newt, unsigned size) {
    global_State *g = G(L);
    luaC_Array *old = (luaC_Array *)(void *)t->array;
    if (size == 0) return NULL;
    if (old && size >= old->length && (size == old->length || gc_array_grow(g->gc, old, size))) return t->array;
    const gc_type *type = &array_types[0];
    void *o = gc_new_with(g->gc, type, size, GC_NEW_AT_ONCE);
    if (!o) {
        g->newpart = isdummy(newt) ? NULL : (GCObject *)(void *)newt->node;
        o = luaC_new(L, type, size, 0);
        g->newpart = NULL;
    }
    if (old) memcpy(((luaC_Array *)o)->items, old->items, (size < old->length ? size : old->length) * sizeof(TValue));
    return (TValue *)o;
}

Node *luaC_newnodes(lua_State *L, unsigned size) {
    const gc_type *type = &nodes_types[0];
    void *o = gc_new_with(G(L)->gc, type, size, GC_NEW_AT_ONCE);
    return (Node *)(o ? o : luaC_new(L, type, size, 0));
}

void luaC_open(lua_State *L) {
    global_State *g = G(L);
    luaC_State *s = (luaC_State *)calloc(1, sizeof(luaC_State));
    if (!s) luaM_error(L);
    s->due_end = &s->due;
    g->gcs = s;
    gc_options options = {.non_moving = true,
                          .non_generational = true,
                          .collector_threads = 1,
                          .skip_finalizers_at_end = true,
                          .scan_roots = scan_roots,
                          .collection_start = collection_start,
                          .collection_traced = collection_traced,
                          .collection_end = collection_end,
                          .finalizers_ready = finalizers_ready,
                          .host = g};
    s->heap = gc_heap_create(&options);
    g->gc = s->heap ? gc_thread_attach(s->heap) : NULL;
    if (!g->gc) luaM_error(L);
}

void luaC_freeallobjects(lua_State *L) {
    global_State *g = G(L);
    luaC_State *s = g->gcs;
    List left = {0};
    if (!s) return;
    g->gcstp = GCSTPCLS;
    if (completestate(g)) {
        gather_dead(g);
        for (Finalizer *f = s->registered, *next; f; f = next) {
            next = f->next;
            make_due(s, f);
        }
        s->registered = NULL;
        for (Finalizer *f = s->due; f; f = f->next) add(&left, f); /* without memory they are lost */
        finalize_due(L);
    }
    for (size_t i = 0; i < s->owners.count; i++) {
        GCObject *o = (GCObject *)s->owners.items[i];
        if (gctt(o) == LUA_VPROTO)
            luaF_freeproto(L, gco2p(o));
        else
            luaE_freethread(L, gco2th(o));
    }
    if (g->gc) gc_thread_detach(g->gc);
    if (s->heap) gc_heap_destroy(s->heap);
    for (size_t i = 0; i < left.count; i++) free(left.items[i]);
    drop(&left);
    drop(&s->fixed);
    drop(&s->owners);
    drop(&s->dead);
    free(s);
    g->gcs = NULL;
}
