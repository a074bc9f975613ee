/* Several collectors in one program: the embedded one, and those of the libraries that the arguments name, each used by its
   table at the same time. Not compiled with GC_STANDALONE, so the program's own calls go to the embedded collector. */
#define GC_IMPLEMENTATION
#include "gc_standalone.h"

#include <string.h>

typedef struct cell {
    gc_object header;
    struct cell *next;
    long value;
} cell;

static int finalized;
static void finish(gc_thread *thread, void *object) { (void)thread, (void)object, finalized++; }
static const gc_finalizer finisher = {finish, false, NULL};
static const gc_type cell_type = GC_TYPE(cell, next);
static const gc_type mortal_type = GC_TYPE_FINALIZED(cell, finisher, next);

typedef struct client {
    const gc_library *library;
    gc_heap *heap;
    gc_thread *thread;
    cell *list;
    gc_handle weak, strong;
    long sum;
    int warnings;
} client;

static void on_warning(void *host, const char *message) {
    (void)message;
    ((client *)host)->warnings++;
}

static int begin(client *c) {
    gc_options options;
    memset(&options, 0, sizeof options);
    options.warning = on_warning;
    options.host = c;
    const gc_functions *f = c->library->functions;
    c->heap = f->gc_heap_create(&options);
    c->thread = c->heap ? f->gc_thread_attach(c->heap) : NULL;
    if (!c->thread || f->gc_roots_add(c->heap, &c->list, 1, 0) != GC_OK) return printf("%s\n", f->gc_last_message()), 1;
    c->weak = f->gc_handle_create(c->heap, GC_HANDLE_WEAK, f->gc_new(c->thread, &cell_type));
    c->strong = f->gc_handle_create(c->heap, GC_HANDLE_STRONG, f->gc_new(c->thread, &mortal_type));
    return 0;
}

/* Adds a cell by the inline functions of the library, which are in its table. */
static void add(client *c, long value) {
    const gc_functions *f = c->library->functions;
    cell *fresh = (cell *)f->gc_new(c->thread, &cell_type);
    fresh->value = value;
    f->gc_store(c->thread, &fresh->next, c->list);
    f->gc_store(c->thread, &c->list, fresh);
    if (value % 1000 == 0) f->gc_collect(c->heap, (int)(value / 1000 % 3), GC_COLLECT_DEFAULT);
    f->gc_safepoint(c->thread);
}

static const void *last_arena;

static void end(client *c, int number) {
    const gc_functions *f = c->library->functions;
    for (cell *each = c->list; each; each = each->next) c->sum += each->value;
    f->gc_collect(c->heap, 2, GC_COLLECT_COMPACTING);
    int is_cleared = f->gc_handle_get(c->weak) == NULL, is_kept = f->gc_handle_get(c->strong) != NULL;
    f->gc_handle_destroy(c->heap, c->strong);
    f->gc_collect(c->heap, 2, GC_COLLECT_DEFAULT);
    int run = (int)f->gc_finalizer_run(c->thread, 10);
    f->gc_thread_detach(c->thread);
    f->gc_heap_destroy(c->heap);
    const GcDacVars *vars = c->library->vars;
    int described =
        vars->magic == GC__DAC_MAGIC && vars->facts[0] == GC_REGION_SHIFT && vars->variables[0] != last_arena;
    last_arena = vars->variables[0];
    printf("%d: sum %ld, weak handle cleared %d, object of the strong one kept %d, finalizers %d %d, warnings %d, "
           "described %d\n",
           number, c->sum, is_cleared, is_kept, run, finalized, c->warnings, described);
    finalized = 0;
}

int main(int count, char **arguments) {
    static client clients[8];
    clients[0].library = gc_library_embedded();
    for (int i = 1; i < count; i++) {
        const char *why = "";
        clients[i].library = gc_library_load(arguments[i], &why);
        if (!clients[i].library) return printf("%s\n", why), 1;
    }
    for (int i = 0; i < count; i++)
        if (begin(&clients[i])) return 1;
    for (long value = 1; value <= 20000; value++)
        for (int i = 0; i < count; i++) add(&clients[i], value);
    for (int i = 0; i < count; i++) end(&clients[i], i);
    return 0;
}
