/* With GC_DEBUG, finds a signal handler that calls gc.h although it interrupted gc.h on the same thread: the
   interrupted function may be in the middle of any change, and may hold any lock. */
#pragma once

#include "../platform/platform.h"

/* The function of gc.h that the calling thread is in; NULL in none, or in a callback of the host that may call gc.h. */
static __thread const char *volatile gc__inside;

GC_API void gc__check_outside(const char *name) {
    const char *inside = gc__inside;
    (void)name, (void)inside;
    GC_ASSERT(!inside,
              "%s was called while the same thread is within %s: by a signal handler, or by a callback that must not. "
              "Have the handler set a flag, and look at it where the thread calls gc_safepoint",
              name, inside);
}

GC__FN const char *gc__scope_enter(const char *name) {
    const char *outer = GC_DEBUG >= 1 ? gc__inside : NULL;
    if (GC_DEBUG >= 1) gc__inside = name;
    return outer;
}

GC__FN void gc__scope_leave(const char **outer) {
    if (GC_DEBUG >= 1) gc__inside = *outer;
}

#define GC__SCOPE(name) const char *gc__outer __attribute__((cleanup(gc__scope_leave), unused)) = gc__scope_enter(name)
/* The rest of the scope belongs to the named function, which must not have been called from within gc.h. */
#define GC__API_SCOPE(name)                     \
    if (GC_DEBUG >= 1) gc__check_outside(name); \
    GC__SCOPE(name)
/* The rest of the scope is a callback, which may call gc.h. */
#define GC__HOST_SCOPE GC__SCOPE(NULL)
