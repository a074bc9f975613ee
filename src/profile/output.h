/* Writing files. Nothing of what is put is reported as failed: after the first error nothing more is written, and
   gc__output_close says so.

   A file that is written as a whole has a temporary name until it is complete. One that is streamed has its own name, and
   is handed whole records only, so that what was written before a program is killed can be read. (A system that ends a
   program in the midst of a write may leave a part of the last one.) */
#pragma once

#include "../platform/file_linux.h"

#include <locale.h>
#include <stdarg.h>

#define GC__OUTPUT_BYTES ((size_t)1 << 16) /* that are buffered before they are written, or more for a longer record */

typedef struct gc__output {
    int file;
    gc__os_file_identity identity; /* of that */
    bool streamed;
    bool special;     /* a device or a pipe: written in place, and not to be patched */
    int error;        /* of the first failure; 0: none */
    size_t used;      /* bytes in the buffer */
    size_t capacity;  /* of the buffer */
    uint64_t written; /* bytes that were written before those in the buffer */
    char *buffer;
    void *format; /* what a streamed format keeps from `begin` to `write` */
    char name[GC__NAME_BYTES_MAX], temporary[GC__NAME_BYTES_MAX];
} gc__output;

GC__FN void gc__output_fail(gc__output *output, int error) {
    if (!output->error) output->error = error ? error : EIO;
    output->used = 0;
}

/* The number of bytes that were put so far: the position in the file of what is put next. */
GC__FN uint64_t gc__output_position(const gc__output *output) { return output->written + output->used; }

GC__FN void gc__output_write(gc__output *output, const void *data, size_t bytes, int64_t position) {
    if (output->error || !bytes) return;
    if (!gc__os_file_is(output->file, &output->identity) || !gc__os_file_write(output->file, data, bytes, position))
        gc__output_fail(output, gc__os_error());
}

GC__FN void gc__output_flush(gc__output *output) {
    gc__output_write(output, output->buffer, output->used, -1);
    output->written += output->used;
    output->used = 0;
}

/* What was put so far are whole records. */
GC__FN void gc__output_record(gc__output *output) {
    if (output->used >= GC__OUTPUT_BYTES / 2) gc__output_flush(output);
}

/* Makes room for some more bytes in the buffer, by writing it if the file is not streamed. */
GC__FN bool gc__output_reserve(gc__output *output, size_t bytes) {
    if (output->error) return false;
    if (bytes <= output->capacity - output->used) return true;
    if (!output->streamed) gc__output_flush(output);
    if (bytes <= output->capacity - output->used) return true;
    size_t capacity = output->capacity ? output->capacity : GC__OUTPUT_BYTES;
    while (capacity < output->used + bytes) capacity *= 2;
    void *buffer = output->capacity ? gc__os_remap(output->buffer, output->capacity, capacity) : gc__os_map(capacity);
    if (!buffer) {
        gc__output_fail(output, ENOMEM);
        return false;
    }
    output->buffer = (char *)buffer;
    output->capacity = capacity;
    return true;
}

GC__FN void gc__put(gc__output *output, const void *data, size_t bytes) {
    if (!gc__output_reserve(output, bytes)) return;
    memcpy(output->buffer + output->used, data, bytes);
    output->used += bytes;
}

GC__FN void gc__put_byte(gc__output *output, unsigned byte) {
    char c = (char)byte;
    gc__put(output, &c, 1);
}

GC__FN void gc__put_text(gc__output *output, const char *text) { gc__put(output, text, strlen(text)); }

GC__FN void gc__put_format(gc__output *output, const char *format, ...) __attribute__((GC__PRINTF(2, 3)));
GC__FN void gc__put_format(gc__output *output, const char *format, ...) {
    va_list arguments;
    /* The host's locale may have decimal commas. Systems take no memory for this one. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0 && gc__output_reserve(output, (size_t)length + 1)) {
        va_start(arguments, format);
        vsnprintf(output->buffer + output->used, (size_t)length + 1, format, arguments);
        va_end(arguments);
        output->used += (size_t)length;
    }
    if (!plain) return;
    uselocale(before);
    freelocale(plain);
}

/* Replaces bytes that were put before, in a file that is written as a whole: counts in its head, say. */
GC__FN void gc__output_patch(gc__output *output, uint64_t position, const void *data, size_t bytes) {
    gc__output_flush(output);
    if (output->special) gc__output_fail(output, ESPIPE);
    gc__output_write(output, data, bytes, (int64_t)position);
}

static unsigned gc__outputs; /* that were opened; atomic: two threads may write a file of the same name */

/* Opens the file; false: it cannot be, and errors are in gc_last_message. */
GC__FN bool gc__output_open(gc__output *output, const char *name, bool streamed) {
    memset(output, 0, sizeof *output);
    output->file = -1;
    output->streamed = streamed;
    output->special = gc__os_file_is_special(name);
    bool direct = streamed || output->special;
    int length = snprintf(output->name, sizeof output->name, "%s", name);
    int longer = snprintf(output->temporary, sizeof output->temporary, "%s.%u.%u.tmp", name, gc__os_process_number(),
                          __atomic_add_fetch(&gc__outputs, 1, __ATOMIC_RELAXED));
    if (length < 0 || longer < 0 || (size_t)longer >= sizeof output->temporary)
        output->error = ENAMETOOLONG;
    else if ((output->file = gc__os_file_create(direct ? output->name : output->temporary)) < 0)
        output->error = gc__os_error();
    output->identity = gc__os_file_identify(output->file);
    if (direct) output->temporary[0] = 0;
    return !output->error;
}

/* Completes and closes the file. False: it was not written, for which output->error says why. */
GC__FN bool gc__output_close(gc__output *output) {
    gc__output_flush(output);
    bool lost = output->file >= 0 && !gc__os_file_is(output->file, &output->identity);
    if (lost || (output->file >= 0 && !gc__os_file_close(output->file))) gc__output_fail(output, gc__os_error());
    if (output->temporary[0] && !output->error && !gc__os_file_rename(output->temporary, output->name))
        gc__output_fail(output, gc__os_error());
    if (output->temporary[0] && output->error && output->file >= 0) gc__os_file_remove(output->temporary);
    if (output->capacity) gc__os_unmap(output->buffer, output->capacity);
    output->buffer = NULL;
    output->file = -1;
    output->used = output->capacity = 0;
    return !output->error;
}
