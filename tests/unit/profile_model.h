/* A profile made by hand, with hostile names, for tests of writers. */
#pragma once

static const char hostile[] = "</script>]]>\"'&<b>;\x01\xFF\\\n name";

typedef struct made_sample {
    const char *type, *stack; /* functions, the outermost first, with blanks between them */
    double count, bytes;
} made_sample;

static const made_sample made_samples[] = {
    {"node", "main evaluate make_node", 100, 3200},
    {"node", "main parse make_node", 50, 1600},
    {"string", "main parse read_token", 10, 12345},
    {"string", "main evaluate concatenate", 7, 700.25},
    {hostile, "main evaluate", 1, 5000},
    {"pair", "", 3, 96},
    {"pair", "main evaluate evaluate evaluate", 9, 288},
    {"tiny", "main parse", 0.0001, 0.01},
    {"main", "main main", 2, 64},
};
#define MADE_SAMPLES (sizeof made_samples / sizeof *made_samples)

static uint32_t made_stack(gc__profile *profile, const char *functions) {
    uint32_t stack = 0;
    while (*functions) {
        size_t length = strcspn(functions, " ");
        gc__frame_key key = {0, 0, gc__profile_text_add_part(profile, functions, length), 0, 0, 0, 0};
        stack = gc__profile_stack_add(profile, gc__profile_frame_add(profile, &key), stack);
        functions += length + (functions[length] == ' ');
    }
    return stack;
}

static void made_amount(gc__profile_amount *amount, double count, double bytes) {
    amount->samples++;
    amount->count += count;
    amount->bytes += bytes;
}

static void made_entries(gc__profile *profile) {
    for (size_t i = 0; i < MADE_SAMPLES; i++) {
        const made_sample *made = &made_samples[i];
        gc__profile_entry *entry =
            gc__profile_entry_add(profile, gc__profile_type_add(profile, made->type), made_stack(profile, made->stack));
        made_amount(&entry->allocated, made->count, made->bytes);
        made_amount(i % 3 ? &entry->died[i % 2] : &entry->live[2], made->count, made->bytes);
    }
    /* A native frame without a name. */
    gc__frame_key key = {0xABCDEF, 0, 0, 0, 0, 0, 0};
    uint32_t stack = gc__profile_stack_add(profile, gc__profile_frame_add(profile, &key), made_stack(profile, "main"));
    made_amount(&gc__profile_entry_add(profile, gc__profile_type_add(profile, "node"), stack)->allocated, 4, 128);
}

static void made_collections(gc__profile *profile) {
    for (uint64_t i = 0; i < 40; i++) {
        gc__profile_collection *made = GC__PROFILE_APPEND(profile, collections);
        made->number = i + 1;
        made->generation = i % 10 == 9 ? 2 : i % 3 == 2;
        made->compacting = i == 19;
        made->asked_ns = profile->start_ns + i * 25000000 + 1000000;
        made->start_ns = made->asked_ns + 20000 * (i % 4);
        made->end_ns = made->start_ns + 500000 * (uint64_t)(made->generation + 1) + 100000 * (i % 7);
        made->thread = (uint32_t)(1001 + i % 2);
        made->reason = made->generation == 2 ? GC_REASON_GROWTH : GC_REASON_NURSERY;
        uint64_t left = made->end_ns - made->start_ns;
        for (unsigned phase = 0; phase < GC_PHASE_COUNT; phase++) {
            made->parts[phase].phase = (gc_phase)phase;
            made->parts[phase].ns = phase == GC_PHASE_ROOTS ? left / 2 : left / 20;
        }
        made->part_count = GC_PHASE_COUNT;
        made->before.generation_bytes[0] = 1 << 20;
        made->before.generation_bytes[1] = (size_t)(100 + i) << 10;
        made->before.generation_bytes[2] = (size_t)(i * 64) << 10;
        made->before.held_bytes = (size_t)4 << 20;
        made->after = made->before;
        made->after.generation_bytes[0] = 0;
        made->after.generation_bytes[2] += (size_t)64 << 10;
    }
}

static void made_profile(gc__profile *profile) {
    gc__profile_open(profile);
    profile->start_ns = 1000000000;
    profile->end_ns = 2100000000;
    profile->process = 4711;
    profile->options.period_bytes = 102400;
    profile->allocated_bytes = 23421;
    GC__PROFILE_APPEND(profile, heaps)->address = 4096;
    for (uint32_t i = 0; i < 3; i++) {
        gc__profile_thread *thread = GC__PROFILE_APPEND(profile, threads);
        thread->number = 1001 + i;
        thread->name = i == 2 ? 0 : gc__profile_text_add(profile, i ? hostile : "main");
    }
    made_entries(profile);
    made_collections(profile);
    GC__PROFILE_APPEND(profile, modules)->file = gc__profile_text_add(profile, hostile);
}

/* Writes the profile to a file, in the format of its name. */
static bool made_write(const gc__profile *profile, const char *name) {
    gc__output output;
    const gc__profile_format *format = gc__profile_format_of(name);
    if (!format || !gc__output_open(&output, name, false)) return false;
    if (format->begin) format->begin(profile, &output);
    format->write(profile, &output);
    return gc__output_close(&output);
}
