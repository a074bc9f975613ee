/* What is claimed for SafeHandle, claim by claim, with files. */
#define _GNU_SOURCE
#include "finalizing.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>

static bool close_file(intptr_t fd) { return close((int)fd) == 0; }
static bool destroy_semaphore(intptr_t id) { return id > 0; }
GC_SAFE_HANDLE_KIND(file, close_file, gc_safe_handle_invalid_if_minus_one);
GC_SAFE_HANDLE_KIND(semaphore, destroy_semaphore, gc_safe_handle_invalid_if_zero);

static bool is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

/* A file whose object reads its descriptor and closes it by a finalizer of its own: before SafeHandle. */
typedef struct raw_file {
    gc_object header;
    int fd;
} raw_file;
static void raw_file_close(gc_thread *thread, void *object) { (void)thread, close(((raw_file *)object)->fd); }
static const gc_finalizer raw_file_final = {raw_file_close, false, NULL};
static const gc_type raw_file_type = GC_TYPE_LEAF_FINALIZED(raw_file, raw_file_final);

static raw_file *raw_file_new(int fd) {
    raw_file *file = gc_new(gc, &raw_file_type);
    file->fd = fd;
    return file;
}

/* What another thread does while this one is in a native call that blocks: here, by the same thread. */
static void meanwhile(void) {
    GC_IN_MODE(gc, GC_MODE_COOPERATIVE);
    full();
    gc_finalizer_run(gc, 100);
}

static void claim_1_the_race_with_your_own_finalizer(void) {
    raw_file *raw = raw_file_new(dup(1));
    int fd = raw->fd; /* the object's last use */
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        ok(is_open(fd), "1: a native call on a descriptor that an object owns,");
        meanwhile();
        ok(!is_open(fd), "1: when the object's last use precedes it, loses the descriptor to the object's finalizer");
    }
    file safe = file_new(gc, dup(1), true);
    bool open = false;
    int number = (int)gc_safe_handle_value(safe.safe);
    GC_NATIVE_CALL(gc, safe.safe, held) {
        meanwhile();
        open = is_open((int)held);
    }
    ok(open, "1: a safe handle that crosses the call stays open");
    meanwhile();
    ok(!is_open(number), "1: and is closed after it");
}

/* gc_keep_alive keeps what a conservative stack holds; otherwise it is the root that keeps, and the use after the call. */
static void claim_2_keep_alive_and_handle_ref(void) {
    raw_file *raw = raw_file_new(dup(1));
    {
        GC_ROOTS(gc, raw);
        int fd = raw->fd;
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        meanwhile();
        ok(is_open(fd), "2: an object that is kept beyond the call keeps its descriptor");
        gc_keep_alive(raw);
    }
    meanwhile();
    raw = raw_file_new(dup(1));
    int fd = raw->fd;
    bool open = false;
    gc_native_ref ref = {raw, fd};
    raw = NULL;
    GC_NATIVE_CALL_REF(gc, ref, held) {
        meanwhile();
        open = is_open((int)held);
    }
    ok(open, "2: so does HandleRef, {object, raw handle}");
    meanwhile();
    ok(!is_open(fd), "2: up to the end of the call");
}

/* tests/compile/keep_alive.t asks the compilers. */
static __attribute__((noinline)) gc_handle conservatively(bool keep) {
    node *volatile held = new_node(1);
    gc_handle weak = gc_handle_create(heap, GC_HANDLE_WEAK, (void *)held);
    if (!keep) held = NULL;
    full();
    gc_keep_alive((void *)held);
    return weak;
}

static void claim_2_on_a_conservative_stack(void) {
    gc_handle kept = conservatively(true);
    ok(gc_handle_get(kept) != NULL, "2: with conservative stacks gc_keep_alive behind the call suffices");
}

/* A reader between reading the raw value and using it, and one that closes. */
static char line[8];
static void reopen(const char *text, int fd) {
    char name[] = "/tmp/claimXXXXXX";
    int file = mkstemp(name);
    unlink(name);
    if (write(file, text, strlen(text)) < 0) abort();
    lseek(file, 0, SEEK_SET);
    if (file != fd) dup2(file, fd), close(file);
}

static int any_file(const char *text) {
    int fd = dup(1);
    reopen(text, fd);
    return fd;
}

static void read_line(int fd) {
    memset(line, 0, sizeof line);
    if (read(fd, line, sizeof line - 1) < 0) snprintf(line, sizeof line, "error");
}

static gc_handle shared;
static int recycled;
static void *closing(void *how) {
    gc_thread *me = gc_thread_attach(heap);
    await_stage(me, 1);
    if (how)
        gc_safe_handle_dispose(me, gc_handle_get(shared));
    else
        close(((raw_file *)gc_handle_get(shared))->fd);
    recycled = any_file("secret"); /* the system gives the lowest number that is free */
    gc_thread_detach(me);
    enter_stage(2);
    return NULL;
}

static void claim_3_handle_recycling(void) {
    pthread_t thread;
    bool same = false;
    enter_stage(0);
    int fd = any_file("mine");
    shared = gc_handle_create(heap, GC_HANDLE_STRONG, raw_file_new(fd));
    gc_finalizer_suppress(gc, gc_handle_get(shared));
    pthread_create(&thread, NULL, closing, NULL);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE); /* fd has been read out of the object */
        enter_stage(1);
        await_stage(gc, 2);
        read_line(fd);
        pthread_join(thread, NULL);
    }
    ok(recycled == fd && strcmp(line, "secret") == 0,
       "3: a raw handle that another thread closes becomes another file's");
    close(recycled);

    enter_stage(0);
    gc_handle_set(shared, file_new(gc, any_file("mine"), true).safe);
    pthread_create(&thread, NULL, closing, &stage);
    GC_NATIVE_CALL(gc, (gc_safe_handle *)gc_handle_get(shared), held) {
        enter_stage(1);
        await_stage(gc, 2);
        read_line((int)held);
        same = recycled == held;
        fd = (int)held;
    }
    ok(!same && strcmp(line, "mine") == 0, "3: a safe handle's count prevents it");
    ok(!is_open(fd), "3: it is closed when the call has ended");
    close(recycled);
    GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
    pthread_join(thread, NULL);
}

/* tests/compile/compile.t shows what does not compile. */
static ssize_t file_write(file f, const char *text) {
    ssize_t count = -1;
    GC_NATIVE_CALL(gc, f.safe, fd) count = write((int)fd, text, strlen(text));
    return count;
}

static void claim_4_typed_handles(void) {
    file f = file_new(gc, any_file(""), true);
    semaphore s = {NULL};
    GC_ROOTS(gc, f, s);
    s = semaphore_new(gc, 1, true);
    is(file_write(f, "ab"), 2, "4: a function takes handles of its kind; of others it does not compile (compile.t)");
    ok(sizeof f == sizeof(void *) && strcmp(f.safe->kind->name, "file") == 0, "4: which costs nothing");
    ok(strcmp(s.safe->kind->name, "semaphore") == 0, "4: handles know their kind");
    gc_safe_handle_dispose(gc, f.safe), gc_safe_handle_dispose(gc, s.safe);
}

/* A stream with a buffer, which its finalizer writes by its safe handle. */
typedef struct stream {
    gc_object header;
    file file;
    size_t used;
    char buffer[32];
} stream;

static ssize_t flushed;
static void stream_flush(gc_thread *thread, void *object) {
    stream *s = object;
    char buffer[sizeof s->buffer];
    size_t used = s->used;
    memcpy(buffer, s->buffer, used);
    flushed = -1;
    GC_NATIVE_CALL(thread, s->file.safe, fd) flushed = write((int)fd, buffer, used);
}
static const gc_finalizer stream_final = {stream_flush, false, NULL};
static const gc_type stream_type = GC_TYPE_FINALIZED(stream, stream_final, file);

static void stream_new(int fd) {
    stream *s = NULL;
    GC_ROOTS(gc, s);
    s = gc_new(gc, &stream_type);
    file f = file_new(gc, fd, true);
    gc_store(gc, &s->file, f.safe);
    s->used = (size_t)snprintf(s->buffer, sizeof s->buffer, "flushed");
}

static void claim_5_critical_finalizers(void) {
    int ends[2];
    char text[16] = {0};
    for (int at_end = 0; at_end < 3; at_end++) {
        if (pipe(ends) != 0) abort();
        flushed = 0;
        begin(&(gc_options){.skip_finalizers_at_end = at_end == 2});
        stream_new(ends[1]);
        if (!at_end) full(), gc_finalizer_run(gc, 100);
        if (!at_end) ok(!is_open(ends[1]), "5: found dead together,");
        end();
        ok(!is_open(ends[1]), "5: the handle is closed, %s", at_end ? "at the heap's end" : "by a collection");
        memset(text, 0, sizeof text);
        ssize_t count = read(ends[0], text, sizeof text - 1);
        if (at_end < 2)
            ok(flushed == 7 && count == 7 && !strcmp(text, "flushed"), "5: the stream's finalizer could still write");
        else
            ok(flushed == 0 && count == 0, "5: also where normal finalizers are not wanted");
        close(ends[0]);
    }
}

static void claim_6_owned_or_not(void) {
    int fd = dup(1), number = dup(1);
    file borrowed = file_new(gc, fd, false), owned = {NULL};
    {
        GC_ROOTS(gc, borrowed);
        owned = file_new(gc, number, true);
    }
    is(gc_safe_handle_dispose(gc, borrowed.safe), GC_OK,
       "6: a handle that does not own is disposed like one that does,");
    is(gc_safe_handle_dispose(gc, owned.safe), GC_OK, "6: without knowing which it is");
    ok(gc_safe_handle_is_closed(borrowed.safe) && is_open(fd), "6: what it does not own stays open");
    ok(!is_open(number), "6: what it owns is closed");
    file_new(gc, fd, false);
    full();
    is(gc_finalizer_pending(heap), 0, "6: and it has no finalizer");
    ok(is_open(fd), "6: so its death closes nothing");
    close(fd);
}

/* A file object with a buffer: its own finalizer keeps both until it has run; a handle of its own only itself. */
typedef struct fat_file {
    gc_object header;
    bytes *buffer;
    file file;
    uint64_t fd;
} fat_file;
static void fat_file_close(gc_thread *thread, void *object) { (void)thread, close((int)((fat_file *)object)->fd); }
static const gc_finalizer fat_final = {fat_file_close, false, NULL};
static const gc_type fat_type = GC_TYPE_FINALIZED(fat_file, fat_final, buffer, file);
static const gc_type thin_type = GC_TYPE(fat_file, buffer, file);

static size_t left_after(const gc_type *type) {
    for (int i = 0; i < 20; i++) {
        fat_file *f = gc_new(gc, type);
        GC_ROOTS(gc, f);
        bytes *buffer = new_bytes(4096);
        gc_store(gc, &f->buffer, buffer);
        f->fd = (uint64_t)dup(1);
        if (type == &fat_type) continue;
        file handle = file_new(gc, (intptr_t)f->fd, true);
        gc_store(gc, &f->file, handle.safe);
    }
    full();
    size_t left = stats().live_bytes;
    is(gc_finalizer_run(gc, 100), 20, "7: twenty files");
    full();
    return left;
}

static void claim_7_smaller_graphs(void) {
    size_t fat = left_after(&fat_type), thin = left_after(&thin_type);
    ok(fat > 20 * 4096, "7: objects with finalizers keep what they refer to until those have run: %zu bytes", fat);
    ok(thin < 20 * 100, "7: safe handles keep themselves: %zu bytes", thin);
}

/* GCStress makes 1 and 3 happen on demand: a host that forgets a root in a call is caught there, not once in a year. */
static void stress_shows_claim_1(void) {
    raw_file *raw = raw_file_new(dup(1));
    int fd = raw->fd;
    new_node(1), new_node(2), new_node(3);
    gc_finalizer_run(gc, 10);
    ok(!is_open(fd), "1: under stress the race is lost at once");
}

int main(void) {
    run(claim_1_the_race_with_your_own_finalizer, (gc_options){0});
    run(claim_2_keep_alive_and_handle_ref, (gc_options){0});
    run(claim_2_on_a_conservative_stack, (gc_options){.conservative_stack = true});
    run(claim_3_handle_recycling, (gc_options){0});
    run(claim_4_typed_handles, (gc_options){0});
    claim_5_critical_finalizers();
    run(claim_6_owned_or_not, (gc_options){0});
    run(claim_7_smaller_graphs, (gc_options){0});
    run(stress_shows_claim_1, (gc_options){.debug.stress = GC_STRESS_ALLOCATION});
    return done();
}
