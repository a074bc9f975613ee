/* The handle-recycling attack: one thread closes a descriptor while another is about to use it, the system gives the number
   to the next file that is opened, and the data of the one lands in the file of the other.

   Descriptors are numbers, and the lowest free one is given out next. The window is between reading the number and the
   system call that uses it; here semaphores hold it open. A safe handle counts its users: closing it is put off until the
   last call that uses it is over, so the number cannot be given away meanwhile. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char secret[] = "for the log only";

static sem_t number_was_read, time_to_write;

/* Native code: another thread runs between its start and its system call. */
static bool native_write(intptr_t fd) {
    sem_post(&number_was_read);
    sem_wait(&time_to_write);
    return write((int)fd, secret, strlen(secret)) == (ssize_t)strlen(secret);
}

static bool log_release(intptr_t fd) { return close((int)fd) == 0; }
GC_SAFE_HANDLE_KIND(log_handle, log_release, gc_safe_handle_invalid_if_minus_one);

/* The log: as a plain descriptor, and as a safe handle. Both threads use it. */
static int plain_log;
static log_handle safe_log; /* a root, by gc_roots_add */

static void *plain_writer(void *unused) {
    (void)unused;
    if (!native_write(plain_log)) printf("  the write fails\n");
    return NULL;
}

static void *safe_writer(void *heap) {
    gc_thread *gc = gc_thread_attach(heap);
    if (!gc) abort();
    bool written = false;
    GC_NATIVE_CALL(gc, safe_log.safe, fd) written = native_write(fd);
    if (!written) printf("  the write fails\n");
    gc_thread_detach(gc);
    return NULL;
}

/* A file without a name, which stays readable by `file` when the descriptor that it is written by has been closed. */
static FILE *file_open(void) {
    FILE *file = tmpfile();
    return file ? file : (abort(), NULL);
}

static void print_content(const char *name, FILE *file) {
    char text[64];
    ssize_t bytes = pread(fileno(file), text, sizeof text, 0);
    printf("  the %s contains \"%.*s\"\n", name, bytes > 0 ? (int)bytes : 0, text);
}

/* The attack, in the order that the semaphores force: the writer reads the number, the log is closed, a public file is
   opened, the writer writes. */
static void attack(gc_thread *gc, void *(*writer)(void *heap), int number, void (*close_log)(gc_thread *gc),
                   FILE *log) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, writer, gc_thread_heap(gc)) != 0) abort();
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        sem_wait(&number_was_read);
    }
    close_log(gc);
    FILE *public_file = file_open();
    printf("  the public file %s the log's number\n", fileno(public_file) == number ? "gets" : "does not get");
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        sem_post(&time_to_write);
        pthread_join(thread, NULL);
    }
    print_content("log", log);
    print_content("public file", public_file);
    fclose(public_file);
}

static void close_plain_log(gc_thread *gc) {
    (void)gc;
    close(plain_log);
}

static void close_safe_log(gc_thread *gc) {
    gc_safe_handle_dispose(gc, safe_log.safe);
    printf("  closing is %s\n",
           gc_safe_handle_is_closed(safe_log.safe) ? "done" : "put off: the writer uses the handle");
}

int main(void) {
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc || gc_roots_add(heap, &safe_log, 1, 0) != GC_OK)
        return fprintf(stderr, "handle_recycling: %s\n", gc_last_message()), 1;
    sem_init(&number_was_read, 0, 0);
    sem_init(&time_to_write, 0, 0);

    printf("a plain descriptor, closed while a call is about to use it:\n");
    FILE *log = file_open();
    plain_log = dup(fileno(log));
    attack(gc, plain_writer, plain_log, close_plain_log, log);
    fclose(log);

    printf("a safe handle, disposed of while a call is about to use it:\n");
    log = file_open();
    safe_log = log_handle_new(gc, -1, true);
    if (!safe_log.safe) return fprintf(stderr, "handle_recycling: %s\n", gc_last_message()), 1;
    int number = dup(fileno(log));
    gc_safe_handle_set_value(safe_log.safe, number);
    attack(gc, safe_writer, number, close_safe_log, log);
    printf("  after the call the handle is %s\n", gc_safe_handle_is_closed(safe_log.safe) ? "closed" : "still open");
    bool called = false;
    GC_NATIVE_CALL(gc, safe_log.safe, fd) called = native_write(fd);
    if (!called) printf("  the next call is refused: %s\n", gc_result_text(gc_last_result()));
    fclose(log);

    gc_heap_destroy(heap);
    return 0;
}
