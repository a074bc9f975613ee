/* A program that loads the collectors that the environment names: load_host [SETTING VALUE]... names more of them, one after
   another, and unsets the setting again. Prints what became of each, and exits with 1 if one was refused. */
#define GC_IMPLEMENTATION
#include "gc_standalone.h"
#include "standalone/load.h"

#include <stdlib.h>

static int load(void) {
    static gc__load loads[8];
    static int count;
    gc__load *l = &loads[count++];
    if (!gc__load_begin(l)) {
        gc__load_fail(l, "The program has version 1.0 of the interface.");
        puts(gc_last_message());
        return 1;
    }
    puts(l->value ? "loaded" : "embedded");
    return 0;
}

int main(int count, char **arguments) {
    int failures = count == 1 ? load() : 0;
    for (int i = 1; i + 1 < count; i += 2) {
        setenv(arguments[i], arguments[i + 1], 1);
        failures += load();
        unsetenv(arguments[i]);
    }
    if (getenv("SHOW_USER")) printf("user %u as %u\n", (unsigned)getuid(), (unsigned)geteuid());
    return failures != 0;
}
