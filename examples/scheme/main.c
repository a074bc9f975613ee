/* main.c - the command line: a file to run, or else standard input, form by form. */
#define _POSIX_C_SOURCE 200809L
#include "scheme.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One line for machines to read; demo.sh makes its table from it. */
static void print_stats(machine *m) {
    gc_stats s;
    gc_heap_stats(m->heap, &s);
    uint64_t wall_ns = now_ns() - m->start_ns;
    double allocated = (double)s.allocated_bytes;
    fprintf(stderr,
            "gc-stats collections0=%llu collections1=%llu collections2=%llu pause_max_us=%.1f pause_total_ms=%.2f "
            "survival_percent=%.2f allocated_bytes=%llu heap_peak_bytes=%zu wall_ms=%.1f gc_percent=%.2f\n",
            (unsigned long long)s.collections[0], (unsigned long long)s.collections[1],
            (unsigned long long)s.collections[2], (double)s.pause_max_ns / 1e3, (double)s.pause_total_ns / 1e6,
            allocated > 0 ? 100 * (double)s.promoted_bytes / allocated : 0, (unsigned long long)s.allocated_bytes,
            s.committed_bytes_peak, (double)wall_ns / 1e6, 100 * (double)s.pause_total_ns / (double)wall_ns);
}

void machine_exit(machine *m, int status) {
    fflush(stdout);
    if (m->stats) print_stats(m);
    machine_destroy(m);
    exit(status);
}

static value run_file(machine *m, void *path) {
    value name = make_string(m, path, strlen(path));
    machine_push(m, name);
    value load = intern_text(m, "load");
    machine_push(m, *machine_global(m, symbol_of(load)->id));
    return vm_call(m, 1);
}

/* Reads and evaluates one form. What comes after the evaluation must not be here: a handled error has left this
   function by the time the value is known. */
static value run_form(machine *m, void *ended) {
    if (m->interactive) fputs("> ", stdout), fflush(stdout);
    value form = read_datum(m, m->r.input, true);
    *(bool *)ended = form == END_OF_FILE;
    if (form == END_OF_FILE) return NONE;
    machine_push(m, compile_datum(m, form, port_of(m->r.input)->file_id, port_of(m->r.input)->line));
    return vm_call(m, 0);
}

/* The rest of the line goes with the form that failed. */
static void skip_line(port *p) {
    if (p->position < p->end) p->line++;
    p->position = p->end;
}

static void run_loop(machine *m) {
    m->interactive = isatty(0);
    for (bool ended = false; !ended;) {
        value result = NONE;
        if (!error_protect(m, run_form, &ended, &result))
            skip_line(port_of(m->r.input));
        else if (result != NONE) {
            m->token.length = 0;
            print_value(&m->token, result, true);
            printf("%.*s\n", (int)m->token.length, m->token.bytes);
        }
    }
    if (m->interactive) puts("");
}

static size_t parse_bytes(const char *text) {
    char *end;
    double number = strtod(text, &end);
    if (*end == 'K' || *end == 'k')
        number *= 1 << 10, end++;
    else if (*end == 'M' || *end == 'm')
        number *= 1 << 20, end++;
    else if (*end == 'G' || *end == 'g')
        number *= 1 << 30, end++;
    if (*end || end == text || !(number >= 0 && number < 1e15)) {
        fprintf(stderr, "scheme: not a size in bytes: %s (K, M and G may follow a number)\n", text);
        exit(64);
    }
    return (size_t)number;
}

/* Takes the options off the front; returns how many words they are. */
static int parse_options(int argc, char **argv, gc_options *options, bool *stats) {
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strncmp(argv[i], "--heap-max=", 11))
            options->heap_bytes_max = parse_bytes(argv[i] + 11);
        else if (!strncmp(argv[i], "--nursery=", 10))
            options->nursery_bytes = parse_bytes(argv[i] + 10);
        else if (!strcmp(argv[i], "--stats"))
            *stats = true;
        else {
            fputs("usage: scheme [--heap-max=BYTES] [--nursery=BYTES] [--stats] [FILE ARGUMENT...]\n", stderr);
            exit(strcmp(argv[i], "--help") ? 64 : 0);
        }
    }
    return i;
}

static value set_arguments(machine *m, char **words, int count) {
    for (int i = 0; i < count; i++) {
        value word = make_string(m, words[i], strlen(words[i]));
        machine_push(m, word);
    }
    return machine_list(m, (size_t)count);
}

int main(int argc, char **argv) {
    static machine m;
    gc_options options = {0};
    m.start_ns = now_ns();
    int first = parse_options(argc, argv, &options, &m.stats);
    machine_init(&m, &options);
    m.r.arguments = set_arguments(&m, argv + first, argc - first);
    int status = 0;
    if (first == argc)
        run_loop(&m);
    else {
        value ignored;
        status = error_protect(&m, run_file, argv[first], &ignored) ? 0 : 1;
    }
    machine_exit(&m, status);
}
