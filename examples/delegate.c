/* A callback that native code calls too late: the closure behind it has been collected.

   A program makes a closure, passes it to native code, and does not use it again. Native code calls it from a thread of
   its own, some time later. What native code holds is not the closure, which moves, but a thunk: memory outside the heap
   that stands for it. The collector knows nothing of who holds thunks, so to it the closure is dead after its last use.
   Without stress that goes well nearly always, which makes the mistake hard to find: here GC_STRESS_ALLOCATION makes it
   happen each time. */
#define GC_IMPLEMENTATION
#include "gc.h"

#include <pthread.h>
#include <semaphore.h>

/* Native code: calls back once, from a thread of its own, at a time of its own choosing. */

static struct {
    void (*callback)(void *context);
    void *context;
    pthread_t thread;
    sem_t time_has_come;
} native;

static void *native_thread(void *unused) {
    (void)unused;
    sem_wait(&native.time_has_come);
    native.callback(native.context);
    return NULL;
}

static bool native_call_later(void (*callback)(void *context), void *context) {
    native.callback = callback;
    native.context = context;
    sem_init(&native.time_has_come, 0, 0);
    return pthread_create(&native.thread, NULL, native_thread, NULL) == 0;
}

static void native_wait_for_call(void) {
    sem_post(&native.time_has_come);
    pthread_join(native.thread, NULL);
    sem_destroy(&native.time_has_come);
}

/* The runtime: closures, and thunks for them. */

typedef struct account {
    gc_object header;
    int balance;
} account;

typedef struct closure {
    gc_object header;
    account *target;
    int (*method)(const account *target);
} closure;

static const gc_type account_type = GC_TYPE_LEAF(account);
static const gc_type closure_type = GC_TYPE(closure, target);

typedef struct thunk {
    gc_heap *heap;
    gc_handle closure;
} thunk;

/* What native code calls, in a thread that the heap has not seen before. A weak handle says that the closure is gone; a bare
   address would lead to whatever lies there now. */
static void thunk_call(void *context) {
    const thunk *called = context;
    gc_thread *gc = gc_thread_attach(called->heap);
    if (!gc) return;
    {
        closure *target = gc_handle_get(called->closure);
        GC_ROOTS(gc, target);
        if (target)
            printf("  native code calls back: the closure returns %d\n", target->method(target->target));
        else
            printf("  native code calls back: the closure has been collected\n");
    }
    gc_thread_detach(gc);
}

static int balance_of(const account *target) { return target->balance; }

static closure *closure_new(gc_thread *gc, int balance) {
    account *target = gc_new(gc, &account_type);
    GC_ROOTS(gc, target);
    closure *made = target ? gc_new(gc, &closure_type) : NULL;
    if (!made) return NULL;
    target->balance = balance;
    gc_store(gc, &made->target, target);
    made->method = balance_of;
    return made;
}

/* The compiled program. Its compiler tells the collector in which of these steps the variable is live: from the step that
   sets it to the one that uses it last. GC_ROOTS would keep it to the end of its scope, like a compiler that does not
   optimize: then the mistake shows only in optimized code. */

typedef enum step { MAKE_CLOSURE, PASS_CLOSURE, WAIT_FOR_CALL, KEEP_ALIVE, RETURN } step;

typedef struct frame {
    gc_thread *thread;
    step now;
    step last_use; /* the stack map */
    closure *variable;
} frame;

static void scan_frame(void *host, gc_thread *thread, gc_visitor *visitor) {
    frame *running = host;
    if (running->thread == thread && running->now <= running->last_use) gc_visit(visitor, &running->variable, 1, 0);
}

static void run_program(gc_thread *gc, frame *running, gc_handle_kind kind_in_thunk, int balance) {
    gc_heap *heap = gc_thread_heap(gc);
    running->now = MAKE_CLOSURE;
    running->variable = NULL; /* what the compiler has the function begin with */
    running->variable = closure_new(gc, balance);
    if (!running->variable) return;

    running->now = PASS_CLOSURE;
    thunk passed = {heap, gc_handle_create(heap, kind_in_thunk, running->variable)};
    if (!passed.closure || !native_call_later(thunk_call, &passed)) return;

    running->now = WAIT_FOR_CALL;
    /* Other code runs and allocates; stress collects another generation each time. */
    for (int i = 0; i < GC_GENERATIONS; i++) gc_new(gc, &account_type);
    {
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        native_wait_for_call();
    }

    running->now = KEEP_ALIVE;
    if (running->last_use == KEEP_ALIVE) gc_keep_alive(running->variable);

    running->now = RETURN;
    gc_handle_destroy(heap, passed.closure); /* only now: native code is done with the thunk */
}

int main(void) {
    frame running = {NULL, RETURN, PASS_CLOSURE, NULL};
    gc_options options = {.debug.stress = GC_STRESS_ALLOCATION, .scan_roots = scan_frame, .host = &running};
    gc_heap *heap = gc_heap_create(&options);
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    if (!gc) return fprintf(stderr, "delegate: %s\n", gc_last_message()), 1;

    running.thread = gc;
    printf("the program's last use of the closure is passing it to native code:\n");
    run_program(gc, &running, GC_HANDLE_WEAK, 1);

    printf("the program keeps the closure alive until native code has called:\n");
    running.last_use = KEEP_ALIVE;
    run_program(gc, &running, GC_HANDLE_WEAK, 2);

    printf("the thunk holds a strong handle until native code has called:\n");
    running.last_use = PASS_CLOSURE;
    run_program(gc, &running, GC_HANDLE_STRONG, 3);

    gc_heap_destroy(heap);
    return 0;
}
