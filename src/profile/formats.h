/* The formats of files, by the endings of their names. Each writer is a part of its own, which this one includes. */
#pragma once

#include "clr.h"
#include "folded.h"
#include "html.h"
#include "pprof.h"
#include "report.h"
#include "snapshot.h"
#include "svg.h"
#include "trace.h"

static const gc__profile_format gc__profile_formats[] = {
    {".folded", gc__write_folded, NULL, NULL, NULL},
    {".nettrace", gc__write_nettrace, gc__net_begin, gc__net_events, NULL},
    {".pb", gc__write_pprof, NULL, NULL, NULL},
    {".txt", gc__write_report, NULL, NULL, NULL},
    {".svg", gc__write_svg, NULL, NULL, NULL},
    {".html", gc__write_html, NULL, NULL, NULL},
    {".json", gc__write_trace, gc__trace_begin, gc__trace_events, NULL},
    {".heapsnapshot", NULL, NULL, NULL, gc__write_snapshot},
};

/* The format of a file's name; NULL: there is none with its ending. */
GC__FN const gc__profile_format *gc__profile_format_of(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof gc__profile_formats / sizeof *gc__profile_formats; i++) {
        size_t ending = strlen(gc__profile_formats[i].ending);
        if (length > ending && strcmp(name + length - ending, gc__profile_formats[i].ending) == 0)
            return &gc__profile_formats[i];
    }
    return NULL;
}
