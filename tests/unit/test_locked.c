/* A program that has locked its memory (mlockall): tables take memory as far as they are used, what cannot be given back is
   zeroed, and a limit of locked memory is named. Each in a child, so that the lock ends with it. */
#define _GNU_SOURCE
#include "../tap.h"

#include <sys/mman.h>

#define GC_BARRIER at_run_time
#define GC_IMPLEMENTATION
#include "../fixture.h"

/* A figure of /proc/self/status in KiB. */
static long status_kib(const char *name) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && kib < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0) kib = strtol(line + strlen(name) + 1, NULL, 10);
    if (file) fclose(file);
    return kib;
}

enum { NOT_LOCKED = 77 };

/* Sanitizers make mlockall do nothing. */
static void lock_all(int flags) {
    if (mlockall(flags) != 0 || !(flags & MCL_CURRENT ? status_kib("VmLck:") : 1)) _exit(NOT_LOCKED);
}

static void little_resident(void *unused) {
    (void)unused;
    lock_all(MCL_CURRENT | MCL_FUTURE);
    long before = status_kib("VmRSS:");
    begin(NULL);
    long created = status_kib("VmRSS:") - before;
    node *list = NULL;
    GC_ROOTS(gc, list);
    for (uint64_t i = 0; i < 1000; i++) {
        node *n = new_node(i);
        gc_store(gc, &n->left, list);
        list = n;
    }
    full();
    long used = status_kib("VmRSS:") - before;
    printf("%ld KiB more are resident with a heap, %ld when it is used\n", created, used);
    fflush(stdout);
    /* A few regions, and 512 KiB of tables. */
    _exit(created < 4 << 10 && used < (64 << 10) + 8 * (long)(GC_REGION_BYTES >> 10) ? 0 : 1);
}

/* The log overflows: the bits of objects that are not in it must be cleared nevertheless. */
static void log_overflows(void *unused) {
    (void)unused;
    lock_all(MCL_CURRENT | MCL_FUTURE);
    gc_barrier_switch(GC_BARRIER_OBJECT_LOGGING);
    begin(&(gc_options){.nursery_bytes = (size_t)64 << 20});
    size_t length = 3 * GC__LOG_ENTRIES, wrong = 0;
    vector *old = new_vector(length);
    GC_ROOTS(gc, old);
    age(&old, 2);
    for (uint64_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < length; i++) gc_store(gc, &old->items[i], new_node(i + round));
        gc_collect(heap, 0, 0);
        for (size_t i = 0; i < length; i++) wrong += ((node *)old->items[i])->value != i + round;
        age(&old->items[length - 1], 2); /* after which no card is dirty */
    }
    gc_heap_verify(heap);
    printf("%zu of %zu elements are wrong\n", wrong, length);
    fflush(stdout);
    _exit(wrong ? 1 : 0);
}

/* Pages that were written before watching began are not news. */
static void watch_begins(void *unused) {
    (void)unused;
    void *pages[8];
    lock_all(MCL_CURRENT | MCL_FUTURE);
    gc_barrier_switch(GC_BARRIER_WRITE_WATCH_SVR);
    begin(NULL);
    vector *v = new_vector(10);
    GC_ROOTS(gc, v);
    gc_store(gc, &v->items[0], v);
    gc_barrier_switch(GC_BARRIER_RANK_SUM);
    gc_barrier_switch(GC_BARRIER_WRITE_WATCH_SVR);
    size_t count = gc_heap_take_written_pages(heap, pages, 8);
    printf("%zu pages\n", count);
    fflush(stdout);
    _exit(count ? 1 : 0);
}

static void refused(void *unused) {
    (void)unused;
    struct rlimit limit = {(rlim_t)8 << 20, (rlim_t)8 << 20};
    if ((geteuid() == 0 && setuid(65534) != 0) || setrlimit(RLIMIT_MEMLOCK, &limit) != 0) _exit(NOT_LOCKED);
    lock_all(MCL_FUTURE);
    if (gc_heap_create(NULL)) _exit(NOT_LOCKED);
    printf("%s\n", gc_last_message());
    fflush(stdout);
    _exit(gc_last_result() == GC_ERROR_RESERVE ? 0 : 1);
}

static const char *in_child(void (*body)(void *), const char *what) {
    static char output[2000];
    int status = tap_child(body, NULL, output, sizeof output);
    if (status == NOT_LOCKED) {
        printf("ok %d - %s # skip memory cannot be locked here\n", ++tap_count, what);
        return NULL;
    }
    is(status, 0, "%s", what);
    diag("%s", output);
    return output;
}

int main(void) {
    in_child(little_resident, "a heap in locked memory is small");
    in_child(log_overflows, "a log that overflows is cleared in locked memory");
    in_child(watch_begins, "so are the pages that were written before watching began");
    const char *message = in_child(refused, "where little may be locked, a heap is refused");
    if (message) has(message, "`ulimit -l`", "with a message that names the limit");
    return done();
}
