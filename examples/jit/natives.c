/* natives.c - the native functions: output, strings, threads. Those that allocate may move every object, so what they still
   need then is in GC_ROOTS. */
#define _POSIX_C_SOURCE 200809L
#include "runtime.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Output. */

enum { NUMBER_BYTES = 40 };

static void format_int(char text[NUMBER_BYTES], int64_t number) {
    snprintf(text, NUMBER_BYTES, "%lld", (long long)number);
}

/* The shortest form that reads back as the same number, with a point or an exponent. */
static void format_float(char text[NUMBER_BYTES], double number) {
    if (isnan(number)) {
        strcpy(text, "nan");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, NUMBER_BYTES, "%.*g", digits, number);
        if (strtod(text, NULL) == number) break;
    }
    if (strspn(text, "-0123456789") == strlen(text)) strcat(text, ".0");
}

static void write_bytes(const char *bytes, size_t count) { fwrite(bytes, 1, count, stdout); }

void native_write_int(gc_thread *thread, int64_t number) {
    (void)thread;
    char text[NUMBER_BYTES];
    format_int(text, number);
    write_bytes(text, strlen(text));
}

void native_write_float(gc_thread *thread, double number) {
    (void)thread;
    char text[NUMBER_BYTES];
    format_float(text, number);
    write_bytes(text, strlen(text));
}

void native_write_bool(gc_thread *thread, int64_t boolean) {
    (void)thread;
    write_bytes(boolean ? "true" : "false", boolean ? 4 : 5);
}

void native_write_string(gc_thread *thread, const string *text) {
    (void)thread;
    if (text)
        write_bytes(text->bytes, text->array.length);
    else
        write_bytes("null", 4);
}

/* Strings. */

static size_t length_of(const string *s) { return s ? s->array.length : 0; }

static string *new_string(gc_thread *thread, const char *bytes, size_t count) {
    string *made = gc_new_with(thread, &string_layout, count, GC_NEW_RAW);
    if (!made) runtime_error(thread, ERROR_MEMORY);
    if (bytes) memcpy(made->bytes, bytes, count);
    return made;
}

string *native_concat(gc_thread *thread, string *a, string *b) {
    GC_ROOTS(thread, a, b);
    string *both = new_string(thread, NULL, length_of(a) + length_of(b));
    if (a) memcpy(both->bytes, a->bytes, length_of(a));
    if (b) memcpy(both->bytes + length_of(a), b->bytes, length_of(b));
    return both;
}

int64_t native_compare(gc_thread *thread, const string *a, const string *b) {
    (void)thread;
    size_t a_bytes = length_of(a), b_bytes = length_of(b), common = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = common ? memcmp(a->bytes, b->bytes, common) : 0;
    return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

int64_t native_equal(gc_thread *thread, const string *a, const string *b) {
    return !a == !b && native_compare(thread, a, b) == 0;
}

string *native_int_to_string(gc_thread *thread, int64_t number) {
    char text[NUMBER_BYTES];
    format_int(text, number);
    return new_string(thread, text, strlen(text));
}

string *native_float_to_string(gc_thread *thread, double number) {
    char text[NUMBER_BYTES];
    format_float(text, number);
    return new_string(thread, text, strlen(text));
}

string *native_bool_to_string(gc_thread *thread, int64_t boolean) {
    return boolean ? new_string(thread, "true", 4) : new_string(thread, "false", 5);
}

string *native_char_to_string(gc_thread *thread, int64_t byte) {
    char c = (char)byte;
    return new_string(thread, &c, 1);
}

string *native_substring(gc_thread *thread, string *s, int64_t from, int64_t end) {
    GC_ROOTS(thread, s);
    if (from < 0 || end < from || (uint64_t)end > length_of(s)) runtime_error(thread, ERROR_BOUNDS);
    string *part = new_string(thread, NULL, (size_t)(end - from));
    if (s) memcpy(part->bytes, s->bytes + from, (size_t)(end - from));
    return part;
}

/* The program and its surroundings. */

int64_t native_arg(gc_thread *thread, int64_t i, int64_t otherwise) {
    (void)thread;
    return i >= 0 && i < runtime_options->argument_count ? runtime_options->arguments[i] : otherwise;
}

_Noreturn void native_fail(gc_thread *thread, const string *message) {
    size_t bytes = length_of(message);
    char *text = calloc(1, bytes + 1);
    if (text && bytes) memcpy(text, message->bytes, bytes);
    runtime_fail(thread, text ? text : "");
}

/* Moves every object that can move, so that what still holds an old address shows. */
void native_collect(gc_thread *thread) {
    gc_collect(gc_thread_heap(thread), GC_GENERATIONS - 1, GC_COLLECT_COMPACTING);
}

int64_t native_collections(gc_thread *thread) {
    gc_stats stats;
    gc_heap_stats(gc_thread_heap(thread), &stats);
    int64_t count = 0;
    for (int generation = 0; generation < GC_GENERATIONS; generation++) count += (int64_t)stats.collections[generation];
    return count;
}

int64_t native_clock_ns(gc_thread *thread) {
    (void)thread;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Threads. Native code has a delegate called later, by a thread of its own. It keeps the bare address of the delegate, and says
   nothing to the collector. That is right as long as a variable of the program holds the delegate: the collector then leaves
   it where it is, as stack maps say of such variables. Release code ends the variable's life at its last use, and then the
   address leads to whatever lies there: under GC_STRESS=allocation to memory that faults. */

typedef struct thunk {
    delegate *callee;
    const char *name; /* of the function */
    pthread_t thread;
    struct thunk *next;
} thunk;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_begun = PTHREAD_COND_INITIALIZER;
static thunk *thunks;                /* of threads that have not been joined; under the lock */
static int yet_to_call;              /* threads that have not come to their delegate; under the lock */
static int sleepers;                 /* threads in sleep or join_threads, while which others may begin; under the lock */
static pthread_cond_t is_time = PTHREAD_COND_INITIALIZER;
static _Thread_local bool is_native; /* the thread was started by native code */

/* Other native code might allocate here as well. Under GC_STRESS=allocation each object is a collection of one more
   generation, so a delegate that is dead is found dead. */
static void make_some_objects(gc_thread *thread) {
    for (int i = 0; i < GC_GENERATIONS; i++) new_string(thread, "native", 6);
}

static void count_call(void) {
    pthread_mutex_lock(&lock);
    yet_to_call--;
    pthread_cond_broadcast(&has_begun);
    pthread_mutex_unlock(&lock);
}

/* The program goes on undisturbed until it sleeps or waits, so that reports say the same each time. */
static void wait_for_sleep(void) {
    pthread_mutex_lock(&lock);
    while (!sleepers) pthread_cond_wait(&is_time, &lock);
    pthread_mutex_unlock(&lock);
}

static void count_sleeper(int change) {
    pthread_mutex_lock(&lock);
    sleepers += change;
    pthread_cond_broadcast(&is_time);
    pthread_mutex_unlock(&lock);
}

static void *thunk_run(void *context) {
    thunk *called = context;
    is_native = true;
    wait_for_sleep();
    gc_thread *thread = runtime_attach();
    gc_thread_set_name(thread, called->name);
    make_some_objects(thread);
    delegate now = *called->callee;
    count_call(); /* from here on the call itself keeps the receiver */
    runtime_call_delegate(thread, &now, 0);
    runtime_detach(thread);
    return NULL;
}

static _Noreturn void no_thread(gc_thread *thread) { runtime_fail(thread, "a thread cannot be started"); }

void native_new_thread(gc_thread *thread, delegate *callee) {
    if (!callee) runtime_error(thread, ERROR_NULL);
    const gc_code *code = gc_code_find(callee->code);
    thunk *made = calloc(1, sizeof *made);
    if (!made) no_thread(thread);
    made->name = code ? code->name : "an unknown function";
    made->callee = callee;
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    pthread_mutex_lock(&lock);
    made->next = thunks;
    thunks = made;
    yet_to_call++;
    bool started = pthread_create(&made->thread, NULL, thunk_run, made) == 0;
    pthread_mutex_unlock(&lock);
    if (!started) no_thread(thread);
}

void native_join_threads(gc_thread *thread) {
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    count_sleeper(1);
    for (;;) {
        pthread_mutex_lock(&lock);
        thunk *last = thunks;
        if (last) thunks = last->next;
        pthread_mutex_unlock(&lock);
        if (!last) break;
        pthread_join(last->thread, NULL);
        free(last);
    }
    count_sleeper(-1);
}

/* Waits for the time, and until the threads that native code has started have come to their delegates: so a program for which
   the time is long enough does the same on a busy machine. Those threads wait for the time only. */
void native_sleep(gc_thread *thread, int64_t milliseconds) {
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    if (milliseconds < 0) milliseconds = 0;
    count_sleeper(1);
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0) continue;
    pthread_mutex_lock(&lock);
    while (yet_to_call && !is_native) pthread_cond_wait(&has_begun, &lock);
    sleepers--;
    pthread_mutex_unlock(&lock);
}
