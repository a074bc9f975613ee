/* The formats .json, .svg and .html, and .folded beside them: a profile that was made by hand, with hostile names, is written, read
   by an independent program, and has the same numbers in each. */
#include "../inside.h"
#include "gc_profile.h"

#include <locale.h>

#include "../fixture.h"
#include "folders.h"
#include "profile_model.h"

static char text[1 << 20];

/* What read.pl says of the profile in a format. */
static int read_as(const gc__profile *profile, const char *ending) {
    char name[64], command[160];
    snprintf(name, sizeof name, "/tmp/gc-profile-%d%s", (int)getpid(), ending);
    ok(made_write(profile, name), "%s is written", ending);
    snprintf(command, sizeof command, "perl tests/profile/read.pl %s 2>&1", name);
    FILE *from = popen(command, "r");
    text[fread(text, 1, sizeof text - 1, from)] = 0;
    int status = pclose(from);
    remove(name);
    return status;
}

static void line_is(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void line_is(const char *format, ...) {
    char line[256], within[260];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    snprintf(within, sizeof within, "\n%s\n", line);
    has(text, within, "%s", line);
}

/* What JSON makes of the hostile name; .folded has other rules. */
#define HOSTILE "\"</script>]]>\\\"'&<b>;"

static void same_numbers(const gc__profile *profile, const char *ending, bool counts, const char *odd) {
    int status = read_as(profile, ending);
    is(status, 0, "%s: the reader finds no fault", ending);
    if (status) diag("%.2000s", text);
    line_is("type \"node\" %s 4928", counts ? "154.0" : "-");
    line_is("type \"string\" %s 13045", counts ? "17.0" : "-");
    line_is("type \"pair\" %s 384", counts ? "12.0" : "-");
    line_is("type \"main\" %s 64", counts ? "2.0" : "-");
    has(text, odd, "%s: the hostile name", ending);
}

static void formats(void) {
    gc__profile profile;
    made_profile(&profile);
    same_numbers(&profile, ".folded", false, "</script>]]>");
    same_numbers(&profile, ".svg", false, HOSTILE "\xEF\xBF\xBD\xEF\xBF\xBD\\\\\\n name\" - 5000");
    same_numbers(&profile, ".html", true, HOSTILE "\\u0001\xEF\xBF\xBD\\\\\\n name\" 1.0 5000");
    has(text, "data 40 collections", "all collections are on the page");
    same_numbers(&profile, ".json", true, HOSTILE "\\u0001\xEF\xBF\xBD\\\\\\n name\" 1.0 5000");
    line_is("thread 1001 \"main\"");
    has(text, "thread 1002 " HOSTILE, "a thread with a hostile name");
    ok(!strstr(text, "thread 1003 "), "a thread without one");
    line_is("pause 2 26000 620 1002");
    line_is("pause 20 476000 2060 1002");
    gc__profile_free(&profile);
}

/* The program's locale writes 1,5 for 1.5. */
static void decimal_commas(void) {
    char folder[] = "/tmp/gc-locale-XXXXXX", command[160];
    if (!mkdtemp(folder)) abort();
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 > %s/log 2>&1", folder, folder);
    bool made = system(command) == 0;
    setenv("LOCPATH", folder, 1);
    made = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL && made;
    if (made)
        formats();
    else
        diag("no locale with decimal commas can be made here");
    setlocale(LC_NUMERIC, "C");
    unsetenv("LOCPATH");
    if (!remove_folder(folder)) abort();
}

/* Nothing at all, and one heap that was never collected. */
static void empty(void) {
    static const char *const endings[] = {".svg", ".html", ".json", ".folded"};
    gc__profile profile;
    gc__profile_open(&profile);
    for (int i = 0; i < 4; i++) {
        is(read_as(&profile, endings[i]), 0, "%s: an empty profile", endings[i]);
        if (strstr(text, "broken")) diag("%s", text);
    }
    gc__profile_free(&profile);
}

/* A streamed file is whole after each event, but for the bracket at its end. */
static void streamed(void) {
    gc__profile profile;
    gc__output output;
    char name[64], command[256];
    made_profile(&profile);
    gc__profile_event events[] = {
        {.kind = GC_PROFILE_SAMPLE, .time_ns = 1500000000, .thread = 1001, .type = 1, .bytes = 32},
        {.kind = GC_PROFILE_FINALIZER, .time_ns = 1600000000, .thread = 1003, .amount = 5000},
        {.kind = GC_PROFILE_LOST, .time_ns = 1700000000, .thread = 1001, .amount = 7},
        {.kind = GC_PROFILE_COLLECTION_END, .time_ns = 1800000000, .thread = 1002, .collection = 19},
        {.kind = GC_PROFILE_TICK, .time_ns = 1, .thread = 1001, .type = 2, .bytes = 8},
        {.kind = GC_PROFILE_HANDLE_CREATED, .time_ns = 1800000000, .thread = 1001},
    };
    snprintf(name, sizeof name, "/tmp/gc-profile-%d.json", (int)getpid());
    snprintf(command, sizeof command, "echo ] >> %s; perl tests/profile/read.pl %s 2>&1", name, name);
    for (size_t count = 0; count <= sizeof events / sizeof *events; count++) {
        gc__output_open(&output, name, true);
        gc__trace_begin(&profile, &output);
        gc__trace_events(&profile, events, count, &output);
        gc__output_close(&output);
        FILE *from = popen(command, "r");
        text[fread(text, 1, sizeof text - 1, from)] = 0;
        is(pclose(from), 0, "after %zu events the file is whole", count);
    }
    has(text, "pause 20 476000 2060 1002", "a collection is written when it ends");
    remove(name);
    gc__profile_free(&profile);
}

/* The frames of a stack, the innermost first, as digits. */
static const char *frames_of(const gc__profile *profile, uint32_t stack) {
    static char digits[16];
    size_t length = 0;
    for (; stack && length < sizeof digits - 1; stack = gc__stack_caller(profile, stack))
        digits[length++] = (char)('0' + gc__stack_frame_number(profile, stack));
    digits[length] = 0;
    return digits;
}

/* Stacks that were entered twice are one afterwards, with one entry; the others are as before. */
static void united(void) {
    static const char *const made[] = {"321", "21", "4321", "321", "521", "21", "6", "521", "71", "71"};
    static const char *const kept[] = {"321", "21", "4321", "521", "6", "71"};
    gc__profile profile;
    gc__profile_open(&profile);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        uint32_t stack = 0;
        for (size_t at = strlen(made[i]); at-- > 0;)
            stack = gc__profile_stack_append(&profile, (uint32_t)(made[i][at] - '0'), stack);
        gc__profile_entry *entry = GC__PROFILE_APPEND(&profile, entries);
        entry->stack = stack;
        entry->marks.ticks = 1;
        ok(strcmp(frames_of(&profile, stack), made[i]) == 0, "a stack is as it was entered: %s", made[i]);
    }
    uint32_t branch = gc__profile_stack_append(&profile, 8, profile.entries[4].stack);
    GC__PROFILE_APPEND(&profile, entries)->stack = branch;
    ok(strcmp(frames_of(&profile, branch), "8521") == 0, "a stack with a caller from before");
    size_t words = profile.stacks_count;
    ok(gc__profile_unite(&profile), "stacks are united");
    is(profile.stacks_count, 13, "nothing is there twice, of %zu words", words);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        size_t times = 0;
        for (size_t k = 0; k < sizeof made / sizeof *made; k++) times += strcmp(made[k], kept[i]) == 0;
        ok(strcmp(frames_of(&profile, profile.entries[i].stack), kept[i]) == 0, "one is left of %s", kept[i]);
        is(profile.entries[i].marks.ticks, times, "with what each had");
    }
    is(profile.entries_count, sizeof kept / sizeof *kept + 1, "and no more");
    ok(strcmp(frames_of(&profile, profile.entries[6].stack), "8521") == 0, "the last one is whole");
    gc__profile_free(&profile);
}

/* A program may close descriptors that it does not know, and have their numbers for its own files. */
static void files_of_others(void) {
    gc__output output;
    char name[64], mine[64], read[8] = "";
    snprintf(name, sizeof name, "/tmp/gc-profile-%d.json", (int)getpid());
    snprintf(mine, sizeof mine, "/tmp/gc-mine-%d", (int)getpid());
    for (int streamed = 0; streamed < 2; streamed++) {
        ok(gc__output_open(&output, name, streamed), "a file is opened");
        int number = output.file, file = open(mine, O_RDWR | O_CREAT | O_TRUNC, 0600);
        dup2(file, number), close(file);
        gc__put_text(&output, "not for this file");
        ok(!gc__output_close(&output) && output.error == EBADF, "its number is another file's, which is an error");
        is(pread(number, read, sizeof read, 0), 0, "nothing is written to that");
        is(close(number), 0, "nor is it closed");
    }
    gc__perf_file perf = {0};
    ok(gc__perf_take(&perf, gc__os_file_create_own(name)), "a file for perf is opened");
    int number = perf.file, file = open(mine, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, number), close(file);
    gc__perf_write(&perf, "not for this file", 17);
    is(perf.file, 0, "it is given up");
    is(pread(number, read, sizeof read, 0), 0, "and nothing is written to another");
    is(close(number), 0, "which stays open");
    remove(name), remove(mine);
}

/* Two threads may write a profile to the same file, which is whole: that of him who was the last to end. */
static void same_file_twice(void) {
    gc__output outputs[2];
    char name[64], read[8] = "";
    snprintf(name, sizeof name, "/tmp/gc-profile-%d.json", (int)getpid());
    for (int i = 0; i < 2; i++) ok(gc__output_open(&outputs[i], name, false), "a file is opened");
    gc__put_text(&outputs[1], "other");
    gc__put_text(&outputs[0], "one");
    ok(gc__output_close(&outputs[1]), "one is whole");
    ok(gc__output_close(&outputs[0]), "and then the other");
    FILE *file = fopen(name, "r");
    size_t bytes = fread(read, 1, sizeof read - 1, file);
    fclose(file);
    ok(bytes == 3 && strcmp(read, "one") == 0, "which is what is there: %s", read);
    remove(name);
}

int main(void) {
    files_of_others();
    same_file_twice();
    formats();
    decimal_commas();
    empty();
    streamed();
    united();
    return done();
}
