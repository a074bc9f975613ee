/* What Lua's core asks of its collector, answered by gc.h. Replaces lgc.h of Lua 5.4. */
#ifndef lgc_h
#define lgc_h

#include "gc.h"
#include "lobject.h"
#include "lstate.h"

/* Why nothing is collected, or seen to be: bits of g->gcstp. */
#define GCSTPUSR 1 /* collectgarbage("stop") */
#define GCSTPGC 2  /* a finalizer runs, or the state is being built */
#define GCSTPCLS 4 /* the state is being closed */
#define gcrunning(g) ((g)->gcstp == 0)

/* The core shifts parameters that it hands to us. They are remembered, and do nothing. */
#define LUAI_GCPAUSE 200
#define LUAI_GCMUL 100
#define LUAI_GCSTEPSIZE 13
#define LUAI_GENMAJORMUL 100
#define LUAI_GENMINORMUL 20
#define getgcparam(p) ((p) * 4)
#define setgcparam(p, v) ((p) = (lu_byte)((v) / 4))

/* A collection may run in any allocation, as Lua's emergency collections do. What may call Lua, or move a stack, waits
   until the next of these places. */
#define luaC_condGC(L, pre, pos)        \
    {                                   \
        if (l_unlikely(G(L)->gcpending)) { \
            pre;                        \
            luaC_step(L);               \
            pos;                        \
        }                               \
    }
#define luaC_checkGC(L) luaC_condGC(L, (void)0, (void)0)

/* Every collection is a full one, so nobody need know of stores. */
#define luaC_objbarrier(L, p, o) ((void)0)
#define luaC_barrier(L, p, v) ((void)0)
#define luaC_objbarrierback(L, p, o) ((void)0)
#define luaC_barrierback(L, p, v) ((void)0)
#define iswhite(o) 0 /* luaF_closeupval asks whether a barrier is needed */
#define nw2black(o) ((void)0)

/* Parts of tables. Their headers take the room of one element, so that pointers to them are pointers to elements. */
typedef struct luaC_Array {
    gc_object header;
    size_t length;
    TValue items[1];
} luaC_Array;

typedef struct luaC_Nodes {
    gc_object header;
    size_t length;
    size_t unused; /* so that the header is as large as an element */
    Node items[1];
} luaC_Nodes;

LUAI_DDEC(const luaC_Kind luaC_kinds[LUA_VCCL + 1];) /* by tag */
LUAI_DDEC(TString luaC_removed[1];) /* in the place of a string that has died; equal to none */

LUAI_FUNC void luaC_open(lua_State *L);
LUAI_FUNC void luaC_freeallobjects(lua_State *L);
LUAI_FUNC void luaC_fix(lua_State *L, GCObject *o);
LUAI_FUNC void luaC_step(lua_State *L);
LUAI_FUNC void luaC_fullgc(lua_State *L, int isemergency);
LUAI_FUNC int luaC_control(lua_State *L, int what, va_list arguments);
LUAI_FUNC lu_mem luaC_count(global_State *g);
LUAI_FUNC void luaC_checkfinalizer(lua_State *L, GCObject *o, Table *mt);
LUAI_FUNC void luaC_tell(global_State *g);
LUAI_FUNC void *luaC_new(lua_State *L, const gc_type *type, size_t length, unsigned flags);
LUAI_FUNC void *luaC_newowner(lua_State *L, const gc_type *type);
LUAI_FUNC Node *luaC_newnodes(lua_State *L, unsigned size);
LUAI_FUNC TValue *luaC_newarray(lua_State *L, Table *t, Table *newt, unsigned size);

/* gc.h hears of malloc'ed memory in portions of 16 KiB. */
#define luaC_external(g) ((void)(((g)->GCdebt > 16384 || (g)->GCdebt < -16384) && (luaC_tell(g), 0)))

/* A new object of `bytes` bytes, as the core computes them. */
static inline GCObject *luaC_newobj(lua_State *L, int tag, size_t bytes) {
    size_t length = 0;
    unsigned flags = 0;
    if (novariant(tag) == LUA_TSTRING)
        length = bytes - offsetof(TString, contents) - 1, flags = GC_NEW_RAW;
    else if (tag == LUA_VLCL)
        length = (bytes - offsetof(LClosure, upvals)) / sizeof(UpVal *);
    else if (tag == LUA_VCCL)
        length = (bytes - offsetof(CClosure, upvalue)) / sizeof(TValue);
    else if (tag == LUA_VUSERDATA)
        length = bytes - offsetof(Udata0, bindata);
    const gc_type *type = &luaC_kinds[tag].gc;
    if (tag == LUA_VPROTO || tag == LUA_VTHREAD) return (GCObject *)luaC_newowner(L, type);
    void *o = gc_new_with(G(L)->gc, type, length, flags | GC_NEW_AT_ONCE);
    return (GCObject *)(l_likely(o != NULL) ? o : luaC_new(L, type, length, flags));
}

#endif
