/* The services of the program around the collector, where the collector is a library or one of several: gc_standalone.h
   implements them. All zero means that the collector is part of its program. */
#pragma once

#include "../api/barrier.h"
#include "../platform/platform.h"

typedef struct gc__outside {
    void *context;
    const char *(*setting)(void *context, const char *name); /* NULL: read the environment */
    void (*stomp)(void *context, const gc_barrier_change *change);
    void (*warning)(void *context, const char *message);
    void (*fatal)(void *context, const char *message);
    bool stores_no_shadow; /* inline stores of the program do not update the shadow heap */
    bool can_be_chosen;    /* the environment may name the collector of this program */
    const char *name;      /* the library's name; NULL: the collector is part of the program */
    /* a library's settings, "NAME=VALUE NAME=VALUE", used where nothing else sets them; NULL: none */
    const char *settings;
} gc__outside;

static gc__outside gc__the_outside; /* written before the first heap is created */

/* Returns a setting by its name; NULL if it is unset or empty. */
GC__FN const char *gc__setting(const char *name) {
    static __thread char value[32];
    const char *set = gc__the_outside.setting ? gc__the_outside.setting(gc__the_outside.context, name) : gc__os_setting(name);
    if (set && !*set) set = NULL;
    size_t length = strlen(name);
    for (const char *at = set ? NULL : gc__the_outside.settings; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at + length + 1, " "), at + length + 1);
        return value;
    }
    return set;
}

GC__FN void gc__outside_stomp(const gc_barrier_change *change) {
    if (gc__the_outside.stomp) gc__the_outside.stomp(gc__the_outside.context, change);
}
