#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "barrier_cases.h"
int main(int argc, char **argv) {
    gc_word stack_words[RUN + 4] = {0};
    thorough = argc < 2 || strcmp(argv[1], "quick") != 0;
    make_world();
    make_code_page();
    make_sites(stack_words);
    catch_faults();
    memset(private_stack, STACK_FILL, sizeof private_stack);
    all_combinations();
    return done();
}
