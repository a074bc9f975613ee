/* How the pages that writers make are put together. */
#pragma once

#include "model.h"

#define GC__PUT_LINES(output, lines) gc__put_lines(output, lines, sizeof(lines) / sizeof *(lines))
GC__FN void gc__put_lines(gc__output *output, const char *const *lines, size_t count) {
    for (size_t i = 0; i < count; i++) {
        gc__put_text(output, lines[i]);
        gc__put_byte(output, '\n');
    }
}

/* The name of the program's file, without its folders. */
GC__FN const char *gc__program_name(const gc__profile *profile) {
    const char *path = profile->modules_count > 1 ? gc__profile_text(profile, profile->modules[1].file) : "";
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : *path ? path : "a program with gc.h";
}

/* A number with its thousands apart. */
GC__FN const char *gc__grouped(char text[32], double number) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%.0f", number), to = 0;
    for (int i = 0; i < length && to < 30; i++) {
        if (i && (length - i) % 3 == 0) text[to++] = ',';
        text[to++] = digits[i];
    }
    text[to] = 0;
    return text;
}
