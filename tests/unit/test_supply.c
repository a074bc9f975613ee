/* Memory from functions of the host: what they are asked for, and what happens when they refuse. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <sys/mman.h>
#include <unistd.h>

enum { RESERVED_MAX = 32 };
typedef struct host {
    struct {
        char *start;
        size_t bytes;
    } reserved[RESERVED_MAX];
    size_t reserves, commits, discards, releases, committed, wrong;
    size_t reserve_bytes_max; /* of what is not readable; 0: any */
    size_t reserves_left, commits_left; /* until they are refused; SIZE_MAX: never */
    size_t shift;                       /* how far beside a multiple of the alignment */
    bool wholesale_most;                         /* discards nothing */
    bool shares;                        /* memory is mapped as that of files is */
} host;

static bool is_reserved(const host *self, const char *start, size_t bytes) {
    for (int i = 0; i < RESERVED_MAX; i++)
        if (self->reserved[i].start && start >= self->reserved[i].start &&
            start + bytes <= self->reserved[i].start + self->reserved[i].bytes)
            return true;
    return false;
}

static bool is_whole(const void *start, size_t bytes) {
    return bytes && !(((uintptr_t)start | bytes) & ((size_t)sysconf(_SC_PAGESIZE) - 1));
}

static void *reserve(void *context, size_t bytes, size_t alignment, bool readable) {
    host *self = context;
    int i = 0;
    self->reserves++;
    self->wrong += !is_whole(NULL, bytes) || !is_whole(NULL, alignment) || (alignment & (alignment - 1));
    if (!self->reserves_left || (!readable && self->reserve_bytes_max && bytes > self->reserve_bytes_max)) return NULL;
    if (self->reserves_left != SIZE_MAX) self->reserves_left--;
    while (self->reserved[i].start) i++;
    int flags = (self->shares ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE;
    char *mapped = mmap(NULL, bytes + alignment, PROT_NONE, flags, -1, 0);
    if (mapped == MAP_FAILED) return NULL;
    char *start = (char *)(((uintptr_t)mapped + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (readable) mprotect(start, bytes, PROT_READ);
    self->reserved[i].start = start + self->shift;
    self->reserved[i].bytes = bytes;
    return start + self->shift;
}

static bool commit(void *context, void *address, size_t bytes) {
    host *self = context;
    self->commits++;
    self->wrong += !is_whole(address, bytes) || !is_reserved(self, address, bytes);
    if (!self->commits_left) return false;
    if (self->commits_left != SIZE_MAX) self->commits_left--;
    self->committed += bytes;
    return mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0;
}

static bool discard(void *context, void *address, size_t bytes) {
    host *self = context;
    self->discards++;
    self->wrong += !is_whole(address, bytes) || !is_reserved(self, address, bytes);
    return !self->wholesale_most && madvise(address, bytes, MADV_DONTNEED) == 0;
}

static void release(void *context, void *address, size_t bytes) {
    host *self = context;
    int i = 0;
    self->releases++;
    while (i < RESERVED_MAX && (self->reserved[i].start != address || self->reserved[i].bytes != bytes)) i++;
    if (i == RESERVED_MAX) {
        self->wrong++;
        return;
    }
    munmap((char *)address - self->shift, bytes);
    self->reserved[i].start = NULL;
}

static host the_host;
static const gc_memory memory = {reserve, commit, discard, release, &the_host};

static void fresh(void) {
    memset(&the_host, 0, sizeof the_host);
    the_host.reserves_left = the_host.commits_left = SIZE_MAX;
}

static size_t reserved_now(void) {
    size_t count = 0;
    for (int i = 0; i < RESERVED_MAX; i++) count += the_host.reserved[i].start != NULL;
    return count;
}

/* Lists, large arrays and garbage, in a heap that is checked; returns how many objects were outside the host's memory. */
static size_t work(gc_options options) {
    size_t outside = 0;
    options.memory = &memory;
    begin_verified(options);
    {
        node *list = NULL;
        vector *large = NULL;
        GC_ROOTS(gc, list, large);
        for (uint64_t i = 0; i < 20000; i++) {
            node *n = new_node(i);
            gc_store(gc, &n->left, i % 1000 ? list : NULL);
            list = n;
            outside += !is_reserved(&the_host, (const char *)n, sizeof *n);
            if (i % 2000 == 0) large = new_vector(2 * GC_REGION_BYTES / 8);
        }
        outside += !is_reserved(&the_host, (const char *)large, 2 * GC_REGION_BYTES);
        compact();
        large = NULL;
        compact();
        size_t length = 0;
        for (const node *n = list; n; n = n->left) length++;
        is(length, 1000, "the list is whole");
        is(gc_heap_create(NULL) == NULL ? gc_last_result() : GC_OK, GC_ERROR_OPTION, "a heap with other memory is refused");
        gc_heap *second = gc_heap_create(&(gc_options){.memory = &memory});
        ok(second != NULL, "one with the same memory is not");
        gc_heap_destroy(second);
    }
    end();
    return outside;
}

static void counted(void) {
    fresh();
    is(work((gc_options){0}), 0, "all objects are in memory of the host");
    is(the_host.wrong, 0, "it was asked for whole pages of what it has reserved, and given back what it has reserved");
    ok(the_host.reserves >= 3 && the_host.commits > 3 && the_host.discards > 0, "%zu reserves, %zu commits, %zu discards",
       the_host.reserves, the_host.commits, the_host.discards);
    is(reserved_now(), 0, "all of it was released with the last heap");
    begin(NULL);
    ok(new_node(1) && !is_reserved(&the_host, (const char *)new_node(1), sizeof(node)), "then a heap has the system's");
    end();
    fresh();
    is(work((gc_options){.debug.stress = GC_STRESS_NTH, .debug.stress_interval = 500}), 0, "the same under stress");
    is(the_host.wrong + reserved_now(), 0, "released, too");
}

static void refused_reserves(void) {
    fresh();
    the_host.reserve_bytes_max = 64 * GC_REGION_BYTES > (size_t)256 << 20 ? 64 * GC_REGION_BYTES : (size_t)256 << 20;
    is(work((gc_options){0}), 0, "a host with little address space");
    for (size_t most = 0; most < 2; most++) {
        fresh();
        the_host.reserves_left = most;
        ok(!gc_heap_create(&(gc_options){.memory = &memory}), "reserve number %zu is refused", most + 1);
        is(gc_last_result(), GC_ERROR_RESERVE, "GC_ERROR_RESERVE");
        has(gc_last_message(), "options.memory of the host refuses it", "who has refused");
        is(reserved_now() + the_host.wrong, 0, "nothing stays reserved");
    }
    fresh();
    the_host.shift = (size_t)sysconf(_SC_PAGESIZE);
    ok(!gc_heap_create(&(gc_options){.memory = &memory}), "memory that is not aligned is refused");
    is(gc_last_result(), GC_ERROR_RESERVE, "GC_ERROR_RESERVE");
    is(reserved_now() + the_host.wrong, 0, "and released");
    gc_memory partial = memory;
    partial.commit = NULL;
    ok(!gc_heap_create(&(gc_options){.memory = &partial}), "a function is missing");
    is(gc_last_result(), GC_ERROR_OPTION, "GC_ERROR_OPTION");
}

/* Each commit is the first one to be refused; later the host relents. */
static void refused_commits(void) {
    size_t failed = 0, wrong = 0, most = 0;
    for (;; most++) {
        fresh();
        the_host.commits_left = most;
        heap = gc_heap_create(&(gc_options){.memory = &memory, .debug.verify = GC_VERIFY_AFTER});
        gc = heap ? gc_thread_attach(heap) : NULL;
        if (!gc) {
            wrong += gc_last_result() != GC_ERROR_MEMORY || !strstr(gc_last_message(), "options.memory");
            gc_heap_destroy(heap);
            wrong += reserved_now() != 0;
            failed++;
            continue;
        }
        bool full_once = false;
        {
            node *list = NULL;
            size_t length = 0;
            GC_ROOTS(gc, list);
            for (uint64_t i = 0; i < 8 * GC_REGION_BYTES / sizeof(node); i++) {
                node *n = new_node(i);
                if (!n) {
                    wrong += gc_last_result() != GC_ERROR_MEMORY || !strstr(gc_last_message(), "options.memory");
                    full_once = true;
                    the_host.commits_left = SIZE_MAX;
                    n = new_node(i);
                    wrong += !n;
                    if (!n) break;
                }
                gc_store(gc, &n->left, list);
                list = n;
                length++;
            }
            full();
            for (const node *n = list; n; n = n->left) length--;
            wrong += length != 0;
        }
        end();
        wrong += the_host.wrong + reserved_now();
        failed += full_once;
        if (!full_once) break;
    }
    ok(failed >= 8 && failed == most, "%zu commits were refused, one after the other", failed);
    is(wrong, 0, "each was exhaustion, with a message that names the host, and the heap went on");
}

static void kept(void) {
    fresh();
    the_host.wholesale_most = true;
    is(work((gc_options){0}), 0, "a host that takes nothing back before the end");
    is(the_host.wrong + reserved_now(), 0, "released");
    gc_memory partial = memory;
    partial.discard = NULL;
    fresh();
    begin_verified((gc_options){.memory = &partial});
    for (int i = 0; i < 20; i++) ok(new_vector(2 * GC_REGION_BYTES / 8) != NULL, "large array %d without discard", i);
    end();
    is(the_host.discards + the_host.wrong + reserved_now(), 0, "released");
}

/* All tables go with the last heap, also those that only some heaps need; the next heap has others. */
static void marked_twice(void) {
    fresh();
    for (int life = 0; life < 2; life++) {
        begin_verified((gc_options){.memory = &memory, .concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1});
        {
            node *list = new_node(1);
            GC_ROOTS(gc, list);
            full();
            full();
            gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
            gc_store(gc, &list->left, list);
            is(stats().concurrent_cycles, 1, "a heap of the host's memory is marked beside the program, life %d", life);
            full();
            ok(list->left == list, "and collected");
        }
        end();
    }
    is(the_host.wrong + reserved_now(), 0, "released, too");
}

/* The system may take pages of shared memory out of the process's table, and find them again: what it tells of them does not
   show whether an array was written to. */
static void shared(void) {
    enum { SLOTS = 1 << 18 };
    fresh();
    the_host.shares = the_host.wholesale_most = true;
    begin(&(gc_options){.memory = &memory, .concurrent = GC_CONCURRENT_ON, .nursery_bytes = 64 << 20});
    {
        vector *huge = new_vector(SLOTS);
        GC_ROOTS(gc, huge);
        gc_store(gc, &huge->items[SLOTS - 1], new_node(7));
        gc_handle kept = gc_handle_create(heap, GC_HANDLE_WEAK, huge->items[SLOTS - 1]);
        size_t page = (size_t)sysconf(_SC_PAGESIZE), half = SLOTS / 2 * 8;
        uintptr_t from = ((uintptr_t)huge + half) / page * page;
        is(madvise((void *)from, half / page * page + page, MADV_DONTNEED), 0, "the system forgets where the pages of an array are");
        gc_collect(heap, 1, 0);
        ok(gc_handle_get(kept) && gc_handle_get(kept) == huge->items[SLOTS - 1], "what its last slot refers to survives");
    }
    end();
}

int main(void) {
    shared();
    counted();
    marked_twice();
    refused_reserves();
    refused_commits();
    kept();
    return done();
}
