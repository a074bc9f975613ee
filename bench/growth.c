/* How the cost of collections grows with the heap: for live old data of each size, the time of a young collection with the
   same survivors and dirty cards, the time and rate of a full one, and what the tables take.
       growth [MIB...] */
#define GC_IMPLEMENTATION
#include "objects.h"

enum { NURSERY_BYTES = 4 << 20, SURVIVORS = 1000, DIRTY = 1000, YOUNG = 51, FULL = 5, CHUNK = 1024 };

/* 32 bytes, with one reference to another of the same chunk. */
typedef struct cell {
    gc_object header;
    struct cell *other;
    uint64_t words[2];
} cell;
static const gc_type cell_type = GC_TYPE(cell, other);

typedef struct cells {
    gc_array header;
    cell *at[];
} cells;
static const gc_type cells_type = GC_TYPE_ARRAY(cells, at);

typedef struct chunks {
    gc_array header;
    cells *at[];
} chunks;
static const gc_type chunks_type = GC_TYPE_ARRAY(chunks, at);

static cells *new_chunk(gc_thread *gc) {
    cells *chunk = checked(gc_new_array(gc, &cells_type, CHUNK));
    GC_ROOTS(gc, chunk);
    for (size_t i = 0; i < CHUNK; i++) {
        cell *c = checked(gc_new(gc, &cell_type));
        gc_store(gc, &c->other, chunk->at[i ? random_bits() % i : 0]);
        gc_store(gc, &chunk->at[i], c);
    }
    return chunk;
}

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint64_t pause_ns(gc_heap *heap, int generation) {
    gc_stats stats;
    gc_collect(heap, generation, GC_COLLECT_BLOCKING);
    gc_heap_stats(heap, &stats);
    return stats.pause_last_ns;
}

/* The median pause of young collections with SURVIVORS new cells that DIRTY stores into random old ones keep. */
static uint64_t young_ns(gc_heap *heap, gc_thread *gc, chunks *all) {
    uint64_t pauses[YOUNG];
    GC_ROOTS(gc, all);
    for (int i = 0; i < YOUNG; i++) {
        cell *kept = NULL;
        GC_ROOTS(gc, kept);
        for (int k = 0; k < SURVIVORS; k++) {
            cell *c = checked(gc_new(gc, &cell_type));
            c->other = kept;
            kept = c;
        }
        for (int k = 0; k < DIRTY; k++)
            gc_store(gc, &all->at[random_bits() % all->header.length]->at[random_bits() % CHUNK]->other, kept);
        for (size_t made = 0; made < NURSERY_BYTES / 2; made += sizeof(cell)) checked(gc_new(gc, &cell_type));
        pauses[i] = pause_ns(heap, 0);
        /* Until the survivors are old, their cards stay dirty. */
        gc_collect(heap, 1, GC_COLLECT_BLOCKING);
    }
    qsort(pauses, YOUNG, sizeof *pauses, by_value);
    return pauses[YOUNG / 2];
}

static void measure(size_t mib) {
    gc_heap *heap = gc_heap_create(&(gc_options){.nursery_bytes = NURSERY_BYTES});
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    checked(gc);
    size_t chunk_bytes = sizeof(cells) + CHUNK * (sizeof(void *) + sizeof(cell));
    chunks *all = checked(gc_new_array(gc, &chunks_type, (mib << 20) / chunk_bytes));
    GC_ROOTS(gc, all);
    for (size_t i = 0; i < all->header.length; i++) {
        cells *chunk = new_chunk(gc);
        gc_store(gc, &all->at[i], chunk);
    }
    uint64_t pauses[FULL];
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    for (int i = 0; i < FULL; i++) pauses[i] = pause_ns(heap, 2);
    qsort(pauses, FULL, sizeof *pauses, by_value);
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    double full_s = (double)pauses[FULL / 2] / 1e9;
    uint64_t young = young_ns(heap, gc, all);
    printf("%10zu %14.0f %14.1f %14.2f %13.2f %%\n", mib, (double)young / 1e3, full_s * 1e3,
           (double)stats.live_bytes / full_s / 1e9, 100.0 * (double)stats.table_bytes / (double)stats.committed_bytes);
    fflush(stdout);
    gc_heap_destroy(heap);
}

int main(int argc, char **argv) {
    static const size_t sizes[] = {100, 200, 400, 800, 1600, 3200, 6400, 8000};
    printf("Live old data in cells of 32 bytes; young collections with %d survivors and %d dirty cards; medians.\n",
           SURVIVORS, DIRTY);
    printf("%10s %14s %14s %14s %15s\n", "live MiB", "young us", "full ms", "full GB/s", "tables");
    for (int i = 1; i < argc; i++) measure(strtoul(argv[i], NULL, 10));
    for (size_t i = 0; argc < 2 && i < sizeof sizes / sizeof *sizes; i++) measure(sizes[i]);
    return 0;
}
