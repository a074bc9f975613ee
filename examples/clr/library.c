/* The two functions that the library exports. */
#include "handle.h"
#include "heap.h"
#include "report.h"

#include <string.h>

interface *runtime;
uint32_t runtime_major;

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void GC_VersionInfo(version_info *info) {
    runtime_major = info->major;
    *info = (version_info){5, 5, 0, "gc.h"};
}

/* Crash dumps, and tools that look at them, read through these pointers whatever they find there, so all lead to zeroed memory;
   and through one of them twice. */
static void fill_dac_vars(dac_vars *vars) {
    static uint64_t nothing[512];
    static void *queue = nothing; /* of finalizers */
    vars->generation_bytes = 0x100;
    vars->generation_count = 5;
    for (size_t i = 0; i < sizeof vars->before_counts / sizeof *vars->before_counts; i++)
        vars->before_counts[i] = nothing;
    vars->before_counts[FINALIZE_QUEUE] = &queue;
    vars->bookkeeping_elements = 6;
    vars->free_region_kinds = 3;
    vars->card_table_bytes = 64;
    if (vars->minor >= 5 || vars->major > 5) vars->adaptation_mode = nothing;
}

EXPORTED int32_t GC_Initialize(interface *clr, interface **heap, interface **handles, dac_vars *vars) {
    runtime = clr;
    if (runtime_major < EE_MAJOR_LEAST) return E_FAIL; /* it has no function to which the reason could be said */
    fill_dac_vars(vars);
    *heap = &heap_interface;
    *handles = &handle_manager;
    return OK;
}
