#include "search.h"
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 16382

/* A queue in chunks, so that it takes memory for the front only. */
typedef struct queue_chunk {
    struct queue_chunk *next;
    uint32_t first, count;
    uint32_t objects[CHUNK];
} queue_chunk;

typedef struct object_queue {
    queue_chunk *first, *last, *spare;
} object_queue;

static void queue_put(object_queue *queue, uint32_t object) {
    if (!queue->last || queue->last->count == CHUNK) {
        queue_chunk *fresh = queue->spare ? queue->spare : memory_take(1, sizeof *fresh, "the search's front");
        queue->spare = NULL;
        fresh->next = NULL;
        fresh->first = fresh->count = 0;
        if (queue->last)
            queue->last->next = fresh;
        else
            queue->first = fresh;
        queue->last = fresh;
    }
    queue->last->objects[queue->last->count++] = object;
}

static uint32_t queue_take(object_queue *queue) {
    queue_chunk *chunk = queue->first;
    if (!chunk || (chunk->first == chunk->count && !chunk->next)) return OBJECT_NONE;
    if (chunk->first == chunk->count) {
        queue->first = chunk->next;
        free(queue->spare);
        queue->spare = chunk;
        chunk = queue->first;
    }
    return chunk->objects[chunk->first++];
}

static void queue_free(object_queue *queue) {
    free(queue->spare);
    for (queue_chunk *each = queue->first, *next; each; each = next) {
        next = each->next;
        free(each);
    }
}

/* `from` holds what each object was reached from: itself for a start, OBJECT_NONE if it was not reached. */
static bool spread(const edge_store *edges, uint32_t *from, object_queue *queue, uint32_t wanted) {
    for (uint32_t object, to; (object = queue_take(queue)) != OBJECT_NONE;) {
        uint64_t at = edges_of(edges, object);
        while ((to = edges_next(edges, object, &at)) != OBJECT_NONE) {
            if (from[to] != OBJECT_NONE) continue;
            from[to] = object;
            if (to == wanted) return true;
            queue_put(queue, to);
        }
    }
    return false;
}

static search_path path_back(const uint32_t *from, uint32_t to) {
    search_path path = {NULL, 1};
    for (uint32_t at = to; from[at] != at; at = from[at]) path.count++;
    path.objects = memory_take(path.count, sizeof *path.objects, "the path");
    for (size_t i = path.count; i-- > 0; to = from[to]) path.objects[i] = to;
    return path;
}

search_path search_shortest(const edge_store *edges, uint32_t objects, const uint32_t *starts, size_t starts_count,
                            uint32_t to) {
    search_path path = {NULL, 0};
    object_queue queue = {NULL, NULL, NULL};
    uint32_t *from = memory_take(objects, sizeof *from, "the search");
    memset(from, 0xFF, objects * sizeof *from);
    for (size_t i = 0; i < starts_count; i++) {
        if (from[starts[i]] != OBJECT_NONE) continue;
        from[starts[i]] = starts[i];
        queue_put(&queue, starts[i]);
    }
    if (from[to] != OBJECT_NONE || spread(edges, from, &queue, to)) path = path_back(from, to);
    queue_free(&queue);
    free(from);
    return path;
}
