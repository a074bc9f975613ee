/* All that a program calls of a collector: the list from which a library's table of functions is made, and everything that
   goes with it. The order is part of the protocol between programs and libraries, so the list grows at its end only, with
   each change of GC_INTERFACE_MINOR. The functions of gc_profile.h are not in it: where the collector is a library with that
   header, profiles are asked for by GC_PROFILE in the environment.

   X(kind, name): CALL is a function that is called by its name. INLINE is one that programs have inline; the table has the
   library's own, for callers that go by the table. TYPED and TYPED_INLINE are such functions that are missing where objects
   have a host's own headers (GC_MODEL_BYTES), and MACHINE those that some processors have. */
#pragma once

typedef struct gc_functions gc_functions; /* a collector's table of all of these */

/* clang-format off */
#define GC__INTERFACE(X) \
    X(CALL, gc_version) \
    X(CALL, gc_result_text) \
    X(CALL, gc_last_result) \
    X(CALL, gc_last_message) \
    X(CALL, gc__misuse) \
    X(CALL, gc_type_check) \
    X(CALL, gc_reason_text) \
    X(CALL, gc_heap_create) \
    X(CALL, gc_heap_destroy) \
    X(CALL, gc_heap_host) \
    X(CALL, gc_heap_stats) \
    X(CALL, gc_stats_pause_percentile) \
    X(CALL, gc_heap_print_stats) \
    X(CALL, gc_roots_add) \
    X(CALL, gc_roots_remove) \
    X(CALL, gc_thread_attach) \
    X(CALL, gc_thread_detach) \
    X(CALL, gc_thread_current) \
    X(CALL, gc_thread_heap) \
    X(CALL, gc_thread_set_name) \
    X(CALL, gc_thread_set_conservative) \
    X(CALL, gc__thread_set_mode) \
    X(CALL, gc_stack_create) \
    X(CALL, gc_stack_destroy) \
    X(CALL, gc__stack_switch) \
    X(INLINE, gc_safepoint) \
    X(CALL, gc__safepoint_slow) \
    X(CALL, gc__shadow_store) \
    X(CALL, gc__check_outside) \
    X(INLINE, gc_store) \
    X(INLINE, gc_store_value) \
    X(CALL, gc_stores_begin) \
    X(CALL, gc_stores_end) \
    X(CALL, gc_copy_refs) \
    X(CALL, gc_copy_values) \
    X(CALL, gc_barrier_current) \
    X(CALL, gc_barrier_switch) \
    X(CALL, gc_heap_take_written_pages) \
    X(INLINE, gc_allocate) \
    X(CALL, gc__allocate_slow) \
    X(TYPED_INLINE, gc_new) \
    X(TYPED_INLINE, gc_new_array) \
    X(CALL, gc__new_slow) \
    X(CALL, gc_object_add_external) \
    X(CALL, gc_collect) \
    X(CALL, gc_heap_contains) \
    X(CALL, gc_heap_object_at) \
    X(CALL, gc_object_generation) \
    X(CALL, gc_object_bytes) \
    X(CALL, gc_object_type_name) \
    X(TYPED, gc_object_type) \
    X(CALL, gc_object_visit) \
    X(CALL, gc_heap_moves) \
    X(CALL, gc_heap_walk) \
    X(CALL, gc_heap_verify) \
    X(CALL, gc_finalizer_register) \
    X(CALL, gc_finalizer_suppress) \
    X(CALL, gc_finalizer_run) \
    X(CALL, gc_finalizer_pending) \
    X(CALL, gc_finalizer_wait) \
    X(CALL, gc_finalizer_thread_start) \
    X(CALL, gc_handle_create) \
    X(CALL, gc_handle_create_dependent) \
    X(CALL, gc_handle_duplicate) \
    X(CALL, gc_handle_destroy) \
    X(CALL, gc_handle_is_valid) \
    X(CALL, gc_handle_get) \
    X(CALL, gc_handle_try_get) \
    X(CALL, gc_handle_set) \
    X(CALL, gc_handle_compare_exchange) \
    X(CALL, gc_handle_dependent) \
    X(CALL, gc_handle_set_dependent) \
    X(CALL, gc_handle_host_word) \
    X(CALL, gc_handle_set_host_word) \
    X(CALL, gc_handle_walk) \
    X(CALL, gc_handle_count) \
    X(TYPED, gc_safe_handle_new) \
    X(TYPED, gc_safe_handle_add_ref) \
    X(TYPED, gc_safe_handle_release) \
    X(TYPED, gc_safe_handle_dispose) \
    X(TYPED, gc_safe_handle_set_invalid) \
    X(TYPED, gc_safe_handle_set_value) \
    X(TYPED, gc__native_leave) \
    X(CALL, gc_stackmap_encode) \
    X(CALL, gc_stackmap_check) \
    X(CALL, gc_stackmap_live) \
    X(CALL, gc_stackmap_slot_at) \
    X(CALL, gc_stackmap_is_interruptible) \
    X(CALL, gc_stackmap_read) \
    X(CALL, gc_stackmap_dump) \
    X(CALL, gc_stackmap_explain) \
    X(CALL, gc_code_add) \
    X(CALL, gc_code_remove) \
    X(CALL, gc_code_find) \
    X(CALL, gc_code_count) \
    X(CALL, gc_code_add_llvm) \
    X(CALL, gc_code_remove_llvm) \
    X(MACHINE, gc_code_call_native) \
    X(MACHINE, gc_code_call_native_ref) \
    X(CALL, gc_code_call) \
    X(CALL, gc_code_restore) \
    X(CALL, gc_code_release) \
    X(CALL, gc_code_first) \
    X(CALL, gc_code_next) \
    X(CALL, gc_code_visit) \
    X(CALL, gc_thread_set_interruptible) \
    X(CALL, gc_code_dump) \
    X(CALL, gc_code_explain) \
    X(CALL, gc_dump_fact) \
    X(CALL, gc_dump_row) \
    X(CALL, gc_dump_text) \
    X(INLINE, gc_store_in) \
    X(INLINE, gc_store_value_in) \
    X(INLINE, gc_remember) \
    X(CALL, gc_heap_add_external) \
    X(CALL, gc_heap_limits) \
    X(CALL, gc_heap_set_limits) \
    X(TYPED, gc_trace_weak) \
    X(TYPED, gc_trace_ephemerons) \
    X(INLINE, gc_load_weak) \
    X(INLINE, gc_load_weak_value) \
    X(CALL, gc_value_stack_reserve) \
    X(CALL, gc_value_stack_free) \
    X(CALL, gc_heap_print_memory) \
    X(INLINE, gc_new_with) \
    X(CALL, gc__new_fixed) \
    X(TYPED, gc_array_grow) \
    X(CALL, gc_collection_find) \
    X(CALL, gc_finalizer_running) \
    X(CALL, gc_heap_pauses) \
    X(CALL, gc_pause_explain) \
    X(CALL, gc_heap_print_pauses) \
    X(CALL, gc_visitor_range) \
    X(CALL, gc_thread_create) \
    X(CALL, gc_thread_destroy) \
    X(CALL, gc_heap_allocated) \
    X(CALL, gc_heap_pacing) \
    X(CALL, gc_heap_set_pacing) \
    X(CALL, gc_step) \
    X(CALL, gc_object_heap) \
    X(CALL, gc_object_identity) \
    X(CALL, gc_container_bytes)
/* clang-format on */

/* Data that inline code reads. A program has its own, which the collector keeps up to date by gc_host.stomp. */
#define GC__INTERFACE_DATA(X) X(gc__tables) X(gc__barrier_calls)

/* Where GC_STANDALONE is defined, the names above are those of jumps through the table in force, and the collector that the
   program brings along has other symbols; so the unit that contains it must not call anything else by these names. */
#if defined(GC_STANDALONE) && defined(GC_IMPLEMENTATION)
#ifdef GC__EXTERN
#error "gc_standalone.h must come before gc.h where GC_STANDALONE and GC_IMPLEMENTATION are defined"
#endif
#define GC__PRAGMA(text) _Pragma(#text)
#define GC__RENAME(name) GC__PRAGMA(redefine_extname name gc__embedded_##name)
#define GC__RENAME_CALL(name) GC__RENAME(name)
#define GC__RENAME_TYPED(name) GC__RENAME(name)
#define GC__RENAME_MACHINE(name) GC__RENAME(name)
#define GC__RENAME_INLINE(name)
#define GC__RENAME_TYPED_INLINE(name)
#define GC__RENAME_KIND(kind, name) GC__RENAME_##kind(name)
GC__INTERFACE(GC__RENAME_KIND)
GC__INTERFACE_DATA(GC__RENAME)
#endif
