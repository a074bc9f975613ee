/* What can fail, and the texts. */
#pragma once

#include "config.h"

/* Why a call failed. X(NAME, text). */
#define GC_RESULTS(X)                                                 \
    X(GC_OK, "success")                                               \
    X(GC_ERROR_OPTION, "an option is out of range")                   \
    X(GC_ERROR_RESERVE, "address space could not be reserved")        \
    X(GC_ERROR_MEMORY, "the system has no more memory")               \
    X(GC_ERROR_HEAP_FULL, "the heap has reached heap_bytes_max")      \
    X(GC_ERROR_TOO_LARGE, "the size overflows, or exceeds the heap")  \
    X(GC_ERROR_TYPE, "the type is misdeclared")                       \
    X(GC_ERROR_ATTACHED, "the thread is attached already")            \
    X(GC_ERROR_HANDLE, "the handle is not one of this kind and heap") \
    X(GC_ERROR_ARGUMENT, "an argument is NULL")                       \
    X(GC_ERROR_DISPOSED, "the safe handle has been closed")           \
    X(GC_ERROR_MISUSE, "the call is not allowed here")                \
    X(GC_ERROR_FORMAT, "a table is malformed, or of another version") \
    X(GC_ERROR_LIBRARY, "the library of a collector cannot be used")  \
    X(GC_ERROR_FILE, "a file cannot be written")

typedef enum gc_result {
#define GC__RESULT_NAME(name, text) name,
    GC_RESULTS(GC__RESULT_NAME)
#undef GC__RESULT_NAME
} gc_result;

/* NULL arguments: a function that ends or releases a thing accepts NULL and does nothing. Any other function that needs
   the argument fails with GC_ERROR_ARGUMENT: it returns that, or NULL, false or 0, and aborts if GC_DEBUG >= 1. Inline
   fast paths do not check. Exceptions: after gc_thread_attach of NULL the failure of gc_heap_create stays the last one;
   the functions of safe handles never abort, for a guest program's NULL is not the host's fault; the functions of value
   stacks, and those that walk or call compiled code, do not check; and gc_code_remove does not accept NULL. */

/* The text of a result; static storage. [any thread; never collects; cannot fail] */
GC_API const char *gc_result_text(gc_result result);

/* The result of the last failed call on this native thread, and a sentence that names the limit that was met and the
   remedy. Valid until the next failure on the same thread. Calls that succeed leave both as they are. [any thread;
   never collects; cannot fail] */
GC_API gc_result gc_last_result(void);
GC_API const char *gc_last_message(void);
