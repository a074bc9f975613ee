/* The public API as a whole: its version, and what its functions make of NULL. */
#include "../fixture.h"

static void version(void) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", GC_VERSION_MAJOR, GC_VERSION_MINOR, GC_VERSION_PATCH);
    is(strcmp(GC_VERSION_TEXT, text), 0, "GC_VERSION_TEXT is the three numbers");
    is(strcmp(gc_version(), GC_VERSION_TEXT), 0, "gc_version is the header's version");
}

int main(void) {
    version();
    return done();
}
