/* main.c - the command line of the example JIT: a compiler of a small language to x86-64, on gc.h and gc_stackmap.h.

   What to try, in the top folder after `make`:
     build/examples/jit examples/jit/programs/delegate.jit
         Debug code, the default: variables live until their scope ends, so the delegate is there when the thread calls it.
     GC_STRESS=allocation build/examples/jit --release examples/jit/programs/delegate.jit
         Release code: the delegate dies after its last use and is collected, and its call is reported. In
         delegate_fixed.jit, keep_alive is a later use.
     build/examples/jit --release --dump=main examples/jit/programs/delegate.jit
         The machine code of main, with the variables that become live and dead between its instructions.
     build/examples/jit --release --stats examples/jit/programs/trees.jit 18
         Numbers after the file are the program's arguments: arg(0, default) is the first one.
     build/examples/jit --check examples/jit/programs/delegate.jit
         Reads and checks the program only, and prints it as the code generator sees it.

   The language. Types are int and float (64 bits), bool, string (of bytes, which do not change), classes, []T (an array) and
   fn(T, T): T (a delegate: a function with its receiver). Nothing is converted implicitly; int(x), float(x) and str(x)
   convert. Arithmetic of integers wraps.
     class Node {
         left: Node; right: Node; value: int;         // fields: 0, false or null, unless new gives them a value
         fn sum(): int {                              // a method; members may be named with or without `this`
             var s = value;                           // a variable; its type is its value's, or var s: int
             if (left != null) s += left.sum();
             if (right != null) s += right.sum();
             return s;
         }
     }
     native sleep(milliseconds: int);                 // a function of the runtime; ast.h lists them
     fn main() {
         var leaf = new Node(null, null, 1);          // values of the first fields
         var nodes = new []Node(10);                  // ten nulls
         for (var i = 0; i < nodes.length; i++) nodes[i] = new Node(leaf, null, i);
         var sum: fn(): int = nodes[3].sum;           // a method with its receiver, as a value
         var more = fn(x: int): int { return x + sum(); };   // may use variables around it that are never assigned
         print("the sum is ", more(1), " of ", nodes.length);
     }
   Builtin: print, write (the same within a line), char(byte) and sub(s, from, end) that make strings, s.length, s[i], sqrt,
   arg, fail(message), keep_alive(reference). Operators are those of C, but & ^ | bind more tightly than comparisons. */
#include "interpret.h"
#include "jit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_USAGE = 64, STATUS_BAD_PROGRAM = 65 };

static _Noreturn void usage(FILE *out, int status) {
    fputs("usage: jit [--debug | --release] [option...] FILE [INTEGER...]\n"
          "  --debug           fully interruptible code, variables live until their scope ends (the default)\n"
          "  --release         code that is interrupted at calls, variables live until their last use\n"
          "  --polls           loops poll, instead of being interrupted\n"
          "  --torture         another thread collects all the time, and moves every object\n"
          "  --step            the same before each instruction of the main thread\n"
          "  --check           only read and check the program, and print it\n"
          "  --interpret       run the program by walking its tree, for comparison\n"
          "  --dump[=FUNCTION] first print the machine code with its GC info, of one function or of all\n"
          "  --why=FUNCTION+OFFSET[:VARIABLE]  which variables are live at that instruction; or why one is or is not\n"
          "  --heap=BYTES      the most that the heap may hold; K, M and G may follow\n"
          "  --nursery=BYTES   the size of the youngest generation; K, M and G may follow\n"
          "  --stack=BYTES     how much stack a thread may use before it is a stack overflow\n"
          "  --stats           print the collector's statistics at the end, to standard error\n",
          out);
    exit(status);
}

static size_t parse_bytes(const char *text) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift) end++;
    if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && number < 1ull << 40 >> shift)
        return (size_t)number << shift;
    fprintf(stderr, "jit: not a size in bytes: %s (below 1024G; K, M and G may follow a number)\n", text);
    exit(STATUS_USAGE);
}

/* The value of an option that is written "--name=value"; NULL: it is another one. */
static const char *value_of(const char *word, const char *name) {
    size_t bytes = strlen(name);
    return strncmp(word, name, bytes) == 0 && word[bytes] == '=' ? word + bytes + 1 : NULL;
}

/* What is done with the program. */
typedef enum action { ACTION_RUN, ACTION_CHECK, ACTION_INTERPRET } action;

static void take_option(jit_options *options, action *wanted, const char *word) {
    const char *value;
    if (!strcmp(word, "--debug"))
        options->is_release = false;
    else if (!strcmp(word, "--release"))
        options->is_release = true;
    else if (!strcmp(word, "--polls"))
        options->has_polls = true;
    else if (!strcmp(word, "--torture"))
        options->has_torture = true;
    else if (!strcmp(word, "--step"))
        options->has_steps = true;
    else if (!strcmp(word, "--check"))
        *wanted = ACTION_CHECK;
    else if (!strcmp(word, "--interpret"))
        *wanted = ACTION_INTERPRET;
    else if (!strcmp(word, "--stats"))
        options->stats = true;
    else if (!strcmp(word, "--dump"))
        options->dump = true;
    else if ((value = value_of(word, "--dump")))
        options->dump = true, options->dump_function = value;
    else if ((value = value_of(word, "--why")))
        options->why = value;
    else if ((value = value_of(word, "--heap")))
        options->heap_bytes = parse_bytes(value);
    else if ((value = value_of(word, "--nursery")))
        options->nursery_bytes = parse_bytes(value);
    else if ((value = value_of(word, "--stack")))
        options->stack_bytes = parse_bytes(value);
    else if (!strcmp(word, "--help"))
        usage(stdout, 0);
    else {
        fprintf(stderr, "jit: no such option: %s\n", word);
        usage(stderr, STATUS_USAGE);
    }
}

static int64_t *parse_arguments(char **words, int count) {
    int64_t *numbers = calloc((size_t)count + 1, sizeof *numbers);
    if (!numbers) abort();
    for (int i = 0; i < count; i++) {
        char *end;
        errno = 0;
        numbers[i] = strtoll(words[i], &end, 10);
        if (!words[i][0] || *end || errno) {
            fprintf(stderr, "jit: argument %d of the program is not an integer of 64 bits: %s\n", i, words[i]);
            exit(STATUS_USAGE);
        }
    }
    return numbers;
}

/* Whether --dump names a function of the program. */
static bool has_function(const program *p, const char *name) {
    for (const function *f = p->compiled; f; f = f->next_compiled) {
        if (strcmp(f->full_name, name) == 0) return true;
    }
    fprintf(stderr, "jit: --dump: the program has no function %s\n", name);
    return false;
}

int main(int argc, char **argv) {
    jit_options options = {0};
    action wanted = ACTION_RUN;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) take_option(&options, &wanted, argv[first]);
    if (first == argc) usage(stderr, STATUS_USAGE);
    int64_t *arguments = parse_arguments(argv + first + 1, argc - first - 1);
    options.arguments = arguments;
    options.argument_count = argc - first - 1;
    int status = STATUS_BAD_PROGRAM;
    program *p = program_read(argv[first]);
    if (p && (!options.dump_function || has_function(p, options.dump_function))) {
        if (wanted == ACTION_CHECK) program_print(p);
        status = wanted == ACTION_RUN ? jit_run(p, &options) : wanted == ACTION_INTERPRET ? interpret(p, &options) : 0;
    }
    if (p) program_free(p);
    free(arguments);
    return status;
}
