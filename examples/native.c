/* native.c - threads, calls that block, and callbacks out of them. Build: cc -O2 -I. examples/native.c -pthread

   One thread sends lines through a pipe, another receives them by a library that knows nothing of gc.h. In preemptive mode
   a thread may wait as long as it likes, for collections do not wait for it; but it may not touch objects. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct line {
    gc_object header;
    size_t length;
    char text[];
} line;

typedef struct cell {
    gc_object header;
    struct cell *next;
    line *line;
} cell;

static const gc_type line_type = GC_TYPE_ARRAY_LEAF(line, text);
static const gc_type cell_type = GC_TYPE(cell, next, line);

static gc_heap *heap;
static int ends[2]; /* of the pipe */

static void *checked(void *result) {
    if (result) return result;
    fprintf(stderr, "native: %s\n", gc_last_message());
    exit(1);
}

/* The library: it blocks, and calls back. */
static void read_lines(int file, void (*found)(void *context, const char *text, size_t length), void *context) {
    char text[256];
    size_t length = 0;
    while (read(file, text + length, 1) == 1)
        if (text[length] == '\n' || length + 1 == sizeof text) {
            found(context, text, length);
            length = 0;
        } else {
            length++;
        }
}

static line *new_line(gc_thread *gc, const char *text, size_t length) {
    line *l = checked(gc_new_with(gc, &line_type, length, GC_NEW_RAW));
    memcpy(l->text, text, length);
    return l;
}

typedef struct receiver {
    gc_thread *gc;
    cell *lines;
    int count;
} receiver;

/* The callback: cooperative until it returns. A collection that runs is waited for here. */
static void receive(void *context, const char *text, size_t length) {
    receiver *r = context;
    GC_IN_MODE(r->gc, GC_MODE_COOPERATIVE);
    cell *c = checked(gc_new(r->gc, &cell_type));
    GC_ROOTS(r->gc, c);
    line *l = new_line(r->gc, text, length);
    gc_store(r->gc, &c->line, l);
    gc_store(r->gc, &c->next, r->lines);
    r->lines = c;
    r->count++;
}

static void *receiving(void *result) {
    receiver r = {checked(gc_thread_attach(heap)), NULL, 0};
    gc_thread_set_name(r.gc, "receiver");
    {
        GC_ROOTS(r.gc, r.lines);
        {
            GC_IN_MODE(r.gc, GC_MODE_PREEMPTIVE);
            read_lines(ends[0], receive, &r);
        }
        size_t bytes = 0;
        cell *c = r.lines;
        GC_ROOTS(r.gc, c);
        for (; c; c = c->next) {
            bytes += c->line->length;
            gc_safepoint(r.gc); /* in long loops that do not allocate, or a collection waits for their end */
        }
        printf("received: %d lines, %zu bytes, the last one '%.*s'\n", r.count, bytes, (int)r.lines->line->length,
               r.lines->line->text);
    }
    gc_thread_detach(r.gc); /* after the scopes of its roots */
    return result;
}

/* What the system call reads must not move meanwhile: it gets a copy from outside the heap. */
static void send(gc_thread *gc, const line *l) {
    char text[64];
    size_t length = l->length;
    memcpy(text, l->text, length);
    text[length++] = '\n';
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    if (write(ends[1], text, length) != (ssize_t)length) perror("native: write"), exit(1);
}

int main(void) {
    heap = checked(gc_heap_create(NULL));
    gc_thread *gc = checked(gc_thread_attach(heap));
    pthread_t thread;
    if (pipe(ends) != 0 || pthread_create(&thread, NULL, receiving, NULL) != 0) return perror("native"), 1;
    for (int i = 1; i <= 10000; i++) {
        char text[32];
        int length = snprintf(text, sizeof text, "line %d", i);
        send(gc, new_line(gc, text, (size_t)length)); /* send() reads the line before anything can collect */
        if (i % 1000 == 0) gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    }
    close(ends[1]);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE); /* the other thread may collect, and would wait for this one for ever */
        pthread_join(thread, NULL);
    }
    gc_heap_destroy(heap);
    return 0;
}
