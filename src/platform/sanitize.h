/* The platform contract for sanitizers. */
#pragma once

#ifndef __has_feature
#define GC__HAS_FEATURE(name) 0
#else
#define GC__HAS_FEATURE(name) __has_feature(name)
#endif
#if defined(__SANITIZE_THREAD__) || GC__HAS_FEATURE(thread_sanitizer)
#define GC__THREAD_SANITIZER 1
#else
#define GC__THREAD_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__) || GC__HAS_FEATURE(address_sanitizer)
#define GC__ADDRESS_SANITIZER 1
#else
#define GC__ADDRESS_SANITIZER 0
#endif

#include "platform.h"

#if GC__ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
GC__FN void gc__os_mark_free(uintptr_t address, size_t bytes, bool is_free) {
    if (is_free)
        __asan_poison_memory_region((void *)address, bytes);
    else
        __asan_unpoison_memory_region((void *)address, bytes);
}
#else
GC__FN void gc__os_mark_free(uintptr_t address, size_t bytes, bool is_free) {
    (void)address, (void)bytes, (void)is_free;
}
#endif
