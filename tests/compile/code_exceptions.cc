// Exceptions that pass compiled code and the stubs, where the compiled code has unwind tables, as LLVM's has.
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include <stdexcept>

struct node {
    gc_object header;
    node *next;
    uint64_t value;
};
static_assert(offsetof(node, value) == 16, "the compiled code adds it");
static const gc_type node_type = GC_TYPE(node, next);
static int failures, count;

static void ok(bool condition, const char *what) {
    printf("%sok %d - %s\n", condition ? "" : "not ", ++count, what);
    failures += !condition;
}

// What the compiled method calls: with its argument, which it keeps in rbx, as the second argument.
extern "C" {
typedef uint64_t (*native_function)(gc_thread *, node *);
__attribute__((visibility("hidden"), used)) native_function native;
__attribute__((visibility("hidden"))) extern const char method_end[];

__attribute__((naked, noinline)) uint64_t method(node *) {
    __asm__(GC__CODE_PUSH("rbx") GC__CFI("def_cfa_offset 16") GC__CFI("offset 3, -16")
            GC__CODE_MOVE("rdi", "rbx") GC__CODE_MOVE("rdi", "rsi") GC__CODE_MOVE("r15", "rdi") GC__CODE_MOVE("r15", "r10")
            "{movq native(%%rip), %%r11|mov r11, native[rip]}\n\t"
            "call gc_code_call_native\n\t"
            "{addq 16(%%rbx), %%rax|add rax, [rbx+16]}\n\t"
            GC__CODE_POP("rbx") GC__CFI("def_cfa_offset 8") GC__CFI("restore 3")
            "ret\n"
            "method_end:" ::: "memory");
}
}

static const char *visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    gc_visit(visitor, frame->registers[3], 1, 0);
    return nullptr;
}
static const char *lay_out(gc_code_cursor *frame) {
    frame->cfa = frame->sp + 16;
    frame->saved[3] = -16;
    return nullptr;
}

static gc_thread *thread;
static gc_heap *heap;

static node *make(uint64_t value) {
    node *n = static_cast<node *>(gc_new(thread, &node_type));
    n->value = value;
    return n;
}

static uint64_t run(native_function f, node *n) {
    native_function former = native;
    native = f;
    uintptr_t argument = reinterpret_cast<uintptr_t>(n);
    uint64_t result = gc_code_call(thread, reinterpret_cast<const void *>(&method), &argument, 1);
    native = former;
    return result;
}

static uint64_t throws(gc_thread *self, node *n) {
    GC_ROOTS(self, n);
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    throw std::runtime_error(n->value == 7 ? "seven" : "another number");
}

static bool catches(node *n) {
    gc_code_frame *mark = gc_code_mark(thread);
    try {
        run(throws, n);
    } catch (const std::runtime_error &error) {
        gc_code_release(thread);
        gc_code_restore(thread, mark);
        return !strcmp(error.what(), "seven");
    }
    return false;
}

static uint64_t catches_within(gc_thread *self, node *) {
    bool caught = catches(make(7));
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    return caught && self->code ? 1000 : 0;
}

int main() {
    gc_options options = gc_options();
    options.debug.stress = GC_STRESS_SAFEPOINT;
    heap = gc_heap_create(&options);
    thread = gc_thread_attach(heap);
    if (!thread) return 2;
    gc_code_format format = gc_code_format();
    format.visit = visit;
    format.layout = lay_out;
    gc_code code = gc_code();
    code.start = reinterpret_cast<const void *>(&method);
    code.bytes = reinterpret_cast<uintptr_t>(method_end) - reinterpret_cast<uintptr_t>(code.start);
    code.format = &format;
    code.name = "method";
    ok(gc_code_add(&code) == GC_OK, "compiled code with unwind tables");
    bool all = true;
    for (int i = 0; i < 10; i++) all &= catches(make(7));
    ok(all && !thread->code && !thread->frames, "exceptions pass compiled code and the stubs");
    ok(run(catches_within, make(5)) == 1005, "compiled frames below go on with their references");
    gc_code_remove(&code);
    gc_heap_destroy(heap);
    printf("1..%d\n", count);
    return failures != 0;
}
