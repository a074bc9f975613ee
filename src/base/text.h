/* Text of limited length, written in steps. */
#pragma once

#include "words.h"

#include <limits.h>
#include <stdarg.h>

#define GC__TEXT_BYTES 640

typedef struct gc__text {
    char text[GC__TEXT_BYTES];
    size_t length;
} gc__text;

GC__FN void gc__text_add(gc__text *text, const char *format, ...) __attribute__((GC__PRINTF(2, 3)));
GC__FN void gc__text_add(gc__text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->text + text->length, sizeof text->text - text->length, format, arguments);
    va_end(arguments);
    text->length = gc__min(text->length + (size_t)(length > 0 ? length : 0), sizeof text->text - 1);
}

/* Prints with these conversions: %m bytes in MiB, %t nanoseconds in ms, and %n, each of a 64-bit number; %f and %s. */
GC__COLD void gc__print(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    for (; *format; format++) {
        const char *end = strchr(format, '%');
        fprintf(file, "%.*s", end ? (int)(end - format) : INT_MAX, format);
        if (!end) break;
        format = end + 1;
        if (*format == 's')
            fputs(va_arg(arguments, const char *), file);
        else if (*format == 'f')
            fprintf(file, "%.1f", va_arg(arguments, double));
        else if (*format == 'n')
            fprintf(file, "%llu", (unsigned long long)va_arg(arguments, uint64_t));
        else if (*format == '%')
            fputc('%', file);
        else if (*format == 'm')
            fprintf(file, "%.2f", (double)va_arg(arguments, uint64_t) / 1048576.0);
        else
            fprintf(file, "%.3f", (double)va_arg(arguments, uint64_t) / 1e6);
    }
    va_end(arguments);
}
