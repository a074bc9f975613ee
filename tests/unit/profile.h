/* What the tests of profiles share: files in a folder of their own, and the numbers of reports. */
#pragma once

#include "../fixture.h"
#include "folders.h"
#include "gc_profile.h"

typedef struct small {
    gc_object header;
    uint64_t words[2];
} small;

static char profile_folder[64];

/* The name of a file of this test. */
static inline const char *profile_file(const char *name) {
    static char path[128];
    if (!*profile_folder) {
        snprintf(profile_folder, sizeof profile_folder, "/tmp/gc-profile-XXXXXX");
        if (!mkdtemp(profile_folder)) abort();
    }
    snprintf(path, sizeof path, "%s/%s", profile_folder, name);
    return path;
}

static inline void profile_clean(void) {
    if (*profile_folder && !remove_folder(profile_folder)) abort();
}

/* A file's text, which the caller frees; empty if there is none. */
static inline char *profile_text(const char *name) {
    FILE *file = fopen(profile_file(name), "rb");
    size_t length = 0, count = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    if (!text) abort();
    while (file && (count = fread(text + length, 1, capacity - length - 1, file)) > 0) {
        length += count;
        if (length + 1 == capacity && !(text = realloc(text, capacity *= 2))) abort();
    }
    text[length] = 0;
    if (file) fclose(file);
    return text;
}

/* What a report says of a type. */
typedef struct reported {
    double count, bytes;
    unsigned long long events;
    double live_count, live_bytes;
    double died[GC_GENERATIONS]; /* percent */
} reported;

static inline reported report_of(const char *text, const char *type) {
    reported all = {0, 0, 0, 0, 0, {0, 0, 0}};
    char line[96];
    snprintf(line, sizeof line, "\n\n%s: ", type);
    const char *at = strstr(text, line);
    if (!at) return all;
    sscanf(at + strlen(line),
           "%lf objects, %lf bytes (%llu events); in use: %lf, %lf bytes; of 100 died %lf young, %lf in generation 1, "
           "%lf in 2",
           &all.count, &all.bytes, &all.events, &all.live_count, &all.live_bytes, &all.died[0], &all.died[1],
           &all.died[2]);
    return all;
}

/* What a report of the profile so far says of a type. */
static inline reported report_now(const char *type) {
    ok(gc_profile_write(profile_file("now.txt")) == GC_OK, "a report is written: %s", gc_last_message());
    char *text = profile_text("now.txt");
    reported all = report_of(text, type);
    free(text);
    return all;
}

static inline void profile_begin(gc_profile_options options) {
    ok(gc_profile_start(&options, NULL) == GC_OK, "a profile starts");
}
