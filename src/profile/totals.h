/* Sums over the entries of a profile. */
#pragma once

#include "model.h"

/* What is in use of an entry, in all generations. */
GC__FN gc__profile_amount gc__entry_live(const gc__profile_entry *entry) {
    gc__profile_amount sum = entry->live[0];
    for (int g = 1; g < GC_GENERATIONS; g++) gc__amount_sum(&sum, &entry->live[g]);
    return sum;
}

/* What was allocated, by type: an array of profile->types_count items, given back by gc__type_totals_free. NULL: there is no
   memory, and the output has failed. */
GC__FN gc__profile_amount *gc__type_totals(const gc__profile *profile, gc__output *output) {
    gc__profile_amount *totals = (gc__profile_amount *)gc__os_map((profile->types_count + 1) * sizeof *totals);
    if (!totals) gc__output_fail(output, ENOMEM);
    for (size_t i = 0; totals && i < profile->entries_count; i++)
        gc__amount_sum(&totals[profile->entries[i].type], &profile->entries[i].allocated);
    return totals;
}

GC__FN void gc__type_totals_free(const gc__profile *profile, gc__profile_amount *totals) {
    gc__os_unmap(totals, (profile->types_count + 1) * sizeof *totals);
}
