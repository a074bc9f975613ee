/* A collector that was compiled without concurrent marking, collector threads and diagnostics refuses what asks for them. */
#define _GNU_SOURCE
#include "../fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char heard[4096];

static void hear(void *host, const char *message) {
    (void)host;
    strncat(heard, message, sizeof heard - strlen(heard) - 2);
    strcat(heard, "\n");
}

/* No heap with the options, and the sentence says of which option and which macro it is. */
static void refuses(gc_options options, const char *option, const char *macro) {
    gc_heap *made = gc_heap_create(&options);
    const char *message = gc_last_message();
    bool refused = !made && gc_last_result() == GC_ERROR_OPTION && strstr(message, option) && strstr(message, macro);
    ok(refused, "%s is refused, by a sentence with %s", option, macro);
    if (!refused) printf("# %s\n", made ? "a heap was created" : message);
    gc_heap_destroy(made);
}

static void options(void) {
    refuses((gc_options){.concurrent = GC_CONCURRENT_ON}, "options.concurrent", "GC_CONCURRENT=1");
    refuses((gc_options){.collector_threads = 2}, "options.collector_threads", "GC_COLLECTOR_THREADS_MAX");
    refuses((gc_options){.debug.stress = GC_STRESS_ALLOCATION}, "options.debug.stress", "GC_DIAGNOSTICS=1");
    refuses((gc_options){.debug.verify = GC_VERIFY_AFTER}, "options.debug.verify", "GC_DIAGNOSTICS=1");
    refuses((gc_options){.debug.checkmark = true}, "options.debug.checkmark", "GC_DIAGNOSTICS=1");
    const gc_options given = {.collector_threads = 1, .concurrent = GC_CONCURRENT_OFF, .pause_goal_us = 1000};
    gc_heap *made = gc_heap_create(&given);
    ok(made != NULL, "what says that it needs none of them is not");
    gc_heap_destroy(made);
}

/* What is said of the environment is said when the first heap of the process is created. */
static void environment_off(void) {
    static const char *const off[] = {"GC_STRESS", "GC_VERIFY", "GC_CHECKMARK", "GC_VERBOSE", "GC_CONCURRENT"};
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        for (size_t i = 0; i < sizeof off / sizeof *off; i++) setenv(off[i], "0", 1);
        setenv("GC_COLLECTOR_THREADS", "1", 1);
        begin(&(gc_options){.warning = hear});
        fputs(heard, stderr);
        _exit(*heard != 0);
    }
    ok(waitpid(child, &status, 0) == child && status == 0, "settings that ask for nothing are not mentioned");
}

static void environment(void) {
    static const char *const settings[] = {"GC_STRESS",  "allocation", "GC_VERIFY",     "1", "GC_CHECKMARK",         "1",
                                           "GC_VERBOSE", "pauses",     "GC_CONCURRENT", "1", "GC_COLLECTOR_THREADS", "4"};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i += 2) setenv(settings[i], settings[i + 1], 1);
    begin(&(gc_options){.warning = hear});
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i += 2) {
        char text[64];
        snprintf(text, sizeof text, "environment %s=%s", settings[i], settings[i + 1]);
        ok(strstr(heard, text) != NULL, "%s is not heeded, and a warning says so", text);
        unsetenv(settings[i]);
    }
    ok(stats().collections[0] == 0 && new_node(1) && stats().collections[0] == 0, "and nothing is stressed");
    end();
}

static const char *printed(void (*print)(gc_heap *, FILE *)) {
    static char text[256];
    FILE *file = tmpfile();
    print(heap, file);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static void reports(void) {
    begin(NULL);
    node *kept = NULL;
    GC_ROOTS(gc, kept);
    kept = new_node(7);
    full();
    ok(gc_heap_verify(heap) == 0 && gc_last_result() == GC_ERROR_OPTION && strstr(gc_last_message(), "GC_DIAGNOSTICS"),
       "gc_heap_verify fails, by a sentence");
    ok(strstr(printed(gc_heap_print_stats), "GC_DIAGNOSTICS=0"), "gc_heap_print_stats says why it prints nothing");
    ok(strstr(printed(gc_heap_print_pauses), "GC_DIAGNOSTICS=0"), "so does gc_heap_print_pauses");
    ok(strstr(printed(gc_heap_print_memory), "GC_DIAGNOSTICS=0"), "so does gc_heap_print_memory");
    gc_pause pause;
    char text[128];
    size_t told = gc_heap_pauses(heap, &pause, 1, false);
    ok(told == 1 && pause.ns > 0 && pause.generation == 2, "pauses are counted");
    ok(gc_pause_explain(&pause, text, sizeof text) == strlen(text) && strstr(text, "GC_DIAGNOSTICS=0"), "but not explained");
    ok(stats().collections[2] == 1 && stats().pause_total_ns >= pause.ns && stats().live_bytes > 0, "the numbers of statistics are there");
    ok(kept->value == 7, "and what lives, lives");
    end();
}

int main(void) {
    environment_off();
    environment();
    options();
    reports();
    return done();
}
