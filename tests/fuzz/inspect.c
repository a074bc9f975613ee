/* gc-inspect over cores from anywhere: each command ends, in text or JSON, with an answer or a sentence that says why there is none.
   It is linked with tools/inspect, whose main and exit have other names here. Seeds: tests/fuzz/seeds/dac.c. */
#include "gc_dac.h"
#include "../../tools/inspect/output.h"

#include <getopt.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int inspect_main(int argc, char **argv);
_Noreturn void inspect_exit(int status);

static jmp_buf left;
_Noreturn void inspect_exit(int status) { longjmp(left, status + 1); }

/* An object, since few of random addresses are one. */
typedef struct choice {
    uint64_t address;
    size_t wanted;
} choice;
static bool choose_object(void *context, const gc_dac_object *object) {
    choice *chosen = context;
    chosen->address = object->address;
    return chosen->wanted-- > 0;
}
typedef struct choosing {
    gc_dac *dac;
    choice chosen;
} choosing;
static bool choose_in(void *context, const gc_dac_heap *heap) {
    choosing *all = context;
    gc_dac_objects(all->dac, heap, choose_object, &all->chosen);
    return false;
}

static void run(const char *core, const char *command, const char *argument, bool json) {
    char *words[] = {(char *)"gc-inspect", (char *)"--root", (char *)"/nonexistent", (char *)core,
                     (char *)command,      (char *)argument, (char *)"--json",       NULL};
    int count = 5 + (argument != NULL);
    if (json) words[count++] = (char *)"--json";
    words[count] = NULL;
    optind = 0;
    output_is_json = false;
    output_status = 0;
    if (!setjmp(left)) inspect_main(count, words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const commands[] = {"summary",  "types",  "regions", "handles", "finalizers", "threads",
                                           "retained", "verify", "objects", "object",  "path",       "retained"};
    static int file = -1;
    char core[64], address[32];
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 1099511628211u;
    if (file < 0) file = memfd_create("core", 0);
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size) abort();
    snprintf(core, sizeof core, "/proc/self/fd/%d", file);
    choosing all = {gc_dac_open_core(core, "/nonexistent"), {hash, hash % 32}};
    gc_dac_heaps(all.dac, choose_in, &all);
    gc_dac_close(all.dac);
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)all.chosen.address);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        run(core, commands[i], i < 8 ? NULL : i == 8 ? "cell" : address, hash >> (32 + i) & 1);
    return 0;
}
