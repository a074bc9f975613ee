/* LLVM's stack maps from anywhere: reading a section ends, reads nothing outside of it, and says what is malformed. What it
   accepts is visited: slots are aligned and disjoint, and the base of each derived one was visited before. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#define CHECK(condition) ((condition) ? (void)0 : (fprintf(stderr, "%s\n", #condition), abort()))

typedef struct spy {
    gc_visitor visitor;
    const gc__llvm_place *bases;
    size_t count;
} spy;

static uintptr_t held[GC_CODE_REGISTERS]; /* what registers hold: far from one another */
static uintptr_t stack_pointer = (uintptr_t)1 << 40;

static uintptr_t address(const gc__llvm_place *place) {
    uintptr_t number = place->number, offset = (uintptr_t)(intptr_t)place->offset;
    if (!place->count) return (uintptr_t)&held[number];
    return (number == 4 ? stack_pointer : held[number]) + offset;
}

static void spy_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    spy *spy = (struct spy *)visitor;
    if (flags == GC__SLOT_DERIVED) {
        const gc__derived *pair = (const gc__derived *)slot;
        bool found = false;
        CHECK((uintptr_t)pair->slot % 8 == 0 && pair->slot != pair->base);
        for (size_t i = 0; i < spy->count && !found; i++) {
            uintptr_t at = address(&spy->bases[i]), words = spy->bases[i].count ? spy->bases[i].count : 1;
            found = (uintptr_t)pair->base - at < 8 * words;
            CHECK((uintptr_t)pair->slot - at >= 8 * words);
        }
        CHECK(found);
        return;
    }
    CHECK(flags == 0 && (uintptr_t)slot % 8 == 0 && count && count < 8192);
    const gc__llvm_place *next = &spy->bases[spy->count++];
    CHECK((uintptr_t)slot == address(next));
    CHECK(spy->count == 1 || !gc__llvm_overlap(next - 1, next));
}

static void visit(const gc__llvm_function *function, const gc__llvm_point *point) {
    gc_code_cursor frame;
    memset(&frame, 0, sizeof frame);
    spy spy = {{spy_visit}, function->module->places + point->first, 0};
    frame.code = &function->code;
    frame.pc = (uintptr_t)function->code.start + point->offset;
    frame.sp = stack_pointer;
    for (int i = 0; i < GC_CODE_REGISTERS; i++) frame.registers[i] = &held[i];
    CHECK(gc__llvm_find(function, frame.pc) == point);
    CHECK(!gc__llvm_visit(&frame, &spy.visitor));
    CHECK(spy.count == point->bases);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (uintptr_t i = 0; i < GC_CODE_REGISTERS; i++) held[i] = (i + 2) << 40;
    gc_llvm_module *module = gc_code_add_llvm(data, size, 0);
    if (!module) {
        const char *at = strstr(gc_last_message(), "at byte ");
        CHECK(gc_last_result() == GC_ERROR_FORMAT);
        CHECK(at ? strtoull(at + 8, NULL, 10) <= size
                 : strstr(gc_last_message(), "two modules") || strstr(gc_last_message(), "overlaps"));
        CHECK(gc_code_count() == 0);
        return 0;
    }
    for (size_t f = 0; f < module->function_count; f++) {
        const gc__llvm_function *function = &module->functions[f];
        CHECK(function->count && (f == 0 || module->functions[f - 1].code.start < function->code.start));
        CHECK(gc_code_find(function->code.start) == &function->code);
        for (size_t i = 0; i < function->count; i++) visit(function, module->points + function->first + i);
    }
    gc_code_remove_llvm(module);
    CHECK(gc_code_count() == 0);
    return 0;
}
