/* The description of this collector for readers in other processes, and the ELF note by which they find it. */
#pragma once

#include "../platform/platform.h"
#include "../weak/handle_table.h"
#include "../weak/finalizers.h"
#include "../trace/collector.h"
#include "../api/dac_vars.h"

/* The layout of gc_code_frame, which is not known without gc_stackmap.h; that header asserts that it is the same. */
#define GC__DAC_CODE_REGISTERS 16
typedef struct gc__dac_code_frame {
    void *previous;
    uintptr_t pc;
    uintptr_t registers[GC__DAC_CODE_REGISTERS];
    uint32_t known;
} gc__dac_code_frame;

#if !GC_DIAGNOSTICS
GC__COLD void gc__dac_describe(GcDacVars *to) { (void)to; }
GC__COLD GcDacVars *gc__dac_own(void) { return NULL; }
#else
/* Not const, though nothing writes to it: core files leave constant data out. */
GC__VAR GcDacVars gc__dac_vars __attribute__((used)) = {
    GC__DAC_MAGIC,
    GC_DAC_MAJOR,
    GC_DAC_MINOR,
    GC__DAC_VARIABLE_COUNT,
    GC__DAC_FACT_COUNT,
    GC__DAC_AT_COUNT,
    GC__DAC_STATISTIC_COUNT,
    sizeof(GcDacVars),
    GC_VERSION_TEXT,
#define GC__DAC_VARIABLE(name, address) address,
    {GC__DAC_VARIABLES(GC__DAC_VARIABLE)},
#undef GC__DAC_VARIABLE
#define GC__DAC_FACT(name, number) (uint32_t)(number),
    {GC__DAC_FACTS(GC__DAC_FACT)},
#undef GC__DAC_FACT
#define GC__DAC_MEMBER(structure, member, type, path) (uint16_t) offsetof(type, path),
    {GC__DAC_MEMBERS(GC__DAC_MEMBER)},
#undef GC__DAC_MEMBER
#define GC__DAC_STATISTIC(name, count) {(uint16_t)offsetof(gc_stats, name), (uint16_t)(count)},
    {GC__DAC_STATISTICS(GC__DAC_STATISTIC)}
#undef GC__DAC_STATISTIC
};
GC__STATIC_ASSERT(sizeof(GcDacVars) < 2048, "the record is small");
GC__STATIC_ASSERT(sizeof(gc__handle_segment) < 65536, "offsets have 16 bits");

/* Appends the first entries of a list, as many as the reader has room for, and stores their number in *room. */
GC__COLD char *gc__dac_append(char *to, uint16_t *room, const void *list, unsigned count, size_t entry_bytes) {
    if (*room > count) *room = (uint16_t)count;
    memcpy(to, list, *room * entry_bytes);
    return to + *room * entry_bytes;
}

/* Describes this collector in the record of a reader in this process. The record's numbers say what the reader knows
   and has room for. */
GC__COLD void gc__dac_describe(GcDacVars *to) {
    size_t room = offsetof(GcDacVars, variables) + to->variable_count * sizeof *to->variables +
                  to->fact_count * sizeof *to->facts + to->member_count * sizeof *to->members +
                  to->statistic_count * sizeof *to->statistics;
    bool known = to->major == GC_DAC_MAJOR && to->bytes >= room;
    to->major = GC_DAC_MAJOR;
    to->minor = GC_DAC_MINOR;
    if (!known) return;
    char *at = (char *)to + offsetof(GcDacVars, variables);
    at = gc__dac_append(at, &to->variable_count, gc__dac_vars.variables, GC__DAC_VARIABLE_COUNT, sizeof *to->variables);
    at = gc__dac_append(at, &to->fact_count, gc__dac_vars.facts, GC__DAC_FACT_COUNT, sizeof *to->facts);
    at = gc__dac_append(at, &to->member_count, gc__dac_vars.members, GC__DAC_AT_COUNT, sizeof *to->members);
    gc__dac_append(at, &to->statistic_count, gc__dac_vars.statistics, GC__DAC_STATISTIC_COUNT, sizeof *to->statistics);
    memcpy(to->version, gc__dac_vars.version, sizeof to->version);
    to->magic = GC__DAC_MAGIC; /* last: from here on the record is a description */
}

GC__COLD GcDacVars *gc__dac_own(void) { return &gc__dac_vars; }

GC__NOTE(gc__dac_note, gc__dac_vars)
#endif
