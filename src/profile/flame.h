/* The frames of a flame graph: each path of names, from the root on, with all paths that begin alike next to one another.

   The paths are sorted by their names, so that a frame is a run of neighbours, and appears once. */
#pragma once

#include "../base/words.h"
#include "folded.h"

typedef struct gc__flame_path {
    const char **names;
    size_t depth;
    double value;
} gc__flame_path;

/* What is done with a frame: from what value to what value of all its parent's it reaches. `depth` 0 is the root. */
typedef struct gc__flame_frame {
    const char *name;
    size_t depth;
    double from, to;
    bool is_type;
} gc__flame_frame;

typedef struct gc__flame {
    gc__words names; /* of all paths, one after another */
    gc__words texts; /* names that were made */
    gc__words paths; /* gc__flame_path; while paths are added, `names` is an index */
    double total;
    size_t depth; /* of the deepest path */
    bool type_first, failed;
} gc__flame;
#define GC__FLAME_PATH_WORDS (sizeof(gc__flame_path) / sizeof(uintptr_t))

GC__FN gc__flame_path *gc__flame_paths(const gc__flame *flame) { return (gc__flame_path *)flame->paths.words; }

GC__FN void gc__flame_name(gc__flame *flame, const char *name) {
    if (!gc__words_push(&flame->names, (uintptr_t)name)) flame->failed = true;
}

/* The name of a frame. An address, which stands for a name that is unknown, is a text that is made, and freed with the graph. */
GC__FN void gc__flame_frame_name(gc__flame *flame, const gc__profile *profile, const gc__profile_frame *frame) {
    char text[24], *copy = NULL;
    const char *name = gc__frame_name(profile, frame, text);
    if (name == text) {
        name = copy = strdup(text);
        if (!copy || !gc__words_push(&flame->texts, (uintptr_t)copy)) flame->failed = true;
    }
    gc__flame_name(flame, name);
}

/* Adds an entry's path: its stack, and its type before or after that. */
GC__FN void gc__flame_add(gc__flame *flame, const gc__profile *profile, const gc__profile_entry *entry, double value) {
    uint32_t stacks[GC__PROFILE_DEPTH_MAX];
    size_t depth = gc__stack_outer_first(profile, entry->stack, stacks, GC__PROFILE_DEPTH_MAX);
    if (!gc__words_reserve(&flame->paths, flame->paths.count + GC__FLAME_PATH_WORDS)) {
        flame->failed = true;
        return;
    }
    gc__flame_path *path = gc__flame_paths(flame) + flame->paths.count / GC__FLAME_PATH_WORDS;
    path->names = (const char **)(flame->names.count * sizeof(char *));
    path->depth = depth + 1;
    path->value = value;
    flame->paths.count += GC__FLAME_PATH_WORDS;
    if (flame->type_first) gc__flame_name(flame, gc__profile_type_name(profile, entry->type));
    for (size_t i = 0; i < depth; i++) gc__flame_frame_name(flame, profile, gc__profile_frame_of(profile, stacks[i]));
    if (!flame->type_first) gc__flame_name(flame, gc__profile_type_name(profile, entry->type));
    if (path->depth > flame->depth) flame->depth = path->depth;
    flame->total += value;
}

GC__FN int gc__flame_order(const void *a, const void *b) {
    const gc__flame_path *left = (const gc__flame_path *)a, *right = (const gc__flame_path *)b;
    for (size_t i = 0; i < left->depth && i < right->depth; i++) {
        int order = strcmp(left->names[i], right->names[i]);
        if (order) return order;
    }
    return left->depth < right->depth ? -1 : left->depth > right->depth;
}

/* Makes the paths of what was allocated. False: there is no memory. */
GC__FN bool gc__flame_make(gc__flame *flame, const gc__profile *profile, bool type_first) {
    memset(flame, 0, sizeof *flame);
    flame->type_first = type_first;
    for (size_t i = 0; i < profile->entries_count && !flame->failed; i++)
        if (profile->entries[i].allocated.samples)
            gc__flame_add(flame, profile, &profile->entries[i], profile->entries[i].allocated.bytes);
    if (flame->failed) return false;
    gc__flame_path *paths = gc__flame_paths(flame);
    size_t count = flame->paths.count / GC__FLAME_PATH_WORDS;
    for (size_t i = 0; i < count; i++)
        paths[i].names = (const char **)((char *)flame->names.words + (uintptr_t)paths[i].names);
    if (count) qsort(paths, count, sizeof *paths, gc__flame_order);
    return true;
}

GC__FN void gc__flame_free(gc__flame *flame) {
    for (size_t i = 0; i < flame->texts.count; i++) free((void *)flame->texts.words[i]);
    gc__words_free(&flame->names);
    gc__words_free(&flame->texts);
    gc__words_free(&flame->paths);
}

GC__FN size_t gc__flame_common(const gc__flame_path *a, const gc__flame_path *b) {
    size_t depth = 0;
    while (depth < a->depth && depth < b->depth && strcmp(a->names[depth], b->names[depth]) == 0) depth++;
    return depth;
}

/* Calls draw(context, frame) for each frame, the inner ones of a frame before itself; the root is "all". */
GC__FN void gc__flame_each(const gc__flame *flame, void (*draw)(void *context, const gc__flame_frame *frame),
                           void *context) {
    double starts[GC__PROFILE_DEPTH_MAX + 1], at = 0;
    const gc__flame_path *paths = gc__flame_paths(flame);
    size_t count = flame->paths.count / GC__FLAME_PATH_WORDS, open = 0;
    for (size_t i = 0; i < count; i++) {
        size_t closed = i + 1 < count ? gc__flame_common(&paths[i], &paths[i + 1]) : 0;
        while (open < paths[i].depth) starts[open++] = at;
        at += paths[i].value;
        for (; open > closed; open--) {
            bool is_type = flame->type_first ? open == 1 : open == paths[i].depth;
            gc__flame_frame frame = {paths[i].names[open - 1], open, starts[open - 1], at, is_type};
            draw(context, &frame);
        }
    }
    gc__flame_frame all = {"all", 0, 0, at, false};
    draw(context, &all);
}
