/* Texts, frames, stacks, types and entries, each kept once. Functions that add one return its number: 0 where the system
   gives no memory, but for entries. The profile's lock is held, or the profile is a writer's copy. */
#pragma once

#include "model.h"

GC__OUT_OF_LINE bool gc__profile_grow(void *array, size_t count, size_t *capacity, size_t bytes) {
    void *items;
    size_t wanted = *capacity ? 2 * *capacity : (size_t)1 << 16; /* a page may have as many */
    while (wanted < (count + 1) * bytes) wanted *= 2;
    memcpy(&items, array, sizeof items);
    items = items ? gc__os_remap(items, *capacity, wanted) : gc__os_map(wanted);
    if (!items) return false;
    memcpy(array, &items, sizeof items);
    *capacity = wanted;
    return true;
}

/* Makes room for one more item in an array; false: no memory. `array` is the address of a pointer to items. */
GC__INLINED bool gc__profile_reserve(void *array, size_t count, size_t *capacity, size_t bytes) {
    return GC__LIKELY((count + 1) * bytes <= *capacity) || gc__profile_grow(array, count, capacity, bytes);
}

/* Appends an item of zeros to profile->array, and yields its address; NULL: no memory. */
#define GC__PROFILE_APPEND(profile, array)                                                          \
    (gc__profile_reserve(&(profile)->array, (profile)->array##_count, &(profile)->array##_capacity, \
                         sizeof *(profile)->array)                                                  \
         ? (memset(&(profile)->array[(profile)->array##_count], 0, sizeof *(profile)->array),       \
            &(profile)->array[(profile)->array##_count++])                                          \
         : NULL)

GC__FN uint64_t gc__profile_hash(const void *data, size_t bytes, uint64_t hash) {
    const unsigned char *at = (const unsigned char *)data;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; bytes; at++, bytes--) hash = (hash ^ *at) * 0x100000001B3u;
    return hash ^ hash >> 32;
}

/* Whether item `number` is the one with this key. */
typedef bool (*gc__profile_equal)(const gc__profile *profile, uint32_t number, const void *key, size_t bytes);

/* The place of the key in the index: a free one if the key is new. The index has some capacity. */
GC__FN uint64_t *gc__index_place(const gc__profile *profile, const gc__profile_index *index, uint64_t hash,
                                 gc__profile_equal equal, const void *key, size_t bytes) {
    size_t at = (size_t)(hash >> 32) & (index->capacity - 1);
    for (;; at = (at + 1) & (index->capacity - 1)) {
        uint64_t *place = &index->places[at];
        if (!*place) return place;
        if (*place >> 32 == hash >> 32 && equal(profile, (uint32_t)*place, key, bytes)) return place;
    }
}

/* Makes room for one more item, at half load. */
GC__FN bool gc__index_reserve(gc__profile_index *index) {
    if (2 * (index->count + 1) <= index->capacity) return true;
    gc__profile_index bigger = {NULL, index->capacity ? 2 * index->capacity : 1024, index->count};
    bigger.places = (uint64_t *)gc__os_map(bigger.capacity * sizeof *bigger.places);
    if (!bigger.places) return false;
    for (size_t i = 0; i < index->capacity; i++) {
        if (!index->places[i]) continue;
        size_t at = (size_t)(index->places[i] >> 32) & (bigger.capacity - 1);
        while (bigger.places[at]) at = (at + 1) & (bigger.capacity - 1);
        bigger.places[at] = index->places[i];
    }
    if (index->capacity) gc__os_unmap(index->places, index->capacity * sizeof *index->places);
    *index = bigger;
    return true;
}

/* Enters the item with this number at its place. A number of 0 is entered as well: hashes are made not to be 0. */
GC__FN void gc__index_set(gc__profile_index *index, uint64_t *place, uint64_t hash, size_t number) {
    *place = (hash >> 32) << 32 | (uint32_t)number;
    index->count++;
}

GC__FN uint64_t gc__index_hash(const void *key, size_t bytes) {
    return gc__profile_hash(key, bytes, 1) | (uint64_t)1 << 63;
}

GC__FN bool gc__text_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    const char *text = profile->texts + number;
    return strncmp(text, (const char *)key, bytes) == 0 && !text[bytes];
}

/* A text of `bytes` bytes, without a 0 among them. */
GC__FN uint32_t gc__profile_text_add_part(gc__profile *profile, const char *text, size_t bytes) {
    if (!bytes || !gc__index_reserve(&profile->text_index)) return 0;
    uint64_t hash = gc__index_hash(text, bytes);
    uint64_t *place = gc__index_place(profile, &profile->text_index, hash, gc__text_equal, text, bytes);
    if (*place) return (uint32_t)*place;
    size_t number = profile->texts_count;
    if (!gc__profile_reserve(&profile->texts, number + bytes, &profile->texts_capacity, 1)) return 0;
    if (number + bytes >= UINT32_MAX) return 0;
    memcpy(profile->texts + number, text, bytes);
    profile->texts[number + bytes] = 0;
    profile->texts_count += bytes + 1;
    gc__index_set(&profile->text_index, place, hash, number);
    return (uint32_t)number;
}

GC__FN uint32_t gc__profile_text_add(gc__profile *profile, const char *text) {
    return text ? gc__profile_text_add_part(profile, text, strlen(text)) : 0;
}

GC__FN bool gc__type_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    return memcmp(&profile->types[number].name, key, bytes) == 0;
}

GC__FN uint32_t gc__profile_type_add_part(gc__profile *profile, const char *name, size_t bytes) {
    uint32_t text = gc__profile_text_add_part(profile, name, bytes);
    if (!text || !gc__index_reserve(&profile->type_index)) return 0;
    uint64_t hash = gc__index_hash(&text, sizeof text);
    uint64_t *place = gc__index_place(profile, &profile->type_index, hash, gc__type_equal, &text, sizeof text);
    if (*place) return (uint32_t)*place;
    gc__profile_type *type = GC__PROFILE_APPEND(profile, types);
    if (!type) return 0;
    type->name = text;
    gc__index_set(&profile->type_index, place, hash, profile->types_count - 1);
    return (uint32_t)(profile->types_count - 1);
}

GC__FN uint32_t gc__profile_type_add(gc__profile *profile, const char *name) {
    return gc__profile_type_add_part(profile, name, strlen(name));
}

/* The fields that tell frames apart: those that are known when a stack is taken. */
typedef struct gc__frame_key {
    uintptr_t pc;
    uint32_t code, name, file, line;
    uint32_t module, zero;
} gc__frame_key;

GC__FN bool gc__frame_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    const gc__profile_frame *frame = &profile->frames[number];
    const gc__frame_key *k = (const gc__frame_key *)key;
    (void)bytes;
    if (frame->pc != k->pc || frame->code != k->code || frame->module != k->module) return false;
    return k->pc || (frame->name == k->name && frame->file == k->file && frame->line == k->line);
}

GC__FN uint32_t gc__profile_frame_add(gc__profile *profile, const gc__frame_key *key) {
    if (!gc__index_reserve(&profile->frame_index)) return 0;
    uint64_t hash = gc__index_hash(key, sizeof *key);
    uint64_t *place = gc__index_place(profile, &profile->frame_index, hash, gc__frame_equal, key, sizeof *key);
    if (*place) return (uint32_t)*place;
    gc__profile_frame *frame = GC__PROFILE_APPEND(profile, frames);
    if (!frame) return 0;
    frame->pc = key->pc;
    frame->code = key->code;
    frame->name = key->name;
    frame->file = key->file;
    frame->line = key->line;
    frame->module = key->module;
    gc__index_set(&profile->frame_index, place, hash, profile->frames_count - 1);
    return (uint32_t)(profile->frames_count - 1);
}

GC__FN bool gc__stack_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    uint32_t found[2] = {gc__stack_frame_number(profile, number), gc__stack_caller(profile, number)};
    return memcmp(found, key, bytes) == 0;
}

/* A new stack of `frame` that was called by `caller`, which may be there already. */
GC__FN uint32_t gc__profile_stack_append(gc__profile *profile, uint32_t frame, uint32_t caller) {
    size_t count = profile->stacks_count;
    if (!gc__profile_reserve(&profile->stacks, count + 1, &profile->stacks_capacity, sizeof *profile->stacks)) return 0;
    if (count + 2 >= GC__STACK_APART || frame >= GC__STACK_APART) return 0;
    if (caller != count - 1) {
        profile->stacks[count++] = caller;
        frame |= GC__STACK_APART;
    }
    profile->stacks[count] = frame;
    profile->stacks_count = count + 1;
    return (uint32_t)count;
}

/* The stack of `frame` that was called by `caller`. */
GC__FN uint32_t gc__profile_stack_add(gc__profile *profile, uint32_t frame, uint32_t caller) {
    uint32_t key[2] = {frame, caller};
    if (!gc__index_reserve(&profile->stack_index)) return 0;
    uint64_t hash = gc__index_hash(key, sizeof key);
    uint64_t *place = gc__index_place(profile, &profile->stack_index, hash, gc__stack_equal, key, sizeof key);
    if (*place) return (uint32_t)*place;
    uint32_t number = gc__profile_stack_append(profile, frame, caller);
    if (number) gc__index_set(&profile->stack_index, place, hash, number);
    return number;
}

GC__FN bool gc__site_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    return memcmp(&profile->sites[number].hash, key, bytes) == 0;
}

/* The amount of what died in the generation; NULL: no memory. */
GC__FN gc__profile_amount *gc__site_died(gc__profile *profile, uint32_t site, int generation) {
    uint32_t *number = &profile->sites[site].died[generation];
    if (*number) return &profile->amounts[*number];
    gc__profile_amount *amount = GC__PROFILE_APPEND(profile, amounts);
    if (amount) *number = (uint32_t)(amount - profile->amounts);
    return amount;
}

/* What the site has of events other than samples; NULL: no memory. */
GC__FN gc__profile_marks *gc__site_marks(gc__profile *profile, uint32_t site) {
    uint32_t *number = &profile->sites[site].marks;
    if (*number) return &profile->marks[*number];
    gc__profile_marks *marks = GC__PROFILE_APPEND(profile, marks);
    if (marks) *number = (uint32_t)(marks - profile->marks);
    return marks;
}

GC__FN bool gc__entry_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    return memcmp(&profile->entries[number].type, key, bytes) == 0;
}

/* The entry of the type and the stack; NULL: no memory. */
GC__FN gc__profile_entry *gc__profile_entry_add(gc__profile *profile, uint32_t type, uint32_t stack) {
    uint32_t key[2] = {type, stack};
    if (!gc__index_reserve(&profile->entry_index)) return NULL;
    uint64_t hash = gc__index_hash(key, sizeof key);
    uint64_t *place = gc__index_place(profile, &profile->entry_index, hash, gc__entry_equal, key, sizeof key);
    if (*place) return &profile->entries[(uint32_t)*place];
    gc__profile_entry *entry = GC__PROFILE_APPEND(profile, entries);
    if (!entry) return NULL;
    entry->type = type;
    entry->stack = stack;
    gc__index_set(&profile->entry_index, place, hash, profile->entries_count - 1);
    return entry;
}

GC__FN void gc__entry_sum(gc__profile_entry *sum, const gc__profile_entry *entry) {
    for (int g = 0; g < GC_GENERATIONS; g++) {
        gc__amount_sum(&sum->live[g], &entry->live[g]);
        gc__amount_sum(&sum->died[g], &entry->died[g]);
    }
    gc__amount_sum(&sum->allocated, &entry->allocated);
    sum->marks.ticks += entry->marks.ticks;
    sum->marks.tick_bytes += entry->marks.tick_bytes;
    sum->marks.events += entry->marks.events;
    sum->marks.objects += entry->marks.objects;
    sum->marks.object_bytes += entry->marks.object_bytes;
}

/* Unites stacks with the same frames, and their entries. False: no memory. */
GC__FN bool gc__profile_unite(gc__profile *profile) {
    size_t count = profile->stacks_count, bytes = count * sizeof(uint32_t), entries = profile->entries_count;
    uint32_t *united = (uint32_t *)gc__os_map(bytes);
    bool ok = united != NULL;
    profile->stacks_count = 1;
    for (uint32_t i = 1; ok && i < count; i++) {
        if (i + 1 < count && profile->stacks[i + 1] & GC__STACK_APART) i++; /* the word was a caller */
        uint32_t frame = gc__stack_frame_number(profile, i), caller = gc__stack_caller(profile, i);
        ok = (united[i] = gc__profile_stack_add(profile, frame, united[caller])) != 0; /* at or before i */
    }
    profile->entries_count = 0;
    for (size_t i = 0; ok && i < entries; i++) {
        const gc__profile_entry entry = profile->entries[i];
        gc__profile_entry *sum = gc__profile_entry_add(profile, entry.type, united[entry.stack]);
        ok = sum != NULL;
        if (ok) gc__entry_sum(sum, &entry);
    }
    if (united) gc__os_unmap(united, bytes);
    return ok;
}

/* X(array): all arrays of a profile. */
#define GC__PROFILE_ARRAYS(X)                                                                                        \
    X(texts)                                                                                                         \
    X(frames) X(stacks) X(types) X(modules) X(codes) X(lines) X(sites) X(amounts) X(marks) X(entries) X(collections) \
        X(threads) X(heaps)
#define GC__PROFILE_INDEXES(X) X(text_index) X(frame_index) X(stack_index) X(type_index) X(site_index) X(entry_index)

GC__FN void gc__profile_free(gc__profile *profile) {
#define GC__FREE_ARRAY(array) \
    if (profile->array##_capacity) gc__os_unmap(profile->array, profile->array##_capacity);
#define GC__FREE_INDEX(index) \
    if (profile->index.capacity) gc__os_unmap(profile->index.places, profile->index.capacity * sizeof(uint64_t));
    GC__PROFILE_ARRAYS(GC__FREE_ARRAY)
    GC__PROFILE_INDEXES(GC__FREE_INDEX)
#undef GC__FREE_ARRAY
#undef GC__FREE_INDEX
    memset(profile, 0, sizeof *profile);
}

/* Makes the items with number 0; false: no memory. */
GC__FN bool gc__profile_open(gc__profile *profile) {
    memset(profile, 0, sizeof *profile);
    return GC__PROFILE_APPEND(profile, texts) && GC__PROFILE_APPEND(profile, frames) &&
           GC__PROFILE_APPEND(profile, stacks) && GC__PROFILE_APPEND(profile, types) &&
           GC__PROFILE_APPEND(profile, modules) && GC__PROFILE_APPEND(profile, codes) &&
           GC__PROFILE_APPEND(profile, amounts) && GC__PROFILE_APPEND(profile, marks);
}

GC__FN bool gc__profile_copy_bytes(void *pointer, size_t bytes) {
    void *items;
    memcpy(&items, pointer, sizeof items);
    void *copy = bytes ? gc__os_map(bytes) : NULL;
    if (copy) memcpy(copy, items, bytes);
    memcpy(pointer, &copy, sizeof copy);
    return copy || !bytes;
}

/* A copy for a writer; false: no memory, and there is nothing to free. */
GC__FN bool gc__profile_copy(gc__profile *to, const gc__profile *from) {
    bool ok = true;
    *to = *from;
#define GC__COPY_ARRAY(array)                                                       \
    ok = gc__profile_copy_bytes(&to->array, ok ? from->array##_capacity : 0) && ok; \
    if (!to->array) to->array##_capacity = 0;
#define GC__COPY_INDEX(index)                                                                               \
    ok = gc__profile_copy_bytes(&to->index.places, ok ? from->index.capacity * sizeof(uint64_t) : 0) && ok; \
    if (!to->index.places) to->index.capacity = 0;
    GC__PROFILE_ARRAYS(GC__COPY_ARRAY)
    GC__PROFILE_INDEXES(GC__COPY_INDEX)
#undef GC__COPY_ARRAY
#undef GC__COPY_INDEX
    if (!ok) gc__profile_free(to);
    return ok;
}
