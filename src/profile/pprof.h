/* pprof's format: a message of Protocol Buffers. Each field is a tag (its number * 8 + its wire type), and a number in pieces
   of seven bits, or for wire type 2 a length and so many bytes.

   Strings are those of the profile's texts, and those that the format itself needs. Each field of the profile is complete in
   itself, and comes after all that it refers to. */
#pragma once

#include "store.h"
#include "text.h"
#include "totals.h"

/* A message that is a field of another one, while it is built: of bounded length, since lists are clipped. */
typedef struct gc__pb {
    size_t used;
    uint8_t bytes[GC__PROFILE_DEPTH_MAX * 10 + 256];
} gc__pb;

/* What a field is, by the proto file. */
enum {
    GC__PB_SAMPLE_TYPE = 1,
    GC__PB_SAMPLE = 2,
    GC__PB_MAPPING = 3,
    GC__PB_LOCATION = 4,
    GC__PB_FUNCTION = 5,
    GC__PB_STRING = 6,
    GC__PB_TIME = 9,
    GC__PB_DURATION = 10,
    GC__PB_PERIOD_TYPE = 11,
    GC__PB_PERIOD = 12,
    GC__PB_COMMENT = 13,
    GC__PB_DEFAULT_TYPE = 14
};

/* Strings of the format itself, by their numbers. X(NAME, text). Number 0 must be empty. */
#define GC__PB_STRINGS(X)             \
    X(NONE, "")                       \
    X(ALLOC_OBJECTS, "alloc_objects") \
    X(COUNT, "count")                 \
    X(ALLOC_SPACE, "alloc_space")     \
    X(BYTES, "bytes")                 \
    X(INUSE_OBJECTS, "inuse_objects") \
    X(INUSE_SPACE, "inuse_space")     \
    X(SPACE, "space")                 \
    X(TYPE, "type")                   \
    X(NO_STACK, "(no stack)")

typedef enum gc__pb_string {
#define GC__PB_STRING_NAME(name, text) GC__PB_TEXT_##name,
    GC__PB_STRINGS(GC__PB_STRING_NAME)
#undef GC__PB_STRING_NAME
        GC__PB_STRING_COUNT
} gc__pb_string;

typedef struct gc__pb_writer {
    const gc__profile *profile;
    gc__output *output;
    uint32_t *strings;   /* by the number of a text: that of its string */
    uint32_t *functions; /* by the number of a frame: that of its function */
    uint32_t string_count, function_count;
} gc__pb_writer;

GC__FN void gc__pb_raw(gc__pb *message, uint64_t number) {
    do {
        message->bytes[message->used++] = (uint8_t)(number & 127) | (uint8_t)((number > 127) << 7);
        number >>= 7;
    } while (number);
}

/* Adds a number to the message, as a field; 0 is left out. */
GC__FN void gc__pb_number(gc__pb *message, unsigned field, uint64_t number) {
    if (!number) return;
    gc__pb_raw(message, field << 3);
    gc__pb_raw(message, number);
}

GC__FN void gc__pb_message(gc__pb *message, unsigned field, const gc__pb *part) {
    gc__pb_raw(message, field << 3 | 2);
    gc__pb_raw(message, part->used);
    memcpy(message->bytes + message->used, part->bytes, part->used);
    message->used += part->used;
}

/* Puts bytes as a field of the profile. */
GC__FN void gc__pb_put(gc__output *output, unsigned field, const void *data, size_t bytes) {
    gc__pb head;
    head.used = 0;
    gc__pb_raw(&head, field << 3 | 2);
    gc__pb_raw(&head, bytes);
    gc__put(output, head.bytes, head.used);
    gc__put(output, data, bytes);
}

GC__FN void gc__pb_put_message(gc__output *output, unsigned field, gc__pb *message) {
    gc__pb_put(output, field, message->bytes, message->used);
    message->used = 0;
}

GC__FN void gc__pb_put_number(gc__output *output, unsigned field, uint64_t number) {
    gc__pb message;
    message.used = 0;
    gc__pb_number(&message, field, number);
    gc__put(output, message.bytes, message.used);
}

/* Puts a string, whose text may be any bytes; returns its number. */
GC__FN uint32_t gc__pb_put_string(gc__pb_writer *writer, const char *text) {
    char valid[4 * GC__TEXT_CHARACTERS_MAX];
    size_t used = 0;
    for (size_t i = 0; *text && i < GC__TEXT_CHARACTERS_MAX; i++)
        used += gc__utf8_put(valid + used, gc__utf8_next(&text));
    gc__pb_put(writer->output, GC__PB_STRING, valid, used);
    return writer->string_count++;
}

GC__FN void gc__pb_put_strings(gc__pb_writer *writer) {
#define GC__PB_STRING_PUT(name, text) gc__pb_put_string(writer, text);
    GC__PB_STRINGS(GC__PB_STRING_PUT)
#undef GC__PB_STRING_PUT
    const char *texts = writer->profile->texts;
    for (size_t at = 1; at < writer->profile->texts_count; at += strlen(texts + at) + 1)
        writer->strings[at] = gc__pb_put_string(writer, texts + at);
}

/* What samples count, and how they were taken. */
GC__FN void gc__pb_put_head(gc__pb_writer *writer) {
    static const uint8_t types[][2] = {{GC__PB_TEXT_ALLOC_OBJECTS, GC__PB_TEXT_COUNT},
                                       {GC__PB_TEXT_ALLOC_SPACE, GC__PB_TEXT_BYTES},
                                       {GC__PB_TEXT_INUSE_OBJECTS, GC__PB_TEXT_COUNT},
                                       {GC__PB_TEXT_INUSE_SPACE, GC__PB_TEXT_BYTES},
                                       {GC__PB_TEXT_SPACE, GC__PB_TEXT_BYTES}};
    const gc__profile *profile = writer->profile;
    gc__pb message;
    message.used = 0;
    for (int i = 0; i < 5; i++) {
        gc__pb_number(&message, 1, types[i][0]);
        gc__pb_number(&message, 2, types[i][1]);
        gc__pb_put_message(writer->output, i < 4 ? GC__PB_SAMPLE_TYPE : GC__PB_PERIOD_TYPE, &message);
    }
    gc__pb_put_number(writer->output, GC__PB_PERIOD, profile->options.period_bytes);
    gc__pb_put_number(writer->output, GC__PB_TIME, profile->start_utc_ns);
    gc__pb_put_number(writer->output, GC__PB_DURATION, gc__ns_since(profile->end_ns, profile->start_ns));
    gc__pb_put_number(writer->output, GC__PB_DEFAULT_TYPE, GC__PB_TEXT_INUSE_SPACE);
}

/* Says how much is missing, if anything is: `pprof -comments` shows it. */
GC__FN void gc__pb_put_comments(gc__pb_writer *writer) {
    const gc__profile *profile = writer->profile;
    char text[96];
    if (!profile->lost_samples && !profile->cut_stacks) return;
    snprintf(text, sizeof text, "%llu samples lost, %llu stacks cut to %u frames",
             (unsigned long long)profile->lost_samples, (unsigned long long)profile->cut_stacks,
             profile->options.depth_max);
    gc__pb_put_number(writer->output, GC__PB_COMMENT, gc__pb_put_string(writer, text));
}

GC__FN void gc__pb_put_mappings(gc__pb_writer *writer) {
    gc__pb message;
    message.used = 0;
    for (size_t i = 1; i < writer->profile->modules_count; i++) {
        const gc__profile_module *module = &writer->profile->modules[i];
        gc__pb_number(&message, 1, i);
        gc__pb_number(&message, 2, module->start);
        gc__pb_number(&message, 3, module->end);
        gc__pb_number(&message, 4, module->offset);
        gc__pb_number(&message, 5, writer->strings[module->file]);
        gc__pb_number(&message, 6, writer->strings[module->build_id]);
        gc__pb_number(&message, 7, 1); /* functions are named, as far as symbols name them */
        gc__pb_put_message(writer->output, GC__PB_MAPPING, &message);
    }
}

/* What tells functions apart: several of one file may have the same name. */
typedef struct gc__pb_function {
    uint32_t name, file;
    uintptr_t start;
} gc__pb_function;

GC__FN gc__pb_function gc__pb_function_of(const gc__profile_frame *frame) {
    gc__pb_function function = {frame->name, frame->file, frame->name_start};
    return function;
}

GC__FN bool gc__pb_function_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    gc__pb_function function = gc__pb_function_of(&profile->frames[number]);
    return memcmp(&function, key, bytes) == 0;
}

GC__FN void gc__pb_put_function(gc__pb_writer *writer, const gc__profile_frame *frame) {
    gc__pb message;
    message.used = 0;
    gc__pb_number(&message, 1, ++writer->function_count);
    gc__pb_number(&message, 2, writer->strings[frame->name]);
    if (frame->module) gc__pb_number(&message, 3, writer->strings[frame->name]); /* which has readers demangle it */
    gc__pb_number(&message, 4, writer->strings[frame->file]);
    gc__pb_put_message(writer->output, GC__PB_FUNCTION, &message);
}

/* Puts a function for each name, and remembers that of each frame. */
GC__FN void gc__pb_put_functions(gc__pb_writer *writer) {
    const gc__profile *profile = writer->profile;
    gc__profile_index index = {NULL, 0, 0};
    for (uint32_t i = 1; i < profile->frames_count; i++) {
        if (!profile->frames[i].name || !gc__index_reserve(&index)) continue;
        gc__pb_function key = gc__pb_function_of(&profile->frames[i]);
        uint64_t hash = gc__index_hash(&key, sizeof key);
        uint64_t *place = gc__index_place(profile, &index, hash, gc__pb_function_equal, &key, sizeof key);
        if (!*place) {
            gc__pb_put_function(writer, &profile->frames[i]);
            writer->functions[i] = writer->function_count;
            gc__index_set(&index, place, hash, i);
        } else {
            writer->functions[i] = writer->functions[(uint32_t)*place];
        }
    }
    if (index.capacity) gc__os_unmap(index.places, index.capacity * sizeof *index.places);
}

/* A location is a frame. The first one stands for stacks that are not known. */
GC__FN void gc__pb_put_locations(gc__pb_writer *writer) {
    const gc__profile *profile = writer->profile;
    gc__pb message, line;
    message.used = line.used = 0;
    for (uint32_t i = 0; i < profile->frames_count; i++) {
        const gc__profile_frame *frame = &profile->frames[i];
        gc__pb_number(&message, 1, i + 1);
        gc__pb_number(&message, 2, frame->module);
        gc__pb_number(&message, 3, frame->pc);
        gc__pb_number(&line, 1, writer->functions[i]);
        gc__pb_number(&line, 2, frame->line);
        if (writer->functions[i]) gc__pb_message(&message, 4, &line);
        line.used = 0;
        gc__pb_put_message(writer->output, GC__PB_LOCATION, &message);
    }
}

/* A sample's labels: the type, and the mean size of its objects. */
GC__FN void gc__pb_add_labels(gc__pb_writer *writer, gc__pb *message, const gc__profile_entry *entry) {
    gc__pb label;
    label.used = 0;
    gc__pb_number(&label, 1, GC__PB_TEXT_TYPE);
    gc__pb_number(&label, 2, writer->strings[writer->profile->types[entry->type].name]);
    gc__pb_message(message, 3, &label);
    label.used = 0;
    gc__pb_number(&label, 1, GC__PB_TEXT_BYTES);
    gc__pb_number(&label, 3, gc__profile_whole(entry->allocated.bytes / entry->allocated.count));
    gc__pb_number(&label, 4, GC__PB_TEXT_BYTES);
    gc__pb_message(message, 3, &label);
}

GC__FN void gc__pb_put_sample(gc__pb_writer *writer, const gc__profile_entry *entry) {
    const gc__profile *profile = writer->profile;
    gc__profile_amount live = gc__entry_live(entry);
    const uint64_t values[] = {gc__profile_whole(entry->allocated.count), gc__profile_whole(entry->allocated.bytes),
                               gc__profile_whole(live.count), gc__profile_whole(live.bytes)};
    gc__pb message, list;
    message.used = list.used = 0;
    if (!entry->stack) gc__pb_raw(&list, 1);
    for (uint32_t at = entry->stack, left = GC__PROFILE_DEPTH_MAX; at && left;
         at = gc__stack_caller(profile, at), left--)
        gc__pb_raw(&list, gc__stack_frame_number(profile, at) + 1);
    gc__pb_message(&message, 1, &list);
    list.used = 0;
    for (int i = 0; i < 4; i++) gc__pb_raw(&list, values[i]);
    gc__pb_message(&message, 2, &list);
    gc__pb_add_labels(writer, &message, entry);
    gc__pb_put_message(writer->output, GC__PB_SAMPLE, &message);
}

GC__FN void gc__pb_put_profile(gc__pb_writer *writer) {
    const gc__profile *profile = writer->profile;
    gc__pb message;
    message.used = 0;
    gc__pb_put_strings(writer);
    gc__pb_put_head(writer);
    gc__pb_put_comments(writer);
    gc__pb_put_mappings(writer);
    gc__pb_number(&message, 1, ++writer->function_count);
    gc__pb_number(&message, 2, GC__PB_TEXT_NO_STACK);
    gc__pb_put_message(writer->output, GC__PB_FUNCTION, &message);
    writer->functions[0] = writer->function_count;
    gc__pb_put_functions(writer);
    gc__pb_put_locations(writer);
    for (size_t i = 0; i < profile->entries_count; i++)
        if (profile->entries[i].allocated.samples) gc__pb_put_sample(writer, &profile->entries[i]);
}

GC__FN void gc__write_pprof(const gc__profile *profile, gc__output *output) {
    gc__pb_writer writer = {profile, output, NULL, NULL, 0, 0};
    size_t string_bytes = profile->texts_count * sizeof *writer.strings;
    size_t function_bytes = profile->frames_count * sizeof *writer.functions;
    writer.strings = (uint32_t *)gc__os_map(string_bytes);
    writer.functions = (uint32_t *)gc__os_map(function_bytes);
    if (writer.strings && writer.functions)
        gc__pb_put_profile(&writer);
    else
        gc__output_fail(output, ENOMEM);
    if (writer.strings) gc__os_unmap(writer.strings, string_bytes);
    if (writer.functions) gc__os_unmap(writer.functions, function_bytes);
}
