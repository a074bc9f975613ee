/* Messages. Ordinary operation prints nothing: what a compiler process writes to stderr is an error to a build. */
#include "report.h"

#include "collector.h"
#include "interface.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

static __thread const char *now_doing = "nothing of the collector's";

const char *doing(const char *what) {
    const char *before = now_doing;
    now_doing = what;
    return before;
}

void report_error(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    runtime_log_error(text);
}

_Noreturn void fatal(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "libgch: %s (thread %d, %s)\n", text, (int)gettid(), now_doing);
    fflush(stderr);
    runtime_fail(E_FAIL);
    abort();
}
