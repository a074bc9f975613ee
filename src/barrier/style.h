/* A host's rules of style do not apply to gc.h: between GC__STYLE_BEGIN and GC__STYLE_END a compiler gives no warnings
   that many projects turn on, or into errors, but that show no fault. */
#pragma once

#include <stddef.h>

/* `#include GC__STOP` after an #error ends the compilation, so that the errors that would follow do not hide its sentence. */
#define GC__STOP <gc.h: see the error above>

#define GC__PRAGMA(text) _Pragma(#text)
#define GC__IGNORE_WARNING(name) GC__PRAGMA(GCC diagnostic ignored name)
#ifdef __cplusplus
#define GC__IGNORE_WARNINGS_OF_C
#else
#define GC__IGNORE_WARNINGS_OF_C                        \
    GC__IGNORE_WARNING("-Wdeclaration-after-statement") \
    GC__IGNORE_WARNING("-Wbad-function-cast")           \
    GC__IGNORE_WARNING("-Wmissing-prototypes")          \
    GC__IGNORE_WARNING("-Wc++-compat")
#endif
#define GC__STYLE_BEGIN                       \
    GC__PRAGMA(GCC diagnostic push)           \
    GC__IGNORE_WARNING("-Wredundant-decls")   \
    GC__IGNORE_WARNING("-Wcast-qual")         \
    GC__IGNORE_WARNING("-Wcast-align")        \
    GC__IGNORE_WARNING("-Wfloat-equal")       \
    GC__IGNORE_WARNING("-Wswitch-enum")       \
    GC__IGNORE_WARNING("-Wswitch-default")    \
    GC__IGNORE_WARNING("-Wformat-nonliteral") \
    GC__IGNORE_WARNING("-Wpadded")            \
    GC__IGNORE_WARNING("-Winline")            \
    GC__IGNORE_WARNING("-Wnull-dereference")  \
    GC__IGNORE_WARNINGS_OF_C
#define GC__STYLE_END GC__PRAGMA(GCC diagnostic pop)
