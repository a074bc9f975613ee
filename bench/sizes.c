/* What objects of each size cost, from 16 bytes to 64 MB: time and memory as functions of size, so that a cliff between small
   and large objects would show. A table of objects of one size is filled, and each object replaced by chance some times.
       sizes [BYTES...] */
#define GC_IMPLEMENTATION
#include "objects.h"

#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 4, LEAST_COUNT = 16 };
static const size_t live_bytes = (size_t)48 << 20;

static size_t count_of(size_t size) {
    size_t count = live_bytes / size;
    return count > LEAST_COUNT ? count : LEAST_COUNT;
}

static gc_heap *new_heap(gc_options options) { return checked(gc_heap_create(&options)); }
static double resident_bytes(void) { return (double)status_bytes("VmRSS:"); }

/* Writes to each page. */
static void touch(char *at, size_t size) {
    for (size_t i = 0; i < size; i += 4096) at[i] = 1;
}

/* Time for an object, in ns; what the heap holds and what is resident, for each byte that lives. */
static void replace(size_t size) {
    gc_heap *heap = new_heap((gc_options){0});
    gc_thread *gc = gc_thread_attach(heap);
    double before = resident_bytes();
    size_t count = count_of(size);
    table *all = gc_new_array(gc, &table_type, count);
    GC_ROOTS(gc, all);
    uint64_t start = 0;
    for (size_t i = 0; i < (ROUNDS + 1) * count; i++) {
        if (i == count) start = gc__os_cpu_ns();
        bytes *object = checked(gc_new_array(gc, &bytes_type, size - sizeof(bytes)));
        touch(object->items, size - sizeof(bytes));
        gc_store(gc, &all->items[i < count ? i : random_bits() % count], object);
    }
    double ns = (double)(gc__os_cpu_ns() - start) / (double)(ROUNDS * count), live = (double)(count * (size + 8));
    gc_stats stats;
    gc_heap_stats(heap, &stats);
    printf(" %12.1f %8.3f %9.2f %9.2f", ns, ns / (double)size, (double)stats.committed_bytes / live,
           (resident_bytes() - before) / live);
}

/* The share of the limit that objects and the table of them can fill. */
static void fill(size_t size) {
    size_t limit = count_of(size) * (size + 8);
    gc_heap *heap = new_heap((gc_options){.heap_bytes_max = limit});
    gc_thread *gc = gc_thread_attach(heap);
    size_t filled = 0;
    table *all = gc_new_array(gc, &table_type, limit / size);
    GC_ROOTS(gc, all);
    while (all && filled < limit / size) {
        bytes *object = gc_new_with(gc, &bytes_type, size - sizeof(bytes), GC_NEW_RAW);
        if (!object) break;
        gc_store(gc, &all->items[filled++], object);
    }
    printf(" %8.1f", all ? 100.0 * (double)(filled * size + gc_object_bytes(all)) / (double)limit : 0);
}

/* The same replacements by malloc and free. */
static void with_malloc(size_t size) {
    size_t count = count_of(size);
    double before = resident_bytes();
    char **all = calloc(count, sizeof *all);
    uint64_t start = 0;
    for (size_t i = 0; i < (ROUNDS + 1) * count; i++) {
        if (i == count) start = gc__os_cpu_ns();
        size_t at = i < count ? i : random_bits() % count;
        free(all[at]);
        all[at] = calloc(1, size);
        touch(all[at], size);
    }
    double ns = (double)(gc__os_cpu_ns() - start) / (double)(ROUNDS * count);
    printf(" %12.1f %8.2f", ns, (resident_bytes() - before) / (double)(count * (size + 8)));
}

/* In a process of its own, so that no measurement leaves memory to another. */
static void alone(void (*measure)(size_t size), size_t size) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        measure(size);
        fflush(stdout);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status) printf(" failed");
}

static void measure(size_t size) {
    printf("%9zu", size);
    alone(replace, size);
    alone(fill, size);
    alone(with_malloc, size);
    printf("\n");
}

int main(int argc, char **argv) {
    printf("regions of %zu KiB, large objects from %zu bytes on; %zu MiB or %d objects live\n", GC_REGION_BYTES >> 10,
           GC_LARGE_BYTES + 8, live_bytes >> 20, LEAST_COUNT);
    printf("    bytes      ns each  ns/byte held/live  rss/live %% fills       calloc rss/live\n");
    for (int i = 1; i < argc; i++) measure((size_t)strtoull(argv[i], NULL, 0));
    for (size_t size = 16; argc == 1 && size <= (size_t)64 << 20; size *= 2) {
        measure(size);
        if (size == GC_LARGE_BYTES) measure(size + 8);
        if (size > 16 && size < (size_t)64 << 20) measure(size / 8 * 11);
    }
    return 0;
}
