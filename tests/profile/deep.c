/* Prints how many frames of `deep` are on its stack, and the name of their caller. */
#define GC_IMPLEMENTATION
#include "gc_profile.h"

__attribute__((noinline)) static int deep(int depth) {
    volatile int here = depth;
    if (depth) return deep(depth - 1) + here - depth;
    gc__native_frame frames[64];
    gc__native_start start;
    gc__profile profile;
    int own = 0;
    gc__native_here(&start);
    size_t count = gc__native_take(&start, frames, 64, NULL);
    gc__profile_open(&profile);
    uint32_t numbers[64];
    for (size_t i = 0; i < count; i++)
        numbers[i] = gc__profile_frame_add(&profile, &(gc__frame_key){frames[i].pc, 0, 0, 0, 0, 0, 0});
    gc__names_find(&profile);
    for (size_t i = 0; i < count; i++, own++) {
        const char *name = gc__profile_text(&profile, profile.frames[numbers[i]].name);
        if (strcmp(name, "deep") != 0) return printf("%d %s\n", own, name), 0;
    }
    return puts("no caller"), 1;
}

int main(void) {
    volatile int result = deep(10);
    return result;
}
