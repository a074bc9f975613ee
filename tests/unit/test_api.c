/* The public API as a whole: its version, brackets of raw stores, and what its functions make of NULL. */
#include "../fixture.h"

static void version(void) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", GC_VERSION_MAJOR, GC_VERSION_MINOR, GC_VERSION_PATCH);
    is(strcmp(GC_VERSION_TEXT, text), 0, "GC_VERSION_TEXT is the three numbers");
    is(strcmp(gc_version(), GC_VERSION_TEXT), 0, "gc_version is the header's version");
}

/* Brackets of raw stores. */

static char report[4096];

static void misuse_stores(void *which) {
    void *slots[4] = {NULL, NULL, NULL, NULL};
    begin(NULL);
    switch (*(int *)which) {
    case 0: gc_stores_end(gc, slots, 4, 0); break;
    case 1: gc_stores_begin(gc, slots, 4, 0), gc_stores_end(gc, slots, 3, 0); break;
    case 2: gc_stores_begin(gc, slots, 4, 0), gc_stores_end(gc, slots, 4, GC_ROOT_VALUE); break;
    case 3: gc_stores_begin(gc, (char *)slots + 1, 1, 0); break;
    case 4: gc_stores_begin(gc, slots, 4, 0), gc_collect(heap, 0, GC_COLLECT_DEFAULT); break;
    default:
        for (int i = 0; i < 100; i++) gc_stores_begin(gc, slots, 4, 0);
    }
}

static void stores(void) {
    static const char *const messages[] = {"have no gc_stores_begin",   "have no gc_stores_begin",
                                           "have no gc_stores_begin",   "are not 8-byte aligned",
                                           "a collection runs between", "have been begun without gc_stores_end"};
    begin(NULL);
    vector *a = gc_new_array(gc, &vector_type, 8), *b = gc_new_array(gc, &vector_type, 8);
    GC_ROOTS(gc, a, b);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT), gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    void *fresh = gc_new(gc, &node_type);
    gc_stores_begin(gc, a->items, 8, 0);
    gc_stores_begin(gc, b->items, 8, 0);
    a->items[1] = b->items[1] = fresh;
    gc_stores_end(gc, a->items, 8, 0);
    gc_stores_end(gc, b->items, 8, 0);
    gc_collect(heap, 0, GC_COLLECT_DEFAULT);
    ok(a->items[1] == b->items[1] && gc_object_bytes(a->items[1]) == sizeof(node), "two ranges at once, ended in any order");
    end();
    for (int i = 0; GC_DEBUG >= 1 && i < 6; i++) {
        is(tap_child(misuse_stores, &i, report, sizeof report), 256 + 6, "misuse %d of a bracket aborts", i);
        has(report, messages[i], "and says why");
    }
}

int main(void) {
    version();
    stores();
    return done();
}
