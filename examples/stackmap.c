/* stackmap.c - the smallest compiler on gc.h: one method of machine code, its stack map, and a collection in the middle of
   it that moves an object which only the method's frame refers to. Build: cc -O2 -I. examples/stackmap.c -pthread

   For x86-64. A compiler writes what is written by hand here: the code and, from the same knowledge, what goes into the map.
   Forget the slot (`live[] = {0}`) and run it with GC_STRESS=allocation in the environment: the report names the method. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include <stdlib.h>
#include <sys/mman.h>

typedef struct cell {
    gc_object header;
    int64_t value;
} cell;

static const gc_type cell_type = GC_TYPE_LEAF(cell);

/* A native function for compiled code to call. It collects, and moves all that can move. */
static cell *new_cell(gc_thread *gc, int64_t value) {
    gc_collect(gc_thread_heap(gc), 2, GC_COLLECT_COMPACTING);
    cell *c = gc_new(gc, &cell_type);
    if (!c) fprintf(stderr, "stackmap: %s\n", gc_last_message()), exit(1);
    c->value = value;
    return c;
}

/* The method: cell *add_two(cell *sum) { sum->value += new_cell(gc, 2)->value; return sum; }
   gc_code_call has put `sum` into rdi, and the thread into r15. Offsets are on the left. */
/* clang-format off */
static const unsigned char add_two[] = {
    /*  0 */ 0x48, 0x83, 0xEC, 0x08,              /* sub rsp, 8          a frame of one slot, [rsp] */
    /*  4 */ 0x48, 0x89, 0x3C, 0x24,              /* mov [rsp], rdi      `sum` */
    /*  8 */ 0x4C, 0x89, 0xFF,                    /* mov rdi, r15        the arguments of new_cell: the thread */
    /* 11 */ 0xBE, 0x02, 0, 0, 0,                 /* mov esi, 2          and the value */
    /* 16 */ 0x4D, 0x89, 0xFA,                    /* mov r10, r15        those of the stub: the thread */
    /* 19 */ 0x4C, 0x8B, 0x1D, 64 - 26, 0, 0, 0,  /* mov r11, [64]       and the function; addresses follow the code */
    /* 26 */ 0xFF, 0x15, 72 - 32, 0, 0, 0,        /* call [72]           gc_code_call_native_ref: new_cell returns one */
    /* 32 */ 0x48, 0x8B, 0x48, 0x08,              /* mov rcx, [rax + 8]  the value of the new cell */
    /* 36 */ 0x48, 0x8B, 0x04, 0x24,              /* mov rax, [rsp]      `sum`, wherever it is now */
    /* 40 */ 0x48, 0x01, 0x48, 0x08,              /* add [rax + 8], rcx  no reference is stored, so there is no barrier */
    /* 44 */ 0x48, 0x83, 0xC4, 0x08,              /* add rsp, 8 */
    /* 48 */ 0xC3,                                /* ret                 `sum` is in rax */
};
/* clang-format on */

/* What a collection must know: that `sum` is live when the call has returned to 32, and where the caller's frame begins, from
   each instruction on that moves the stack pointer. */
static const gc_stackmap_slot slots[] = {{.place = GC_PLACE_SP, .offset = 0}};
static const uint64_t live[] = {1 << 0};
static const gc_stackmap_point points[] = {{.offset = 32, .live = live}};
static const gc_stackmap_unwind rows[] = {{.offset = 4, .op = GC_UNWIND_ALLOCATE, .bytes = 8},
                                          {.offset = 48, .op = GC_UNWIND_ALLOCATE, .bytes = -8}};
static const gc_stackmap_method method = {.code_bytes = sizeof add_two,
                                          .prolog_bytes = 4,
                                          .returns = {GC_RETURN_OBJECT},
                                          .slots = slots,
                                          .slot_count = 1,
                                          .points = points,
                                          .point_count = 1,
                                          .unwind = rows,
                                          .unwind_count = 2};

/* The code, and at 64 and 72 the functions whose addresses it loads, in memory that can be executed. */
static unsigned char *load(void) {
    uintptr_t functions[] = {(uintptr_t)new_cell, (uintptr_t)gc_code_call_native_ref};
    unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) perror("stackmap: mmap"), exit(1);
    memcpy(code, add_two, sizeof add_two);
    memcpy(code + 64, functions, sizeof functions);
    if (mprotect(code, 4096, PROT_READ | PROT_EXEC)) perror("stackmap: mprotect"), exit(1);
    return code;
}

int main(void) {
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = heap ? gc_thread_attach(heap) : NULL;
    unsigned char map[100];
    size_t map_bytes = gc_stackmap_encode(&method, map, sizeof map); /* 0: a row is wrong, and the message names it */
    gc_code code = {.start = load(), .bytes = sizeof add_two, .map = map, .map_bytes = map_bytes, .name = "add_two"};
    if (!gc || !map_bytes || gc_code_add(&code)) return fprintf(stderr, "stackmap: %s\n", gc_last_message()), 1;

    uintptr_t sum = (uintptr_t)new_cell(gc, 40); /* no root: a number, which no collection updates */
    const cell *result = (const cell *)gc_code_call(gc, code.start, &sum, 1);
    printf("40 + 2 = %d\n", (int)result->value);
    printf("the object has moved: %s\n", (uintptr_t)result != sum ? "yes" : "no");

    printf("\nThe map, of %zu bytes, beside the code:\n\n", map_bytes);
    gc_code_dump(code.start, stdout, &(gc_dump_options){.code = code.start, .address = 0x1000});

    gc_code_remove(&code); /* no frame of it is on any stack now */
    munmap((void *)code.start, 4096);
    gc_heap_destroy(heap);
    return 0;
}
