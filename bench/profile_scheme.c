/* What a profile costs programs in Scheme, with the stacks of their language:  profile_scheme ROUNDS LABEL FILE */
#define _POSIX_C_SOURCE 200809L
#include "examples/scheme/scheme.h"

#include <unistd.h>

#include "slices.h"

void machine_exit(machine *m, int status) {
    (void)m;
    exit(status);
}

static value run_file(machine *m, void *path) {
    machine_push(m, make_string(m, path, strlen(path)));
    value load = intern_text(m, "load");
    machine_push(m, *machine_global(m, symbol_of(load)->id));
    return vm_call(m, 1);
}

static void slice_run(const gc_options *options, int argc, char **argv) {
    static machine m;
    value ignored;
    memset(&m, 0, sizeof m);
    machine_init(&m, options);
    m.r.arguments = machine_list(&m, 0);
    if (argc != 1 || !error_protect(&m, run_file, argv[0], &ignored)) exit(1);
    machine_destroy(&m);
}
