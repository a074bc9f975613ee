// Native stacks of a C++ program, compared with what the compiler's own unwinder finds; of libraries that are loaded and
// unloaded, whose files are the arguments; and names of its functions in a profile, which the environment asks for.
#define GC_IMPLEMENTATION
#include "gc_profile.h"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "../tap.h"

#define NOINLINE __attribute__((noinline))
static const size_t most = 512;
static gc__native_frame frames[most];
static std::vector<uintptr_t> expected;
static int compared, wrong;

static _Unwind_Reason_Code expect(struct _Unwind_Context *context, void *) {
    int before = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &before);
    if (!pc) return _URC_END_OF_STACK;
    expected.push_back(pc - !before);
    return _URC_NO_REASON;
}

NOINLINE static void compare() {
    gc__native_start start;
    gc__native_here(&start);
    size_t count = gc__native_take(&start, frames, most, NULL);
    expected.clear();
    _Unwind_Backtrace(expect, nullptr);
    bool same = count + 1 == expected.size();
    for (size_t i = 0; same && i < count; i++) same = frames[i].pc == expected[i + 1];
    if (!same) diag("comparison %d: %zu frames, expected %zu", compared, count, expected.size() - 1), wrong++;
    compared++;
    gc__cpu_keep_frame();
}

struct shape {
    virtual ~shape() { compare(); }
    virtual int area(int depth) = 0;
};
struct square : shape {
    int area(int depth) override {
        std::string text(static_cast<size_t>(depth) * 7, 'x');
        compare();
        return static_cast<int>(text.size());
    }
};
struct pair : shape {
    std::unique_ptr<shape> left{new square}, right{new square};
    int area(int depth) override { return depth ? area(depth - 1) + left->area(depth) : right->area(depth); }
};

struct guard {
    ~guard() { compare(); } // while the stack is being unwound
};

NOINLINE static int thrower(int depth) {
    guard here;
    if (!depth) throw std::runtime_error("end");
    return thrower(depth - 1) + 1;
}

NOINLINE static double with_doubles(double a, const std::function<double(double)> &f) {
    double parts[4] = {a, a * 2, a * 3, a * 4};
    std::sort(parts, parts + 4, [&](double x, double y) { return compare(), f(x) > f(y); });
    return parts[0];
}

NOINLINE static void cxx() {
    pair both;
    both.area(5);
    try {
        thrower(4);
    } catch (const std::exception &) {
        compare();
    }
    with_doubles(1.5, [](double x) { return compare(), x; });
    ok(compared > 20 && wrong == 0, "C++: %d stacks are as the compiler's unwinder finds them", compared);
}

static gc_thread *thread;
static gc_type leaf_type;

NOINLINE static void allocate_here() {
    gc_new(thread, &leaf_type);
    compare();
    gc__cpu_keep_frame();
}

// The second library mostly gets the addresses of the first one.
static void load(char **files, int count) {
    for (int i = 0; i < 20 * count; i++) {
        void *library = dlopen(files[i % count], RTLD_NOW);
        void (*relay)(void (*)(void));
        void *symbol = library ? dlsym(library, "relay") : nullptr;
        if (!symbol) printf("Bail out! %s\n", dlerror()), exit(2);
        memcpy(&relay, &symbol, sizeof relay);
        relay(allocate_here);
        dlclose(library);
    }
    ok(wrong == 0, "libraries that are loaded and unloaded: %d stacks in all", compared);
}

int main(int count, char **arguments) {
    leaf_type.name = "leaf", leaf_type.bytes = 32;
    const char *folder = getenv("DEBUG_FOLDER");
    if (folder) gc__symbols_folder = folder;
    cxx();
    gc_heap *heap = gc_heap_create(nullptr);
    thread = heap ? gc_thread_attach(heap) : nullptr;
    if (!thread) return puts(gc_last_message()), 2;
    allocate_here();
    load(arguments + 1, count - 1);
    gc_heap_destroy(heap);
    return done();
}
