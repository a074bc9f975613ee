/* runtime.h - what compiled code and the native functions share: the layout of objects, and runtime errors. */
#pragma once

#include "jit.h"

#include "gc_stackmap.h"

typedef struct string {
    gc_array array;
    char bytes[];
} string;

/* The code is that of a function with a receiver. */
typedef struct delegate {
    gc_object header;
    const void *code;
    gc_object *receiver;
} delegate;

extern const gc_type string_layout, delegate_layout;

/* Errors end the program, with a message that names the file, the line and the function. */
#define RUNTIME_ERRORS(X)                                                          \
    X(ERROR_NULL, "null has no fields, elements or methods, and cannot be called") \
    X(ERROR_BOUNDS, "the index is out of bounds")                                  \
    X(ERROR_DIVISION, "division by zero")                                          \
    X(ERROR_STACK, "stack overflow")                                               \
    X(ERROR_LENGTH, "the length of an array is negative or too large")             \
    X(ERROR_MEMORY, "out of memory")

typedef enum runtime_error_kind {
#define X(name, text) name,
    RUNTIME_ERRORS(X)
#undef X
} runtime_error_kind;

/* The running program: implemented by run.c. */
extern gc_heap *runtime_heap;
extern const program *runtime_program;
extern const jit_options *runtime_options;
/* Prints "FILE:LINE: error: MESSAGE, in FUNCTION" to standard error and ends the program, with status 1. The place is that at
   which the thread's innermost compiled code called. */
_Noreturn void runtime_error(gc_thread *thread, runtime_error_kind kind);
_Noreturn void runtime_fail(gc_thread *thread, const char *message);
/* Attaches the calling thread so that it may run compiled code; ends the program if that fails. */
gc_thread *runtime_attach(void);
void runtime_detach(gc_thread *thread);
/* Where compiled code finds the lowest address to which its thread's stack may grow: at fs:[offset]. */
int32_t runtime_stack_limit_offset(void);
/* Has another thread collect and move everything, over and over, while the program runs: implemented by torture.c. */
void torture_begin(gc_thread *thread);
void torture_observe(void *host, const gc_collection *collection); /* gc_options.collection_start */
void torture_end(gc_thread *thread);
/* The same before each instruction of the calling thread: implemented by step.c. */
void step_begin(gc_thread *thread);
void step_observe(void *host, const gc_collection *collection);
void step_end(gc_thread *thread);
/* Calls a delegate, from native code; the thread is attached. */
int64_t runtime_call_delegate(gc_thread *thread, delegate *callee, int64_t argument);

/* The native functions, which compiled code calls through gc_code_call_native: implemented by natives.c. A result that is a
   bool is 0 or 1. */
void native_write_int(gc_thread *thread, int64_t number);
void native_write_float(gc_thread *thread, double number);
void native_write_bool(gc_thread *thread, int64_t boolean);
void native_write_string(gc_thread *thread, const string *text);
string *native_concat(gc_thread *thread, string *a, string *b);
int64_t native_compare(gc_thread *thread, const string *a, const string *b);
int64_t native_equal(gc_thread *thread, const string *a, const string *b);
string *native_int_to_string(gc_thread *thread, int64_t number);
string *native_float_to_string(gc_thread *thread, double number);
string *native_bool_to_string(gc_thread *thread, int64_t boolean);
string *native_char_to_string(gc_thread *thread, int64_t byte);
string *native_substring(gc_thread *thread, string *s, int64_t from, int64_t end);
int64_t native_arg(gc_thread *thread, int64_t i, int64_t otherwise);
_Noreturn void native_fail(gc_thread *thread, const string *message);
void native_new_thread(gc_thread *thread, delegate *callee);
void native_join_threads(gc_thread *thread);
void native_sleep(gc_thread *thread, int64_t milliseconds);
void native_collect(gc_thread *thread);
int64_t native_collections(gc_thread *thread);
int64_t native_clock_ns(gc_thread *thread);
