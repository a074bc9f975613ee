/* Which collectors a reader accepts; and targets of a host's own: here the calling process itself, with a collector's description
   that is changed on the way. */
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"
#include "../inside.h"
#include "../fixture.h"

/* What the target shows instead of the collector's own description. */
static struct {
    GcDacVars vars;
    Elf64_Ehdr header;
    Elf64_Phdr parts[2];
    struct __attribute__((packed)) {
        Elf64_Nhdr note;
        char owner[8];
        int64_t distance;
    } note;
} fake;

static size_t read_self(void *context, uint64_t address, void *to, size_t bytes) {
    (void)context;
    return gc__dac_os_read(getpid(), address, to, bytes);
}
static bool fake_mapping(void *context, size_t i, gc_dac_mapping *mapping) {
    (void)context;
    mapping->start = (uintptr_t)&fake.header;
    mapping->end = (uintptr_t)(&fake + 1);
    mapping->file_offset = 0;
    mapping->path = "/a/program";
    return i == 0;
}
static const gc_dac_target self = {NULL, read_self, NULL, fake_mapping, NULL, NULL};

static void fake_program(void) {
    memset(&fake, 0, sizeof fake);
    fake.vars = gc__dac_vars;
    memcpy(fake.header.e_ident, ELFMAG, SELFMAG);
    fake.header.e_ident[EI_CLASS] = ELFCLASS64;
    fake.header.e_ident[EI_DATA] = GC__IMAGE_ORDER;
    fake.header.e_phoff = sizeof fake.header;
    fake.header.e_phentsize = sizeof(Elf64_Phdr);
    fake.header.e_phnum = 2;
    fake.parts[0].p_type = PT_LOAD;
    fake.parts[1].p_type = PT_NOTE;
    fake.parts[1].p_vaddr = sizeof fake.header + sizeof fake.parts;
    fake.parts[1].p_memsz = sizeof fake.note;
    fake.parts[1].p_align = 4;
    fake.note.note.n_namesz = 5;
    fake.note.note.n_descsz = 8;
    fake.note.note.n_type = 1;
    strcpy(fake.note.owner, "gc.h");
    fake.note.distance = (int64_t)((intptr_t)&fake.vars - (intptr_t)&fake.note.distance);
}

typedef struct found {
    gc_dac_heap heap;
    size_t heaps, objects, numbers;
    const char *rejected;
    unsigned major, minor;
} found;
static bool find_heap(void *context, const gc_dac_heap *each) {
    found *all = context;
    all->heap = *each;
    all->heaps++;
    return true;
}
static bool find_object(void *context, const gc_dac_object *object) {
    ((found *)context)->objects += object->type && strcmp(object->type->name, "node") == 0;
    return true;
}
static bool find_number(void *context, const char *name, uint64_t value) {
    (void)name, (void)value;
    ((found *)context)->numbers++;
    return true;
}
static bool find_collector(void *context, const gc_dac_collector *collector) {
    found *all = context;
    all->rejected = collector->rejected;
    all->major = collector->major;
    all->minor = collector->minor;
    return true;
}
static bool find_finalizer(void *context, const gc_dac_finalizer *finalizer) {
    return (void)context, (void)finalizer, true;
}

/* Asks for everything once. The message of the last call that failed is kept. */
static char message[1200];
static found ask(void) {
    found all;
    memset(&all, 0, sizeof all);
    message[0] = 0;
    gc_dac *dac = gc_dac_open(&self);
    if (!gc_dac_collectors(dac, find_collector, &all)) snprintf(message, sizeof message, "%s", gc_dac_message(dac));
    static char rejected[1200];
    snprintf(rejected, sizeof rejected, "%s", all.rejected ? all.rejected : "");
    all.rejected = rejected;
    if (!gc_dac_heaps(dac, find_heap, &all)) snprintf(message, sizeof message, "%s", gc_dac_message(dac));
    if (all.heaps) {
        if (!gc_dac_objects(dac, &all.heap, find_object, &all))
            snprintf(message, sizeof message, "%s", gc_dac_message(dac));
        gc_dac_statistics(dac, &all.heap, find_number, &all);
        gc_dac_finalizers(dac, &all.heap, find_finalizer, &all);
    }
    gc_dac_close(dac);
    return all;
}

/* The list of a record has one entry less: what follows it moves up. */
static void cut_list(uint16_t *count, size_t entry, void *end_of_list) {
    char *end = end_of_list, *last = (char *)(&fake.vars + 1);
    --*count;
    memmove(end - entry, end, (size_t)(last - end));
}

static void test_versions(void) {
    fake_program();
    found same = ask();
    is(same.heaps, 1, "the reader's own version: %s", message);
    is(same.objects, 100, "with its objects");
    size_t numbers = same.numbers;

    fake.vars.minor = GC_DAC_MINOR + 7;
    found newer = ask();
    is(newer.objects, 100, "a newer minor version is accepted: %s", message);
    is(newer.minor, GC_DAC_MINOR + 7, "and named");

    fake_program();
    cut_list(&fake.vars.statistic_count, sizeof *fake.vars.statistics, fake.vars.statistics + GC__DAC_STATISTIC_COUNT);
    memset(fake.vars.statistics + GC__DAC_STATISTIC_COUNT - 1, 0xFF, sizeof *fake.vars.statistics);
    found older = ask();
    is(older.objects, 100, "one that lacks an entry of a list is accepted: %s", message);
    is(older.numbers, numbers - 1, "and what it lacks is left out");

    fake_program();
    cut_list(&fake.vars.member_count, sizeof *fake.vars.members, fake.vars.members + GC__DAC_AT_COUNT);
    older = ask();
    is(older.objects, 100, "the same of another list: %s", message);
    is(older.numbers, numbers, "with the lists behind it in their new places");

    fake_program();
    fake.vars.major = GC_DAC_MAJOR + 1;
    found other = ask();
    is(other.heaps + other.objects, 0, "another major version is rejected");
    has(other.rejected,
        "/a/program has gc.h 0.1.0, whose description is of version 4.2, and this reader understands 3.x",
        "with both versions");
    has(message, "use the gc_dac.h that came with that gc.h", "every call says what to do");
}

static void test_every_call(void) {
    fake_program();
    fake.vars.major = 9;
    gc_dac *dac = gc_dac_open(&self);
    has(gc_dac_message(dac), "version 9.2", "opening says it");
    found all;
    gc_dac_heap none = {0};
    gc_dac_object object;
    char text[10];
    ok(!gc_dac_heaps(dac, find_heap, &all) && strstr(gc_dac_message(dac), "version 9.2"), "gc_dac_heaps says it");
    ok(!gc_dac_objects(dac, &none, find_object, &all) && strstr(gc_dac_message(dac), "version 9.2"),
       "gc_dac_objects says it");
    ok(!gc_dac_object_at(dac, 4096, &object) && strstr(gc_dac_message(dac), "version 9.2"), "gc_dac_object_at says it");
    ok(!gc_dac_read_text(dac, 4096, text, sizeof text) && strstr(gc_dac_message(dac), "version 9.2"),
       "gc_dac_read_text says it");
    ok(gc_dac_read(dac, (uintptr_t)text, text, 1) == 0 && strstr(gc_dac_message(dac), "version 9.2"),
       "gc_dac_read says it");
    gc_dac_close(dac);
    has(gc_dac_message(NULL), "no memory", "no reader at all");
}

static void test_damage(void) {
    fake_program();
    fake.vars.magic++;
    found all = ask();
    has(message, "there is no description of a collector", "a note that leads elsewhere");
    fake_program();
    fake.vars.facts[GC__DAC_FACT_REGION_SHIFT] = 63;
    all = ask();
    has(message, "is damaged: the size of a region is wrong", "a description that cannot be");
    fake_program();
    fake.note.note.n_type = 2;
    all = ask();
    has(message, "no file of the target has a note of gc.h", "a note of another type");
    is(all.heaps, 0, "and no heaps");
    fake_program();
    fake.header.e_ident[EI_CLASS] = ELFCLASS32;
    all = ask();
    has(message, "/a/program is no 64-bit program", "a program of 32 bits");
}

/* What GC_Initialize does: describes the collector in a record of the program's, which may know fewer entries, or more. */
static void test_descriptions(void) {
    static struct {
        GcDacVars vars;
        unsigned char beyond[1000];
    } asked;
    const GcDacVars whole = {.major = GC_DAC_MAJOR,
                             .bytes = sizeof whole,
                             .variable_count = GC__DAC_VARIABLE_COUNT,
                             .fact_count = GC__DAC_FACT_COUNT,
                             .member_count = GC__DAC_AT_COUNT,
                             .statistic_count = GC__DAC_STATISTIC_COUNT};
    asked.vars = whole;
    gc__dac_describe(&asked.vars);
    ok(memcmp(&asked.vars, &gc__dac_vars, sizeof asked.vars) == 0, "the whole description is the collector's own");

    memset(&asked, 0xA5, sizeof asked);
    memcpy(&asked.vars, &whole, offsetof(GcDacVars, variables));
    asked.vars.variable_count = 3, asked.vars.member_count -= 10, asked.vars.statistic_count = 0;
    size_t left_out = (GC__DAC_VARIABLE_COUNT - 3) * 8 + 10 * 2 + GC__DAC_STATISTIC_COUNT * 4;
    asked.vars.bytes = (uint32_t)(offsetof(GcDacVars, statistics) + sizeof asked.vars.statistics - left_out);
    uint32_t room = asked.vars.bytes;
    gc__dac_describe(&asked.vars);
    is(asked.vars.magic, GC__DAC_MAGIC, "an older program's record is filled");
    is(((unsigned char *)&asked)[room], 0xA5, "and nothing is written beyond it");
    fake_program();
    memcpy(&fake.vars, &asked.vars, room);
    found all = ask();
    is(all.heaps, 1, "it is a description for readers, too");
    is(all.objects, 100, "who find all objects");

    memset(&asked, 0, sizeof asked);
    asked.vars = whole;
    asked.vars.fact_count += 100, asked.vars.bytes += 400, asked.vars.minor = 7;
    gc__dac_describe(&asked.vars);
    asked.vars.bytes -= 400;
    ok(memcmp(&asked.vars, &gc__dac_vars, sizeof asked.vars) == 0,
       "a newer program's record says how many entries there are");

    for (int i = 0; i < 2; i++) {
        asked.vars = whole;
        if (i == 0) asked.vars.major++;
        if (i == 1) asked.vars.bytes -= 8;
        gc__dac_describe(&asked.vars);
        is(asked.vars.magic, 0, i ? "a record that is too small is left alone" : "and one of another major version");
        is(asked.vars.major, GC_DAC_MAJOR, "but for the version");
    }
}

/* What is damaged in the tables of heaps is said by each call, not by the first one only. */
static void test_damaged_tables(void) {
    static gc__arena arena;
    fake_program();
    arena = gc__the_arena;
    arena.regions = (gc__region *)4096;
    fake.vars.variables[GC__DAC_VARIABLE_ARENA] = &arena;
    gc_dac *dac = gc_dac_open(&self);
    found all;
    memset(&all, 0, sizeof all);
    for (int i = 0; i < 2; i++) {
        ok(!gc_dac_heaps(dac, find_heap, &all), "a table of regions that is not readable");
        has(gc_dac_message(dac), "bytes at 0x1000 are not readable", "is reported");
    }
    ok(!gc_dac_objects(dac, &all.heap, find_object, &all), "and so it is for objects");
    gc_dac_close(dac);

    fake_program();
    gc__region *first = heap->regions[0];
    heap->regions[0] = (gc__region *)4096;
    dac = gc_dac_open(&self);
    for (int i = 0; i < 2; i++) {
        ok(!gc_dac_objects(dac, &all.heap, find_object, &all), "a list of regions that leads nowhere");
        has(gc_dac_message(dac), "the list of regions of generation 0", "is reported");
    }
    gc_dac_close(dac);
    heap->regions[0] = first;
}

/* While stores are logged, cards say nothing. */
static void test_logged(uint64_t slot) {
    bool dirty;
    uint8_t *age = gc__tables.age + (slot >> GC_REGION_SHIFT), before = *age;
    fake_program();
    gc_dac *dac = gc_dac_open(&self);
    ok(gc_dac_card(dac, slot, &dirty), "a card: %s", gc_dac_message(dac));
    gc_dac_close(dac);
    *age = before | GC_AGE_LOGGED;
    dac = gc_dac_open(&self);
    ok(!gc_dac_card(dac, slot, &dirty), "one in whose region stores are logged");
    has(gc_dac_message(dac), "stores are logged", "says nothing");
    gc_dac_close(dac);
    cut_list(&fake.vars.fact_count, sizeof *fake.vars.facts, fake.vars.facts + GC__DAC_FACT_COUNT);
    dac = gc_dac_open(&self);
    ok(gc_dac_card(dac, slot, &dirty), "an older description does not say that: %s", gc_dac_message(dac));
    gc_dac_close(dac);
    *age = before;
}

/* Whatever depends on two numbers that were read counts its steps. */

enum { MANY = 5000 };
static bool many_natives(void *context, size_t i, gc_dac_native *native) {
    (void)context;
    memset(native, 0, sizeof *native);
    return i < MANY;
}
static uint64_t steps_at_first;
static bool find_thread(void *context, const gc_dac_thread *thread) { return (void)context, (void)thread, true; }
static bool find_root(void *context, const gc_dac_root *root) { return (void)context, (void)root, true; }
static bool find_region(void *context, const gc_dac_region *region) { return (void)context, (void)region, true; }
static uint64_t steps(const gc_dac *dac) { return steps_at_first - dac->calls[1].steps; }

static void test_steps(void) {
    static const gc_dac_target with_natives = {NULL, read_self, NULL, fake_mapping, many_natives, NULL};
    static node *global;
    fake_program();
    for (int i = 0; i < MANY; i++) gc_roots_add(heap, &global, 0, 0);
    gc_dac *dac = gc_dac_open(&with_natives);
    found all;
    memset(&all, 0, sizeof all);
    steps_at_first = 64 * (dac->target_bytes + 1000000);
    gc_dac_heaps(dac, find_heap, &all);
    ok(steps(dac) >= dac->copies[0].place_count, "regions, for each heap: %llu", (unsigned long long)steps(dac));
    gc_dac_threads(dac, &all.heap, find_thread, NULL);
    ok(steps(dac) >= MANY, "native threads, for each thread: %llu", (unsigned long long)steps(dac));
    gc_dac_roots(dac, &all.heap, find_root, NULL);
    ok(steps(dac) >= 2 * MANY, "global roots without slots: %llu", (unsigned long long)steps(dac));
    size_t windows = dac->copies[0].window_count;
    gc_dac_regions(dac, &all.heap, find_region, NULL);
    ok(windows && steps(dac) >= windows, "windows, for each region: %llu", (unsigned long long)steps(dac));
    gc_dac_objects(dac, &all.heap, find_object, &all);
    ok(steps(dac) >= windows, "for its objects, too: %llu", (unsigned long long)steps(dac));
    gc_dac_close(dac);
    for (int i = 0; i < MANY; i++) gc_roots_remove(heap, &global);
}

int main(void) {
    begin(NULL);
    node *list = NULL;
    GC_ROOTS(gc, list);
    for (uint64_t i = 0; i < 100; i++) {
        node *fresh = new_node(i);
        gc_store(gc, &fresh->left, list);
        list = fresh;
    }
    test_versions();
    test_every_call();
    test_damage();
    test_descriptions();
    test_damaged_tables();
    test_logged((uintptr_t)&list->left);
    test_steps();
    return done();
}
