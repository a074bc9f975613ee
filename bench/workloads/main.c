/* The command line of the workloads, and their reports. */
#define GC_IMPLEMENTATION
#include "workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const workload *const workloads[] = {&binary_trees_workload, &gcbench_workload, &lru_workload,  &pause_workload,
                                            &alloc_workload,        &churn_workload,   &graph_workload};
step_times steps;
#define WORKLOADS (sizeof workloads / sizeof workloads[0])

typedef struct command {
    const workload *workload;
    uint64_t args[WORKLOAD_ARGS_MAX];
    unsigned args_count;
    mm_options options;
    bool json;
} command;

typedef struct usage {
    double user_s, sys_s, wall_s;
    uint64_t rss_peak_bytes;
} usage;

void mm_exhausted(const char *detail) {
    fflush(stdout);
    fprintf(stderr, "workloads: out of memory: %s\n", detail);
    exit(1);
}

void say(const workload_result *result, const char *format, ...) {
    if (result->quiet) return;
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

void set_check(workload_result *result, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(result->check, sizeof result->check, format, args);
    va_end(args);
}

static unsigned args_max(const workload *w) {
    unsigned count = 0;
    while (count < WORKLOAD_ARGS_MAX && w->args[count].name) count++;
    return count;
}

static void print_usage(FILE *file) {
    fputs("usage: workloads NAME ARGS [--nursery=BYTES] [--max-heap=BYTES] [--growth=PERCENT] [--collector-threads=N]\n"
          "                      [--pause-goal=US] [--concurrent=0|1] [--print-pauses=0|1] [--json]\n"
          "                      [--non-moving=1] [--non-generational=1] [--conservative-stack=1] [--keep-memory=1]\n"
          "                      [--soft-limit=BYTES] [--growth-min=BYTES] [--overhead=PERCENT] [--trace-functions=0|1|2]\n", file);
    for (size_t i = 0; i < WORKLOADS; i++) {
        fprintf(file, "  %s", workloads[i]->name);
        for (unsigned j = 0; j < args_max(workloads[i]); j++)
            fprintf(file, workloads[i]->args[j].otherwise ? " [%s]" : " %s", workloads[i]->args[j].name);
        fputc('\n', file);
    }
}

static void bad_usage(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void bad_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("workloads: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    print_usage(stderr);
    exit(2);
}

/* A decimal number in [min, max]; `what` names it in the message. */
static uint64_t parse_number(const char *text, const char *what, uint64_t min, uint64_t max) {
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end) bad_usage("%s must be a number, not '%s'", what, text);
    if (errno || value < min || value > max)
        bad_usage("%s must be %" PRIu64 " to %" PRIu64 ", not %s", what, min, max, text);
    return value;
}

static const workload *find_workload(const char *name) {
    for (size_t i = 0; i < WORKLOADS; i++)
        if (strcmp(workloads[i]->name, name) == 0) return workloads[i];
    bad_usage("there is no workload '%s'", name);
}

static void parse_option(command *c, const char *text) {
    mm_options *o = &c->options;
    const struct {
        const char *name;
        uint64_t *number, min, max;
    } numbers[] = {
        {"--nursery", &o->nursery_bytes, 1, SIZE_MAX},
        {"--max-heap", &o->heap_bytes_max, 1, SIZE_MAX},
        {"--growth", &o->growth_percent, 1, 1000000},
        {"--collector-threads", &o->collector_threads, 1, 32},
        {"--pause-goal", &o->pause_goal_us, 1, 1000000000},
        {"--concurrent", &o->concurrent, 0, 1},
        {"--print-pauses", &o->print_pauses, 0, 1},
        {"--non-moving", &o->non_moving, 0, 1},
        {"--non-generational", &o->non_generational, 0, 1},
        {"--conservative-stack", &o->conservative_stack, 0, 1},
        {"--keep-memory", &o->keep_memory, 0, 1},
        {"--soft-limit", &o->heap_bytes_soft, 1, SIZE_MAX},
        {"--growth-min", &o->growth_bytes_min, 1, SIZE_MAX},
        {"--overhead", &o->overhead_percent_max, 1, 100},
        {"--trace-functions", &o->trace_functions, 0, 2},
    };
    const char *value = strchr(text, '=');
    size_t length = value ? (size_t)(value - text) : strlen(text);
    if (strcmp(text, "--json") == 0) {
        c->json = true;
        return;
    }
    for (size_t i = 0; value && i < sizeof numbers / sizeof *numbers; i++) {
        if (length != strlen(numbers[i].name) || strncmp(text, numbers[i].name, length) != 0) continue;
        *numbers[i].number = parse_number(value + 1, numbers[i].name, numbers[i].min, numbers[i].max);
        return;
    }
    bad_usage("unknown option '%s'", text);
}

static void parse_arg(command *c, const char *text) {
    const workload *w = c->workload;
    if (c->args_count == args_max(w)) bad_usage("%s: '%s' is one argument too many", w->name, text);
    const workload_arg *arg = &w->args[c->args_count];
    c->args[c->args_count++] = parse_number(text, arg->name, arg->min, arg->max);
}

static command parse_command(int argc, char **argv) {
    command c = {0};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            parse_option(&c, argv[i]);
        else if (c.workload)
            parse_arg(&c, argv[i]);
        else
            c.workload = find_workload(argv[i]);
    }
    if (!c.workload) bad_usage("the name of a workload is missing");
    for (; c.args_count < args_max(c.workload); c.args_count++) {
        const workload_arg *arg = &c.workload->args[c.args_count];
        if (!arg->otherwise) bad_usage("%s: the argument %s is missing", c.workload->name, arg->name);
        c.args[c.args_count] = arg->otherwise;
    }
    return c;
}

/* The peak of this program alone: ru_maxrss also counts what the parent held before exec. */
static uint64_t rss_peak_bytes(const struct rusage *usage) {
    uint64_t kib = (uint64_t)usage->ru_maxrss;
    char line[128];
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) return kib * 1024;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1) break;
    fclose(status);
    return kib * 1024;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static usage measure(uint64_t start_ns) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (usage){seconds(r.ru_utime), seconds(r.ru_stime), (double)(clock_ns() - start_ns) / 1e9, rss_peak_bytes(&r)};
}

static void print_collector(const mm_report *report) {
    uint64_t sum = 0;
    printf("collections:");
    for (int i = 0; i < report->generations; i++) {
        printf("%s %" PRIu64, i ? " +" : "", report->collections[i]);
        sum += report->collections[i];
    }
    if (report->generations > 1) printf(" = %" PRIu64 " (by oldest generation collected)", sum);
    printf("\npauses: total %.6f s, longest %.3f ms, p99.9 %.3f ms\n", report->pause_total_s, report->pause_max_s * 1e3,
           report->pause_p999_s * 1e3);
    if (report->utilisation[2] > 0)
        printf("left to the program: at least %.1f %% of any 1 ms, %.1f %% of any 10 ms, %.1f %% of any 100 ms\n",
               report->utilisation[0] * 100, report->utilisation[1] * 100, report->utilisation[2] * 100);
}

static double push_us(const histogram *pushes, double fraction) {
    return (double)histogram_percentile(pushes, fraction) / 1e3;
}

static double mean_ns(const histogram *h) { return h->count ? (double)h->total / (double)h->count : 0; }

static void print_report(const workload_result *result, const mm_report *report, const usage *u) {
    const histogram *pushes = result->pushes;
    if (pushes)
        printf("push: mean %.3f us, p50 %.3f, p99 %.3f, p99.9 %.3f, p99.99 %.3f, longest %.3f us\n",
               mean_ns(pushes) / 1e3, push_us(pushes, 0.5), push_us(pushes, 0.99), push_us(pushes, 0.999),
               push_us(pushes, 0.9999), (double)pushes->max / 1e3);
    if (result->ns_per_object > 0) printf("allocation: %.3f ns per object\n", result->ns_per_object);
    if (report->generations) print_collector(report);
    if (report->live_peak_bytes)
        printf("live after a full collection: at most %.1f MiB\n", (double)report->live_peak_bytes / 1048576);
    printf("peak RSS: %.1f MiB\n", (double)u->rss_peak_bytes / 1048576);
    printf("time: user %.3f s, sys %.3f s, wall %.3f s\n", u->user_s, u->sys_s, u->wall_s);
}

static void print_json_pushes(const histogram *pushes) {
    printf(", \"push_mean_s\": %.9f", mean_ns(pushes) / 1e9);
    printf(", \"push_p50_s\": %.9f, \"push_p99_s\": %.9f", push_us(pushes, 0.5) / 1e6, push_us(pushes, 0.99) / 1e6);
    printf(", \"push_p999_s\": %.9f, \"push_p9999_s\": %.9f", push_us(pushes, 0.999) / 1e6,
           push_us(pushes, 0.9999) / 1e6);
    printf(", \"push_max_s\": %.9f", (double)pushes->max / 1e9);
}

static void print_json(const command *c, const workload_result *result, const mm_report *report, const usage *u) {
    printf("{\"name\": \"%s\", \"backend\": \"%s\", \"args\": [", c->workload->name, MM_NAME);
    for (unsigned i = 0; i < c->args_count; i++) printf("%s%" PRIu64, i ? ", " : "", c->args[i]);
    printf("], \"check\": \"%s\", \"user_s\": %.6f, \"sys_s\": %.6f, \"wall_s\": %.6f, \"rss_peak_bytes\": %" PRIu64,
           result->check, u->user_s, u->sys_s, u->wall_s, u->rss_peak_bytes);
    if (report->generations) {
        printf(", \"collections\": [");
        for (int i = 0; i < report->generations; i++) printf("%s%" PRIu64, i ? ", " : "", report->collections[i]);
        printf("], \"pause_total_s\": %.9f, \"pause_max_s\": %.9f, \"pause_p999_s\": %.9f", report->pause_total_s,
               report->pause_max_s, report->pause_p999_s);
        printf(", \"utilisation_1ms\": %.4f, \"utilisation_10ms\": %.4f, \"utilisation_100ms\": %.4f", report->utilisation[0],
               report->utilisation[1], report->utilisation[2]);
    }
    if (report->live_peak_bytes) printf(", \"live_peak_bytes\": %" PRIu64, report->live_peak_bytes);
    if (result->pushes) print_json_pushes(result->pushes);
    if (STEPS) printf(", \"step_max_s\": %.9f", (double)(result->pushes ? result->pushes->max : steps.longest_ns) / 1e9);
    if (result->ns_per_object > 0) printf(", \"ns_per_object\": %.4f", result->ns_per_object);
    puts("}");
}

int main(int argc, char **argv) {
    uint64_t start_ns = clock_ns();
    command c = parse_command(argc, argv);
    workload_result result = {.quiet = c.json};
    mm_report report = {0};
    mm *mm = mm_open(&c.options);
    c.workload->run(mm, c.args, &result);
    mm_close(mm, &c.options, &report);
    usage u = measure(start_ns);
    if (c.json)
        print_json(&c, &result, &report, &u);
    else
        print_report(&result, &report, &u);
    return fflush(stdout) ? 1 : 0;
}
