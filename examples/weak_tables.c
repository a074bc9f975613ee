/* Two tables that keep nothing alive, for an interpreter to copy: a map from objects to values whose entries go when their
   keys die (ephemerons), and an intern table of strings.

   Both are one hash table of handles outside the heap: dependent handles for the map, weak ones for the strings. The
   collector clears the handles of objects that have died; an entry with a cleared handle is used again by the next one that
   comes by, or dropped when the table fills up, or by weak_table_purge. So there is nothing to do in the collection itself.
   A table belongs to one thread at a time: share it under a lock of your own, which is waited for in preemptive mode. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <stdlib.h>
#include <string.h>

/* The table: open addressing, a power of two of entries, at most three quarters of them with a handle. */

typedef struct weak_entry {
    uint64_t hash;
    gc_handle handle; /* NULL: the end of each search. Holding nothing: dead or removed, and searches go on */
} weak_entry;

typedef struct weak_table {
    gc_heap *heap;
    gc_handle_kind kind;
    weak_entry *entries;
    size_t capacity, used; /* used: how many have a handle */
} weak_table;

/* None of these collects, so what gc_handle_get returns needs no root here. */

/* The entry of the object for which `same` returns true, or NULL. */
static weak_entry *weak_table_find(const weak_table *table, uint64_t hash,
                                   bool (*same)(const void *object, const void *wanted), const void *wanted) {
    for (size_t i = hash; table->capacity; i++) {
        weak_entry *entry = &table->entries[i & (table->capacity - 1)];
        if (!entry->handle) return NULL;
        const void *object = entry->hash == hash ? gc_handle_get(entry->handle) : NULL;
        if (object && same(object, wanted)) return entry;
    }
    return NULL;
}

/* The first entry on the way of `hash` that holds no object. */
static weak_entry *weak_table_vacancy(const weak_table *table, uint64_t hash) {
    for (size_t i = hash;; i++) {
        weak_entry *entry = &table->entries[i & (table->capacity - 1)];
        if (!entry->handle || !gc_handle_get(entry->handle)) return entry;
    }
}

static size_t weak_table_count(const weak_table *table) {
    size_t count = 0;
    for (size_t i = 0; i < table->capacity; i++)
        count += table->entries[i].handle && gc_handle_get(table->entries[i].handle);
    return count;
}

/* Drops the dead, and makes the table as large as the living need: grows or shrinks it. False: out of memory. */
static bool weak_table_purge(weak_table *table) {
    weak_table next = {table->heap, table->kind, NULL, 16, weak_table_count(table)};
    while (next.capacity < 2 * next.used) next.capacity *= 2;
    next.entries = calloc(next.capacity, sizeof *next.entries);
    if (!next.entries) return false;
    for (size_t i = 0; i < table->capacity; i++) {
        weak_entry *entry = &table->entries[i];
        if (entry->handle && gc_handle_get(entry->handle))
            *weak_table_vacancy(&next, entry->hash) = *entry;
        else
            gc_handle_destroy(table->heap, entry->handle);
    }
    free(table->entries);
    *table = next;
    return true;
}

/* Adds an object that weak_table_find does not find. NULL: out of memory. */
static weak_entry *weak_table_add(weak_table *table, uint64_t hash, void *object) {
    if (table->used >= table->capacity / 4 * 3 && !weak_table_purge(table)) return NULL;
    weak_entry *entry = weak_table_vacancy(table, hash);
    if (entry->handle) {
        gc_handle_set(entry->handle, object);
    } else {
        entry->handle = gc_handle_create(table->heap, table->kind, object);
        if (!entry->handle) return NULL;
        table->used++;
    }
    entry->hash = hash;
    return entry;
}

static void weak_table_free(weak_table *table) {
    for (size_t i = 0; i < table->capacity; i++) gc_handle_destroy(table->heap, table->entries[i].handle);
    free(table->entries);
    table->entries = NULL;
    table->capacity = table->used = 0;
}

/* The map. Objects move, so an address cannot be hashed. Each key has a number instead, which it gets when it first comes
   into a map: a word in each object that can be a key, and nothing to do after collections. Hashing by address would save
   the word, at the price of rehashing all maps whenever something has moved. */

typedef struct key {
    gc_object header;
    uint64_t number;
} key;

static bool is_same_key(const void *object, const void *wanted) { return object == wanted; }

static weak_table weak_map_new(gc_heap *heap) { return (weak_table){.heap = heap, .kind = GC_HANDLE_DEPENDENT}; }

static weak_entry *weak_map_find(const weak_table *map, const key *k) {
    return k->number ? weak_table_find(map, k->number, is_same_key, k) : NULL;
}

/* NULL if the map does not have the key. */
static void *weak_map_get(const weak_table *map, const key *k) {
    weak_entry *entry = weak_map_find(map, k);
    return entry ? gc_handle_dependent(entry->handle) : NULL;
}

/* The value lives as long as both the map has it and the key lives; it may refer to the key. False: out of memory. */
static bool weak_map_set(weak_table *map, key *k, void *value) {
    static uint64_t last_number;
    if (!k->number) k->number = ++last_number;
    weak_entry *entry = weak_map_find(map, k);
    if (!entry) entry = weak_table_add(map, k->number, k);
    return entry && gc_handle_set_dependent(entry->handle, value) == GC_OK;
}

static void weak_map_remove(weak_table *map, const key *k) {
    weak_entry *entry = weak_map_find(map, k);
    if (entry) gc_handle_set(entry->handle, NULL);
}

/* The intern table. */

typedef struct string {
    gc_array header;
    char chars[];
} string;

static const gc_type string_type = GC_TYPE_ARRAY_LEAF(string, chars);

typedef struct text {
    const char *chars;
    size_t length;
} text;

static bool has_text(const void *object, const void *wanted) {
    const string *s = object;
    const text *t = wanted;
    return s->header.length == t->length && memcmp(s->chars, t->chars, t->length) == 0;
}

static uint64_t text_hash(text t) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < t.length; i++) hash = (hash ^ (unsigned char)t.chars[i]) * 1099511628211u;
    return hash;
}

static weak_table intern_table_new(gc_heap *heap) { return (weak_table){.heap = heap, .kind = GC_HANDLE_WEAK}; }

/* The one string of this text. The characters must not lie in the heap: this may collect. NULL: out of memory. */
static string *intern(gc_thread *gc, weak_table *strings, const char *chars) {
    text t = {chars, strlen(chars)};
    uint64_t hash = text_hash(t);
    weak_entry *entry = weak_table_find(strings, hash, has_text, &t);
    if (entry) return gc_handle_get(entry->handle);
    string *made = gc_new_with(gc, &string_type, t.length, GC_NEW_RAW);
    if (!made) return NULL;
    memcpy(made->chars, t.chars, t.length);
    return weak_table_add(strings, hash, made) ? made : NULL;
}

/* The demonstration. */

typedef struct node {
    key key;
    struct node *other;
    int value;
} node;

static const gc_type node_type = GC_TYPE(node, other);

static node *node_new(gc_thread *gc, int value) {
    node *made = gc_new(gc, &node_type);
    if (!made) exit(1);
    made->value = value;
    return made;
}

static const char *yes_no(bool yes) { return yes ? "yes" : "no"; }

static void show_ephemerons(gc_heap *heap, gc_thread *gc) {
    weak_table map = weak_map_new(heap);
    node *first = node_new(gc, 1), *second = NULL, *third = NULL;
    GC_ROOTS(gc, first, second, third);
    second = node_new(gc, 2);
    third = node_new(gc, 3);
    gc_store(gc, &second->other, first);
    weak_map_set(&map, &first->key, second); /* the value refers to its key */
    weak_map_set(&map, &second->key, third); /* and is a key itself */
    second = third = NULL;
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    second = weak_map_get(&map, &first->key);
    third = second ? weak_map_get(&map, &second->key) : NULL;
    printf("while the first key lives: first -> %d -> %d\n", second ? second->value : 0, third ? third->value : 0);
    first = second = third = NULL;
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    printf("when it has died, although its value refers to it: %zu entries\n", weak_table_count(&map));
    weak_table_free(&map);
}

#define KEYS 300

static void show_growth(gc_heap *heap, gc_thread *gc) {
    weak_table map = weak_map_new(heap);
    node *keys[KEYS] = {0};
    int right = 0, left = 0;
    GC_ROOTS_ARRAY(gc, keys, KEYS, 0);
    for (int i = 0; i < KEYS; i++) {
        keys[i] = node_new(gc, 0);
        node *value = node_new(gc, i);
        if (!weak_map_set(&map, &keys[i]->key, value)) exit(1);
    }
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    for (int i = 0; i < KEYS; i++) {
        const node *value = weak_map_get(&map, &keys[i]->key);
        right += value && value->value == i;
    }
    printf("after every key has moved, %d of %d are found\n", right, KEYS);
    for (int i = 0; i < KEYS; i += 2) weak_map_remove(&map, &keys[i]->key);
    for (int i = 0; i < KEYS; i++) left += weak_map_get(&map, &keys[i]->key) != NULL;
    printf("after every other one was removed: %d\n", left);
    for (int i = 0; i < KEYS - 30; i++) keys[i] = NULL;
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    printf("after all keys but the last 30 have died: %zu\n", weak_table_count(&map));
    size_t capacity = map.capacity;
    weak_table_purge(&map);
    printf("a purge leaves %zu entries, in a smaller table: %s\n", map.used, yes_no(map.capacity < capacity));
    weak_table_free(&map);
}

static void show_strings(gc_heap *heap, gc_thread *gc) {
    weak_table strings = intern_table_new(heap);
    string *lambda = intern(gc, &strings, "lambda"), *define = NULL;
    GC_ROOTS(gc, lambda, define);
    define = intern(gc, &strings, "define");
    for (int i = 0; i < KEYS; i++) {
        char name[32];
        snprintf(name, sizeof name, "g%d", i); /* nobody keeps these */
        if (!intern(gc, &strings, name)) exit(1);
    }
    gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    printf("\"lambda\" is the same string again: %s\n", yes_no(intern(gc, &strings, "lambda") == lambda));
    printf("\"define\" is another one: %s\n", yes_no(define && define != lambda));
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    printf("strings that are left: %zu\n", weak_table_count(&strings));
    lambda = NULL;
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    printf("when \"lambda\" has died: %zu\n", weak_table_count(&strings));
    lambda = intern(gc, &strings, "lambda");
    printf("and when it was interned anew: %zu\n", weak_table_count(&strings));
    weak_table_free(&strings);
}

int main(void) {
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc) return fprintf(stderr, "weak_tables: %s\n", gc_last_message()), 1;
    show_ephemerons(heap, gc);
    show_growth(heap, gc);
    show_strings(heap, gc);
    gc_heap_destroy(heap);
    return 0;
}
