/* What keeps objects alive, as a snapshot shows it: a tree of named groups, and the references that they hold.

   Group 0 is the root of the graph, group 1 "(GC roots)"; below it are the kinds of roots, and the threads with a group
   for each function that has frames. */
#pragma once

#include "../api/handle.h"
#include "../trace/roots.h"
#include "../weak/finalizers.h"
#include "../api/dac_vars.h"
#include "numbering.h"
#include "store.h"

enum {
    GC__EDGE_CONTEXT,
    GC__EDGE_ELEMENT,
    GC__EDGE_PROPERTY,
    GC__EDGE_INTERNAL,
    GC__EDGE_HIDDEN,
    GC__EDGE_SHORTCUT,
    GC__EDGE_WEAK
};

/* A reference of a group. They are words of a list: */
enum {
    GC__HELD_NEXT, /* the number of the group's next one + 1; 0: it is the last */
    GC__HELD_EDGE, /* GC__EDGE_ kind, and above it the name, or for GC__EDGE_ELEMENT the index */
    GC__HELD_WHAT, /* an object; or a group's number * 2 + 1 */
    GC__HELD_WORDS
};
#define GC__HELD_EDGE_BITS 3

typedef struct gc__root_group {
    size_t name;
    size_t first, last, count; /* references: numbers + 1 */
} gc__root_group;
#define GC__GROUP_WORDS (sizeof(gc__root_group) / sizeof(uintptr_t))

typedef struct gc__root_tree {
    gc_visitor visitor;
    gc_heap *heap; /* whose roots are being visited */
    const gc__numbering *numbering;
    gc__profile *names; /* its types are the strings of the snapshot */
    gc__words groups;   /* gc__root_group */
    gc__words held;
    gc__words dependents;      /* pairs: an object that keeps another one by a dependent handle, and that */
    gc__map known;             /* groups by parent and name */
    size_t top;                /* the group of the thread, or of all */
    size_t group;              /* to which the roots belong that are being visited */
    const gc_frame_site *site; /* the one that the last root was of */
    size_t index;              /* of the next root of that group */
    bool failed;
} gc__root_tree;

GC__FN gc__root_group *gc__root_group_at(const gc__root_tree *tree, size_t group) {
    return (gc__root_group *)(tree->groups.words + group * GC__GROUP_WORDS);
}

GC__FN size_t gc__root_groups(const gc__root_tree *tree) { return tree->groups.count / GC__GROUP_WORDS; }

/* `name`: a number of the tree's names, or the index of an element. */
GC__FN void gc__root_hold(gc__root_tree *tree, size_t group, int kind, size_t name, uintptr_t what) {
    size_t number = tree->held.count / GC__HELD_WORDS + 1;
    if (!gc__words_reserve(&tree->held, tree->held.count + GC__HELD_WORDS)) {
        tree->failed = true;
        return;
    }
    uintptr_t *held = tree->held.words + tree->held.count;
    held[GC__HELD_NEXT] = 0;
    held[GC__HELD_EDGE] = (uintptr_t)name << GC__HELD_EDGE_BITS | (unsigned)kind;
    held[GC__HELD_WHAT] = what;
    gc__root_group *holder = gc__root_group_at(tree, group);
    if (holder->count++)
        tree->held.words[(holder->last - 1) * GC__HELD_WORDS + GC__HELD_NEXT] = number;
    else
        holder->first = number;
    holder->last = number;
    tree->held.count += GC__HELD_WORDS;
}

GC__FN size_t gc__root_group_add(gc__root_tree *tree, const char *name) {
    size_t number = gc__root_groups(tree);
    if (!gc__words_reserve(&tree->groups, tree->groups.count + GC__GROUP_WORDS)) {
        tree->failed = true;
        return 0;
    }
    gc__root_group group = {gc__profile_type_add(tree->names, name), 0, 0, 0};
    tree->groups.count += GC__GROUP_WORDS;
    *gc__root_group_at(tree, number) = group;
    return number;
}

/* The group of that name below another one. */
GC__FN size_t gc__root_group_of(gc__root_tree *tree, size_t parent, const char *name) {
    size_t text = gc__profile_type_add(tree->names, name);
    if (!gc__map_reserve(&tree->known, tree->known.count + 1)) {
        tree->failed = true;
        return 0;
    }
    uintptr_t *known = gc__map_put(&tree->known, (uintptr_t)(parent << 32 | text) << 3);
    if (*known) return *known;
    size_t group = gc__root_group_add(tree, name);
    if (group)
        gc__root_hold(tree, parent, GC__EDGE_ELEMENT, gc__root_group_at(tree, parent)->count + 1,
                      (uintptr_t)group * 2 + 1);
    return *known = group;
}

/* The group of the roots that are being visited. */
GC__FN size_t gc__root_group_now(gc__root_tree *tree) {
    const gc__threads *threads = tree->heap->threads;
    char name[256];
    if (threads->root_site)
        snprintf(name, sizeof name, "(frame of %s at %s:%u)", threads->root_site->function, threads->root_site->file,
                 threads->root_site->line);
    else if (threads->root_method)
        snprintf(name, sizeof name, "(compiled frame of %s)", threads->root_method);
    else
        snprintf(name, sizeof name, "(%s)", threads->root_kind);
    return gc__root_group_of(tree, tree->top, name);
}

/* The name of a frame's variable: the part of the site's names with that index. A frame of several calls on a stack is
   visited again, so the index begins anew after the last name. */
GC__FN size_t gc__root_variable(gc__root_tree *tree) {
    const char *name = tree->site->names;
    for (size_t i = 0; i < tree->index; i++) name += gc__name_bytes(name), name += strspn(name, ", ");
    size_t length = gc__name_bytes(name);
    char text[128];
    tree->index = name[length] ? tree->index + 1 : 0;
    snprintf(text, sizeof text, "%.*s", (int)length, name);
    return gc__profile_type_add(tree->names, text);
}

/* Visits the slots of a weak table, those that do not keep their objects with GC_SLOT_WEAK. The values of ephemerons are
   taken for kept, as they are while their keys live. */
GC__FN void gc__entries_visit_apart(gc_visitor *visitor, const gc_weak_entries *entries) {
    unsigned flags = entries->flags & (unsigned)GC_SLOT_VALUE;
    unsigned key = entries->kind == GC_WEAK_VALUES ? flags : flags | (unsigned)GC_SLOT_WEAK;
    bool weak_values = entries->kind == GC_WEAK_VALUES || entries->kind == GC_WEAK_PAIRS;
    for (size_t i = 0; i < entries->count; i++) {
        gc_visit(visitor, gc__entry_key(entries, i), 1, key);
        if (entries->kind == GC_WEAK_REFS) continue;
        gc_visit(visitor, gc__entry_value(entries, i), 1, weak_values ? flags | (unsigned)GC_SLOT_WEAK : flags);
    }
}

GC__FN void gc__root_note(gc__root_tree *tree, const gc_word *slot, unsigned flags, bool named) {
    uintptr_t ref, object = gc__root_object(tree->heap, slot, flags, &ref);
    bool weak = flags & GC_SLOT_WEAK;
    int kind = weak ? GC__EDGE_WEAK : named ? GC__EDGE_INTERNAL : GC__EDGE_ELEMENT;
    size_t name = weak ? gc__profile_type_add(tree->names, "weak") : named ? gc__root_variable(tree) : tree->index++;
    if (object && gc__is_numbered(tree->numbering, object)) gc__root_hold(tree, tree->group, kind, name, object);
}

GC__FN void gc__root_tree_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__root_tree *tree = (gc__root_tree *)visitor;
    const gc__threads *threads = tree->heap->threads;
    const gc_frame_site *site = threads->root_site;
    size_t group = gc__root_group_now(tree);
    bool named = site && (!(site->flags & GC__SLOT_CONTIGUOUS) || strchr(site->names, ','));
    if (group != tree->group || site != tree->site || (site && !named)) tree->index = 0;
    tree->group = group;
    tree->site = site;
    if (flags & GC__SLOT_DERIVED) { /* the slot that it is derived from was visited, and is the frame's only one */
        tree->index = 0;
        return;
    }
    if (flags & GC__SLOT_ENTRIES) {
        gc__entries_visit_apart(visitor, (const gc_weak_entries *)slot);
        return;
    }
    if (gc__visit_slots_of(visitor, slot, flags)) return;
    for (size_t i = 0; i < count; i++) gc__root_note(tree, gc__slot_at(slot, i, gc__flags_value(flags)), flags, named);
}

GC__FN bool gc__root_handle(void *context, gc_handle handle, gc_handle_kind kind, void *object, void *extra) {
    static const char *const names[GC_HANDLE_KINDS] = {"(weak handles)",      "(long weak handles)",
                                                       "(strong handles)",    "(pinned handles)",
                                                       "(dependent handles)", "(ref-counted handles)"};
    gc__root_tree *tree = (gc__root_tree *)context;
    const gc_options *options = &tree->heap->options;
    if (!gc__is_numbered(tree->numbering, (uintptr_t)object)) return true;
    bool keeps = kind == GC_HANDLE_STRONG || kind == GC_HANDLE_PINNED;
    if (kind == GC_HANDLE_REF_COUNTED && options->handle_is_held)
        keeps = options->handle_is_held(options->host, handle, object, extra);
    size_t group = gc__root_group_of(tree, tree->top, names[kind]), index = gc__root_group_at(tree, group)->count;
    if (!keeps) index = gc__profile_type_add(tree->names, "handle");
    gc__root_hold(tree, group, keeps ? GC__EDGE_ELEMENT : GC__EDGE_WEAK, index, (uintptr_t)object);
    if (kind != GC_HANDLE_DEPENDENT || !gc__is_numbered(tree->numbering, (uintptr_t)extra)) return true;
    if (!gc__words_push(&tree->dependents, (uintptr_t)object) || !gc__words_push(&tree->dependents, (uintptr_t)extra))
        tree->failed = true;
    return true;
}

/* By the addresses of the keys. */
GC__FN int gc__dependent_order(const void *a, const void *b) {
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return left < right ? -1 : left > right;
}

GC__FN void gc__root_tree_handles(gc__root_tree *tree, gc_heap *heap) {
    gc_handle_walk(heap, gc__root_handle, tree);
    heap->threads->root_kind = "objects due for finalizers";
    gc__finalizers_visit_queued(heap, &tree->visitor);
    heap->threads->root_kind = NULL;
}

GC__FN void gc__root_tree_add(gc__root_tree *tree, gc_heap *heap, size_t top) {
    char name[128];
    tree->heap = heap;
    tree->site = NULL;
    for (gc_thread *thread = heap->threads->first; thread && !tree->failed; thread = gc__record(thread)->next) {
        if (gc__record(thread)->unbound) continue; /* as in gc__roots_visit */
        const char *given = gc__record(thread)->name;
        snprintf(name, sizeof name, given ? "(thread %s, %u)" : "(thread%s %u)", given ? given : "",
                 (unsigned)gc__record(thread)->tid);
        tree->top = gc__root_group_of(tree, top, name);
        gc__thread_visit(heap, thread, &tree->visitor);
    }
    tree->top = top;
    gc__roots_visit_shared(heap, &tree->visitor);
    gc__root_tree_handles(tree, heap);
}

/* False: the system gives no memory. Its memory is freed by gc__root_tree_free in any case. */
GC__FN bool gc__root_tree_make(gc__root_tree *tree, gc_heap *const *heaps, size_t count) {
    char name[32];
    tree->visitor.visit = gc__root_tree_visit;
    gc__root_group_add(tree, "");
    size_t top = gc__root_group_of(tree, 0, "(GC roots)");
    for (size_t i = 0; i < count && !tree->failed; i++) {
        snprintf(name, sizeof name, "(heap %zu)", i + 1);
        gc__root_tree_add(tree, heaps[i], count > 1 ? gc__root_group_of(tree, top, name) : top);
    }
    if (tree->dependents.count)
        qsort(tree->dependents.words, tree->dependents.count / 2, 2 * sizeof(uintptr_t), gc__dependent_order);
    return !tree->failed;
}

GC__FN void gc__root_tree_free(gc__root_tree *tree) {
    gc__words_free(&tree->groups);
    gc__words_free(&tree->held);
    gc__words_free(&tree->dependents);
    gc__map_free(&tree->known);
}
