/* A user of every macro and inline function of gc_handles.h, in the common part of C11 and C++. Returns the number of what is
   not as it should be. */
#include "gc.h"

#include <errno.h>

static int closed, finalized;
static bool release(intptr_t value) {
    closed += (int)value;
    errno = 1;
    return true;
}
GC_SAFE_HANDLE_KIND(door, release, gc_safe_handle_invalid_if_minus_one);
GC_SAFE_HANDLE_KIND(window, release, gc_safe_handle_invalid_if_zero);

typedef struct house {
    gc_object header;
    door front;
    struct house *next;
} house;

static inline void note(gc_thread *thread, void *object) {
    (void)thread, (void)object;
    finalized++;
}
static const gc_finalizer house_final = {note, false, 0};
static const gc_type house_type = GC_TYPE_FINALIZED(house, house_final, front, next);
static const gc_type empty_type = GC_TYPE_LEAF_FINALIZED(house, house_final);

static inline int leave(gc_thread *gc, door d, int how) {
    for (int i = 0; i < 2; i++) {
        GC_NATIVE_CALL(gc, d.safe, value) {
            if (how == 0) return (int)value;
            if (how == 1) goto out;
            if (how == 2) break;
            continue;
        }
    }
out:
    return how;
}

static inline int calls(gc_thread *gc, door d, window w) {
    int wrong = 0;
    GC_ROOTS(gc, d, w);
    GC_NATIVE_CALL(gc, d.safe, a) {
        errno = 0;
        GC_NATIVE_CALL(gc, w.safe, b) errno = (int)(a + b);
    }
    wrong += errno != 30;
    for (int how = 0; how < 4; how++) wrong += leave(gc, d, how) != (how ? how : 10);
    gc_native_ref ref = {d.safe, 7};
    intptr_t raw = 0;
    GC_NATIVE_CALL_REF(gc, ref, value) raw = value;
    wrong += raw != 7;
    gc_keep_alive(w.safe);
    wrong +=
        gc_safe_handle_value(d.safe) != 10 || gc_safe_handle_is_closed(d.safe) || gc_safe_handle_is_invalid(d.safe);
    gc_safe_handle_dispose(gc, w.safe);
    return wrong + (closed != 20);
}

int main(void) {
    int wrong = 0;
    gc_heap *heap = gc_heap_create(0);
    gc_thread *gc = gc_thread_attach(heap);
    wrong += calls(gc, door_new(gc, 10, true), window_new(gc, 20, true));
    house *h = (house *)gc_new(gc, &house_type);
    {
        GC_ROOTS(gc, h);
        door d = door_new(gc, 100, true);
        gc_store(gc, &h->front, d.safe);
        gc_new(gc, &empty_type);
        gc_collect(heap, 2, 0);
        gc_finalizer_run(gc, 10);
        wrong += finalized != 1 || closed != 30;
    }
    gc_heap_destroy(heap);
    return wrong + (finalized != 2) + (closed != 130);
}
