/* The check of a library's header, which damaged files must not disturb: this program's own file, cut and changed at random. A
   seed is the argument, and is printed if something fails. */
#define GC_IMPLEMENTATION
#include "gc_standalone.h"
#include "standalone/load.h"

#include "../tap.h"

enum { ROUNDS = 20000, HEAD = 4096, KEPT = 64 };

static gc__os_library library;
static unsigned char whole[HEAD];
static size_t whole_bytes; /* of the file */
static uint64_t state;

static uint32_t any(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* The file has these first bytes and this size. Returns whether the check accepts it; the trouble is a clause otherwise. */
static bool accepts(const unsigned char *head, size_t head_bytes, size_t bytes) {
    head_bytes = head_bytes < bytes ? head_bytes : bytes;
    if (ftruncate(library.file, 0) != 0 || ftruncate(library.file, (off_t)bytes) != 0 ||
        pwrite(library.file, head, head_bytes, 0) != (ssize_t)head_bytes)
        abort();
    library.bytes = bytes;
    memset(library.trouble, 0, sizeof library.trouble);
    library.remedy = NULL;
    bool good = gc__elf_check(&library);
    if (!good && (!library.remedy || !*library.trouble || strlen(library.trouble) >= sizeof library.trouble - 1)) {
        diag("no reason is given");
        abort();
    }
    return good;
}

static void open_copy(void) {
    struct stat facts;
    int self = open("/proc/self/exe", O_RDONLY);
    if (self < 0 || fstat(self, &facts) != 0 || read(self, whole, sizeof whole) != (ssize_t)sizeof whole) abort();
    close(self);
    whole_bytes = (size_t)facts.st_size;
    FILE *copy = tmpfile();
    if (!copy) abort();
    library.file = fileno(copy);
}

static void test_cuts(void) {
    int taken = 0;
    for (size_t bytes = 0; bytes < HEAD; bytes++) taken += accepts(whole, sizeof whole, bytes);
    is(taken, 0, "each of the first %d lengths is refused", HEAD);
    ok(!accepts(whole, sizeof whole, whole_bytes - 1), "and a file that lacks its last byte");
    ok(accepts(whole, sizeof whole, whole_bytes), "the whole one is not");
    ok(accepts(whole, sizeof whole, whole_bytes + 1), "nor one that is longer");
}

/* Each bit of the header, and of the descriptions of parts behind it. */
static void test_bits(void) {
    unsigned char changed[HEAD];
    int taken = 0, count = 1024 * 8;
    for (int bit = 0; bit < count; bit++) {
        memcpy(changed, whole, sizeof changed);
        changed[bit / 8] ^= (unsigned char)(1 << bit % 8);
        taken += accepts(changed, sizeof changed, whole_bytes);
    }
    ok(taken > 0 && taken < count, "%d of %d files with one bit changed are accepted", taken, count);
    memcpy(changed, whole, sizeof changed);
    int bad = 0;
    for (int bit = 0; bit < 20 * 8;
         bit++) { /* padding, the ABI and the version of the format are the linker's matter */
        if (bit / 8 >= EI_VERSION && bit / 8 < EI_NIDENT) continue;
        changed[bit / 8] ^= (unsigned char)(1 << bit % 8);
        bad += accepts(changed, sizeof changed, whole_bytes);
        changed[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    is(bad, 0, "none of them in what says which machine the file is for");
}

/* Numbers that overflow, or lie just beyond the file. */
static void test_edges(void) {
    const size_t part = sizeof(Elf64_Ehdr);
    const size_t fields[] = {offsetof(Elf64_Ehdr, e_phoff), offsetof(Elf64_Ehdr, e_shoff),
                             part + offsetof(Elf64_Phdr, p_offset), part + offsetof(Elf64_Phdr, p_filesz)};
    unsigned char changed[HEAD];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const uint64_t values[] = {UINT64_MAX, UINT64_MAX - 55, INT64_MAX, (uint64_t)INT64_MAX + 1, whole_bytes + 1};
        int taken = 0;
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            memcpy(changed, whole, sizeof changed);
            memcpy(changed + fields[i], &values[v], sizeof *values);
            taken += accepts(changed, sizeof changed, whole_bytes);
        }
        is(taken, 0, "the number at byte %zu may not lead out of the file", fields[i]);
    }
}

static void test_random(uint64_t seed) {
    static const unsigned char extremes[] = {0x00, 0xFF, 0x7F, 0x80, 0x01};
    unsigned char changed[HEAD];
    int taken = 0;
    state = seed;
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(changed, whole, sizeof changed);
        for (uint32_t changes = any(8); changes-- > 0;) {
            uint32_t at = any(4) ? any(1024) : any(KEPT), run = any(4) ? 1 : 8;
            unsigned char with = any(2) ? extremes[any(5)] : (unsigned char)any(256);
            memset(changed + at, with, run);
        }
        taken += accepts(changed, sizeof changed, any(2) ? whole_bytes : any((uint32_t)whole_bytes + HEAD));
    }
    ok(taken > 0 && taken < ROUNDS, "%d of %d damaged files are accepted, with seed %llu", taken, ROUNDS,
       (unsigned long long)seed);
}

static void test_noise(uint64_t seed) {
    unsigned char noise[HEAD];
    int taken = 0;
    state = seed;
    for (int round = 0; round < 1000; round++) {
        for (size_t i = 0; i < sizeof noise; i++) noise[i] = (unsigned char)any(256);
        if (round % 2) memcpy(noise, whole, 20);
        taken += accepts(noise, sizeof noise, any(2 * HEAD));
    }
    is(taken, 0, "noise is refused, behind a right beginning, too");
}

int main(int count, char **arguments) {
    uint64_t seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    open_copy();
    test_cuts();
    test_bits();
    test_edges();
    test_random(seed);
    test_noise(seed);
    return done();
}
