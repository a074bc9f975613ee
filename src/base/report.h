/* Failures, warnings and fatal faults, each reported as a sentence. */
#pragma once

#include "../api/version.h"
#include "../api/result.h"
#include "../api/heap.h"
#include "entry.h"
#include "outside.h"

#include <stdarg.h>

#define GC__MESSAGE_BYTES 1024

GC__DATA(const char GC__CONFIGURATION = 1);

static __thread gc_result gc__last_result;
static __thread char gc__last_message[GC__MESSAGE_BYTES];

GC__COLD void gc__fatal(const gc_options *options, const char *format, ...) __attribute__((GC__PRINTF(2, 3), __noreturn__));
GC__COLD gc_result gc__fail(gc_result result, const char *format, ...) __attribute__((GC__PRINTF(2, 3)));
GC__COLD void gc__fail_more(const char *format, ...) __attribute__((GC__PRINTF(1, 2)));
GC__COLD void gc__warn(const gc_options *options, const char *format, ...) __attribute__((GC__PRINTF(2, 3)));

/* Records why a call fails, and returns `result`. */
GC__COLD gc_result gc__fail(gc_result result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    gc__last_result = result;
    vsnprintf(gc__last_message, sizeof gc__last_message, format, arguments);
    va_end(arguments);
    return result;
}

GC__COLD gc_result gc__fail_memory(const char *caller, const char *what) {
    return gc__fail(GC_ERROR_MEMORY, "%s: the system gives no memory for %s", caller, what);
}

/* Ends a checked build, if the failure that was recorded last is a fault of the program. */
GC__FN gc_result gc__misused(gc_result result) {
    GC_ASSERT(false, "%s", gc__last_message);
    return result;
}

/* Appends to the sentence of the last gc__fail. */
GC__COLD void gc__fail_more(const char *format, ...) {
    size_t length = strlen(gc__last_message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(gc__last_message + length, sizeof gc__last_message - length, format, arguments);
    va_end(arguments);
}

/* Passes the sentence to the host's fatal hook, or prints it to stderr, and aborts. */
GC__COLD void gc__fatal(const gc_options *options, const char *format, ...) {
    char message[4 * GC__MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (options && options->fatal) {
        options->fatal(options->host, message);
    } else if (gc__the_outside.fatal) {
        gc__the_outside.fatal(gc__the_outside.context, message);
    } else {
        fflush(stdout);
        fprintf(stderr, "gc.h: %s\n", message);
    }
    abort();
}

GC__COLD void gc__warn(const gc_options *options, const char *format, ...) {
    char message[GC__MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    GC__HOST_SCOPE;
    if (options->warning)
        options->warning(options->host, message);
    else if (gc__the_outside.warning)
        gc__the_outside.warning(gc__the_outside.context, message);
    else
        fprintf(stderr, "gc.h: warning: %s\n", message);
}

GC_API void gc__misuse(const char *file, int line, const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "gc.h: misuse at %s:%d: ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("\n", stderr);
    if (GC_DIAGNOSTICS) {
        fputs("gc.h: the call is here (addr2line -e PROGRAM shows the line):\n", stderr);
        gc__os_print_stack();
    }
    abort();
}

#define GC__NO_DIAGNOSTICS "gc.h was compiled with GC_DIAGNOSTICS=0"

GC__COLD void gc__print_nothing(FILE *file) { fputs("nothing is printed: " GC__NO_DIAGNOSTICS "\n", file); }

/* Returns whether an argument is NULL that must not be, and if so records the failure of the call. */
GC__COLD bool gc__is_null(const void *argument, const char *caller, const char *name) {
    if (GC__LIKELY(argument != NULL)) return false;
    gc__misused(gc__fail(GC_ERROR_ARGUMENT, "%s: %s is NULL", caller, name));
    return true;
}

GC_API const char *gc_version(void) { return GC_VERSION_TEXT; }

GC_API const char *gc_result_text(gc_result result) {
    static const char *const texts[] = {
#define GC__RESULT_TEXT(name, text) text,
        GC_RESULTS(GC__RESULT_TEXT)
#undef GC__RESULT_TEXT
    };
    return (size_t)result < sizeof texts / sizeof *texts ? texts[result] : "unknown result";
}

static const char *const gc__reason_texts[] = {
#define GC__REASON_TEXT(name, text) text,
    GC_REASONS(GC__REASON_TEXT)
#undef GC__REASON_TEXT
};
GC_API const char *gc_reason_text(gc_reason reason) {
    bool known = (size_t)reason < sizeof gc__reason_texts / sizeof *gc__reason_texts;
    return known ? gc__reason_texts[reason] : "unknown reason";
}

GC_API gc_result gc_last_result(void) { return gc__last_result; }
GC_API const char *gc_last_message(void) { return gc__last_message; }
