/* Writes a profile that is made up, into the files that are named: what the readers of formats must find is known, and is
   printed. A file that is named `streamed` gets events as they would happen. What is printed: "TYPE COUNT BYTES LIVE-COUNT LIVE-BYTES FRAME;FRAME...", the innermost frame first. */
#define GC_IMPLEMENTATION
#include "gc_profile.h"

static gc__profile profile;
static uintptr_t code[4]; /* that the host has compiled */

static uint32_t native_frame(uintptr_t pc, uint32_t number) {
    gc__frame_key key = {pc, number, 0, 0, 0, 0, 0};
    return gc__profile_frame_add(&profile, &key);
}

static uint32_t host_frame(const char *name, const char *file, uint32_t line) {
    gc__frame_key key = {0, 0, gc__profile_text_add(&profile, name), gc__profile_text_add(&profile, file), line, 0, 0};
    return gc__profile_frame_add(&profile, &key);
}

static gc__profile_entry *entry(const char *type, uint32_t stack, double count, double bytes, double live_count,
                                double live_bytes) {
    gc__profile_entry *made = gc__profile_entry_add(&profile, gc__profile_type_add(&profile, type), stack);
    made->allocated.samples = 10;
    made->allocated.count = count, made->allocated.bytes = bytes;
    made->live[0].count = live_count / 4, made->live[0].bytes = live_bytes / 4;
    made->live[2].count = live_count - live_count / 4, made->live[2].bytes = live_bytes - live_bytes / 4;
    made->died[0].count = count - live_count, made->died[0].bytes = bytes - live_bytes;
    return made;
}

int grow_leaf(int x) { return x + 1; }
int grow_tree(int x) { return x + 2; }

static void add_code(const char *name) {
    static const struct { int offset, line; } lines[] = {{0, 10}, {2, 11}};
    gc__profile_code *made = GC__PROFILE_APPEND(&profile, codes);
    made->start = (uintptr_t)code, made->bytes = sizeof code, made->name = gc__profile_text_add(&profile, name);
    made->first_line = (uint32_t)profile.lines_count, made->line_count = 2;
    for (int i = 0; i < 2; i++) {
        gc__profile_line *line = GC__PROFILE_APPEND(&profile, lines);
        line->address = (uintptr_t)code + (uintptr_t)lines[i].offset, line->line = (uint32_t)lines[i].line;
        line->file = gc__profile_text_add(&profile, "jit.scm");
    }
}

#define MS ((uint64_t)1000000)

/* Asked for at `ms` after the start; stopped 1 ms later; 3 ms long. */
static void collect(unsigned ms, unsigned generation, gc_reason reason) {
    gc__profile_collection *made = GC__PROFILE_APPEND(&profile, collections);
    made->number = profile.collections_count;
    made->thread = 11, made->generation = (uint8_t)generation, made->reason = reason;
    made->asked_ns = profile.start_ns + ms * MS, made->start_ns = made->asked_ns + MS,
    made->end_ns = made->start_ns + 3 * MS;
    for (unsigned g = 0; g < GC_GENERATIONS; g++) {
        made->after.generation_bytes[g] = 1000 * (g + 1) + ms;
        made->promoted_bytes[g] = 100 * (g + 1) + ms;
    }
    made->after.handles = 5, made->after.finalizers_queued = 2;
    made->part_count = 1, made->parts[0].phase = GC_PHASE_ROOTS, made->parts[0].ns = 2 * MS;
}

static void make(void) {
    gc__profile_open(&profile);
    profile.options.period_bytes = 102400, profile.options.depth_max = 128;
    profile.start_ns = 1000000000, profile.end_ns = 3500000000, profile.start_utc_ns = 1700000000123456789;
    profile.process = gc__os_process_number();
    profile.lost_samples = 3;
    add_code("compiled<map>");
    uint32_t leaf = native_frame((uintptr_t)grow_leaf + 1, 0), tree = native_frame((uintptr_t)grow_tree + 1, 0);
    uint32_t jitted = native_frame((uintptr_t)code + 3, 1), wild = native_frame(4100, 0);
    uint32_t outer = gc__profile_stack_add(&profile, host_frame("(main)", "main.scm", 7), 0);
    uint32_t middle = gc__profile_stack_add(&profile, tree, outer),
             inner = gc__profile_stack_add(&profile, leaf, middle);
    uint32_t compiled = gc__profile_stack_add(&profile, jitted, middle), deep = compiled;
    uint32_t again = host_frame("loop; \xFF\n<&\"'>", "main.scm", 9);
    for (int i = 0; i < 300; i++) deep = gc__profile_stack_add(&profile, again, deep);
    entry("pair", inner, 1000.4, 32012.5, 400, 12800);
    entry("pair", compiled, 20, 640, 0, 0);
    entry("vector \xC3\xA9", inner, 3, 3e9, 3, 3e9);
    entry("string", deep, 77, 7700, 10, 1000);
    entry("box", gc__profile_stack_add(&profile, wild, 0), 5, 80, 0, 0);
    entry("no stack", 0, 6, 96, 1, 16);
    gc__profile_entry *ticks = gc__profile_entry_add(&profile, gc__profile_type_add(&profile, "ticked"), inner);
    ticks->marks.ticks = 1, ticks->marks.tick_bytes = 102400;
    collect(100, 0, GC_REASON_NURSERY);
    collect(200, 2, GC_REASON_INDUCED);
    collect(300, 1, GC_REASON_STRESS);
}

static gc__profile_event *happen(gc__profile_event *events, size_t *count, unsigned ms, gc_profile_kind kind,
                                 uint32_t thread) {
    gc__profile_event *event = &events[(*count)++];
    memset(event, 0, sizeof *event);
    event->time_ns = profile.start_ns + ms * MS, event->kind = (uint32_t)kind, event->thread = thread;
    return event;
}

static void happen_to(gc__profile_event *event, uint32_t entry, uint64_t object, uint64_t bytes, uint64_t amount,
                      uint64_t detail) {
    event->type = profile.entries[entry].type, event->stack = profile.entries[entry].stack;
    event->object = object, event->bytes = bytes, event->amount = amount, event->detail = detail;
}

/* Two batches: threads 11 and 12 take turns, and thread 11 collects twice; then once more, when no other thread is there. */
static void stream(const gc__profile_format *format, gc__output *output) {
    gc__profile_event events[32];
    for (unsigned ms = 100; ms <= 200; ms += 100) {
        uint32_t number = ms / 100 - 1;
        size_t count = 0;
        happen_to(happen(events, &count, ms - 4, GC_PROFILE_SAMPLE, 11), 0, 0x1000, 32, 7, 0);
        happen_to(happen(events, &count, ms - 3, GC_PROFILE_SAMPLE, 12), 1 + number, 0x2000, 48, 8, 0);
        happen_to(happen(events, &count, ms - 3, GC_PROFILE_TICK, 12), 1 + number, 0x2000, 48, 102400 + ms, 0);
        happen_to(happen(events, &count, ms - 2, GC_PROFILE_OBJECT, 11), 3, 0x3000, 64, 9, 900);
        happen(events, &count, ms + 1, GC_PROFILE_STOP, 11)->amount = MS;
        happen(events, &count, ms + 1, GC_PROFILE_COLLECTION_START, 11)->collection = number;
        happen(events, &count, ms + 3, GC_PROFILE_PHASE, 11)->collection = number;
        happen(events, &count, ms + 4, GC_PROFILE_COLLECTION_END, 11)->collection = number;
        happen(events, &count, ms + 5, GC_PROFILE_RESUME, 11);
        happen_to(happen(events, &count, ms + 6, GC_PROFILE_FINALIZER, 12), 0, 0x4000, 0, 0, 0);
        happen_to(happen(events, &count, ms + 7, GC_PROFILE_HANDLE_CREATED, 12), 5, 0x5000, 0, 0, GC_HANDLE_DEPENDENT);
        happen_to(happen(events, &count, ms + 8, GC_PROFILE_HANDLE_DESTROYED, 12), 5, 0x5000, 0, 0,
                  GC_HANDLE_DEPENDENT);
        happen(events, &count, ms + 9, GC_PROFILE_LOST, 12)->amount = 4 * number;
        happen_to(happen(events, &count, ms + 9, GC_PROFILE_SAMPLE, 12), 3, 0x6000, 80, 0, 0);
        format->events(&profile, events, count, output);
    }
    size_t count = 0;
    happen(events, &count, 301, GC_PROFILE_COLLECTION_START, 11)->collection = 2;
    happen(events, &count, 304, GC_PROFILE_COLLECTION_END, 11)->collection = 2;
    format->events(&profile, events, count, output);
}

static void print(void) {
    for (size_t i = 0; i < profile.entries_count; i++) {
        const gc__profile_entry *e = &profile.entries[i];
        double count = 0, bytes = 0;
        if (!e->allocated.samples) continue;
        for (int g = 0; g < GC_GENERATIONS; g++) count += e->live[g].count, bytes += e->live[g].bytes;
        printf("%s %.0f %.0f %.0f %.0f ", gc__profile_type_name(&profile, e->type), e->allocated.count,
               e->allocated.bytes, count, bytes);
        int left = 3;
        for (uint32_t at = e->stack; at && left; at = gc__stack_caller(&profile, at), left--) {
            const gc__profile_frame *frame = gc__profile_frame_of(&profile, at);
            for (const char *c = gc__profile_text(&profile, frame->name); *c; c++) putchar(*c == '\n' ? '~' : *c);
            printf("@%s:%u;", gc__profile_text(&profile, frame->file), frame->line);
        }
        puts(e->stack ? "" : "(no stack)@:0;");
    }
}

int main(int count, char **files) {
    make();
    gc__names_find(&profile);
    print();
    for (int i = 1; i < count; i++) {
        static gc__output output;
        const gc__profile_format *format = gc__profile_format_of(files[i]);
        if (!format || !gc__output_open(&output, files[i], strstr(files[i], "streamed") != NULL))
            return printf("%s cannot be made\n", files[i]), 1;
        if (format->begin) format->begin(&profile, &output);
        if (output.streamed) stream(format, &output);
        format->write(&profile, &output);
        if (!gc__output_close(&output)) return printf("%s cannot be written\n", files[i]), 1;
    }
    return 0;
}
