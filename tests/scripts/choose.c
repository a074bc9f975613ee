/* Parts of a program that is compiled with GC_STANDALONE, each a way to begin or to end: choose WAY. */
#include "gc_standalone.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    long value;
} cell;
static const gc_type cell_type = GC_TYPE(cell, next);
enum { THREADS = 8, CELLS = 3000 };

static gc_heap *heap;
static pthread_barrier_t together;
static int finalized; /* atomic */

static bool allocate(gc_heap *in) {
    gc_thread *gc = gc_thread_attach(in);
    cell *list = NULL;
    int cells = 0;
    {
        GC_ROOTS(gc, list);
        for (int i = 0; i < CELLS; i++) {
            cell *c = (cell *)gc_new(gc, &cell_type);
            c->value = i;
            gc_store(gc, &c->next, list);
            list = c;
            if (i % 1000 == 0) gc_collect(in, i / 1000 % 3, 0);
        }
        for (cell *c = list; c; c = c->next) cells++;
    }
    gc_thread_detach(gc);
    return cells == CELLS;
}

/* A function of gc.h that is refused by the asker of the choice. */
static bool calls_back(void *context, const char *why) {
    (void)why;
    return context == gc_result_text(GC_OK);
}

static void *first_call(void *heap_of_mine) {
    pthread_barrier_wait(&together);
    *(gc_heap **)heap_of_mine = gc_heap_create(NULL);
    return gc_last_message() ? heap_of_mine : NULL;
}

/* Eight threads make the first call at once. */
static bool race(void) {
    pthread_t threads[THREADS];
    gc_heap *heaps[THREADS];
    bool good = true;
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, first_call, &heaps[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) good = good && allocate(heaps[i]);
    for (int i = 0; i < THREADS; i++) gc_heap_destroy(heaps[i]);
    return good;
}

/* The child of a fork makes the first call, or goes on with what its parent began. */
static bool forks(bool begun) {
    int status = 1;
    if (begun) heap = gc_heap_create(NULL);
    pid_t child = fork();
    if (child == 0) {
        gc_heap *mine = begun ? heap : gc_heap_create(NULL);
        bool good = allocate(mine);
        gc_heap_destroy(mine);
        _exit(!good);
    }
    waitpid(child, &status, 0);
    if (!begun) heap = gc_heap_create(NULL);
    bool good = status == 0 && allocate(heap);
    gc_heap_destroy(heap);
    return good;
}

static void *fork_at_once(void *status) {
    pthread_barrier_wait(&together);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            gc_heap *mine = gc_heap_create(NULL);
            _exit(!mine || !allocate(mine));
        }
        int one = 1;
        waitpid(child, &one, 0);
        *(int *)status |= one;
    }
    return NULL;
}

/* A thread forks while another one makes the first call. */
static bool fork_beside(void) {
    pthread_t forker;
    int status = 0;
    pthread_barrier_init(&together, NULL, 2);
    pthread_create(&forker, NULL, fork_at_once, &status);
    pthread_barrier_wait(&together);
    heap = gc_heap_create(NULL);
    bool good = allocate(heap);
    pthread_join(forker, NULL);
    gc_heap_destroy(heap);
    return good && status == 0;
}

static void finalize(gc_thread *thread, void *object) {
    (void)object;
    for (int i = 0; i < 2000; i++) gc_new(thread, &cell_type);
    __atomic_fetch_add(&finalized, 1, __ATOMIC_SEQ_CST);
}
static const gc_finalizer finalizer = {finalize, false, NULL};

/* The program ends while finalizers run, with its threads attached. */
static bool ends(bool destroys) {
    heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    if (gc_finalizer_thread_start(heap) != GC_OK) return false;
    for (int i = 0; i < 40; i++) {
        void *object = gc_new(gc, &cell_type);
        GC_ROOTS(gc, object);
        gc_finalizer_register(gc, object, &finalizer);
    }
    gc_collect(heap, 2, 0);
    if (destroys) gc_heap_destroy(heap);
    return true;
}

int main(int count, char **arguments) {
    const char *way = count > 1 ? arguments[1] : "";
    bool good = false;
    if (strcmp(way, "calls-back") == 0) gc_library_choose(calls_back, NULL);
    if (strcmp(way, "race") == 0) good = race();
    if (strcmp(way, "fork-before") == 0) good = forks(false);
    if (strcmp(way, "fork-after") == 0) good = forks(true);
    if (strcmp(way, "fork-beside") == 0) good = fork_beside();
    if (strcmp(way, "ends") == 0) good = ends(false);
    if (strcmp(way, "destroys") == 0) good = ends(true);
    puts(good ? "good" : "bad");
    return !good;
}
