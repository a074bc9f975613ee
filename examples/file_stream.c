/* A buffered stream over a safe handle, which loses nothing although nobody closes it.

   The stream and the handle that it owns die together, and both have finalizers: the stream's flushes the buffer, and the
   handle's closes the descriptor. That works because a safe handle's finalizer is critical: those run after the normal ones
   of objects that died at the same time. There is no other order, so a finalizer may rely on the safe handles that its object
   refers to, and on no other object with a finalizer. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool file_release(intptr_t fd) {
    printf("  the descriptor is closed\n");
    return close((int)fd) == 0;
}
GC_SAFE_HANDLE_KIND(fd_handle, file_release, gc_safe_handle_invalid_if_minus_one);

/* The stream. */

#define STREAM_BYTES 64

typedef struct stream {
    gc_object header;
    fd_handle file;
    size_t used;
    char buffer[STREAM_BYTES];
} stream;

/* Native calls run in preemptive mode, in which objects may move, so the bytes are copied out before. */
static bool stream_flush(gc_thread *gc, stream *flushed) {
    char bytes[STREAM_BYTES];
    size_t count = flushed->used;
    ssize_t written = -1;
    if (count == 0) return true;
    memcpy(bytes, flushed->buffer, count);
    GC_ROOTS(gc, flushed);
    GC_NATIVE_CALL(gc, flushed->file.safe, fd) written = write((int)fd, bytes, count);
    if (written < 0) return false;
    memmove(flushed->buffer, flushed->buffer + written, count - (size_t)written);
    flushed->used -= (size_t)written;
    return flushed->used == 0;
}

static void stream_finalize(gc_thread *gc, void *object) {
    printf("  the stream's finalizer flushes %zu bytes\n", ((stream *)object)->used);
    stream_flush(gc, object);
}

/* A stream that has nothing to flush needs no finalizer: one that was closed among them. */
static bool stream_is_flushed(const void *object) { return ((const stream *)object)->used == 0; }

static const gc_finalizer stream_finalizer = {.finalize = stream_finalize, .is_suppressed = stream_is_flushed};
static const gc_type stream_type = GC_TYPE_FINALIZED(stream, stream_finalizer, file);

static stream *stream_new(gc_thread *gc, fd_handle file) {
    GC_ROOTS(gc, file);
    stream *made = gc_new(gc, &stream_type);
    if (made) gc_store(gc, &made->file, file.safe);
    return made;
}

static bool stream_write(gc_thread *gc, stream *to, const char *text) {
    GC_ROOTS(gc, to);
    for (; *text; text++) {
        if (to->used == STREAM_BYTES && !stream_flush(gc, to)) return false;
        to->buffer[to->used++] = *text;
    }
    return true;
}

static bool stream_close(gc_thread *gc, stream *closed) {
    GC_ROOTS(gc, closed);
    bool flushed = stream_flush(gc, closed);
    gc_safe_handle_dispose(gc, closed->file.safe);
    return flushed;
}

/* The demonstration: each stream writes to a file without a name, by a descriptor of its own. */

static FILE *file;
static int descriptor;

static stream *open_stream(gc_thread *gc, bool owned) {
    file = tmpfile();
    descriptor = file ? dup(fileno(file)) : -1;
    stream *made = stream_new(gc, fd_handle_new(gc, descriptor, owned));
    return made ? made : (abort(), NULL);
}

static void show_file(void) {
    char content[256];
    ssize_t bytes = pread(fileno(file), content, sizeof content, 0);
    printf("  the file contains \"%.*s\"", bytes > 0 ? (int)bytes : 0, content);
    printf(" and its descriptor is %s\n", lseek(descriptor, 0, SEEK_CUR) < 0 ? "closed" : "open");
    fclose(file);
}

static void collect_and_finalize(gc_heap *heap, gc_thread *gc) {
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    gc_finalizer_run(gc, SIZE_MAX);
}

static void show_streams(gc_heap *heap, gc_thread *gc) {
    printf("a stream that is closed:\n");
    {
        stream *out = open_stream(gc, true);
        GC_ROOTS(gc, out);
        stream_write(gc, out, "closed by the program");
        stream_close(gc, out);
    }
    collect_and_finalize(heap, gc);
    show_file();

    printf("a stream that is forgotten:\n");
    stream_write(gc, open_stream(gc, true), "flushed by a finalizer");
    collect_and_finalize(heap, gc);
    show_file();

    printf("a stream that is forgotten, and does not own its descriptor:\n");
    stream_write(gc, open_stream(gc, false), "whoever owns it closes it");
    collect_and_finalize(heap, gc);
    show_file();
    close(descriptor);
}

static gc_thread *new_heap(const gc_options *options) {
    gc_heap *heap = gc_heap_create(options);
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (gc) return gc;
    fprintf(stderr, "file_stream: %s\n", gc_last_message());
    exit(1);
}

int main(void) {
    gc_thread *gc = new_heap(NULL);
    show_streams(gc_thread_heap(gc), gc);

    printf("a stream that is there when the heap is destroyed:\n");
    stream_write(gc, open_stream(gc, true), "flushed at the end");
    gc_heap_destroy(gc_thread_heap(gc));
    show_file();

    printf("the same with skip_finalizers_at_end, which runs the critical ones only:\n");
    gc = new_heap(&(gc_options){.skip_finalizers_at_end = true});
    stream_write(gc, open_stream(gc, true), "lost");
    gc_heap_destroy(gc_thread_heap(gc));
    show_file();
    return 0;
}
