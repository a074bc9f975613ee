/* The shadow heap: a store without the barrier is reported by the next collection, or by gc_heap_verify, whether or not
   verify is on. */
#define _GNU_SOURCE
#define GC_SHADOW_HEAP 1
#define GC_IMPLEMENTATION
#include "../fixture.h"

static char report[4096];

/* From old to old, so that no card is needed and only the shadow heap can notice. */
static void store_without_barrier(void) {
    begin(NULL);
    node *a = new_node(1), *b = NULL;
    GC_ROOTS(gc, a, b);
    b = new_node(2);
    age(&a, 2), age(&b, 2);
    gc_store(gc, &a->left, b);
    full();
    a->right = b; /* the mistake */
    full();
}

static void by_collection(void *unused) {
    (void)unused;
    store_without_barrier();
}

static void by_request(void *unused) {
    (void)unused;
    begin(NULL);
    node *a = new_node(1);
    GC_ROOTS(gc, a);
    age(&a, 2);
    a->right = a; /* the mistake */
    gc_heap_verify(heap);
}

static void reported(void (*body)(void *), const char *what) {
    is(tap_child(body, NULL, report, sizeof report), 256 + 6, "%s: the process aborts", what);
    has(report, "right", "%s: the report names the field", what);
    has(report, "shadow heap", "%s: and the shadow heap", what);
    has(report, "gc_store", "%s: and the remedy", what);
    ok(!strstr(report, "verify ("), "%s: verify, which is off, is not named", what);
}

int main(void) {
    reported(by_collection, "a collection without verify");
    reported(by_request, "gc_heap_verify");
    return done();
}
