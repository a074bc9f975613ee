/* main.c - runs a script: vm [--stats] SCRIPT [N]. The script finds N as the global variable n. */
#define _GNU_SOURCE
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    text t = {0};
    char part[4096];
    size_t length;
    if (!file) quit("the script cannot be opened");
    while ((length = fread(part, 1, sizeof part, file)) > 0) text_add(&t, part, length);
    fclose(file);
    text_add(&t, "", 1);
    return t.bytes;
}

static void print_stats(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double seconds = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    fprintf(stderr, "vm-stats cpu_s=%.3f peak_mib=%.1f collections=%llu\n", seconds, (double)use.ru_maxrss / 1024,
            collections());
}

static void define(const char *name, value v) { vm.globals[global_index(new_string(name, strlen(name)))] = v; }

static bool run_script(const char *source, double n) {
    vm.error = NIL;
    vm.init = new_string("init", 4);
    vm.main = vm.current = new_coroutine();
    define_natives();
    define("n", number(n));
    function *main_function = compile(source);
    if (!main_function) return false;
    protect(main_function);
    closure *c = new_closure(main_function);
    unprotect(1);
    vm.main->state = STATE_RUNNING;
    coroutine_start(vm.main, value_of(c), 0, NULL);
    return run();
}

int main(int argc, char **argv) {
    bool has_stats = argc > 1 && strcmp(argv[1], "--stats") == 0;
    argc -= has_stats;
    argv += has_stats;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: vm [--stats] SCRIPT [N]\n");
        return 2;
    }
    vm.script = argv[1];
    collector_start();
    char *source = read_file(argv[1]);
    bool ok = run_script(source, argc > 2 ? strtod(argv[2], NULL) : 0);
    if (has_stats) print_stats();
    collector_end();
    return ok ? 0 : 1;
}
