/* The calling process as the target of a reader: it looks at itself. */
#pragma once

#include "gc_dac.h"

#include <unistd.h>

static unsigned reads;
static size_t read_self(void *context, uint64_t address, void *to, size_t bytes) {
    (void)context;
    reads++;
    return gc__dac_os_read(getpid(), address, to, bytes);
}
static bool own_mapping(void *context, size_t i, gc_dac_mapping *mapping) {
    static gc__dac_process process;
    (void)context;
    process.tid = getpid();
    if (!process.count) gc__dac_process_maps(&process);
    return gc__dac_process_mapping(&process, i, mapping);
}
static const gc_dac_target self = {NULL, read_self, NULL, own_mapping, NULL, NULL};
