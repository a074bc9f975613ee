/* gc-inspect: looks into a process or core file that uses gc.h. */
#include "gc_dac.h"

#include "commands.h"
#include "memory.h"
#include "names.h"
#include "output.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef enum argument_kind { NO_ARGUMENT, TYPE, ADDRESS, MAYBE_ADDRESS } argument_kind;

typedef struct command_entry {
    const char *name;
    command_function *run;
    argument_kind argument;
    uint64_t limit; /* of rows, unless --limit says another */
    const char *what;
} command_entry;

static const command_entry commands[] = {
    {"summary", command_summary, NO_ARGUMENT, 20, "what the heap is, and what is in it"},
    {"types", command_types, NO_ARGUMENT, 40, "objects and bytes of each type, most bytes first"},
    {"objects", command_objects, TYPE, 40, "the objects of a type"},
    {"object", command_object, ADDRESS, 20, "an object and its fields"},
    {"path", command_path, ADDRESS, 20, "the shortest way from a root to an object: why it is alive"},
    {"retained", command_retained, MAYBE_ADDRESS, 20,
     "which objects and types keep how much alive; or one object, and what keeps it"},
    {"regions", command_regions, NO_ARGUMENT, 0, "the regions, and a map of them; --svg FILE draws one"},
    {"handles", command_handles, NO_ARGUMENT, 40, "the handles and what they hold"},
    {"finalizers", command_finalizers, NO_ARGUMENT, 40, "the finalizers that are registered, due and running"},
    {"threads", command_threads, NO_ARGUMENT, 0, "the threads, their modes and their frames of GC_ROOTS"},
    {"verify", command_verify, NO_ARGUMENT, 20, "checks headers, references and cards, as GC_VERIFY does"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *file) {
    fputs("usage: gc-inspect [OPTIONS] PID|CORE COMMAND [ARGUMENT]\n"
          "       gc-inspect [OPTIONS] diff CORE|PID CORE|PID\n\n"
          "Looks into a process or core file whose program uses gc.h. It runs no code of the program. A process is "
          "stopped\n"
          "while it is read; a core file needs the program's files beside it, or under --root.\n\n",
          file);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(file, "  %-10s %-10s %s\n", commands[i].name,
                commands[i].argument == TYPE            ? "TYPE"
                : commands[i].argument == ADDRESS       ? "ADDRESS"
                : commands[i].argument == MAYBE_ADDRESS ? "[ADDRESS]"
                                                        : "",
                commands[i].what);
    fputs("  diff                  which types have grown from the first to the second\n\n"
          "  --json                answers in JSON\n"
          "  --limit N             rows to print; `all` for all\n"
          "  --generation N        objects of one generation only: types, objects, diff\n"
          "  --heap N              one heap of several, counted from 0\n"
          "  --names FILE          what the program's types are called in its language, and how objects are shown\n"
          "  --root DIR            where the files of a core's program are\n"
          "  --svg FILE            regions: also draws a map\n"
          "  --no-stop             reads a process while it runs: answers may contradict themselves\n"
          "  --cost                ends with the seconds and the memory that the answer took\n"
          "  --help, --version\n\n"
          "examples:\n"
          "  gc-inspect $(pidof server) types\n"
          "  gc-inspect core.4711 --json retained > retained.json\n"
          "  gc-inspect core.4711 path 0x7f3c04000010\n"
          "  gc-inspect --names examples/scheme/scheme.names 4711 objects closure\n",
          file);
}

static _Noreturn void bad_usage(const char *format, const char *what) {
    char message[512];
    snprintf(message, sizeof message, format, what);
    die("%s; gc-inspect --help lists commands and options", message);
}

static uint64_t parse_number(const char *option, const char *digits) {
    char *end;
    errno = 0;
    uint64_t number = strtoull(digits, &end, 10);
    if (end == digits || *end || errno || *digits == '-') die("--%s needs a number, not `%s`", option, digits);
    return number;
}

/* In hexadecimal, as it is printed, with or without 0x. */
static uint64_t parse_address(const char *digits) {
    char *end;
    errno = 0;
    uint64_t address = strtoull(digits, &end, 16);
    if (end == digits || *end || errno || *digits == '-')
        die("an address is a hexadecimal number such as 0x7f3c04000010, not `%s`", digits);
    return address;
}

/* The command line. */
typedef struct command_line {
    target_options target;
    command_options command;
    bool limited;
    bool cost;
} command_line;

enum { JSON = 256, COST, LIMIT, GENERATION, HEAP, NAMES, ROOT, SVG, NO_STOP, HELP, VERSION };

/* `argument` is the word on the command line that has it. */
static void take_option(command_line *arguments, int option, const char *argument) {
    switch (option) {
    case JSON:
        output_is_json = true;
        break;
    case LIMIT:
        arguments->limited = true;
        arguments->command.limit = strcmp(optarg, "all") == 0 ? UINT64_MAX : parse_number("limit", optarg);
        break;
    case GENERATION: {
        uint64_t generation = parse_number("generation", optarg);
        if (generation > 2) die("--generation needs 0, 1 or 2, not `%s`", optarg);
        arguments->command.generation = (int)generation;
        break;
    }
    case HEAP: {
        uint64_t heap = parse_number("heap", optarg);
        arguments->command.heap = heap < INT32_MAX ? (int)heap : INT32_MAX;
        break;
    }
    case NAMES:
        names_load(optarg);
        break;
    case COST:
        arguments->cost = true;
        break;
    case ROOT:
        arguments->target.root = optarg;
        break;
    case SVG:
        arguments->command.svg = optarg;
        break;
    case NO_STOP:
        arguments->target.running = true;
        break;
    case HELP:
        print_help(stdout);
        exit(0);
    case VERSION:
        printf("gc-inspect, for descriptions of gc.h up to %d.%d\n", GC_DAC_MAJOR, GC_DAC_MINOR);
        exit(0);
    case ':':
        bad_usage("the option `%s` needs an argument", argument);
    default:
        bad_usage("`%s` is no option, or has an argument that it does not take", argument);
    }
}

static void take_options(command_line *arguments, int argc, char **argv) {
    static const struct option options[] = {{"json", no_argument, NULL, JSON},
                                            {"cost", no_argument, NULL, COST},
                                            {"limit", required_argument, NULL, LIMIT},
                                            {"heap", required_argument, NULL, HEAP},
                                            {"generation", required_argument, NULL, GENERATION},
                                            {"root", required_argument, NULL, ROOT},
                                            {"names", required_argument, NULL, NAMES},
                                            {"svg", required_argument, NULL, SVG},
                                            {"no-stop", no_argument, NULL, NO_STOP},
                                            {"help", no_argument, NULL, HELP},
                                            {"version", no_argument, NULL, VERSION},
                                            {NULL, 0, NULL, 0}};
    for (int i = 1; i < argc; i++) /* for what is wrong before it, too */
        if (strcmp(argv[i], "--json") == 0) output_is_json = true;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) >= 0;)
        take_option(arguments, option, argv[optind - 1]);
}

static const command_entry *find_command(const char *name) {
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    bad_usage("there is no command `%s`", name);
}

/* Heaps. */

static void print_heap_head(const inspected *target, size_t index) {
    const gc_dac_heap *heap = &target->heaps[index];
    json_begin(NULL, '{');
    json_number("heap", index);
    json_address("heap_address", heap->address);
    json_text("doubts", heap->doubts);
    if (target->heaps_count > 1) text("%sheap %zu, at %s\n", index ? "\n" : "", index, hex(heap->address));
    if (heap->doubts && *heap->doubts) note("%s", heap->doubts);
}

typedef struct region_search {
    uint64_t address;
    bool found;
} region_search;

static bool find_region(void *context, const gc_dac_region *region) {
    region_search *search = context;
    search->found |= search->address - region->base < region->end - region->base;
    return !search->found;
}

/* A command about an address is for the heap that has it. */
static bool heap_is_wanted(const inspected *target, size_t index, const command_line *arguments,
                           const command_entry *command) {
    if (arguments->command.heap >= 0) return (size_t)arguments->command.heap == index;
    if (target->heaps_count == 1 || !arguments->command.argument || command->argument == TYPE) return true;
    region_search search = {arguments->command.address, false};
    gc_dac_regions(target->dac, &target->heaps[index], find_region, &search);
    return search.found;
}

static void check_heap(const inspected *target, int heap) {
    if (heap >= 0 && (size_t)heap >= target->heaps_count)
        die("%s has %zu heap%s, so --heap %d names none: they count from 0", target->name, target->heaps_count,
            target->heaps_count == 1 ? "" : "s", heap);
}

static void run(inspected *target, const command_entry *command, const command_line *arguments) {
    size_t heaps = 0;
    check_heap(target, arguments->command.heap);
    if (arguments->command.svg && arguments->command.heap < 0 && target->heaps_count > 1)
        die("%s has %zu heaps, and --svg draws one: choose it by --heap N", target->name, target->heaps_count);
    json_begin("heaps", '[');
    for (size_t i = 0; i < target->heaps_count; i++) {
        if (!heap_is_wanted(target, i, arguments, command)) continue;
        heaps++;
        print_heap_head(target, i);
        command->run(target, &target->heaps[i], &arguments->command);
        json_end();
    }
    json_end();
    if (!heaps) missing("no heap has the address %s", hex(arguments->command.address));
    if (command->argument == TYPE && !target->has_listed)
        missing("no object%s has the type `%s`: `types` lists those that there are",
                arguments->command.generation >= 0 ? " of that generation" : "", arguments->command.argument);
}

static void end_target(inspected *target) {
    uint64_t stopped_ns = target_close(target);
    if (!target->is_process) return;
    json_number("stopped_us", stopped_ns / 1000);
    if (stopped_ns && !output_is_json)
        fprintf(stderr, "process %s was stopped for %.1f ms\n", target->name, (double)stopped_ns / 1e6);
}

static void run_command(int count, char **words, command_line *arguments) {
    inspected target;
    const command_entry *command = find_command(words[1]);
    if (count > 3) bad_usage("`%s` is one argument too many", words[3]);
    if (count == 3 && command->argument == NO_ARGUMENT)
        bad_usage("this command takes no argument such as `%s`", words[2]);
    if (count == 2 && command->argument == TYPE) bad_usage("`%s` needs the name of a type", words[1]);
    if (count == 2 && command->argument == ADDRESS) bad_usage("`%s` needs the address of an object", words[1]);
    if (arguments->command.svg && command->run != command_regions)
        bad_usage("--svg is for `regions`, not `%s`", words[1]);
    arguments->command.argument = count == 3 ? words[2] : NULL;
    if (count == 3 && command->argument != TYPE) arguments->command.address = parse_address(words[2]);
    if (!arguments->limited) arguments->command.limit = command->limit;
    target_open(&target, words[0], &arguments->target);
    if (target.is_process) output_keep();
    output_begin(command->name);
    json_text("target", words[0]);
    run(&target, command, arguments);
    end_target(&target);
}

static void run_diff(int count, char **words, command_line *arguments) {
    inspected before, after;
    if (count != 3) bad_usage("`%s` compares two core files or processes", words[0]);
    if (!arguments->limited) arguments->command.limit = UINT64_MAX;
    target_open(&before, words[1], &arguments->target);
    target_open(&after, words[2], &arguments->target);
    check_heap(&before, arguments->command.heap);
    check_heap(&after, arguments->command.heap);
    if (before.is_process || after.is_process) output_keep();
    output_begin("diff");
    json_text("before", words[1]);
    json_text("after", words[2]);
    command_diff(&before, &after, &arguments->command);
    end_target(&before);
    end_target(&after);
}

/* Memory as the system counts it, pages of a core file included that are in reach. */
static void print_cost(uint64_t began_ns) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "took %.1f s, %.1f s of them of a processor, and at most %ld MB of memory\n",
            (double)target_ns_since(began_ns) / 1e9,
            (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
            usage.ru_maxrss / 1000);
}

int main(int argc, char **argv) {
    command_line arguments = {.command = {.generation = -1, .heap = -1}};
    uint64_t began_ns = target_now_ns();
    output = stdout;
    take_options(&arguments, argc, argv);
    if (argc == optind) {
        if (output_is_json) bad_usage("%s", "a process or core file and a command must be named");
        print_help(stderr);
        return 2;
    }
    if (strcmp(argv[optind], "diff") == 0) {
        run_diff(argc - optind, argv + optind, &arguments);
    } else {
        if (argc - optind < 2) bad_usage("a command must follow `%s`", argv[optind]);
        run_command(argc - optind, argv + optind, &arguments);
    }
    output_end();
    if (arguments.cost) print_cost(began_ns);
    output_write();
    return output_status;
}
