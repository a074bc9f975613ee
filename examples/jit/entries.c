/* entries.c - see entries.h. */
#include "entries.h"

#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) fputs("jit: no memory for the layout of the program's objects\n", stderr), exit(1);
    return memory;
}

/* Layouts. */

const gc_type string_layout = GC_TYPE_ARRAY_LEAF(string, bytes);
const gc_type delegate_layout = GC_TYPE(delegate, receiver);

typedef struct word_array {
    gc_array array;
    void *elements[];
} word_array;

static const gc_type array_of_references = GC_TYPE_ARRAY(word_array, elements);
static const gc_type array_of_words = GC_TYPE_ARRAY_LEAF(word_array, elements);

const gc_type *layout_of_array(const type *element) {
    return type_is_reference(element) ? &array_of_references : &array_of_words;
}

static gc_type *make_layout(const object_class *c) {
    gc_type *made = zeroed(sizeof *made);
    size_t names_bytes = 1, named = 0;
    for (const field *f = c->fields; f; f = f->next) names_bytes += strlen(f->name) + 2;
    char *names = zeroed(names_bytes);
    made->name = c->name;
    made->bytes = (uint32_t)c->instance_bytes;
    made->fields = names;
    for (const field *f = c->fields; f; f = f->next) {
        if (!type_is_reference(f->type)) continue;
        made->refs |= (uint64_t)1 << (f->offset / 8);
        if (named == 16) continue; /* reports can name no more */
        made->field_offsets[named] = (uint16_t)f->offset;
        names += sprintf(names, "%s%s", named++ ? ", " : "", f->name);
    }
    return made;
}

const gc_type *layout_of_class(const object_class *c) {
    object_class *known = c->type->of_class == c ? (object_class *)(uintptr_t)c : NULL;
    if (!c->host && known) known->host = make_layout(c);
    return c->host;
}

void layouts_free(const program *p) {
    for (object_class *c = p->classes; c; c = c->next) {
        gc_type *made = c->host;
        if (made) free((char *)(uintptr_t)made->fields);
        free(made);
        c->host = NULL;
    }
}

/* Literals. */

typedef struct literal {
    const char *text;
    size_t bytes;
} literal;

#define LITERALS_MAX 16384

static literal literals[LITERALS_MAX];
static void *slots[LITERALS_MAX];
static int literal_count;

int literal_number(const char *text, size_t bytes) {
    for (int i = 0; i < literal_count; i++)
        if (literals[i].bytes == bytes && memcmp(literals[i].text, text, bytes) == 0) return i;
    if (literal_count == LITERALS_MAX) fprintf(stderr, "jit: more than %d different strings\n", LITERALS_MAX), exit(1);
    literals[literal_count] = (literal){text, bytes};
    return literal_count++;
}

void **literal_slot(int number) { return &slots[number]; }

bool literals_make(gc_thread *thread) {
    if (gc_roots_add(gc_thread_heap(thread), slots, (size_t)literal_count, 0) != GC_OK) return false;
    for (int i = 0; i < literal_count; i++) {
        string *made = gc_new_with(thread, &string_layout, literals[i].bytes, GC_NEW_RAW);
        if (!made) return false;
        memcpy(made->bytes, literals[i].text, literals[i].bytes);
        slots[i] = made;
    }
    return true;
}

void literals_free(void) { literal_count = 0; }

/* What code calls. */

static void *allocate(gc_thread *thread, const gc_type *layout) {
    void *made = gc_new(thread, layout);
    if (!made) runtime_error(thread, ERROR_MEMORY);
    return made;
}

static void *allocate_array(gc_thread *thread, const gc_type *layout, int64_t length) {
    void *made = length < 0 ? NULL : gc_new_array(thread, layout, (size_t)length);
    if (!made)
        runtime_error(thread, length < 0 || gc_last_result() == GC_ERROR_TOO_LARGE ? ERROR_LENGTH : ERROR_MEMORY);
    return made;
}

static void poll(gc_thread *thread) { gc_safepoint(thread); }
static void fail_null(gc_thread *thread) { runtime_error(thread, ERROR_NULL); }
static void fail_bounds(gc_thread *thread) { runtime_error(thread, ERROR_BOUNDS); }
static void fail_division(gc_thread *thread) { runtime_error(thread, ERROR_DIVISION); }
static void fail_stack(gc_thread *thread) { runtime_error(thread, ERROR_STACK); }

GC_CODE_EXPORT_REF(entry_allocate, allocate);
GC_CODE_EXPORT_REF(entry_allocate_array, allocate_array);
GC_CODE_EXPORT(entry_poll, poll);
GC_CODE_EXPORT(entry_fail_null, fail_null);
GC_CODE_EXPORT(entry_fail_bounds, fail_bounds);
GC_CODE_EXPORT(entry_fail_division, fail_division);
GC_CODE_EXPORT(entry_fail_stack, fail_stack);

GC_CODE_EXPORT(entry_write_int, native_write_int);
GC_CODE_EXPORT(entry_write_float, native_write_float);
GC_CODE_EXPORT(entry_write_bool, native_write_bool);
GC_CODE_EXPORT(entry_write_string, native_write_string);
GC_CODE_EXPORT_REF(entry_concat, native_concat);
GC_CODE_EXPORT(entry_compare, native_compare);
GC_CODE_EXPORT(entry_equal, native_equal);
GC_CODE_EXPORT_REF(entry_int_to_string, native_int_to_string);
GC_CODE_EXPORT_REF(entry_float_to_string, native_float_to_string);
GC_CODE_EXPORT_REF(entry_bool_to_string, native_bool_to_string);
GC_CODE_EXPORT_REF(entry_char_to_string, native_char_to_string);
GC_CODE_EXPORT_REF(entry_substring, native_substring);
GC_CODE_EXPORT(entry_arg, native_arg);
GC_CODE_EXPORT(entry_fail, native_fail);
GC_CODE_EXPORT(entry_new_thread, native_new_thread);
GC_CODE_EXPORT(entry_join_threads, native_join_threads);
GC_CODE_EXPORT(entry_sleep, native_sleep);
GC_CODE_EXPORT(entry_collect, native_collect);
GC_CODE_EXPORT(entry_collections, native_collections);
GC_CODE_EXPORT(entry_clock_ns, native_clock_ns);

const entry entries[ENTRY_COUNT] = {
#define X(name) {#name, entry_##name},
    ENTRIES(X)
#undef X
#define X(name, type) {#name, entry_##name},
        NATIVES(X)
#undef X
};
