/* How a frame is left whose pc is in a file's code, as short as most frames allow, and kept for each pc: a table decodes
   in 200 to 500 ns, and the same code allocates again and again.

   The table of rules takes no lock. An entry's first word is the exclusive or of its other words and of its pc, so what another
   thread has written in part is no entry. A rule is forgotten when files have been loaded or unloaded since. */
#pragma once

#include "cfi.h"

typedef enum gc__rule_kind {
    GC__RULE_SHORT = 1, /* CFA = register `base` + cfa; the return address is at CFA - 8 */
    GC__RULE_LONG,      /* the row is found again each time */
    GC__RULE_NO_TABLE,  /* code of a file that does not describe it */
    GC__RULE_NO_FILE,   /* code of no file */
    GC__RULE_LAST       /* the stack's first function: it has no caller */
} gc__rule_kind;

typedef struct gc__rule {
    uint32_t changes; /* gc__os_file_changes */
    int32_t cfa;
    uint8_t kind, base;
    int8_t saved[6]; /* of gc__cpu_preserved: at CFA + 8 * saved; 0: the register has its caller's value */
} gc__rule;

GC__STATIC_ASSERT(sizeof(gc__rule) == 16 && GC__CPU_PRESERVED_COUNT <= 6, "a rule is two words");

#define GC__RULES_SHIFT 12

typedef struct gc__rule_entry {
    uint64_t check, words[2];
} gc__rule_entry;

static gc__rule_entry *gc__rules; /* atomic; NULL before the first one is kept */

/* A thread's own few rules, which are close together in memory. */
#define GC__OWN_RULES_SHIFT 6
typedef struct gc__own_rule {
    uintptr_t pc;
    gc__rule rule;
} gc__own_rule;

GC__INLINED size_t gc__rule_place(uintptr_t pc, int shift) { return pc * UINT64_C(0x9E3779B97F4A7C15) >> (64 - shift); }

GC__FN gc__rule_entry *gc__rule_at(gc__rule_entry *rules, uintptr_t pc) {
    return &rules[gc__rule_place(pc, GC__RULES_SHIFT)];
}

/* Whether the rule of the pc is known. */
GC__INLINED bool gc__rule_get(uintptr_t pc, uint32_t changes, gc__rule *rule) {
    gc__rule_entry *rules = __atomic_load_n(&gc__rules, __ATOMIC_ACQUIRE);
    if (!rules) return false;
    const gc__rule_entry *entry = gc__rule_at(rules, pc);
    uint64_t check = __atomic_load_n(&entry->check, __ATOMIC_RELAXED), words[2];
    for (int i = 0; i < 2; i++) words[i] = __atomic_load_n(&entry->words[i], __ATOMIC_RELAXED);
    if ((check ^ words[0] ^ words[1]) != pc) return false;
    memcpy(rule, words, sizeof words);
    return rule->kind && rule->changes == changes;
}

GC__FN void gc__rule_keep(uintptr_t pc, const gc__rule *rule) {
    gc__rule_entry *rules = __atomic_load_n(&gc__rules, __ATOMIC_ACQUIRE), *none = NULL;
    uint64_t words[2];
    if (!rules) {
        size_t bytes = sizeof *rules << GC__RULES_SHIFT;
        rules = (gc__rule_entry *)gc__os_map(bytes);
        if (!rules) return;
        if (!__atomic_compare_exchange_n(&gc__rules, &none, rules, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            gc__os_unmap(rules, bytes);
            rules = none;
        }
    }
    gc__rule_entry *entry = gc__rule_at(rules, pc);
    memcpy(words, rule, sizeof words);
    __atomic_store_n(&entry->check, pc ^ words[0] ^ words[1], __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) __atomic_store_n(&entry->words[i], words[i], __ATOMIC_RELAXED);
}

/* Nobody walks a stack any more. */
GC__FN void gc__rules_free(void) {
    gc__rule_entry *rules = __atomic_exchange_n(&gc__rules, (gc__rule_entry *)NULL, __ATOMIC_ACQ_REL);
    if (rules) gc__os_unmap(rules, sizeof *rules << GC__RULES_SHIFT);
}

/* Makes the row a short rule. False: it says more than that can. */
GC__FN bool gc__rule_shorten(const gc__cfi *cfi, gc__rule *rule) {
    const gc__cfi_row *row = &cfi->row;
    const gc__cfi_rule *back = &row->registers[GC__CPU_PC], *sp = &row->registers[GC__CPU_SP];
    bool is_plain = row->cfa.how == GC__CFI_SUM && row->cfa.value == (int32_t)row->cfa.value &&
                    sp->how == GC__CFI_SUM && sp->value == 0 && back->how == GC__CFI_OFFSET && back->value == -8 &&
                    !cfi->is_signal_frame;
    if (!is_plain) return false;
    rule->kind = GC__RULE_SHORT;
    rule->base = row->cfa_register;
    rule->cfa = (int32_t)row->cfa.value;
    for (int i = 0; i < GC__CPU_PRESERVED_COUNT; i++) {
        const gc__cfi_rule *saved = &row->registers[gc__cpu_preserved[i]];
        if (saved->how == GC__CFI_SAME) continue;
        if (saved->how != GC__CFI_OFFSET || saved->value % 8 || saved->value < -1024 || saved->value >= 0) return false;
        rule->saved[i] = (int8_t)(saved->value / 8);
    }
    return true;
}

typedef struct gc__rule_search {
    uintptr_t pc;
    gc__rule *rule;
    gc__cfi *cfi;
} gc__rule_search;

GC__FN void gc__rule_found(void *context, const gc__os_tables *tables) {
    const gc__rule_search *search = (const gc__rule_search *)context;
    gc__rule *rule = search->rule;
    rule->kind = GC__RULE_NO_TABLE;
    if (!gc__cfi_find(search->cfi, tables, search->pc)) return;
    if (search->cfi->row.registers[GC__CPU_PC].how == GC__CFI_UNDEFINED) {
        rule->kind = GC__RULE_LAST;
    } else if (!gc__rule_shorten(search->cfi, rule)) {
        memset(rule->saved, 0, sizeof rule->saved);
        rule->kind = GC__RULE_LONG;
    }
}

/* Finds the rule of the pc anew. If it is a long one, the row is in `cfi`; its expressions are part of the file. */
GC__FN void gc__rule_find(uintptr_t pc, uint32_t changes, gc__rule *rule, gc__cfi *cfi) {
    gc__rule_search search = {pc, rule, cfi};
    memset(rule, 0, sizeof *rule);
    if (!gc__os_tables_of(pc, gc__rule_found, &search)) rule->kind = GC__RULE_NO_FILE;
    rule->changes = changes;
    gc__rule_keep(pc, rule);
}
