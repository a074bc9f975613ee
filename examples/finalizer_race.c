/* The race with your own finalizer: an object that closes its descriptor when it has died, and dies while it is read from.

   The last use of the object is reading the descriptor out of it. Then comes a native call that blocks, and meanwhile other
   threads run, a collection finds the object dead, and the finalizer closes the descriptor under the call. GC_ROOTS lasts to
   the end of its scope, so in hand-written C the race needs a scope that ends too early, as here. Compilers end the life of
   a variable at its last use, and conservative scanning finds what the C compiler has left on the stack: there it needs
   nothing but bad luck. GC_STRESS_ALLOCATION is bad luck on demand. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#define PATIENCE_MS 60000

static sem_t call_has_begun, others_have_run;

/* Native code: reads, but others run first. Returns how many bytes, or -errno. */
static int native_read(intptr_t fd, char *buffer, size_t bytes) {
    sem_post(&call_has_begun);
    sem_wait(&others_have_run);
    ssize_t count = read((int)fd, buffer, bytes);
    return count < 0 ? -errno : (int)count;
}

/* An object that owns a descriptor and has a finalizer of its own. */
typedef struct source {
    gc_object header;
    intptr_t fd;
} source;

static void source_finalize(gc_thread *gc, void *object) {
    (void)gc;
    close((int)((source *)object)->fd);
    printf("  the finalizer has closed the descriptor\n");
}

static const gc_finalizer source_finalizer = {.finalize = source_finalize};
static const gc_type source_type = GC_TYPE_LEAF_FINALIZED(source, source_finalizer);

static source *source_new(gc_thread *gc, int fd) {
    source *made = gc_new(gc, &source_type);
    if (made) made->fd = fd;
    return made;
}

/* The same as a safe handle: the object is the handle, and its finalizer is gc.h's. */
static bool pipe_release(intptr_t fd) {
    printf("  the safe handle has closed the descriptor\n");
    return close((int)fd) == 0;
}
GC_SAFE_HANDLE_KIND(pipe_handle, pipe_release, gc_safe_handle_invalid_if_minus_one);

/* Allocates, so that stress collects each generation once, and waits until the finalizers have run. */
static void run_others(gc_thread *gc) {
    static const gc_type garbage = GC_TYPE_LEAF(gc_object);
    for (int i = 0; i < GC_GENERATIONS; i++) gc_new(gc, &garbage);
    gc_finalizer_wait(gc, PATIENCE_MS);
}

static void *other_thread(void *heap) {
    gc_thread *gc = gc_thread_attach(heap);
    if (!gc) abort();
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        sem_wait(&call_has_begun);
    }
    run_others(gc);
    sem_post(&others_have_run);
    gc_thread_detach(gc);
    return NULL;
}

/* Four ways to call it. */

static int read_in_a_race(gc_thread *gc, int pipe_end, char *buffer, size_t bytes) {
    intptr_t fd = -1;
    {
        source *from = source_new(gc, pipe_end);
        GC_ROOTS(gc, from);
        if (from) fd = from->fd; /* the last use */
    }
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    return native_read(fd, buffer, bytes);
}

/* The root lasts as long as the call, and gc_keep_alive after it says so to readers and compilers: it is a use. */
static int read_and_keep_alive(gc_thread *gc, int pipe_end, char *buffer, size_t bytes) {
    source *from = source_new(gc, pipe_end);
    GC_ROOTS(gc, from);
    int count = -1;
    intptr_t fd = from ? from->fd : -1;
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        count = native_read(fd, buffer, bytes);
    }
    gc_keep_alive(from);
    return count;
}

/* The call itself holds the object. */
static int read_by_handle_ref(gc_thread *gc, int pipe_end, char *buffer, size_t bytes) {
    source *from = source_new(gc, pipe_end);
    gc_native_ref ref = {from, from ? from->fd : -1};
    int count = -1;
    GC_NATIVE_CALL_REF(gc, ref, fd) count = native_read(fd, buffer, bytes);
    return count;
}

/* The call itself holds the handle, and counts as its user: nobody can close it meanwhile. */
static int read_by_safe_handle(gc_thread *gc, int pipe_end, char *buffer, size_t bytes) {
    pipe_handle from = pipe_handle_new(gc, pipe_end, true);
    int count = -1;
    GC_NATIVE_CALL(gc, from.safe, fd) count = native_read(fd, buffer, bytes);
    return count;
}

static void show(gc_thread *gc, const char *title,
                 int (*read_from)(gc_thread *gc, int pipe_end, char *buffer, size_t bytes)) {
    int ends[2];
    char buffer[16];
    pthread_t other;
    printf("%s\n", title);
    if (pipe(ends) != 0 || write(ends[1], "some data", 9) != 9) abort();
    if (pthread_create(&other, NULL, other_thread, gc_thread_heap(gc)) != 0) abort();
    int count = read_from(gc, ends[0], buffer, sizeof buffer);
    if (count < 0)
        printf("  read fails: %s\n", count == -EBADF ? "the descriptor is not open" : "for another reason");
    else
        printf("  read returns \"%.*s\"\n", count, buffer);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        pthread_join(other, NULL);
    }
    run_others(gc);
    close(ends[1]);
}

int main(void) {
    gc_options options = {.debug.stress = GC_STRESS_ALLOCATION};
    gc_heap *heap = gc_heap_create(&options);
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc || gc_finalizer_thread_start(heap) != GC_OK)
        return fprintf(stderr, "finalizer_race: %s\n", gc_last_message()), 1;
    sem_init(&call_has_begun, 0, 0);
    sem_init(&others_have_run, 0, 0);
    show(gc, "the object is dead during the call:", read_in_a_race);
    show(gc, "gc_keep_alive behind the call:", read_and_keep_alive);
    show(gc, "HandleRef (GC_NATIVE_CALL_REF):", read_by_handle_ref);
    show(gc, "SafeHandle (GC_NATIVE_CALL):", read_by_safe_handle);
    gc_heap_destroy(heap);
    return 0;
}
