/* gc_barrier_x86_64.h - the write barriers of gc.h, usable on their own.

   A generational collector must know every reference from an old object to a younger one. A write barrier is code at
   each store of a reference that records the store in a table of cards: bytes (or bits) that each stand for a small
   part of the heap. This header has sixteen barriers; GC_BARRIERS lists them and defines what each does.

   The default, rank sum, has two byte tables indexed by address >> GC_REGION_SHIFT over the whole user address space:

       age[slot]  = generation of the region that holds the slot, 0 where there is no heap
       youth[ref] = 2 - generation of the region that holds the referent, 0 where there is no heap

   A store needs its card dirtied exactly if age + youth > 2. There is one branch and no range check; null, stack and
   static slots, and referents outside the heap all come out right. The youth table lies just below the age table, so
   one base pointer reaches both.

   Each barrier NAME comes as

       gc_barrier_store_NAME(tables, slot, ref)      inline assembly (C elsewhere, or with GC_PORTABLE_BARRIERS)
       gc_barrier_checked_NAME(tables, slot, ref)    for slots that may lie outside the heap
       gc_barrier_after_NAME(tables, slot, ref)      the barrier alone, after a store
       gc_barrier_assign_NAME(tables, &to, &from)    *to = *from, and moves both; also _checked_
       gc_barrier_copy_NAME(tables, to, from, count) memmove, one pass; also _checked_
       gc_barrier_store_c(GC_BARRIER_NAME, ..)       portable C, in the same forms
       gc_barrier_functions_of(GC_BARRIER_NAME)      pointers, to call out of line
       gc_barrier_emit(.., GC_BARRIER_NAME, ..)      machine code in a buffer, for JIT compilers; gc_barrier_patch

   Without the collector: fill the fields of a gc_barrier_tables that the barrier reads, and call any of these. With it,
   gc_store uses GC_BARRIER, and the collector maintains the tables. The project's docs/barriers.md compares the
   barriers. */
#pragma once

#include "barrier/geometry.h"

GC__STYLE_BEGIN

#include "barrier/tables.h"
#include "barrier/portable.h"
#include "barrier/assembly_aarch64.h"
#include "barrier/assembly.h"
#include "barrier/forms.h"
#include "barrier/emit_code.h"
#include "barrier/emit_aarch64.h"
#include "barrier/emit.h"

GC__STYLE_END
