/* Stacks as lines of text, root first, each with the bytes that were allocated there: what flame graphs are made from. */
#pragma once

#include "model.h"

/* The name of a frame, or its address as text in the buffer. */
GC__FN const char *gc__frame_name(const gc__profile *profile, const gc__profile_frame *frame, char text[24]) {
    if (frame->name) return gc__profile_text(profile, frame->name);
    snprintf(text, 24, frame->pc ? "0x%llx" : "(unknown)", (unsigned long long)frame->pc);
    return text;
}

/* Puts text in which a semicolon or a line's end would end a frame. */
GC__FN void gc__folded_put(gc__output *output, const char *text) {
    for (; *text; text++)
        gc__put_byte(output, *text == ';' ? ':' : (unsigned char)*text < ' ' ? ' ' : (unsigned char)*text);
}

/* The stacks from the outermost frame of `stack` to its innermost, at most `most` of them, of which the innermost are
   kept; returns their number. */
GC__FN size_t gc__stack_outer_first(const gc__profile *profile, uint32_t stack, uint32_t *stacks, size_t most) {
    size_t count = gc__stack_depth(profile, stack, most);
    for (size_t i = count; i-- > 0; stack = gc__stack_caller(profile, stack)) stacks[i] = stack;
    return count;
}

GC__FN void gc__write_folded(const gc__profile *profile, gc__output *output) {
    uint32_t stacks[GC__PROFILE_DEPTH_MAX];
    char text[24];
    for (size_t i = 0; i < profile->entries_count; i++) {
        const gc__profile_entry *entry = &profile->entries[i];
        if (!entry->allocated.samples) continue;
        size_t depth = gc__stack_outer_first(profile, entry->stack, stacks, GC__PROFILE_DEPTH_MAX);
        for (size_t at = 0; at < depth; at++) {
            gc__folded_put(output, gc__frame_name(profile, gc__profile_frame_of(profile, stacks[at]), text));
            gc__put_byte(output, ';');
        }
        gc__folded_put(output, gc__profile_type_name(profile, entry->type));
        gc__put_format(output, " %.0f\n", entry->allocated.bytes);
    }
}
