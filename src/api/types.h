/* Objects and their types.

   By default an object begins with `const gc_type *`; one that has elements continues with `size_t length`.

   In C++ too the header is the first member, and so is the base of a hierarchy, whose fields are named through it:
       struct circle { shape base; circle *next; };    // struct shape { gc_object header; shape *owner; };
       static const gc_type circle_type = GC_TYPE(circle, base.owner, next);
   A type that inherits the header or a base works too, but the macros find fields by offsetof, which is then an
   extension that gcc and clang warn of: put `#pragma GCC diagnostic ignored "-Winvalid-offsetof"` before the types. A
   type with virtual functions does not compile: the pointer to them would be where the header must be. Constructors do
   not run. */
#pragma once

#include "config.h"

typedef struct gc_heap gc_heap;
typedef struct gc_thread gc_thread;
typedef struct gc_type gc_type;
typedef struct gc_finalizer gc_finalizer;

/* Receives the slots that a trace function or a root callback reports: pass it on to gc_visit. For gc_object_visit a
   host makes visitors of its own. */
typedef struct gc_visitor gc_visitor;
struct gc_visitor {
    void (*visit)(gc_visitor *visitor, void *slot, size_t count, unsigned flags);
};

typedef struct gc_object {
    const gc_type *type;
} gc_object;

typedef struct gc_array {
    gc_object header;
    size_t length;
} gc_array;

/* Static, or kept by the host until it has run; the collector keeps the address. A type that names one (gc_type.finalizer, by
   GC_TYPE_FINALIZED) has each of its objects registered by gc_new. */
struct gc_finalizer {
    void (*finalize)(gc_thread *thread, void *object); /* cooperative mode */
    bool critical; /* runs after the normal ones, and when the heap is destroyed in any case */
    /* Whether this object says, by a mark of its own, that it needs no finalizer: then it dies at once, without the search
       that gc_finalizer_suppress makes. Called during collections, before the finalizer runs, and with
       GC_TRACE_FUNCTIONS_CONCURRENT concurrently; must read that object only. NULL: every object needs it. */
    bool (*is_suppressed)(const void *object);
};

/* Of a type whose objects need none. */
static const gc_finalizer gc_no_finalizer __attribute__((unused)) = {0, false, 0};

/* Flags of a type. */
enum {
    GC_TYPE_FIXED = 1 /* its objects never move, as if all were made with GC_NEW_FIXED */
};

/* What the collector must know of a type. Static or otherwise immortal; the collector never copies or frees it. It may
   be the first member of a record of the host's own, which an object then leads to at no cost:
       struct class { gc_type gc; const char *display_name; };
       static const struct class cell_class = {GC_TYPE(cell, next), "cell"};    // gc_new(gc, &cell_class.gc)
       const struct class *class = (const struct class *)((gc_object *)object)->type;
   Bit i of a mask stands for the 8-byte word i of the fixed part or of an element, so masks reach the first 512 bytes;
   a type with references further in needs a trace function. */
struct gc_type {
    const char *name;
    uint32_t bytes;         /* the fixed part, header included; elements start here */
    uint32_t element_bytes; /* 0: no elements, and no length word */
    uint64_t refs;          /* words of the fixed part that hold plain pointers to objects, or null */
    uint64_t values;        /* words of the fixed part that hold tagged values (GC_VALUE_IS_REF) */
    uint64_t element_refs;  /* the same two masks for each element */
    uint64_t element_values;
    /* Visits, by gc_visit, the slots that no mask shows; may be NULL. Slots in memory of the host's that belongs to the
       object are visited with GC_SLOT_OWNED, and stored to by gc_store_in, or after gc_remember; where the heap is
       non_generational neither is needed. It must not allocate, nor read other heap objects. It is called from the
       object's allocation on, and also after its finalizer has run. */
    void (*trace)(void *object, gc_visitor *visitor);
    const gc_finalizer *finalizer; /* runs when an object of the type has been found dead; may be NULL */
    const char *fields;            /* the names behind the masks, "next, value"; of a GC_TYPE_STRING that of the member
                                      with its characters; for reports only; may be NULL */
    uint16_t field_offsets[17];    /* their offsets, in an element with GC_ELEMENT_FIELD, in that order; and a 0 */
    uint32_t flags; /* GC_TYPE_FIXED, which goes with a finalizer, gc_no_finalizer if there is none; or 0 */
};

#define GC_ELEMENT_FIELD 0x8000

/* Checks a type declared by hand. Returns NULL if it is sound, else a sentence that says what is wrong with it. gc_new
   checks on its slow path, and always if GC_DEBUG >= 2. [any thread; never collects; cannot fail] */
GC_API const char *gc_type_check(const gc_type *type);

/* Declares, as an initializer, a type of fixed size whose named fields (at most 16) are references:
       static const gc_type cell_type = GC_TYPE(cell, next);
   A field that is not 8-byte aligned or lies beyond 512 bytes does not compile. */
#define GC_TYPE(T, ...) GC__TYPE(T, GC_FIELDS(T, __VA_ARGS__), 0, 0, GC__NAMES(T, __VA_ARGS__))
/* GC_TYPE for fields that are tagged values. */
#define GC_TYPE_VALUES(T, ...) GC__TYPE(T, 0, GC_VALUE_FIELDS(T, __VA_ARGS__), 0, GC__NAMES(T, __VA_ARGS__))
/* A type of fixed size without references. */
#define GC_TYPE_LEAF(T) GC__TYPE(T, 0, 0, 0, GC__NO_NAMES)
/* GC_TYPE and GC_TYPE_LEAF with a finalizer (a static const gc_finalizer). */
#define GC_TYPE_FINALIZED(T, finalizer, ...) \
    GC__TYPE(T, GC_FIELDS(T, __VA_ARGS__), 0, &(finalizer), GC__NAMES(T, __VA_ARGS__))
#define GC_TYPE_LEAF_FINALIZED(T, finalizer) GC__TYPE(T, 0, 0, &(finalizer), GC__NO_NAMES)
/* A type of fixed size by clauses in any order; those of elements are for GC_TYPE_ARRAY_WITH only:
       GC_TYPE_WITH(pair, refs(first, second), values(tag), trace(pair_trace), finalizer(pair_end))
   refs(FIELD, ...)            fields that are references (at most 16 names in all, those of elements included)
   values(FIELD, ...)          fields that are tagged values
   elements(refs)              each element is a reference; elements(values): a tagged value
   element_refs(FIELD, ...)    fields of each element, a struct, that are references
   element_values(FIELD, ...)  the same that are tagged values
   trace(FUNCTION)             visits the slots that no other clause names
   finalizer(NAME)             a static const gc_finalizer
   flags(FLAGS)                GC_TYPE_FIXED
   The preprocessor reads these names, so the host must undefine any macro of its own that has such a name. */
#define GC_TYPE_WITH(T, ...) GC__TYPE_WITH(T, GC__BYTES(T), 0, struct gc__no_elements, __VA_ARGS__)

/* Types with elements: T starts with a gc_array (or a header and a size_t length) and ends in a flexible array member
   whose elements are references, tagged values, or neither. No other field of T holds a reference. Elements that are
   structs are declared by clauses. */
#define GC_TYPE_ARRAY(T, member) GC__TYPE_ARRAY(T, member, GC__WORD_SIZED(((T *)0)->member[0]), 0, 0)
#define GC_TYPE_ARRAY_VALUES(T, member) GC__TYPE_ARRAY(T, member, 0, GC__VALUE_SIZED(((T *)0)->member[0]), 0)
#define GC_TYPE_ARRAY_LEAF(T, member) GC__TYPE_ARRAY(T, member, 0, 0, 0)
/* An array of characters, or of other small numbers, with room for one 0 more behind its elements. gc_new_array has it zeroed;
   who has it made with GC_NEW_RAW writes it. */
#define GC_TYPE_STRING(T, member)                                                                              \
    {                                                                                                          \
#T, GC__FIXED(T, member) + sizeof(((T *)0)->member[0]), sizeof(((T *)0)->member[0]), 0, 0, 0, 0, 0, 0, \
            #member, {offsetof(T, member) }, 0                                                                 \
    }
/* A type with elements by clauses: GC_TYPE_ARRAY_WITH(closure, captured, refs(code), elements(values)). */
#define GC_TYPE_ARRAY_WITH(T, member, ...) \
    GC__TYPE_WITH(T, GC__FIXED(T, member), sizeof(((T *)0)->member[0]), __typeof__(((T *)0)->member[0]), __VA_ARGS__)
/* A type whose slots only its trace function knows. */
#define GC_TYPE_TRACED(T, trace) \
    { #T, GC__BYTES(T), 0, 0, 0, 0, 0, trace, 0, GC__NO_NAMES }
#define GC_TYPE_ARRAY_TRACED(T, member, trace) GC__TYPE_ARRAY(T, member, 0, 0, trace)

/* The mask of the named fields of T, for types that are declared by hand; masks combine by |. */
#define GC_FIELDS(T, ...) (GC__EACH(GC__FIELD_BIT, T, __VA_ARGS__) 0)
/* The same of fields that are tagged values, of GC_VALUE_BYTES each. */
#define GC_VALUE_FIELDS(T, ...) (GC__EACH(GC__VALUE_BIT, T, __VA_ARGS__) 0)

#define GC__TYPE(T, refs, values, finalizer, names) \
    { #T, GC__BYTES(T), 0, refs, values, 0, 0, 0, finalizer, names }
#define GC__TYPE_ARRAY(T, member, refs, values, trace) \
    { #T, GC__FIXED(T, member), sizeof(((T *)0)->member[0]), 0, 0, refs, values, trace, 0, GC__NO_NAMES }
#define GC__NAMES(T, ...) #__VA_ARGS__, {GC__EACH(GC__FIELD_OFFSET, T, __VA_ARGS__) }, 0
#define GC__NO_NAMES 0, {0}, 0

#define GC__TEXT_field_is_word \
    "GC_TYPE: a field is no single word. Name each element of an array, GC_TYPE(T, f[0], f[1]), or use GC_TYPE_TRACED"
#define GC__TEXT_field_is_value \
    "GC_TYPE: a field of values has not the size of one, GC_VALUE_BYTES. Name each element of an array, values(f[0], f[1])"
#define GC__TEXT_field_is_aligned "GC_TYPE: a field is not at a multiple of 8 bytes. Do not pack the struct"
#define GC__TEXT_field_is_near "GC_TYPE: a field is beyond the first 512 bytes. Move it up, or use GC_TYPE_TRACED"
#define GC__TEXT_element_is_word \
    "GC_TYPE_ARRAY: elements are no single words. Use a clause, GC_TYPE_ARRAY_WITH(T, items, element_refs(f))"
#define GC__TEXT_element_is_value \
    "GC_TYPE_ARRAY: elements have not the size of one value, GC_VALUE_BYTES. Use a clause, element_values(f)"
#define GC__TEXT_clauses_are_few \
    "GC_TYPE_WITH: the clauses have more than 16 names, or two of them are of a kind that may occur once"
#define GC__TEXT_no_virtual_functions \
    "GC_TYPE: a type with virtual functions begins with a pointer to them, and not with its header"
GC__REQUIREMENT(field_is_word)
GC__REQUIREMENT(field_is_aligned)
GC__REQUIREMENT(field_is_near)
GC__REQUIREMENT(element_is_word)
GC__REQUIREMENT(field_is_value)
GC__REQUIREMENT(element_is_value)
GC__REQUIREMENT(clauses_are_few)
GC__REQUIREMENT(no_virtual_functions)

/* A C++ type with virtual functions begins with a pointer to them, and not with its header. */
#define GC__HAS_NO_VIRTUAL_FUNCTIONS(T) GC__REQUIRE(no_virtual_functions, !GC__IS_POLYMORPHIC(T))
#define GC__BYTES(T) (sizeof(T) * GC__HAS_NO_VIRTUAL_FUNCTIONS(T))
#define GC__FIXED(T, member) (offsetof(T, member) * GC__HAS_NO_VIRTUAL_FUNCTIONS(T))
#define GC__FIELD_IN_REACH(T, f) \
    (GC__REQUIRE(field_is_aligned, offsetof(T, f) % 8 == 0) * GC__REQUIRE(field_is_near, offsetof(T, f) < 512))
#define GC__MASK_BIT(T, f, is_sized) ((uint64_t)((is_sized)*GC__FIELD_IN_REACH(T, f)) << (offsetof(T, f) / 8 % 64)) |
#define GC__FIELD_BIT(T, f) GC__MASK_BIT(T, f, GC__REQUIRE(field_is_word, sizeof(((T *)0)->f) == 8))
#define GC__VALUE_BIT(T, f) GC__MASK_BIT(T, f, GC__REQUIRE(field_is_value, sizeof(((T *)0)->f) == GC_VALUE_BYTES))
#define GC__FIELD_OFFSET(T, f) offsetof(T, f),
#define GC__ELEMENT_OFFSET(E, f) GC_ELEMENT_FIELD | offsetof(E, f),
#define GC__EACH(m, T, ...) GC__COUNT(__VA_ARGS__)(m, T, __VA_ARGS__)
#define GC__COUNT(...)                                                                                           \
    GC__PICK(__VA_ARGS__, GC__E16, GC__E15, GC__E14, GC__E13, GC__E12, GC__E11, GC__E10, GC__E9, GC__E8, GC__E7, \
             GC__E6, GC__E5, GC__E4, GC__E3, GC__E2, GC__E1, 0)
#define GC__PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, x, ...) x
#define GC__E1(m, T, a) m(T, a)
#define GC__E2(m, T, a, ...) m(T, a) GC__E1(m, T, __VA_ARGS__)
#define GC__E3(m, T, a, ...) m(T, a) GC__E2(m, T, __VA_ARGS__)
#define GC__E4(m, T, a, ...) m(T, a) GC__E3(m, T, __VA_ARGS__)
#define GC__E5(m, T, a, ...) m(T, a) GC__E4(m, T, __VA_ARGS__)
#define GC__E6(m, T, a, ...) m(T, a) GC__E5(m, T, __VA_ARGS__)
#define GC__E7(m, T, a, ...) m(T, a) GC__E6(m, T, __VA_ARGS__)
#define GC__E8(m, T, a, ...) m(T, a) GC__E7(m, T, __VA_ARGS__)
#define GC__E9(m, T, a, ...) m(T, a) GC__E8(m, T, __VA_ARGS__)
#define GC__E10(m, T, a, ...) m(T, a) GC__E9(m, T, __VA_ARGS__)
#define GC__E11(m, T, a, ...) m(T, a) GC__E10(m, T, __VA_ARGS__)
#define GC__E12(m, T, a, ...) m(T, a) GC__E11(m, T, __VA_ARGS__)
#define GC__E13(m, T, a, ...) m(T, a) GC__E12(m, T, __VA_ARGS__)
#define GC__E14(m, T, a, ...) m(T, a) GC__E13(m, T, __VA_ARGS__)
#define GC__E15(m, T, a, ...) m(T, a) GC__E14(m, T, __VA_ARGS__)
#define GC__E16(m, T, a, ...) m(T, a) GC__E15(m, T, __VA_ARGS__)

/* Clauses. A clause `kind(arguments)` is a row of columns, each in parentheses: the terms of the masks refs, values,
   element_refs and element_values; trace function; finalizer; names; their offsets; the clause's weight: 1 for each name,
   of which there may be 16, or 1 in a hexadecimal digit of its own for a kind that may occur once; and flags. An
   initializer is made column by column. */
#define GC__TYPE_WITH(T, bytes, element_bytes, E, ...)                                                    \
    {                                                                                                     \
#T, bytes *GC__WEIGHED(GC__CLAUSES(GC__WEIGHT, T, E, __VA_ARGS__) 0), element_bytes,              \
            (GC__CLAUSES(GC__REFS, T, E, __VA_ARGS__) 0), (GC__CLAUSES(GC__VALUES, T, E, __VA_ARGS__) 0), \
            (GC__CLAUSES(GC__ELEMENT_REFS, T, E, __VA_ARGS__) 0),                                         \
            (GC__CLAUSES(GC__ELEMENT_VALUES, T, E, __VA_ARGS__) 0),                                       \
            GC__FIRST(GC__CLAUSES(GC__TRACE, T, E, __VA_ARGS__) 0, 0),                                    \
            GC__FIRST(GC__CLAUSES(GC__FINALIZER, T, E, __VA_ARGS__)                                       \
                          GC__FINALIZER_BY(GC__CLAUSES(GC__FLAGS, T, E, __VA_ARGS__) 0),                  \
                      0),                                                                                 \
            "" GC__CLAUSES(GC__TEXT_OF, T, E, __VA_ARGS__),                                               \
            {GC__CLAUSES(GC__OFFSETS, T, E, __VA_ARGS__) 0 }, GC__CLAUSES(GC__FLAGS, T, E, __VA_ARGS__) 0 \
    }
#define GC__FINALIZER_BY(flags) ((flags) ? &gc_no_finalizer : 0)
#define GC__WEIGHED(weight) GC__REQUIRE(clauses_are_few, ((weight)&0xFF) <= 16 && !((weight)&0xEEEE00))
#define GC__FIRST(...) GC__FIRST2(__VA_ARGS__)
#define GC__FIRST2(a, ...) a

#define GC__ROW_refs(T, E, ...)                                                         \
    (GC__EACH(GC__FIELD_BIT, T, __VA_ARGS__)), (), (), (), (), (), (#__VA_ARGS__ ", "), \
        (GC__EACH(GC__FIELD_OFFSET, T, __VA_ARGS__)), (GC__EACH(GC__FIELD_ONE, T, __VA_ARGS__)), ()
#define GC__ROW_values(T, E, ...)                                                       \
    (), (GC__EACH(GC__VALUE_BIT, T, __VA_ARGS__)), (), (), (), (), (#__VA_ARGS__ ", "), \
        (GC__EACH(GC__FIELD_OFFSET, T, __VA_ARGS__)), (GC__EACH(GC__FIELD_ONE, T, __VA_ARGS__)), ()
#define GC__ROW_elements(T, E, what) GC__ROW_elements_##what(E)
#define GC__ROW_elements_refs(E) (), (), (GC__WORD_SIZED(E) |), (), (), (), (), (), (0x10000 +), ()
#define GC__ROW_elements_values(E) (), (), (), (GC__VALUE_SIZED(E) |), (), (), (), (), (0x10000 +), ()
#define GC__ROW_element_refs(T, E, ...)                                                 \
    (), (), (GC__EACH(GC__FIELD_BIT, E, __VA_ARGS__)), (), (), (), (#__VA_ARGS__ ", "), \
        (GC__EACH(GC__ELEMENT_OFFSET, E, __VA_ARGS__)), (GC__EACH(GC__FIELD_ONE, E, __VA_ARGS__)), ()
#define GC__ROW_element_values(T, E, ...)                                               \
    (), (), (), (GC__EACH(GC__VALUE_BIT, E, __VA_ARGS__)), (), (), (#__VA_ARGS__ ", "), \
        (GC__EACH(GC__ELEMENT_OFFSET, E, __VA_ARGS__)), (GC__EACH(GC__FIELD_ONE, E, __VA_ARGS__)), ()
#define GC__ROW_trace(T, E, function) (), (), (), (), (function, ), (), (), (), (0x100 +), ()
#define GC__ROW_finalizer(T, E, name) (), (), (), (), (), (&(name), ), (), (), (0x1000 +), ()
#define GC__ROW_flags(T, E, flags) (), (), (), (), (), (), (), (), (0x100000 +), ((flags) |)
#define GC__FIELD_ONE(T, f) 1 +
#define GC__WORD_SIZED(E) (uint64_t) GC__REQUIRE(element_is_word, sizeof(E) == 8)
#define GC__VALUE_SIZED(E) (uint64_t) GC__REQUIRE(element_is_value, sizeof(E) == GC_VALUE_BYTES)

#define GC__CLAUSE_refs(...) refs, __VA_ARGS__
#define GC__CLAUSE_values(...) values, __VA_ARGS__
#define GC__CLAUSE_elements(...) elements, __VA_ARGS__
#define GC__CLAUSE_element_refs(...) element_refs, __VA_ARGS__
#define GC__CLAUSE_element_values(...) element_values, __VA_ARGS__
#define GC__CLAUSE_trace(...) trace, __VA_ARGS__
#define GC__CLAUSE_finalizer(...) finalizer, __VA_ARGS__
#define GC__CLAUSE_flags(...) flags, __VA_ARGS__
#define GC__CLAUSE(column, T, E, clause) GC__ROUTE(column, T, E, GC__CLAUSE_##clause)
#define GC__ROUTE(column, T, E, ...) GC__ROUTE2(column, T, E, __VA_ARGS__)
#define GC__ROUTE2(column, T, E, kind, ...) GC__COLUMN(column, GC__ROW_##kind(T, E, __VA_ARGS__), GC__NO_ROW)
/* Follows each row: an unknown clause, which has no row, takes its columns from here. */
#define GC__NO_ROW                                                                                                \
    (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), \
        (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause), (gc__unknown_clause)
#define GC__COLUMN(column, ...) column(__VA_ARGS__)
#define GC__UNWRAP(...) __VA_ARGS__
#define GC__REFS(a, ...) GC__UNWRAP a
#define GC__VALUES(a, b, ...) GC__UNWRAP b
#define GC__ELEMENT_REFS(a, b, c, ...) GC__UNWRAP c
#define GC__ELEMENT_VALUES(a, b, c, d, ...) GC__UNWRAP d
#define GC__TRACE(a, b, c, d, e, ...) GC__UNWRAP e
#define GC__FINALIZER(a, b, c, d, e, f, ...) GC__UNWRAP f
#define GC__TEXT_OF(a, b, c, d, e, f, g, ...) GC__UNWRAP g
#define GC__OFFSETS(a, b, c, d, e, f, g, h, ...) GC__UNWRAP h
#define GC__WEIGHT(a, b, c, d, e, f, g, h, i, ...) GC__UNWRAP i
#define GC__FLAGS(a, b, c, d, e, f, g, h, i, j, ...) GC__UNWRAP j

/* Not GC__EACH: a clause uses that for its fields, and a macro is not expanded within itself. */
#define GC__CLAUSES(column, T, E, ...)                                                                            \
    GC__PICK(__VA_ARGS__, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C0, GC__C6, \
             GC__C5, GC__C4, GC__C3, GC__C2, GC__C1, 0)                                                           \
    (column, T, E, __VA_ARGS__)
#define GC__C1(column, T, E, a) GC__CLAUSE(column, T, E, a)
#define GC__C2(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C1(column, T, E, __VA_ARGS__)
#define GC__C3(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C2(column, T, E, __VA_ARGS__)
#define GC__C4(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C3(column, T, E, __VA_ARGS__)
#define GC__C5(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C4(column, T, E, __VA_ARGS__)
#define GC__C6(column, T, E, a, ...) GC__CLAUSE(column, T, E, a) GC__C5(column, T, E, __VA_ARGS__)
