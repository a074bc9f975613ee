/* Settings of the runtime's that concern the collector, and the machine's memory. */
#pragma once

#include "collector.h"

void settings_read(gc_options *options);
extern bool settings_beside; /* objects are marked beside the program */
/* What lives after a full collection says by how much the heap may grow. That changes at the next call of settings_pace. */
void settings_note_live(size_t bytes);
void settings_pace(void);
size_t settings_limit(void);      /* what the heap may hold; 0: the container's share, if any */
void settings_note_limit(size_t bytes); /* that limit is in force from now on */
uint64_t settings_memory(void);   /* bytes that the process may have */
uint64_t settings_load(void);     /* bytes of these that are in use */
uint32_t settings_load_percent(void);
uint64_t settings_clock_ns(void); /* since the heap was created */
size_t settings_bytes_in_use(void);
