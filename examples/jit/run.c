/* run.c - compiles a checked program, and runs it. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include "dump.h"
#include "entries.h"
#include "method.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NATIVE_STACK_BYTES ((size_t)512 << 10) /* for native code, and for handlers of signals */

gc_heap *runtime_heap;
const program *runtime_program;
const jit_options *runtime_options;

/* Errors. */

_Noreturn void runtime_fail(gc_thread *thread, const char *message) {
    int line = 0;
    gc_code_cursor frame = gc_code_first(thread);
    const method *m = frame.code ? method_at((const void *)frame.pc, &line) : NULL;
    fflush(stdout);
    fprintf(stderr, "%s:%d: error: %s, in %s\n", runtime_program->path, line, message,
            m ? m->source->full_name : "native code");
    _Exit(1);
}

_Noreturn void runtime_error(gc_thread *thread, runtime_error_kind kind) {
    static const char *const texts[] = {
#define X(name, text) text,
        RUNTIME_ERRORS(X)
#undef X
    };
    char text[2048];
    snprintf(text, sizeof text, "%s%s%s", texts[kind], kind == ERROR_MEMORY ? ": " : "",
             kind == ERROR_MEMORY ? gc_last_message() : "");
    runtime_fail(thread, text);
}

/* Threads that run compiled code, for reports. */

typedef struct attachment {
    gc_thread *thread;
    struct attachment *next;
} attachment;

static __thread attachment self;
static attachment *attachments; /* under the lock */
static pthread_mutex_t attachments_lock = PTHREAD_MUTEX_INITIALIZER;

/* The compiled calls of the thread, and the delegates in their variables: native code may have kept the address of one. */
static void report_calls(gc_thread *thread) {
    for (gc_code_cursor frame = gc_code_first(thread); frame.code; gc_code_next(&frame)) {
        int line = 0;
        const method *m = method_at((const void *)frame.pc, &line);
        uint32_t offset = (uint32_t)(frame.pc - (uintptr_t)frame.code->start);
        fprintf(stderr, "%s:%d: in %s, at +0x%x:\n", runtime_program->path, line, m->source->full_name,
                (unsigned)offset);
        if (frame.kind == GC_FRAME_CALLER) dump_delegates(runtime_program, m, offset, stderr);
    }
}

/* Says more than gc.h can of an object that was missing: which calls are in progress. Those of threads in cooperative mode are
   changing. */
static void on_fatal(void *host, const char *message) {
    (void)host;
    fprintf(stderr, "gc.h: %s\n", message);
    for (const attachment *each = attachments; each; each = each->next)
        if (each == &self || gc_thread_mode(each->thread) == GC_MODE_PREEMPTIVE) report_calls(each->thread);
}

/* Compiled code compares the stack pointer with this variable. */

static __thread uintptr_t stack_limit __attribute__((tls_model("local-exec")));

int32_t runtime_stack_limit_offset(void) {
    uintptr_t thread_pointer;
    __asm__("{mov %%fs:0, %0|mov %0, fs:0}" : "=r"(thread_pointer));
    return (int32_t)((uintptr_t)&stack_limit - thread_pointer);
}

static void set_stack_limit(void) {
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t bytes = 0, wanted = runtime_options->stack_bytes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &lowest, &bytes);
        pthread_attr_destroy(&attributes);
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    stack_limit = (uintptr_t)lowest + NATIVE_STACK_BYTES;
    if (wanted && wanted < here - stack_limit) stack_limit = here - wanted;
}

gc_thread *runtime_attach(void) {
    gc_thread *thread = gc_thread_attach(runtime_heap);
    if (!thread || gc_thread_set_interruptible(thread, true) != GC_OK) {
        fprintf(stderr, "jit: a thread cannot run compiled code: %s\n", gc_last_message());
        _Exit(1);
    }
    gc_thread_set_name(thread, "main"); /* others are given theirs later */
    set_stack_limit();
    pthread_mutex_lock(&attachments_lock);
    self = (attachment){thread, attachments};
    attachments = &self;
    pthread_mutex_unlock(&attachments_lock);
    return thread;
}

void runtime_detach(gc_thread *thread) {
    pthread_mutex_lock(&attachments_lock);
    attachment **at = &attachments;
    while (*at != &self) at = &(*at)->next;
    *at = self.next;
    pthread_mutex_unlock(&attachments_lock);
    gc_thread_detach(thread);
}

int64_t runtime_call_delegate(gc_thread *thread, delegate *callee, int64_t argument) {
    uintptr_t arguments[] = {(uintptr_t)callee->receiver, (uintptr_t)argument};
    return (int64_t)gc_code_call(thread, callee->code, arguments, 2);
}

/* The program. */

static void call_main(gc_thread *thread) {
    if (!literals_make(thread)) runtime_error(thread, ERROR_MEMORY);
    if (runtime_options->has_torture) torture_begin(thread);
    if (runtime_options->has_steps) step_begin(thread);
    gc_code_call(thread, method_of(runtime_program->main)->code.start, NULL, 0);
    if (runtime_options->has_steps) step_end(thread);
    native_join_threads(thread);
    if (runtime_options->has_torture) torture_end(thread);
    fflush(stdout);
    if (runtime_options->stats) gc_heap_print_stats(runtime_heap, stderr);
}

static gc_heap *create_heap(const jit_options *options) {
    gc_options wanted = {.heap_bytes_max = options->heap_bytes,
                         .nursery_bytes = options->nursery_bytes,
                         .fatal = on_fatal,
                         .barrier_changed = code_barrier_changed};
    if (options->has_torture) wanted.collection_start = torture_observe;
    if (options->has_steps) wanted.collection_start = step_observe;
    gc_heap *heap = gc_heap_create(&wanted);
    if (!heap) fprintf(stderr, "jit: %s\n", gc_last_message()), exit(1);
    return heap;
}

int jit_run(const program *p, const jit_options *options) {
    int status = 0;
    runtime_program = p;
    runtime_options = options;
    code_begin();
    runtime_heap = create_heap(options);
    code_compile(p, options);
    if (options->dump) dump_program(p, options->dump_function, stdout);
    if (options->why)
        status = dump_why(p, options->why, stdout) ? 0 : 1;
    else
        call_main(runtime_attach());
    if (!options->why) runtime_detach(gc_thread_current(runtime_heap));
    gc_heap_destroy(runtime_heap);
    code_end();
    layouts_free(p);
    literals_free();
    return status;
}
