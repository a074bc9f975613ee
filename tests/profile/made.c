/* Writes a profile that is made up, into the files that are named: what the readers of formats must find is known, and is
   printed: "TYPE COUNT BYTES LIVE-COUNT LIVE-BYTES FRAME;FRAME...", the innermost frame first. */
#define GC_IMPLEMENTATION
#include "gc_profile.h"

static gc__profile profile;
static uintptr_t code[4]; /* that the host has compiled */

static uint32_t native_frame(uintptr_t pc, uint32_t number) {
    gc__frame_key key = {pc, number, 0, 0, 0};
    return gc__profile_frame_add(&profile, &key);
}

static uint32_t host_frame(const char *name, const char *file, uint32_t line) {
    gc__frame_key key = {0, 0, gc__profile_text_add(&profile, name), gc__profile_text_add(&profile, file), line};
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
    ticks->ticks = 1, ticks->tick_bytes = 102400;
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
        for (uint32_t at = e->stack; at && left; at = profile.stacks[at].caller, left--) {
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
        if (!format || !gc__output_open(&output, files[i], format->begin != NULL))
            return printf("%s cannot be made\n", files[i]), 1;
        if (format->begin) format->begin(&profile, &output);
        format->write(&profile, &output);
        if (!gc__output_close(&output)) return printf("%s cannot be written\n", files[i]), 1;
    }
    return 0;
}
