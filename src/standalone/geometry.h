/* Whether a program and a library were compiled with the same geometry, which inline code depends on. */
#pragma once

#include "../api/standalone.h"
#include "../platform/code_x86_64.h"

static const gc_geometry gc__geometry_here = {sizeof(gc_geometry),
#define GC__GEOMETRY_VALUE(name, value) value,
                                              GC_GEOMETRY(GC__GEOMETRY_VALUE)
#undef GC__GEOMETRY_VALUE
};

/* GC_VALUE_MASK and GC_VALUE_TAG of this unit; 0: it has none. */
#if GC_HAS_VALUE_TAG
#define GC__VALUE_MASK_HERE ((uintptr_t)(GC_VALUE_MASK))
#define GC__VALUE_TAG_HERE ((uintptr_t)(GC_VALUE_TAG))
#else
#define GC__VALUE_MASK_HERE ((uintptr_t)0)
#define GC__VALUE_TAG_HERE ((uintptr_t)0)
#endif

/* Makes a clause of the first few facts in which the two differ, those of the program first. False: they are the same, as
   far as both know of them. */
GC__FN bool gc__geometry_differs(const gc_geometry *program, const gc_geometry *library, char *text, size_t bytes) {
    static const char *const names[] = {
#define GC__GEOMETRY_NAME(name, value) #name,
        GC_GEOMETRY(GC__GEOMETRY_NAME)
#undef GC__GEOMETRY_NAME
    };
    const uint32_t *mine = &program->bytes + 1, *other = &library->bytes + 1;
    size_t known = program->bytes < library->bytes ? program->bytes : library->bytes, used = 0, differences = 0;
    *text = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && (i + 2) * sizeof *mine <= known; i++) {
        if (mine[i] == other[i]) continue;
        if (differences++ < 4 && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s is %u in the program and %u in the library",
                                     used ? ", " : "", names[i], (unsigned)mine[i], (unsigned)other[i]);
    }
    if (differences > 4 && used < bytes)
        snprintf(text + used, bytes - used, ", and %zu more differences", differences - 4);
    return differences != 0;
}

/* The functions of the collector in this unit. */
#define GC__ENTRY_CALL(name) name,
#define GC__ENTRY_INLINE(name) name,
#define GC__ENTRY_MACHINE(name) GC__HAS_CODE_CALLS ? name : NULL,
#if GC_HAS_MODEL
#define GC__ENTRY_TYPED(name) NULL,
#else
#define GC__ENTRY_TYPED(name) name,
#endif
#define GC__ENTRY_TYPED_INLINE(name) GC__ENTRY_TYPED(name)
#define GC__ENTRY(kind, name) GC__ENTRY_##kind(name)
static const gc_functions gc__functions_here
    __attribute__((unused)) = {sizeof(gc_functions), 0, &gc__geometry_here, GC__INTERFACE(GC__ENTRY)};
