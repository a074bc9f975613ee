/* Text of limited length, written in steps. */
#pragma once

#include "words.h"

#include <stdarg.h>

#define GC__TEXT_BYTES 640

typedef struct gc__text {
    char text[GC__TEXT_BYTES];
    size_t length;
} gc__text;

GC__FN void gc__text_add(gc__text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
GC__FN void gc__text_add(gc__text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->text + text->length, sizeof text->text - text->length, format, arguments);
    va_end(arguments);
    text->length = gc__min(text->length + (size_t)(length > 0 ? length : 0), sizeof text->text - 1);
}
