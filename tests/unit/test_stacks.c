/* Native stacks: unwinding them, also where they are damaged, and the names of what is on them. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc_stackmap.h"
#include "gc_profile.h"

#include "../fixture.h"
#include "code.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline))
#define MOST 4096

static gc__native_frame frames[MOST];
static uintptr_t expected[MOST];
static size_t count, expected_count, room = MOST;

/* What the compiler's own unwinder says. */
static _Unwind_Reason_Code expect(struct _Unwind_Context *context, void *unused) {
    int before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &before);
    (void)unused;
    if (expected_count == MOST || !pc) return _URC_END_OF_STACK;
    expected[expected_count++] = pc - !before;
    return _URC_NO_REASON;
}

/* Frame 0 is the caller's. */
NOINLINE static void capture(void) {
    gc__native_start start;
    gc__native_here(&start);
    count = gc__native_take(&start, frames, room, NULL);
    expected_count = 0;
    _Unwind_Backtrace(expect, NULL);
    gc__cpu_keep_frame();
}

/* Whether all frames but the innermost are as the compiler's unwinder finds them. */
static bool as_expected(void) {
    if (count + 1 != expected_count) return diag("%zu frames, expected %zu", count, expected_count - 1), false;
    for (size_t i = 0; i < count; i++)
        if (frames[i].pc != expected[i + 1])
            return diag("frame %zu: %#zx, expected %#zx", i, frames[i].pc, expected[i + 1]), false;
    return true;
}

static gc__symbols symbols;
static uintptr_t program_start;
static uint64_t program_offset;

static void is_program(void *context, const gc__os_code *code) {
    (void)context;
    if (*code->path) return;
    program_start = code->start, program_offset = code->offset;
}

static const char *name_of(uintptr_t pc) {
    if (!symbols.image.bytes && !gc__image_map("/proc/self/exe", &symbols.image)) {
        gc__symbols_list(&symbols, "/proc/self/exe", GC__IMAGE_CODE);
        gc__os_each_code(is_program, NULL);
    }
    const gc__symbol *symbol =
        gc__symbols_find(&symbols, gc__symbols_address(&symbols, pc - program_start + program_offset));
    return symbol ? symbol->name : "";
}

/* Whether the frame is that of a function, or of a copy that the compiler has made for some callers: "name.isra.0". */
static bool is_of(const gc__native_frame *frame, const char *name) {
    const char *found = name_of(frame->pc);
    size_t length = strlen(name);
    return strncmp(found, name, length) == 0 && (!found[length] || found[length] == '.');
}

/* The first frame of a function; -1: none. */
static int frame_of(const char *name) {
    for (size_t i = 0; i < count; i++)
        if (is_of(&frames[i], name)) return (int)i;
    return -1;
}

static void print_frames(void) {
    for (size_t i = 0; i < count && i < 40; i++)
        diag("%zu: %#zx %s, below %#zx", i, frames[i].pc, name_of(frames[i].pc), frames[i].cfa);
}

/* Whether these functions follow one another on the stack; up to "main" unless only the first are given. */
static bool stack_is(const char *const *names) {
    size_t at = 0;
    for (; names[at]; at++)
        if (at >= count || !is_of(&frames[at], names[at])) return print_frames(), false;
    return true;
}
#define STACK(...) stack_is((const char *const[]){__VA_ARGS__, NULL})

/* Plain functions. */

NOINLINE static int recurse(int depth) {
    volatile int here = depth;
    if (depth) return recurse(depth - 1) + here;
    capture();
    return here;
}

NOINLINE static void with_alloca(size_t bytes) {
    volatile char *memory = (volatile char *)alloca(bytes);
    memory[0] = 1;
    capture();
    memory[bytes - 1] = 2;
}

typedef int __attribute__((vector_size(32))) wide;
NOINLINE static int with_alignment(wide *given) {
    volatile wide here = *given; /* a stack that is aligned anew */
    capture();
    return here[0];
}

NOINLINE static int with_many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
    capture();
    gc__cpu_keep_frame();
    return a + b + c + d + e + f + g + h + i + j;
}

NOINLINE static int in_order(const void *a, const void *b) {
    if (!count) capture();
    return *(const int *)a - *(const int *)b;
}

NOINLINE static void through_sorting(void) {
    int numbers[] = {3, 1, 2};
    count = 0;
    qsort(numbers, 3, sizeof *numbers, in_order);
    gc__cpu_keep_frame();
}

NOINLINE static void plain(void) {
    recurse(0);
    ok(STACK("recurse", "plain", "main"), "a call");
    ok(as_expected(), "all frames of it");
    ok(frames[1].cfa > frames[0].cfa, "frames end at ascending addresses");
    recurse(3000);
    ok(as_expected(), "3000 calls deep");
    ok(STACK("recurse", "recurse", "recurse"), "the first frames of them");
    room = 100;
    recurse(3000);
    room = MOST;
    is(count, 100, "no more frames than there is room for");
    ok(frames[99].cfa < UINTPTR_MAX, "the last one of them has an end");
    with_alloca(100 + (size_t)(random_bits() % 5000));
    ok(STACK("with_alloca", "plain", "main") && as_expected(), "a function that uses alloca");
    wide one = {1};
    with_alignment(&one);
    ok(STACK("with_alignment", "plain", "main") && as_expected(), "a function that aligns its stack");
    with_many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    ok(STACK("with_many", "plain", "main") && as_expected(), "a call with arguments on the stack");
    through_sorting();
    ok(STACK("in_order") && frame_of("through_sorting") > 0 && as_expected(), "a callback of the C library");
}

static void *other_thread(void *unused) {
    (void)unused;
    recurse(10);
    return as_expected() && frame_of("other_thread") > 0 ? &count : NULL;
}

NOINLINE static void threads(void) {
    pthread_t thread;
    void *result = NULL;
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, &result);
    ok(result, "the stack of another thread, to its start");
}

/* Signals. On AArch64 the caller of a function without a frame of its own that was interrupted is not found. */

static gc__native_frame interrupted[MOST];
static size_t interrupted_count;

NOINLINE static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    interrupted_count = gc__native_take_interrupted(context, interrupted, MOST);
    capture();
    gc__cpu_keep_frame();
}

/* A fault, since the C library's raise has frames of its own. */
NOINLINE static void faulty(volatile int *where) {
    *where = 1;
    gc__cpu_keep_frame();
}

static char *barred;
static void on_fault(int number, siginfo_t *info, void *context) {
    on_signal(number, info, context);
    mprotect(barred, 4096, PROT_READ | PROT_WRITE);
}

NOINLINE static void catch_faults(int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(SIGSEGV, &action, NULL);
    mprotect(barred, 4096, PROT_NONE);
    faulty((volatile int *)(void *)barred);
}

static void check_interrupted(const char *where) {
    ok(STACK("on_signal", "on_fault"), "in a handler on %s", where);
    int at = frame_of("faulty");
    ok(at > 0 && at + 2 == frame_of("signals"), "beyond it the code that was interrupted");
    ok(interrupted_count >= 3 && interrupted_count + (size_t)at == count, "from its context");
    bool same = true;
    for (size_t i = 0; i < interrupted_count; i++) same &= interrupted[i].pc == frames[(size_t)at + i].pc;
    ok(same, "the same frames");
}

NOINLINE __attribute__((unused)) static void signals(void) {
    catch_faults(0);
    check_interrupted("the same stack");
    ok(as_expected(), "as the compiler's unwinder finds them");
    static char memory[1 << 18];
    stack_t other = {memory, 0, sizeof memory};
    sigaltstack(&other, NULL);
    catch_faults(SA_ONSTACK);
    check_interrupted("a stack of its own");
    signal(SIGSEGV, SIG_DFL);
    gc__cpu_keep_frame();
}

/* Code that no table describes. */
void without_table(void (*f)(void));
void without_anything(void (*f)(void));
#if defined(__x86_64__)
__asm__(
    ".pushsection .text\n"
    ".type without_table, @function\nwithout_table:\n\tpush %rbp\n\tmov %rsp, %rbp\n\tcall *%rdi\n\tpop %rbp\n\tret\n"
    ".size without_table, .-without_table\n"
    ".type without_anything, @function\nwithout_anything:\n\tsub $24, %rsp\n\tcall *%rdi\n\tadd $24, %rsp\n\tret\n"
    ".size without_anything, .-without_anything\n\t.popsection");

NOINLINE static void without_tables(void) {
    without_table(capture);
    ok(STACK("without_table", "without_tables", "main"), "code without a table is left by its frame pointer");
    without_anything(capture);
    ok(STACK("without_anything"), "code that keeps no frame pointer either is on the stack itself");
}

/* Compiled code. */

NOINLINE static void call_capture(void) {
    capture();
    gc__cpu_keep_frame();
}

NOINLINE static uintptr_t preserved(const method *m) {
    volatile uintptr_t here = 5; /* in a register that the method overwrites, perhaps */
    uintptr_t result = gc_code_call(gc, m->start, NULL, 0);
    return result + here;
}

NOINLINE static void check_compiled(const method *m, const char *how) {
    preserved(m);
    int at = frame_of("gc_code_call_native");
    bool there = at >= 1 && frames[at + 1].pc - (uintptr_t)m->start < m->code.bytes;
    ok(STACK("call_capture") && there, "a compiled method %s is between two native functions", how);
    ok(frame_of("gc__code_enter") == at + 2 && frame_of("preserved") > at + 2 && frame_of("main") > at + 3,
       "its caller is found, and main");
    if (!there || frame_of("main") < 0) print_frames();
}

/* Two methods, the first of which calls the second without the help of the stubs. */
static method *caller_of(const method *other) {
    method *m = method_begin("outer");
    enter(m), save(m, RBX), clear(m, RBX);
    call_method(m, other, 0);
    restore(m, RBX), leave(m), ret(m);
    return method_end(m);
}

NOINLINE static void compiled(void) {
    method *m = method_begin("with a frame pointer");
    enter(m), save(m, RBX), clear(m, RBX), call_native(m, call_capture, 0), restore(m, RBX), leave(m), ret(m);
    method_end(m);
    check_compiled(m, "with a frame pointer");
    method *without = method_begin("without");
    save(without, RBX), save(without, RBP), clear(without, RBX), clear(without, RBP); /* its caller is found by rbp */
    call_native(without, call_capture, 0), restore(without, RBP), restore(without, RBX), ret(without);
    method_end(without);
    check_compiled(without, "without a frame pointer");
    method *outer = caller_of(without);
    preserved(outer);
    int at = frame_of("gc_code_call_native");
    ok(at > 0 && frames[at + 1].pc - (uintptr_t)without->start < without->code.bytes &&
           frames[at + 2].pc - (uintptr_t)outer->start < outer->code.bytes && frame_of("main") > at + 3,
       "two compiled methods follow one another");
    method_free(outer), method_free(without), method_free(m);

    unsigned char *memory = code_memory(4096);
    static const unsigned char plain_code[] = {0x55, 0x48, 0x89, 0xE5, 0xFF,
                                               0xD7, 0x5D, 0xC3}; /* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
    memcpy(memory, plain_code, sizeof plain_code);
    code_protect(memory, 4096);
    void (*f)(void (*)(void));
    memcpy(&f, &memory, sizeof f);
    f(capture);
    ok(count > 3 && frames[0].pc - (uintptr_t)memory < sizeof plain_code && frame_of("compiled") == 1 &&
           frame_of("main") == 2,
       "code that nobody has described is left by its frame pointer");
    munmap(memory, 4096);
}
#endif

/* Damage. */

static uintptr_t garbage[512];

/* Starts a walk with registers that may be anything, in code that is there. */
static size_t walk_from(uintptr_t pc, uintptr_t sp, uintptr_t pointer) {
    gc__native_cursor cursor;
    memset(&cursor, 0, sizeof cursor);
    cursor.known = ((uint64_t)1 << GC__CPU_REGISTERS) - 1;
    for (int i = 0; i < GC__CPU_REGISTERS; i++) cursor.registers[i] = (uintptr_t)random_bits();
    cursor.registers[GC__CPU_PC] = pc, cursor.registers[GC__CPU_SP] = sp, cursor.registers[GC__CPU_FRAME] = pointer;
    cursor.is_call = random_bits() & 1;
    gc__native_bound(&cursor, true);
    return gc__native_list(&cursor, frames, 0, 64);
}

static uintptr_t random_code(uintptr_t start, size_t bytes) { return start + (uintptr_t)random_bits() % bytes; }

static uintptr_t random_place(uintptr_t here) {
    switch (random_bits() % 5) {
    case 0:
        return (uintptr_t)random_bits();
    case 1:
        return here + (uintptr_t)random_bits() % (1 << 16) - (1 << 15);
    case 2:
        return (uintptr_t)barred + (uintptr_t)random_bits() % 4096 - 64;
    case 3:
        return (uintptr_t)(garbage + random_bits() % 512);
    default:
        return (here & ~(uintptr_t)7) + 8 * (uintptr_t)(random_bits() % 64);
    }
}

static void damaged(void) {
    gc__native_start start;
    gc__native_here(&start);
    uintptr_t here = start.registers[GC__CPU_SP], library = (uintptr_t)qsort;
    size_t longest = 0;
    mprotect(barred, 4096, PROT_NONE);
    for (int i = 0; i < 20000; i++) {
        for (int j = 0; j < 16; j++)
            garbage[random_bits() % 512] =
                random_bits() % 2 ? random_place((uintptr_t)garbage) : random_code(library - 100000, 200000);
        uintptr_t pc =
            random_bits() % 2 ? random_code(library - 100000, 200000) : random_code((uintptr_t)damaged - 50000, 100000);
        longest = gc__max(longest, walk_from(pc, random_place(here), random_place(here)));
    }
    ok(longest > 1, "20000 walks from anywhere end without a fault; the longest had %zu frames", longest);
}

/* Expressions: a length, operations, and their result. */
static void expressions(void) {
    static const struct {
        uint8_t bytes[8];
        intptr_t result;
    } known[] = {{{3, 0x35, 0x33, 0x22}, 8},    {{3, 0x35, 0x33, 0x1c}, 2},     {{2, 0x08, 0xFF}, 255},
                 {{2, 0x09, 0xFF}, -1},         {{3, 0x35, 0x23, 5}, 10},       {{3, 0x33, 0x32, 0x24}, 12},
                 {{3, 0x33, 0x32, 0x2a}, 1},    {{3, 0x37, 0x33, 0x1a}, 3},     {{3, 0x31, 0x32, 0x13}, 1},
                 {{3, 0x31, 0x32, 0x14}, 1},    {{2, 0x70, 0x78}, 92},          {{2, 0x31, 0x1f}, -1},
                 {{4, 0x31, 0x32, 0x15, 1}, 1}, {{3, 0x0a, 0x34, 0x12}, 0x1234}};
    static const uint8_t wrong[][8] = {{1, 0x22},       {2, 0x31, 0x22}, {0},      {9, 0x31},
                                       {2, 0x30, 0x06}, {2, 0x76, 0},    {1, 0xE0}};
    gc__native_cursor cursor;
    memset(&cursor, 0, sizeof cursor);
    cursor.known = 1, cursor.registers[0] = 100;
    unsigned right = 0, refused = 0;
    uintptr_t value;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uintptr_t at = (uintptr_t)known[i].bytes;
        bool has = gc__expression_value(&cursor, gc__byte_reader_of(at, at + 8), NULL, &value);
        right += has && value == (uintptr_t)known[i].result;
        if (!has || value != (uintptr_t)known[i].result) diag("expression %zu", i);
    }
    is(right, sizeof known / sizeof *known, "expressions have the values that DWARF gives them");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused += !gc__expression_value(&cursor, gc__byte_reader_of((uintptr_t)wrong[i], (uintptr_t)wrong[i] + 8),
                                         NULL, &value);
    is(refused, sizeof wrong / sizeof *wrong, "those that take what is not there have none");
}

/* Tables that are damaged: each byte of a small file's, in turn. */
static void damaged_tables(void) {
    static gc__cfi cfi;
    unsigned found = 0;
    uintptr_t pc = (uintptr_t)recurse + 4;
    gc__rule rule;
    gc__rule_find(pc, 1, &rule, &cfi);
    ok(rule.kind == (GC__CPU_HAS_CFI ? GC__RULE_SHORT : GC__RULE_NO_TABLE),
       "a function's table is found where tables are read");
    uint8_t table[256];
    gc__os_tables tables = {(uintptr_t)table, 0, (uintptr_t)table, (uintptr_t)table + sizeof table};
    for (int i = 0; i < 200000; i++) {
        for (size_t j = 0; j < sizeof table; j++) table[j] = (uint8_t)random_bits();
        table[0] = 1, table[1] = 0x1b, table[2] = random_bits() % 4 ? 0x03 : 0xff, table[3] = 0x3b;
        int32_t words[4] = {60, (int32_t)(random_bits() % 8), (int32_t)(pc - (uintptr_t)table),
                            64 + (int32_t)(random_bits() % 32)};
        memcpy(table + 4, words, 16);
        uint32_t lengths[2] = {(uint32_t)(random_bits() % 64), (uint32_t)(random_bits() % 100)};
        if (random_bits() % 2) memcpy(table + 64, lengths, 8);
        found += gc__cfi_find(&cfi, &tables, pc);
    }
    ok(found < 200000, "200000 damaged tables are read without a fault");
}

/* Names. */

/* A file with two functions, `first` in [0x1000, 0x1010) and `second`, without a size, at 0x1020; its last page is followed by
   one that cannot be read. */
typedef struct small_file {
    Elf64_Ehdr header;
    Elf64_Phdr parts[2];
    struct {
        Elf64_Nhdr header;
        char owner[4];
        uint8_t id[20];
    } note;
    Elf64_Sym symbols[6];
    char texts[64], names[64], link[16];
    Elf64_Shdr sections[5];
} small_file;

static void small_file_make(small_file *file) {
    memset(file, 0, sizeof *file);
    memcpy(file->header.e_ident, ELFMAG "\2\1\1", 7);
    file->header.e_ident[EI_DATA] = GC__IMAGE_ORDER;
    file->header.e_phoff = offsetof(small_file, parts), file->header.e_phentsize = sizeof(Elf64_Phdr),
    file->header.e_phnum = 2;
    file->header.e_shoff = offsetof(small_file, sections), file->header.e_shentsize = sizeof(Elf64_Shdr);
    file->header.e_shnum = 5, file->header.e_shstrndx = 3;
    file->parts[0] = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, 0, 0x1000, 0x1000, sizeof *file, sizeof *file, 4096};
    file->parts[1] =
        (Elf64_Phdr){PT_NOTE, PF_R, offsetof(small_file, note), 0, 0, sizeof file->note, sizeof file->note, 4};
    file->note.header = (Elf64_Nhdr){4, 20, NT_GNU_BUILD_ID};
    memcpy(file->note.owner, "GNU", 4);
    for (uint8_t i = 0; i < 20; i++) file->note.id[i] = i;
    const unsigned char function = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), local = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
    memcpy(file->texts, "\0first\0second\0__first\0label\0data", 33);
    file->symbols[1] = (Elf64_Sym){14, function, 0, 1, 0x1000, 16};
    file->symbols[2] = (Elf64_Sym){1, local, 0, 1, 0x1000, 16};
    file->symbols[3] = (Elf64_Sym){7, function, 0, 1, 0x1020, 0};
    file->symbols[4] = (Elf64_Sym){22, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), 0, 1, 0x1008, 0};
    file->symbols[5] = (Elf64_Sym){28, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, 0x1028, 8};
    memcpy(file->names, "\0.symtab\0.strtab\0.shstrtab\0.gnu_debuglink", 42);
    memcpy(file->link, "a.debug\0\1\2\3\4", 12);
    file->sections[1].sh_name = 1, file->sections[1].sh_type = SHT_SYMTAB, file->sections[1].sh_link = 2;
    file->sections[1].sh_offset = offsetof(small_file, symbols), file->sections[1].sh_size = sizeof file->symbols;
    file->sections[2].sh_name = 9, file->sections[2].sh_type = SHT_STRTAB;
    file->sections[2].sh_offset = offsetof(small_file, texts), file->sections[2].sh_size = sizeof file->texts;
    file->sections[3].sh_name = 17, file->sections[3].sh_type = SHT_STRTAB;
    file->sections[3].sh_offset = offsetof(small_file, names), file->sections[3].sh_size = sizeof file->names;
    file->sections[4].sh_name = 27, file->sections[4].sh_type = SHT_PROGBITS;
    file->sections[4].sh_offset = offsetof(small_file, link), file->sections[4].sh_size = 12;
}

static const char *name_in(const gc__symbols *list, uint64_t address) {
    const gc__symbol *symbol = gc__symbols_find(list, address);
    return symbol ? symbol->name : "(none)";
}

static void files(void) {
    unsigned char *pages = code_memory(3 * 4096), *end = pages + 2 * 4096;
    mprotect(end, 4096, PROT_NONE);
    small_file *file = (small_file *)(void *)(end - sizeof *file), whole;
    gc__symbols list;
    size_t length = 0, found = 0;
    small_file_make(file);
    whole = *file;
    memset(&list, 0, sizeof list);
    list.image = (gc__image){(const uint8_t *)file, sizeof *file};
    gc__symbols_list(&list, "/nowhere/a", GC__IMAGE_CODE);
    is(list.count, 3, "the functions of a file, with all their names");
    ok(strcmp(name_in(&list, 0x1000), "first") == 0, "of two names that without underscores is preferred");
    ok(strcmp(name_in(&list, 0x100c), "first") == 0, "a label within a function does not end it");
    ok(strcmp(name_in(&list, 0x1010), "(none)") == 0, "between functions there is no name");
    ok(strcmp(name_in(&list, 0xfff), "(none)") == 0, "nor ahead of them");
    ok(strcmp(name_in(&list, 0x1030), "second") == 0, "a function without a size reaches far");
    is(gc__symbols_address(&list, 0x20), 0x1020, "an offset in the file is an address");
    ok(gc__image_build_id(&list.image, &length) == file->note.id && length == 20, "its build id");
    for (int i = 0; i < 100000; i++) {
        *file = whole;
        for (unsigned j = 0, changes = (unsigned)random_bits() % 4; j < changes; j++) {
            size_t at = (size_t)random_bits() % sizeof *file;
            ((uint8_t *)file)[at] = random_bits() % 2 ? (uint8_t)random_bits() : (uint8_t)(random_bits() % 2 - 1);
        }
        size_t cut = random_bits() % 2 ? 0 : (size_t)random_bits() % sizeof *file;
        memmove((char *)file + cut, file, sizeof *file - cut);
        if (list.list) gc__os_unmap(list.list, list.capacity_bytes);
        memset(&list, 0, sizeof list);
        list.image = (gc__image){(const uint8_t *)file + cut, sizeof *file - cut};
        gc__symbols_list(&list, "/nowhere/a", GC__IMAGE_CODE);
        gc__image_build_id(&list.image, &length);
        gc__symbols_address(&list, (uint64_t)random_bits());
        found += strcmp(name_in(&list, 0x1000), "first") == 0;
    }
    ok(found > 1000 && found < 99000, "100000 damaged and cut files are read within their bounds; %zu names are found",
       found);
    if (list.list) gc__os_unmap(list.list, list.capacity_bytes);
    munmap(pages, 3 * 4096);
}

static uint32_t add_frame(gc__profile *profile, uintptr_t pc) {
    gc__frame_key key = {pc, 0, 0, 0, 0, 0, 0};
    return gc__profile_frame_add(profile, &key);
}

static const char *frame_name(const gc__profile *profile, uint32_t frame) {
    return gc__profile_text(profile, profile->frames[frame].name);
}

#ifdef __x86_64__
#define VDSO_CLOCK "__vdso_clock_gettime"
#else
#define VDSO_CLOCK "__kernel_clock_gettime"
#endif
static void names(void) {
    gc__profile profile;
    gc__profile_open(&profile);
    uint32_t own = add_frame(&profile, (uintptr_t)recurse + 1), library = add_frame(&profile, (uintptr_t)lrand48 + 1);
    uint32_t wild = add_frame(&profile, 64);
    gc__names_find(&profile);
    ok(strcmp(frame_name(&profile, own), "recurse") == 0, "a frame of the program");
    is(profile.frames[own].name_start, (uintptr_t)recurse, "where its function starts");
    is(profile.frames[own].module, 1, "the program is the first module");
    has(gc__profile_text(&profile, profile.modules[1].file), "/", "its file");
    ok(profile.modules[1].start < (uintptr_t)recurse && profile.modules[1].end > (uintptr_t)recurse, "where it is");
    has(frame_name(&profile, library), "lrand48", "a frame of a library");
    has(gc__profile_text(&profile, profile.modules[profile.frames[library].module].file),
        getauxval(AT_BASE) ? "libc" : "/", "its file, which is the program in static links");
    ok(!profile.frames[wild].name && !profile.frames[wild].module, "an address of no code");
    size_t modules = profile.modules_count;
    gc__modules_add(&profile);
    is(profile.modules_count, modules, "each module is there once");
    bool vdso = false;
    for (uint32_t i = 1; i < profile.modules_count; i++) {
        gc__symbols list;
        if (strcmp(gc__profile_text(&profile, profile.modules[i].file), GC__OS_NO_FILE) != 0) continue;
        if (!gc__names_open(&profile, i, &list)) continue;
        for (size_t j = 0; j < list.count; j++) vdso |= strcmp(list.list[j].name, VDSO_CLOCK) == 0;
        gc__symbols_close(&list);
    }
    ok(vdso || !getauxval(AT_SYSINFO_EHDR), "the functions of the vdso have names");
    gc__profile_free(&profile);
}

int main(void) {
    begin(&(gc_options){0});
    plain();
    threads();
    barred = (char *)mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#if defined(__x86_64__)
    signals();
    without_tables();
    compiled();
#endif
    damaged();
    expressions();
    damaged_tables();
    files();
    names();
    gc__symbols_close(&symbols);
    end();
    return done();
}
