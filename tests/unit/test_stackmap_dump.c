/* Stack maps as text: the seed's two methods exactly, what else a dump can show, and why a variable is not live. */
#include "../inside.h"
#include "../random/stackmap_model.h"
#include "stackmap_seed.h"

static uint8_t map[1 << 16];
static char *text;
static size_t text_bytes;

static FILE *page(void) {
    free(text);
    return open_memstream(&text, &text_bytes);
}

/* Line by line, so that a failure shows the line. */
static void same(FILE *out, const char *expected, const char *name) {
    fclose(out);
    const char *got = text;
    int line = 1;
    for (; *got && *got == *expected; got++, expected++) line += *got == '\n';
    ok(!*got && !*expected, "%s", name);
    if (*got || *expected) diag("line %d: got '%.60s', expected '%.60s', of:\n%s", line, got, expected, text);
}

static void encode(const gc_stackmap_method *method) {
    size_t bytes = gc_stackmap_encode(method, map, sizeof map);
    if (!bytes || bytes > sizeof map) diag("%s", gc_last_message());
}

static gc_dump_options seed_options(method *m, bool is_debug) {
    gc_dump_options options = {.code = m->code, .address = 0x02f00058, .disassemble = disassemble, .host = m};
    options.notes = is_debug ? debug_notes : release_notes, options.note_count = 4;
    options.variables = is_debug ? debug_variables : release_variables, options.variable_count = 2;
    return options;
}

static const char debug_header[] = "Method info block:\n"
                                   "    method      size   = 0071\n"
                                   "    prolog      size   =  13\n"
                                   "    epilog     count   =   1\n"
                                   "    epilog      end    = yes\n"
                                   "    saved registers    = rbx rbp r12 r13\n"
                                   "    rbp frame          = yes\n"
                                   "    fully interruptible= yes, 000D to 0066\n"
                                   "    security object    = no\n"
                                   "    stack guard        = no\n"
                                   "    previous frame     = no\n"
                                   "    generics context   = no\n"
                                   "    reverse call       = no\n"
                                   "    exception handlers = no\n"
                                   "    local alloc        = no\n"
                                   "    edit & continue    = yes, 0 bytes\n"
                                   "    varargs            = no\n"
                                   "    innermost only     = no\n"
                                   "    argument   count   =   0\n"
                                   "    outgoing   count   =   0\n"
                                   "    stack frame size   =   5\n"
                                   "    return      kind   = scalar\n"
                                   "    slot       count   =   6\n"
                                   "    untracked  count   =   0\n"
                                   "    epilog        at   = before 006A\n";

static void test_debug_table(void) {
    gc_stackmap_method method = debug_method();
    encode(&method);
    FILE *out = page();
    fputs(debug_header, out);
    fputs("\nPointer table:\n"
          "0001        push rbp\n"
          "0004        rbp = rsp+0, the frame pointer\n"
          "0005        push rbx\n"
          "0007        push r12\n"
          "0009        push r13\n"
          "000D        rsp-8\n"
          "000D        fully interruptible from here on\n"
          "000F        reg rbx becoming live\n"
          "0012        reg r12 becoming live\n"
          "001C        reg rax becoming live\n"
          "001F        reg r13 becoming live\n"
          "0022        reg rdi becoming live\n"
          "002D        reg rax becoming dead\n"
          "002D        reg rdi becoming dead\n"
          "003A        reg rax becoming live\n"
          "003A        reg r13 becoming dead\n"
          "003D        reg r13 becoming live\n"
          "0040        reg rsi becoming live\n"
          "0043        reg rdi becoming live\n"
          "004E        reg rax becoming dead\n"
          "004E        reg rdi becoming dead\n"
          "004E        reg rsi becoming dead\n"
          "0054        reg rdi becoming live\n"
          "005A        reg rdi becoming dead\n"
          "005A        reg r13 becoming dead\n"
          "0066        reg rbx becoming dead\n"
          "0066        reg r12 becoming dead\n"
          "0066        partially interruptible from here on\n"
          "006A        rsp = rbp-24\n"
          "006C        pop r13\n"
          "006E        pop r12\n"
          "006F        pop rbx\n"
          "0070        pop rbp\n",
          out);
    fclose(out);
    char *expected = strdup(text);
    gc_dump_options options = {.no_encoding = true};
    out = page();
    gc_stackmap_dump(map, out, &options);
    same(out, expected, "Debug: header and pointer table");
    free(expected);
}

static void test_debug_code(void) {
    gc_stackmap_method method = debug_method();
    struct method code = METHOD(debug_instructions);
    gc_dump_options options = seed_options(&code, true);
    is(code.bytes, method.code_bytes, "the code is as long as its map says");
    encode(&method);
    options.no_header = options.no_unwinding = true;
    FILE *out = page();
    gc_stackmap_dump(map, out, &options);
    same(out,
         "02f00058 55                   push   rbp\n"
         "02f00059 4889e5               mov    rbp,rsp\n"
         "02f0005c 53                   push   rbx\n"
         "02f0005d 4154                 push   r12\n"
         "02f0005f 4155                 push   r13\n"
         "02f00061 4883ec08             sub    rsp,0x8\n"
         "    GCInfo:      000D        fully interruptible from here on\n"
         "02f00065 31db                 xor    ebx,ebx\n"
         "    GCInfo:      000F        reg rbx=t becoming live\n"
         "02f00067 4531e4               xor    r12d,r12d\n"
         "    GCInfo:      0012        reg r12=tp becoming live\n"
         "\nTest t = new Test (1);\n\n"
         "02f0006a bfe850ad00           mov    edi,0xad50e8 (MT: Test)\n"
         "02f0006f e8fb0f0000           call   JitHelp: new\n"
         "    GCInfo:      001C        reg rax becoming live\n"
         "02f00074 4989c5               mov    r13,rax\n"
         "    GCInfo:      001F        reg r13 becoming live\n"
         "02f00077 4c89ef               mov    rdi,r13\n"
         "    GCInfo:      0022        reg rdi becoming live\n"
         "02f0007a be01000000           mov    esi,0x1\n"
         "02f0007f ff1500200000         call   Test..ctor\n"
         "    GCInfo:      002D        reg rax becoming dead\n"
         "    GCInfo:      002D        reg rdi becoming dead\n"
         "02f00085 4c89eb               mov    rbx,r13\n"
         "\nThreadProc tp = new ThreadProc (t.Reflect);\n\n"
         "02f00088 bfc451ad00           mov    edi,0xad51c4 (MT: Test/ThreadProc)\n"
         "02f0008d e8fb0f0000           call   JitHelp: new\n"
         "    GCInfo:      003A        reg rax becoming live\n"
         "    GCInfo:      003A        reg r13 becoming dead\n"
         "02f00092 4989c5               mov    r13,rax\n"
         "    GCInfo:      003D        reg r13 becoming live\n"
         "02f00095 4889de               mov    rsi,rbx\n"
         "    GCInfo:      0040        reg rsi becoming live\n"
         "02f00098 4c89ef               mov    rdi,r13\n"
         "    GCInfo:      0043        reg rdi becoming live\n"
         "02f0009b ba9350ad00           mov    edx,0xad5093\n"
         "02f000a0 ff1500200000         call   Test/ThreadProc..ctor\n"
         "    GCInfo:      004E        reg rax becoming dead\n"
         "    GCInfo:      004E        reg rdi becoming dead\n"
         "    GCInfo:      004E        reg rsi becoming dead\n"
         "02f000a6 4d89ec               mov    r12,r13\n"
         "\nNewThread (tp);\n\n"
         "02f000a9 4c89e7               mov    rdi,r12\n"
         "    GCInfo:      0054        reg rdi becoming live\n"
         "02f000ac ff1500200000         call   Test.NewThread\n"
         "    GCInfo:      005A        reg rdi becoming dead\n"
         "    GCInfo:      005A        reg r13 becoming dead\n"
         "\nThread.Sleep (1000);\n\n"
         "02f000b2 bfe8030000           mov    edi,0x3e8\n"
         "02f000b7 ff1500200000         call   System.Threading.Thread.Sleep\n"
         "02f000bd 90                   nop\n"
         "    GCInfo:      0066        reg rbx=t becoming dead\n"
         "    GCInfo:      0066        reg r12=tp becoming dead\n"
         "    GCInfo:      0066        partially interruptible from here on\n"
         "02f000be 488d65e8             lea    rsp,[rbp-0x18]\n"
         "02f000c2 415d                 pop    r13\n"
         "02f000c4 415c                 pop    r12\n"
         "02f000c6 5b                   pop    rbx\n"
         "02f000c7 5d                   pop    rbp\n"
         "02f000c8 c3                   ret\n",
         "Debug: the rows beside the code");
}

static void test_release(void) {
    gc_stackmap_method method = release_method();
    struct method code = METHOD(release_instructions);
    gc_dump_options options = seed_options(&code, false), plain = {.no_encoding = true};
    is(code.bytes, method.code_bytes, "the code is as long as its map says");
    encode(&method);
    FILE *out = page();
    gc_stackmap_dump(map, out, &plain);
    same(out,
         "Method info block:\n"
         "    method      size   = 005E\n"
         "    prolog      size   =   7\n"
         "    epilog     count   =   1\n"
         "    epilog      end    = yes\n"
         "    saved registers    = rbx r12\n"
         "    rbp frame          = no\n"
         "    fully interruptible= no\n"
         "    security object    = no\n"
         "    stack guard        = no\n"
         "    previous frame     = no\n"
         "    generics context   = no\n"
         "    reverse call       = no\n"
         "    exception handlers = no\n"
         "    local alloc        = no\n"
         "    edit & continue    = no\n"
         "    varargs            = no\n"
         "    innermost only     = no\n"
         "    argument   count   =   0\n"
         "    outgoing   count   =   0\n"
         "    stack frame size   =   3\n"
         "    return      kind   = scalar\n"
         "    slot       count   =   2\n"
         "    untracked  count   =   0\n"
         "    epilog        at   = before 005A\n"
         "\nPointer table:\n"
         "0001        push rbx\n"
         "0003        push r12\n"
         "0007        rsp-8\n"
         "0011        call 0 [ ]\n"
         "0026        call 0 [ rbx ]\n"
         "002D        rsp-8\n"
         "0032        push\n"
         "003E        call 2 [ r12 ]\n"
         "0042        rsp+16\n"
         "004B        call 0 [ ]\n"
         "0056        call 0 [ ]\n"
         "005A        rsp+8\n"
         "005C        pop r12\n"
         "005D        pop rbx\n",
         "Release: header and pointer table");
    options.no_header = true;
    out = page();
    gc_stackmap_dump(map, out, &options);
    same(out,
         "02f00058 53                   push   rbx\n"
         "    GCInfo:      0001        push rbx\n"
         "02f00059 4154                 push   r12\n"
         "    GCInfo:      0003        push r12\n"
         "02f0005b 4883ec08             sub    rsp,0x8\n"
         "    GCInfo:      0007        rsp-8\n"
         "\nTest t = new Test (1);\n\n"
         "02f0005f bfe850ad00           mov    edi,0xad50e8 (MT: Test)\n"
         "02f00064 e8fb0f0000           call   JitHelp: new\n"
         "    GCInfo:      0011        call 0 [ ]\n"
         "02f00069 4889c3               mov    rbx,rax\n"
         "02f0006c 48c7430801000000     mov    QWORD PTR [rbx+0x8],0x1\n"
         "\nThreadProc tp = new ThreadProc (t.Reflect);\n\n"
         "02f00074 bfbc51ad00           mov    edi,0xad51bc (MT: Test/ThreadProc)\n"
         "02f00079 e8fb0f0000           call   JitHelp: new\n"
         "    GCInfo:      0026        call 0 [ rbx=t ]\n"
         "02f0007e 4989c4               mov    r12,rax\n"
         "02f00081 4883ec08             sub    rsp,0x8\n"
         "    GCInfo:      002D        rsp-8\n"
         "02f00085 689350ad00           push   0xad5093\n"
         "    GCInfo:      0032        push\n"
         "02f0008a 4889de               mov    rsi,rbx\n"
         "02f0008d 4c89e7               mov    rdi,r12\n"
         "02f00090 ff1500200000         call   Test/ThreadProc..ctor\n"
         "    GCInfo:      003E        call 2 [ r12=tp ]\n"
         "02f00096 4883c410             add    rsp,0x10\n"
         "    GCInfo:      0042        rsp+16\n"
         "\nNewThread (tp);\n\n"
         "02f0009a 4c89e7               mov    rdi,r12\n"
         "02f0009d ff1500200000         call   Test.NewThread\n"
         "    GCInfo:      004B        call 0 [ ]\n"
         "\nThread.Sleep (1000);\n\n"
         "02f000a3 bfe8030000           mov    edi,0x3e8\n"
         "02f000a8 ff1500200000         call   System.Threading.Thread.Sleep\n"
         "    GCInfo:      0056        call 0 [ ]\n"
         "02f000ae 4883c408             add    rsp,0x8\n"
         "    GCInfo:      005A        rsp+8\n"
         "02f000b2 415c                 pop    r12\n"
         "    GCInfo:      005C        pop r12\n"
         "02f000b4 5b                   pop    rbx\n"
         "    GCInfo:      005D        pop rbx\n"
         "02f000b5 c3                   ret\n",
         "Release: the rows beside the code");
}

/* The encoded bits: those of the header first, then those of each row; none but the rows at the end of a range has none. */
static void test_encoding(void) {
    gc_stackmap_method method = release_method();
    encode(&method);
    FILE *out = page();
    gc_stackmap_dump(map, out, NULL);
    fclose(out);
    char header[16];
    snprintf(header, sizeof header, "\n%02X %02X %02X", map[0], map[1], map[2]);
    has(text, header, "the header's bytes are those of the map");
    has(text, "   |\n\nPointer table:\n", "they end in a bar");
    bool has_bytes = true;
    for (const char *line = strstr(text, "table:\n") + 7; *line; line = strchr(line, '\n') + 1)
        has_bytes &= line[0] != ' ' && strspn(line, "0123456789ABCDEF. ") == 15 && line[15] == '|';
    ok(has_bytes, "each row has bytes, then a bar");
}

static void test_slots(void) {
    static const gc_stackmap_slot slots[] = {AT_REGISTER(RBX),
                                             {GC_PLACE_REGISTER, R12, GC_SLOT_INTERIOR | GC_SLOT_PINNED, 0, 0},
                                             {GC_PLACE_SP, 0, 0, 0, 16},
                                             {GC_PLACE_FRAME, 0, GC_SLOT_VALUE, 0, -8},
                                             {GC_PLACE_CFA, 0, GC_SLOT_INTERIOR, 0, 8},
                                             {GC_PLACE_CFA, 0, 0, 1, -24},
                                             {GC_PLACE_FRAME, 0, GC_SLOT_VALUE, 1, -16}};
    static const uint64_t live = 31;
    static const gc_stackmap_point points[] = {{0x30, &live}};
    static const gc_stackmap_unwind unwind[] = {{1, GC_UNWIND_PUSH, RBP, 0},
                                                {4, GC_UNWIND_FRAME, 0, 0},
                                                {8, GC_UNWIND_ALLOCATE, 0, 48},
                                                {13, GC_UNWIND_SAVE, R13, 8},
                                                {0x28, GC_UNWIND_PUSH, GC_NO_REGISTER, 0},
                                                {0x2a, GC_UNWIND_POP, GC_NO_REGISTER, 0},
                                                {0x34, GC_UNWIND_RESTORE, R13, 0},
                                                {0x38, GC_UNWIND_LEAVE, 0, 0},
                                                {0x38, GC_UNWIND_POP, RBP, 0},
                                                {0x39, GC_UNWIND_BODY, 0, 0},
                                                {0x44, GC_UNWIND_RESTORE, R13, 0},
                                                {0x48, GC_UNWIND_LEAVE, 0, 0},
                                                {0x48, GC_UNWIND_POP, RBP, 0},
                                                {0x49, GC_UNWIND_BODY, 0, 0}};
    gc_stackmap_method method = {.code_bytes = 0x50,
                                 .prolog_bytes = 13,
                                 .argument_bytes = 16,
                                 .outgoing_bytes = 8,
                                 .returns = {GC_RETURN_OBJECT, GC_RETURN_INTERIOR},
                                 .slots = slots,
                                 .slot_count = 7,
                                 .points = points,
                                 .point_count = 1,
                                 .unwind = unwind,
                                 .unwind_count = 14};
    method.flags = GC_METHOD_VARARGS | GC_METHOD_REPORT_LEAF_ONLY | GC_METHOD_HANDLERS | GC_METHOD_SECURITY_OBJECT |
                   GC_METHOD_STACK_GUARD | GC_METHOD_PREVIOUS_FRAME | GC_METHOD_GENERICS_CONTEXT |
                   GC_METHOD_REVERSE_CALL | GC_METHOD_EDIT_AND_CONTINUE;
    for (int i = 0; i < 6; i++) method.extra[i] = i < 5 ? -16 - 8 * i : 64;
    encode(&method);
    gc_dump_options options = {.no_encoding = true};
    FILE *out = page();
    gc_stackmap_dump(map, out, &options);
    fclose(out);
    const char *parts[] = {"epilog     count   =   2\n",
                           "epilog      end    = no\n",
                           "saved registers    = rbp r13\n",
                           "security object    = [cfa-16]\n",
                           "stack guard        = [cfa-24]\n",
                           "previous frame     = [cfa-32]\n",
                           "generics context   = [cfa-40]\n",
                           "reverse call       = [cfa-48]\n",
                           "exception handlers = yes\n",
                           "local alloc        = no\n",
                           "edit & continue    = yes, 64 bytes\n",
                           "varargs            = yes\n",
                           "innermost only     = yes\n",
                           "argument   count   =   2\n",
                           "outgoing   count   =   1\n",
                           "return      kind   = object, interior\n",
                           "slot       count   =   7\n",
                           "untracked  count   =   2\n",
                           "epilog        at   = before 0034\n",
                           "stack frame size   =   7\n",
                           "\n0000        [cfa-24] (untracked)\n",
                           "\n0000        [rbp-16] (value) (untracked)\n",
                           "save r13 at [rsp+8]\n",
                           "0028        push\n002A        pop\n",
                           "0034        restore r13\n",
                           "0038        rsp = rbp+0\n",
                           "0039        the frame is that of the body again\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) has(text, parts[i], "line %zu of those", i);
    has(text, "call 0 [", "a call, which reports nothing of callers");
    method.flags &= (uint16_t)~GC_METHOD_REPORT_LEAF_ONLY;
    encode(&method);
    out = page();
    gc_stackmap_dump(map, out, &options);
    fclose(out);
    const char *names[] = {"rbx", "r12 (interior) (pinned)", "[rsp+16]", "[rbp-8] (value)", "[cfa+8] (interior)"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        has(strstr(text, "call 0 ["), names[i], "a live slot: %s", names[i]);
}

static size_t never(void *host, const void *code, uint32_t offset, char *out, size_t room) {
    (void)code, (void)offset;
    snprintf(out, room, "x");
    return *(size_t *)host;
}

static void test_code_options(void) {
    gc_stackmap_method method = release_method();
    struct method code = METHOD(release_instructions);
    encode(&method);
    gc_dump_options options = {.no_unwinding = true, .code = code.code, .address = 0x1000, .mark = code.code + 0x12};
    options.boundaries = code.offsets, options.boundary_count = code.count;
    FILE *out = page();
    gc_stackmap_dump(map, out, &options);
    fclose(out);
    has(text, "Will print '>>> ' at address: 00001012\nBegin 00001000, size 5e\n",
        "what is marked, and where the code begins");
    has(text, "\n>>> 00001011 4889c3\n00001014 48c7430801000000\n", "boundaries instead of a disassembler");
    has(text, "\n00001021 e8fb0f0000\n    GCInfo:      0026        call 0 [ rbx ]\n", "rows between them");
    has(text, "epilog        at   = 0056\n", "the epilog's start is known");

    options.boundary_count = 0, options.mark = NULL, options.no_header = true;
    out = page();
    gc_stackmap_dump(map, out, &options);
    fclose(out);
    ok(strncmp(text, "00001000 534154", 15) == 0, "without boundaries, pieces between rows");
    has(text, "\n00001010 00\n    GCInfo:      0011        call 0 [ ]\n", "of up to sixteen bytes a line");

    static const uint32_t odd[] = {0, 0x10, 0x12, 0x40, 0x200};
    options.boundaries = odd, options.boundary_count = 5;
    out = page();
    gc_stackmap_dump(map, out, &options);
    fclose(out);
    has(text, "    GCInfo:      0011        call 0 [ ] (inside of the next instruction!)\n00001010 0048\n",
        "a row that is no instruction's");
    has(text, "\n00001040 ", "boundaries behind the code do not matter");
    is(strlen(strstr(text, "\n00001050 ")), 1 + 9 + 2 * 14 + 1, "and all bytes are printed");

    size_t length = 0;
    options.disassemble = never, options.host = &length;
    out = page();
    gc_stackmap_dump(map, out, &options);
    fclose(out);
    has(text, "\n0000105d c3                   (bad)\n", "an unknown instruction is one byte");
    length = 1000;
    out = page();
    gc_stackmap_dump(map, out, &options);
    fclose(out);
    has(text, "\n0000105d c3                   (bad)\n", "so is one that does not end in the code");
}

/* What gc_stackmap_explain says of the map. */
static void explains(const gc_dump_options *options, uint32_t offset, const char *variable, const char *expected) {
    FILE *out = page();
    bool known = gc_stackmap_explain(map, offset, variable, out, options);
    char name[60];
    snprintf(name, sizeof name, "%s at +0x%02x", variable ? variable : "all", offset);
    same(out, expected, name);
    is(known, strncmp(expected, "No variable", 11) != 0, "which is known, or not");
}

static const char no_stop_40[] =
    "No thread is stopped at +0x40: the code there is partially interruptible, where only calls are safe points. "
    "In the code, the last one before it returns to +0x3e, the next one to +0x4b.\n";
#define ONLY_CALLS "The code there is partially interruptible: only calls are safe points.\n"
#define ANYWHERE "The code there is fully interruptible: a collection may come before each instruction.\n"
#define REMEDY "A later use of `tp` extends its life: what gc_keep_alive is in C.\n"

static void test_explain_release(void) {
    gc_stackmap_method method = release_method();
    struct method code = METHOD(release_instructions);
    gc_dump_options options = seed_options(&code, false);
    encode(&method);
    explains(&options, 0x3e, "tp", "`tp` is in r12 at +0x3e, live across the call that returns there.\n");
    explains(&options, 0x4b, "tp",
             "`tp` is not live at +0x4b: it was in r12 until +0x45; the last call across which r12 was live returns to "
             "+0x3e, "
             "and the compiler saw no later use.\n" ONLY_CALLS REMEDY);
    explains(&options, 0x26, "tp", "`tp` is not live at +0x26: it is first in r12 from +0x29 on.\n" ONLY_CALLS);
    explains(
        &options, 0x02, "tp",
        "No thread is stopped at +0x02: the code there is partially interruptible, a part of the prolog, where only "
        "calls are "
        "safe points. The next one in the code returns to +0x11.\n`tp` is not live at +0x11: it is first in r12 from "
        "+0x29 on.\n");
    FILE *out = page();
    gc_stackmap_explain(map, 0x40, "tp", out, &options);
    fclose(out);
    ok(strncmp(text, no_stop_40, sizeof no_stop_40 - 1) == 0, "between two calls");
    has(text + sizeof no_stop_40 - 1, "`tp` is not live at +0x4b: it was", "the next one is explained");
    explains(
        &options, 0x5b, "t",
        "No thread is stopped at +0x5b: the code there is partially interruptible, where only calls are safe points. "
        "In the code, the last one before it returns to +0x56.\n"
        "`t` is not live at +0x56: it was in rbx until +0x35; the last call across which rbx was live returns to "
        "+0x26, and the "
        "compiler saw no later use.\nA later use of `t` extends its life: what gc_keep_alive is in C.\n");
    explains(&options, 0x26, NULL, "Live at +0x26: rbx=t.\n" ONLY_CALLS);
    explains(&options, 0x4b, NULL, "Live at +0x4b: nothing.\n" ONLY_CALLS);
    explains(&options, 0x5f, "tp", "+0x5f is outside of the method, which has 0x5e bytes of code.\n");
    explains(&options, 0x4b, "x", "No variable is called `x`; there are `t`, `tp`.\n");
    explains(NULL, 0x4b, "x", "No variable is called `x`.\n");

    static const gc_code_variable moves[] = {{"tp", AT_REGISTER(RSI), 0, 0x12},
                                             {"tp", {GC_PLACE_SP, 0, 0, 0, 8}, 0x30, 0x40}};
    options.variables = moves, options.variable_count = 1;
    explains(
        &options, 0x26, "tp",
        "`tp` is not live at +0x26: it was in rsi until +0x12, and the compiler saw no later use.\n" ONLY_CALLS REMEDY);
    options.variable_count = 2;
    explains(&options, 0x26, "tp",
             "`tp` is not live at +0x26: it was in rsi until +0x12, and from +0x30 on it is in [rsp+8].\n" ONLY_CALLS);

    /* Debug information by scopes rather than by uses; a slot that the map lacks; a scratch register; several places. */
    static const gc_code_variable scopes[] = {{"t", AT_REGISTER(RBX), 0, 0x5e},
                                              {"tp", AT_REGISTER(R12), 0, 0x5e},
                                              {"i", AT_REGISTER(R13), 0, 0x5e},
                                              {"tp", AT_REGISTER(RSI), 0x4a, 0x4c},
                                              {"tp", {GC_PLACE_SP, 0, 0, 0, 8}, 0, 2}};
    options.variables = scopes, options.variable_count = 5;
    explains(&options, 0x56, "tp",
             "`tp` is not live at +0x56: the last call across which r12 was live returns to +0x3e, and the compiler "
             "saw no later "
             "use.\n" ONLY_CALLS REMEDY);
    explains(&options, 0x11, "t",
             "`t` is not live at +0x11: the first call across which rbx is live returns to +0x26.\n" ONLY_CALLS);
    explains(
        &options, 0x26, "i",
        "`i` is not live at +0x26: it is in r13, which the map never has live: it holds no reference, or none that "
        "any safe point needs.\n" ONLY_CALLS);
    explains(
        &options, 0x26, NULL,
        "Live at +0x26: rbx=t.\n"
        "`tp` is not live at +0x26: the first call across which r12 is live returns to +0x3e.\n"
        "`i` is not live at +0x26: it is in r13, which the map never has live: it holds no reference, or none that "
        "any safe point needs.\n" ONLY_CALLS);
}

static void test_explain_debug(void) {
    gc_stackmap_method method = debug_method();
    static const gc_code_variable variables[] = {{"t", AT_REGISTER(RBX), 0x0f, 0x66},
                                                 {"temp", AT_REGISTER(R13), 0, 0x71},
                                                 {"a", AT_REGISTER(RDI), 0, 0x71},
                                                 {"b", AT_REGISTER(RSI), 0, 0x71}};
    gc_dump_options options = {.variables = variables, .variable_count = 4};
    encode(&method);
    explains(&options, 0x30, "t", "`t` is in rbx at +0x30, live from +0x0f to +0x66.\n");
    explains(&options, 0x0d, "t", "`t` is not live at +0x0d: it is first in rbx from +0x0f on.\n" ANYWHERE);
    explains(&options, 0x3b, "temp",
             "`temp` is not live at +0x3b: r13 died at +0x3a, and the compiler saw no later use.\n" ANYWHERE
             "A later use of `temp` extends its life: what gc_keep_alive is in C.\n");
    explains(&options, 0x3a, "temp",
             "`temp` is not live at +0x3a: r13 died at +0x3a, and the compiler saw no later use.\n"
             "A call that returns there still keeps it.\n" ANYWHERE
             "A later use of `temp` extends its life: what gc_keep_alive is in C.\n");
    explains(&options, 0x1f, "temp",
             "`temp` is in r13 at +0x1f, live from +0x1f to +0x3a.\nA call that returns there does not keep it.\n");
    explains(&options, 0x45, "a",
             "`a` is in rdi at +0x45, live from +0x43 to +0x4e. Only the innermost frame has it, since a call does not "
             "preserve the "
             "register.\n");
    explains(&options, 0x20, "b", "`b` is not live at +0x20: rsi becomes live at +0x40.\n" ANYWHERE);
    explains(&options, 0x66, "a",
             "`a` is not live at +0x66: it is in rdi, which a call does not preserve; rbx, rbp, r12 to r15 and the "
             "stack outlive calls.\n" ONLY_CALLS);
    explains(
        &options, 0x70, "t",
        "No thread is stopped at +0x70: the code there is partially interruptible, where only calls are safe points. "
        "The method has none.\n");
    explains(&options, 0x45, NULL, "Live at +0x45: rbx=t, r12, r13=temp, rax, rsi=b, rdi=a.\n" ANYWHERE);

    /* Live to the end of the code; never live; untracked; innermost only. */
    static const gc_stackmap_slot slots[] = {AT_REGISTER(RBX), AT_REGISTER(R12), {GC_PLACE_CFA, 0, 0, 1, 8}};
    static const gc_stackmap_range all = {0, 16};
    static const gc_stackmap_change birth = {4, 0, true};
    static const gc_code_variable three[] = {
        {"t", AT_REGISTER(RBX), 0, 16}, {"tp", AT_REGISTER(R12), 0, 16}, {"u", {GC_PLACE_CFA, 0, 0, 0, 8}, 0, 16}};
    gc_stackmap_method small = {.code_bytes = 16,
                                .argument_bytes = 16,
                                .slots = slots,
                                .slot_count = 3,
                                .ranges = &all,
                                .range_count = 1,
                                .changes = &birth,
                                .change_count = 1};
    options.variables = three, options.variable_count = 3;
    encode(&small);
    explains(&options, 10, "t", "`t` is in rbx at +0x0a, live from +0x04 to +0x10, the end of the code.\n");
    explains(
        &options, 10, "tp",
        "`tp` is not live at +0x0a: it is in r12, which the map never has live: it holds no reference, or none that "
        "any safe point needs.\n" ANYWHERE);
    explains(&options, 10, "u",
             "`u` is in [cfa+8] at +0x0a, untracked: live wherever a thread is stopped in the method.\n");
    static const uint64_t live = 1;
    static const gc_stackmap_point points[] = {{5, &live}, {9, &live}, {13, &live}};
    small.points = points, small.point_count = 3, small.range_count = small.change_count = 0;
    encode(&small);
    explains(&options, 9, "t",
             "`t` is in rbx at +0x09, live across all calls from that which returns to +0x05 to that which returns to "
             "+0x0d.\n");
    explains(
        &options, 9, "tp",
        "`tp` is not live at +0x09: it is in r12, which the map never has live: it holds no reference, or none that "
        "any safe point needs.\n" ONLY_CALLS);
    small.flags = GC_METHOD_REPORT_LEAF_ONLY;
    encode(&small);
    explains(
        &options, 9, NULL,
        "Live at +0x09: nothing.\n"
        "`t` is not live at +0x09: rbx is live across no call.\n"
        "`tp` is not live at +0x09: it is in r12, which the map never has live: it holds no reference, or none that "
        "any safe point needs.\n"
        "`u` is not live at +0x09: [cfa+8] is live across no call.\n" ONLY_CALLS
        "The method reports nothing unless it is the innermost one.\n");
}

/* A format of the host's own. */
static const char *no_slots(const gc_code_cursor *frame, gc_visitor *visitor) {
    return (void)frame, (void)visitor, "none";
}
static const char *no_layout(gc_code_cursor *frame) { return (void)frame, "none"; }
static void dump_rows(const gc_code *code, gc_dump *dump) {
    gc_dump_fact(dump, "rows", "%d of %zu bytes", 3, code->bytes);
    for (uint32_t offset = 4; offset <= 12; offset += 4) {
        gc_dump_row(dump, offset, "AB");
        gc_dump_text(dump, "row");
        gc_dump_text(dump, " %u", offset / 4);
    }
}

static void test_registered(void) {
    static const gc_code_format silent = {.name = "Silent", .visit = no_slots, .layout = no_layout};
    static const gc_code_format rows = {.name = "Rows", .visit = no_slots, .layout = no_layout, .dump = dump_rows};
    gc_stackmap_method method = release_method();
    static struct method m;
    m = METHOD(release_instructions);
    encode(&method);
    gc_code code = {
        .start = m.code, .bytes = m.bytes, .map = map, .map_bytes = gc_stackmap_read(map).bytes, .name = "Test.Main"};
    gc_dump_options options = seed_options(&m, false);
    is(gc_code_add(&code), GC_OK, "the code is registered");
    FILE *out = page();
    ok(gc_code_dump(m.code + 0x4b, out, &options), "its dump is found by an address in it");
    fclose(out);
    const char begin[] =
        "Will print '>>> ' at address: 02f000a3\nTest.Main\nBegin 02f00058, size 5e\nMethod info block:\n";
    ok(strncmp(text, begin, sizeof begin - 1) == 0, "name, and where it is");
    has(text, "\n>>> 02f000a3 bfe8030000           mov    edi,0x3e8\n", "the instruction is marked");
    ok(!strstr(strstr(text, "\n>>> ") + 5, ">>>"), "no other one is");
    out = page();
    gc_code_dump(m.code, out, NULL);
    fclose(out);
    ok(!strstr(text, ">>>"), "at its start nothing is marked");
    out = page();
    ok(gc_code_explain(m.code + 0x3e, "tp", out, &options), "so is an explanation");
    same(out, "In Test.Main:\n`tp` is in r12 at +0x3e, live across the call that returns there.\n",
         "which names the code");
    out = page();
    ok(!gc_code_explain(m.code + 0x3e, "x", out, &options), "an unknown variable is refused");
    fclose(out);
    code.name = NULL;
    out = page();
    gc_code_explain(m.code + 0x3e, NULL, out, NULL);
    same(out, "In code without a name:\nLive at +0x3e: r12.\n" ONLY_CALLS, "code without a name");
    is(gc_code_remove(&code), GC_OK, "it is removed");
    out = page();
    ok(!gc_code_dump(m.code, out, &options) && !gc_code_explain(m.code, NULL, out, NULL), "and then there is neither");
    fclose(out);
    is(text_bytes, 0, "which prints nothing");

    code.format = &rows, code.bytes = 16, code.name = "R";
    options = (gc_dump_options){.address = 0x100, .no_encoding = true};
    is(gc_code_add(&code), GC_OK, "code with a format of the host's");
    out = page();
    gc_code_dump(m.code, out, &options);
    same(
        out,
        "R\nBegin 00000100, size 10\n    tables             = Rows\n    rows               = 3 of 16 bytes\n\nCode and "
        "pointer table:\n"
        "00000100 53415448\n    GCInfo:      0004        row 1\n00000104 83ec08bf\n    GCInfo:      0008        row 2\n"
        "00000108 e850ad00\n    GCInfo:      000C        row 3\n0000010c e8fb0f00\n",
        "its rows beside the code");
    out = page();
    gc_code_explain(m.code + 8, NULL, out, NULL);
    same(out,
         "In R:\nThe tables of Rows have at +0x08: row 2; the row before it is at +0x04; the row after it is at "
         "+0x0c.\n",
         "one of its rows");
    out = page();
    gc_code_explain(m.code + 13, NULL, out, NULL);
    same(out, "In R:\nThe tables of Rows have at +0x0d: nothing; the row before it is at +0x0c.\n",
         "where it has none");
    gc_code_remove(&code);
    code.format = &silent;
    gc_code_add(&code);
    out = page();
    gc_code_dump(m.code, out, &options);
    fclose(out);
    has(text, "    tables             = Silent, which have no dump\n", "a format without a dump");
    out = page();
    gc_code_explain(m.code + 8, NULL, out, NULL);
    same(out, "In R:\nThe tables of Silent cannot be printed.\n", "nor an explanation");
    gc_code_remove(&code);
}

/* Whether the bits of a row are the low ones of its offset, and then the number of its slot. */
static bool bits_agree(const gc__stackmap *m, const gc__row *row) {
    uint64_t bits;
    memcpy(&bits, row->bits.bytes, 8);
    bits = GC__LITTLE(64, bits);
    if (row->kind == GC__ROW_ENDED) return !row->bits.count;
    if (row->kind == GC__ROW_UNWIND) return row->bits.count > 1;
    const gc__ascending *list = row->kind == GC__ROW_CALL                                ? &m->points
                                : row->kind == GC__ROW_LIVE || row->kind == GC__ROW_DEAD ? &m->in_ranges.places
                                                                                         : &m->ranges;
    bool low = (bits & gc__bits_mask(list->low_bits)) == (row->offset & gc__bits_mask(list->low_bits));
    if (list != &m->in_ranges.places) return low;
    return low && bits >> list->low_bits == row->slot && row->bits.count == list->low_bits + m->in_ranges.slot_bits;
}

/* The rows of random methods, from which what is live at each offset follows. */
static void test_rows(uint64_t seed) {
    static model m;
    bool agree = true;
    m.random = seed;
    make_method(&m, (shape)below(&m, SHAPES));
    encode(&m.method);
    gc__rows rows = gc__rows_begin(map);
    gc__row row;
    set now = {{0}};
    uint32_t at = 0, unwind = 0, calls = 0, last = 0;
    bool in_range = false;
    uint64_t live[WORDS];
    uint32_t slot_count = gc_stackmap_read(map).slot_count, words = (slot_count + 63) / 64;
    for (bool more = true; more;) {
        more = gc__rows_next(&rows, &row);
        uint32_t end = more ? row.offset : m.method.code_bytes + 1;
        agree &= end >= last, last = end;
        for (; at < end; at++) {
            bool stop = gc_stackmap_live(map, at, GC_FRAME_INTERRUPTED, live);
            agree &= stop == in_range;
            for (uint32_t i = 0; stop && i < slot_count; i++)
                if (!gc_stackmap_slot_at(map, i).untracked) agree &= set_has(&now, i) == (live[i / 64] >> (i & 63) & 1);
        }
        if (!more) break;
        if (row.kind == GC__ROW_RANGE || row.kind == GC__ROW_RANGE_END) {
            in_range = row.kind == GC__ROW_RANGE;
            for (uint32_t word = 0; word < words; word++) agree &= !now.words[word];
        } else if (row.kind == GC__ROW_UNWIND) {
            const gc_stackmap_unwind *expected = &m.rows[unwind++];
            agree &= row.unwind.op == expected->op && row.offset == expected->offset;
        } else if (row.kind == GC__ROW_CALL) {
            agree &= gc_stackmap_live(map, row.offset, GC_FRAME_CALLER, live);
            calls++;
        } else {
            agree &= set_has(&now, row.slot) == (row.kind != GC__ROW_LIVE);
            set_put(&now, row.slot, row.kind == GC__ROW_LIVE);
        }
        agree &= bits_agree(&rows.map, &row);
    }
    agree &= unwind == m.method.unwind_count && calls == gc_stackmap_read(map).point_count;
    ok(agree, "rows agree with what is live: seed %llu", (unsigned long long)seed);
}

/* Neither the dump nor an explanation of any method fails or reads what is not there (sanitizers). */
static void test_all_offsets(uint64_t seed) {
    static model m;
    gc_code_variable variables[SLOTS_MAX];
    m.random = seed;
    make_method(&m, SMALL + below(&m, INTERRUPTIBLE + 1));
    encode(&m.method);
    for (uint32_t i = 0; i < m.method.slot_count; i++)
        variables[i] =
            (gc_code_variable){i % 2 ? "odd" : "even", m.slots[i], below(&m, m.method.code_bytes), m.method.code_bytes};
    gc_dump_options options = {.variables = variables, .variable_count = m.method.slot_count};
    FILE *out = page();
    gc_stackmap_dump(map, out, &options);
    for (uint32_t offset = 0; offset <= m.method.code_bytes; offset += 1 + below(&m, 9)) {
        gc_stackmap_explain(map, offset, NULL, out, &options);
        gc_stackmap_explain(map, offset, "odd", out, &options);
    }
    fclose(out);
    has(text, "Pointer table:\n", "each offset is explained: seed %llu", (unsigned long long)seed);
}

#if GC_DEBUG == 0
static void test_null(void) {
    FILE *out = page();
    gc_stackmap_dump(NULL, out, NULL);
    is(gc_last_result(), GC_ERROR_ARGUMENT, "no map");
    ok(!gc_stackmap_explain(NULL, 0, NULL, out, NULL), "no map to explain");
    gc_stackmap_dump(map, NULL, NULL);
    has(gc_last_message(), "gc_stackmap_dump: to is NULL", "no file");
    fclose(out);
}
#else
static void test_null(void) {}
#endif

int main(void) {
    test_debug_table();
    test_debug_code();
    test_release();
    test_encoding();
    test_slots();
    test_code_options();
    test_explain_release();
    test_explain_debug();
    test_registered();
    for (uint64_t seed = 1; seed <= 60; seed++) test_rows(seed);
    for (uint64_t seed = 1; seed <= 10; seed++) test_all_offsets(seed);
    test_null();
    free(text);
    return done();
}
