/* vm.h - the machine, and what its files know of each other. */
#pragma once

#include "object.h"

enum { STACK_MAX = 1 << 20, FRAMES_MAX = 200000, HELD_MAX = 16, GLOBALS_MAX = 65536 };

struct compiler;

typedef struct machine {
    coroutine *main, *current;
    value *globals;
    string **global_names;
    int global_count, global_capacity;
    string *init; /* the name of constructors */
    value error;

    /* The intern table: open addressing, its capacity a power of 2. */
    string **strings;
    size_t string_capacity, string_count, string_used;

    struct compiler *compiler; /* the innermost one that is at work */
    value held[HELD_MAX];      /* what C code holds while it allocates */
    int held_count;

    /* The collector (collector.c). */
    object *objects;
    object **gray;
    size_t gray_count, gray_capacity;
    size_t bytes, bytes_next;
    unsigned long long collections_done;
    bool is_stressed;

    /* Memory comes from here, in the manner of realloc; bytes 0 frees. */
    void *(*allocator)(void *context, void *memory, size_t bytes);
    void *allocator_context;
    const char *script;
} machine;

#define REMOVED_STRING ((string *)8) /* in the intern table, where a string was */

extern machine vm;

/* memory.c */
void *reallocate(void *memory, size_t bytes_before, size_t bytes); /* never collects */
void protect(const void *object);
void unprotect(int count);

/* collector.c: zeroed objects; these collect when it is time. */
void *new_object(kind kind);
void *new_elements(kind kind, size_t length);
void collect(void);
unsigned long long collections(void);
void collector_start(void);
void collector_end(void);

/* objects.c: all of these may collect, except those that say otherwise. */
string *new_string(const char *bytes, size_t length);
string *concatenate(const string *a, const string *b);
function *new_function(string *name);
native *new_native(const char *name, int arity, native_call call);
closure *new_closure(function *function);
class *new_class(string *name);
instance *new_instance(class *class);
bound *new_bound(value receiver, closure *method);
array *new_array(size_t capacity);
table *new_table(void);
coroutine *new_coroutine(void);
upvalue *capture(coroutine *co, value *location);
void close_upvalues(coroutine *co, const value *from); /* never collects */
bool stack_grow(coroutine *co, int room);              /* never collects */
bool frames_grow(coroutine *co);                       /* never collects */
void array_push(array *a, value v);                    /* never collects */
value array_pop(array *a);                             /* never collects */

/* map.c: these never collect. */
values *values_new(size_t length);
values *values_resize(values *old, size_t length);
void values_free(values **v);
bool map_get(map *m, value key, value *found);
bool map_set(map *m, value key, value v); /* whether the key is new */
bool map_remove(map *m, value key);
void map_copy(map *to, const map *from);
bool map_next(const map *m, size_t *at, value *key, value *v);

/* text.c */
typedef struct text {
    char *bytes;
    size_t length, capacity;
} text;
void text_add(text *t, const char *bytes, size_t length);
void text_format(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_show(text *t, value v, int depth);
void text_free(text *t);
const char *kind_name(value v);
_Noreturn void quit(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* compile.c: NULL after a syntax error, which was printed. */
function *compile(const char *source);
int global_index(string *name);
bool at_line(const function *f, const uint8_t *ip, int *line);

/* call.c: what returns false has failed, and vm.error says how. */
bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool call_value(value callee, int count);
bool push_frame(coroutine *co, closure *c, int count);
bool coroutine_start(coroutine *co, value callee, int count, const value *arguments);
bool coroutine_leave(value result);
bool unwind(void);
void print_error(void);

/* run.c: runs until the main coroutine has ended; false after an error, which was printed. */
bool run(void);

/* natives.c */
void define_natives(void);
