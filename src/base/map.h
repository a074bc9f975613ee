/* Maps from an object's address to a word, by open addressing. The owner of a map follows the objects as they move: in
   a collection it takes the entries of condemned generations out (gc__map_take) and puts those of survivors back, which
   always fit. */
#pragma once

#include "words.h"

typedef struct gc__map {
    uintptr_t *keys; /* 0: the place is free */
    uintptr_t *values;
    size_t count, capacity;
} gc__map;

GC__FN size_t gc__map_bytes(const gc__map *map) { return map->capacity * 2 * sizeof(uintptr_t); }

GC__FN void gc__map_free(gc__map *map) {
    if (map->capacity) gc__os_unmap(map->keys, gc__map_bytes(map));
    memset(map, 0, sizeof *map);
}

/* Returns the index at which the key is, or would be. The map must have some capacity. */
GC__FN size_t gc__map_place(const gc__map *map, uintptr_t key) {
    size_t at = (size_t)(((uint64_t)key >> 3) * 0x9E3779B97F4A7C15u >> 20);
    for (;; at++) {
        at &= map->capacity - 1;
        if (!map->keys[at] || map->keys[at] == key) return at;
    }
}

/* Returns the address of the key's value; NULL if the map has no such key. */
GC__FN uintptr_t *gc__map_find(const gc__map *map, uintptr_t key) {
    size_t at = map->capacity ? gc__map_place(map, key) : 0;
    return map->capacity && map->keys[at] ? &map->values[at] : NULL;
}

/* Returns the address of the key's value, which is 0 if the key is new. There must be room. */
GC__FN uintptr_t *gc__map_put(gc__map *map, uintptr_t key) {
    size_t at = gc__map_place(map, key);
    if (!map->keys[at]) {
        map->keys[at] = key;
        map->values[at] = 0;
        map->count++;
    }
    return &map->values[at];
}

/* Returns the capacity that holds `count` entries at half load. */
GC__FN size_t gc__map_capacity(size_t count) {
    size_t capacity = 512;
    while (capacity < 2 * count) capacity *= 2;
    return capacity;
}

/* Moves the entries to memory of another size. On failure the map is unchanged. */
GC__HOT bool gc__map_resize(gc__map *map, size_t capacity) {
    gc__map other = {NULL, NULL, 0, capacity};
    other.keys = (uintptr_t *)gc__os_map(gc__map_bytes(&other));
    if (!other.keys) return false;
    other.values = other.keys + capacity;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->keys[i]) *gc__map_put(&other, map->keys[i]) = map->values[i];
    gc__map_free(map);
    *map = other;
    return true;
}

GC__FN bool gc__map_has_room(const gc__map *map, size_t count) { return map->capacity >= 2 * count && map->capacity; }

/* Makes room for `count` entries. On failure the map is unchanged. */
GC__OUT_OF_LINE bool gc__map_reserve(gc__map *map, size_t count) {
    return gc__map_has_room(map, count) || gc__map_resize(map, gc__map_capacity(count));
}

/* Returns the number of bytes by which another entry makes the map larger. */
GC__FN size_t gc__map_growth(const gc__map *map) {
    gc__map larger = {NULL, NULL, 0, map->capacity};
    if (!gc__map_has_room(map, map->count + 1)) larger.capacity = gc__map_capacity(map->count + 1);
    return gc__map_bytes(&larger) - gc__map_bytes(map);
}

/* Shrinks a map that was made for more entries than it holds. */
GC__FN void gc__map_shrink(gc__map *map) {
    size_t capacity = gc__map_capacity(map->count);
    if (!map->count)
        gc__map_free(map);
    else if (map->capacity > capacity)
        gc__map_resize(map, capacity);
}

GC__FN void gc__map_clear(gc__map *map) {
    if (map->count) memset(map->keys, 0, map->capacity * sizeof(uintptr_t));
    map->count = 0;
}

/* Empties the map. If it was made for far more entries than it last held, freeing it is faster than clearing it. */
GC__FN void gc__map_reset(gc__map *map) {
    if (map->capacity > 4096 && map->capacity / 64 > map->count)
        gc__map_free(map);
    else
        gc__map_clear(map);
}

/* Appends all entries to the list as key, value, and clears the map. The list must have room. */
GC__FN void gc__map_take(gc__map *map, gc__words *list) {
    for (size_t i = 0; map->count && i < map->capacity; i++) {
        if (!map->keys[i]) continue;
        list->words[list->count++] = map->keys[i];
        list->words[list->count++] = map->values[i];
    }
    gc__map_clear(map);
}
