/* Maps from an object's address to a word, by open addressing. The owner of a map follows the objects as they move: during
   a collection it takes the entries of condemned generations out (gc__map_take) and puts the survivors back, for which
   there is room. */
#pragma once

#include "words.h"

typedef struct gc__map {
    uintptr_t *keys; /* 0: free */
    uintptr_t *values;
    size_t count, capacity;
} gc__map;

GC__FN size_t gc__map_bytes(const gc__map *map) { return map->capacity * 2 * sizeof(uintptr_t); }

GC__FN void gc__map_free(gc__map *map) {
    if (map->capacity) gc__os_unmap(map->keys, gc__map_bytes(map));
    memset(map, 0, sizeof *map);
}

/* The index at which the key is or would be. The map must have some capacity. */
GC__FN size_t gc__map_place(const gc__map *map, uintptr_t key) {
    size_t at = (size_t)(((uint64_t)key >> 3) * 0x9E3779B97F4A7C15u >> 20);
    for (;; at++) {
        at &= map->capacity - 1;
        if (!map->keys[at] || map->keys[at] == key) return at;
    }
}

/* The address of the key's value; NULL if the map has no such key. */
GC__FN uintptr_t *gc__map_find(const gc__map *map, uintptr_t key) {
    size_t at = map->capacity ? gc__map_place(map, key) : 0;
    return map->capacity && map->keys[at] ? &map->values[at] : NULL;
}

/* The address of the key's value, which is 0 if the key is new. There must be room. */
GC__FN uintptr_t *gc__map_put(gc__map *map, uintptr_t key) {
    size_t at = gc__map_place(map, key);
    if (!map->keys[at]) {
        map->keys[at] = key;
        map->values[at] = 0;
        map->count++;
    }
    return &map->values[at];
}

/* Makes room for `count` entries at half load. On failure nothing has changed. */
GC__FN bool gc__map_reserve(gc__map *map, size_t count) {
    if (map->capacity >= 2 * count && map->capacity) return true;
    gc__map bigger = {NULL, NULL, 0, 512};
    while (bigger.capacity < 2 * count) bigger.capacity *= 2;
    bigger.keys = (uintptr_t *)gc__os_map(gc__map_bytes(&bigger));
    if (!bigger.keys) return false;
    bigger.values = bigger.keys + bigger.capacity;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->keys[i]) *gc__map_put(&bigger, map->keys[i]) = map->values[i];
    gc__map_free(map);
    *map = bigger;
    return true;
}

GC__FN void gc__map_clear(gc__map *map) {
    if (map->count) memset(map->keys, 0, map->capacity * sizeof(uintptr_t));
    map->count = 0;
}

/* Empties the map. A map that was made for far more than it last held takes longer to clear than to make again. */
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
