/* Messages. Ordinary operation prints nothing: what a compiler process writes to stderr is an error to a build. */
#include "report.h"

#include "collector.h"
#include "interface.h"
#include "pause.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NOTE_BYTES = 4096 };
static const char *now_doing = "no collection runs";
static char *note; /* a file in memory; NULL: none */

void doing(const char *what) {
    now_doing = what;
    if (!note) return;
    snprintf(note, NOTE_BYTES, "libgch: collection %llu, of generation %d, thread %d: %s\n",
             (unsigned long long)pause_count(0), pause_generation(), (int)gettid(), what);
}

void report_to(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0) return;
    void *memory = MAP_FAILED;
    if (ftruncate(file, NOTE_BYTES) == 0) memory = mmap(NULL, NOTE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) note = memory;
    close(file);
    doing("no collection runs");
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
    fprintf(stderr, "libgch: %s (thread %d, collection %llu of generation %d: %s)\n", text, (int)gettid(),
            (unsigned long long)pause_count(0), pause_generation(), now_doing);
    fflush(stderr);
    runtime_fail(E_FAIL);
    abort();
}
