/* Flame graphs as one file of SVG: what was allocated, by site and by type. It has its own script, for zooming and searching. */
#pragma once

#include "flame.h"
#include "page.h"
#include "store.h"
#include "svg_script.h"
#include "text.h"

#define GC__SVG_WIDTH 1200.0
#define GC__SVG_SIDE 10.0
#define GC__SVG_ROW 17.0  /* the height of a frame, and a gap */
#define GC__SVG_LEAST 0.1 /* narrower frames are left out */

typedef struct gc__svg {
    gc__output *output;
    const gc__flame *flame;
    double top;
    size_t left_out;
} gc__svg;

/* Restrained colors: the hue is the kind's, and the name makes a shade of it. */
GC__FN void gc__svg_color(gc__output *output, const gc__flame_frame *frame) {
    unsigned shade = (unsigned)(gc__profile_hash(frame->name, strlen(frame->name), 7) >> 40);
    if (!frame->depth)
        gc__put_text(output, "#d9d7d2");
    else if (frame->is_type)
        gc__put_format(output, "hsl(%u,%u%%,%u%%)", 195 + shade % 30, 38 + shade / 32 % 20, 66 + shade / 1024 % 12);
    else
        gc__put_format(output, "hsl(%u,%u%%,%u%%)", 22 + shade % 30, 62 + shade / 32 % 20, 64 + shade / 1024 % 12);
}

GC__FN void gc__svg_frame(void *context, const gc__flame_frame *frame) {
    gc__svg *svg = (gc__svg *)context;
    gc__output *output = svg->output;
    char number[32];
    double total = svg->flame->total > 0 ? svg->flame->total : 1, scale = (GC__SVG_WIDTH - 2 * GC__SVG_SIDE) / total;
    double part = frame->depth ? (frame->to - frame->from) / total : 1; /* the root's is the whole, even of nothing */
    double x = GC__SVG_SIDE + frame->from * scale, width = part * (GC__SVG_WIDTH - 2 * GC__SVG_SIDE);
    double y = svg->top + (double)frame->depth * GC__SVG_ROW;
    if (width < GC__SVG_LEAST && frame->depth) {
        svg->left_out++;
        return;
    }
    gc__put_text(output, "<g class=\"f\" data-name=\"");
    gc__put_xml(output, frame->name);
    gc__put_text(output, "\"><title>");
    gc__put_xml(output, frame->name);
    gc__put_format(output, " (%s bytes, %.2f%%)</title>", gc__grouped(number, frame->to - frame->from), 100 * part);
    gc__put_format(output, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" rx=\"1\" fill=\"", x, y, width,
                   GC__SVG_ROW - 1);
    gc__svg_color(output, frame);
    gc__put_format(output, "\"/><text x=\"%.2f\" y=\"%.0f\"></text></g>\n", x + 3, y + 12);
}

/* A graph with its heading; returns its height. */
GC__FN double gc__svg_graph(const gc__profile *profile, gc__output *output, double top, unsigned number,
                            bool type_first) {
    gc__flame flame;
    gc__svg svg = {output, &flame, top + 26, 0};
    if (!gc__flame_make(&flame, profile, type_first)) gc__output_fail(output, ENOMEM);
    gc__put_format(output, "<text class=\"part\" x=\"10\" y=\"%.0f\">%s</text>\n", top + 16,
                   type_first ? "By type, and where it was allocated" : "By allocation site, and the types there");
    gc__put_format(output,
                   "<text id=\"matched%u\" x=\"1190\" y=\"%.0f\" text-anchor=\"end\"></text>\n<g class=\"graph\">\n",
                   number, top + 16);
    gc__flame_each(&flame, gc__svg_frame, &svg);
    double height = 26 + (double)(flame.depth + 1) * GC__SVG_ROW + 24;
    gc__put_text(output, "</g>\n");
    if (svg.left_out)
        gc__put_format(
            output,
            "<text class=\"quiet\" x=\"10\" y=\"%.0f\">%zu frames narrower than %.1f pixels are left out</text>\n",
            top + height - 10, svg.left_out, GC__SVG_LEAST);
    gc__flame_free(&flame);
    return height;
}

GC__FN void gc__svg_head(const gc__profile *profile, gc__output *output) {
    char bytes[32];
    gc__put_text(output, "<style>\n");
    GC__PUT_LINES(output, gc__svg_style);
    gc__put_text(output, "</style>\n<script><![CDATA[\n");
    GC__PUT_LINES(output, gc__svg_script);
    gc__put_text(output, "]]></script>\n<text class=\"title\" x=\"10\" y=\"26\">Allocations of ");
    gc__put_xml(output, gc__program_name(profile));
    gc__put_format(
        output,
        "</text>\n<text class=\"quiet\" x=\"10\" y=\"46\">%s bytes in %.3f s; one byte in %llu was sampled</text>\n",
        gc__grouped(bytes, (double)profile->allocated_bytes), (double)gc__ns_since(profile->end_ns, profile->start_ns) / 1e9,
        (unsigned long long)profile->options.period_bytes);
    gc__put_text(output,
                 "<text id=\"reset\" class=\"control\" x=\"10\" y=\"68\" style=\"display:none\">Reset Zoom</text>\n"
                 "<text id=\"details\" x=\"120\" y=\"68\"></text>\n"
                 "<text id=\"search\" class=\"control\" x=\"1190\" y=\"26\" text-anchor=\"end\">Search</text>\n"
                 "<text id=\"case\" class=\"control\" x=\"1190\" y=\"46\" text-anchor=\"end\">ignore case</text>\n");
}

/* The height is known at last; until then there is room for it. A device cannot be gone back in: it gets a window's height. */
GC__FN void gc__write_svg(const gc__profile *profile, gc__output *output) {
    char size[96];
    gc__put_text(
        output,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"init()\" ");
    uint64_t at = gc__output_position(output);
    gc__put_format(output, "%-64s>\n", "width=\"1200\" height=\"1000\"");
    gc__svg_head(profile, output);
    double top = 80;
    top += gc__svg_graph(profile, output, top, 0, false);
    top += gc__svg_graph(profile, output, top, 1, true);
    gc__put_text(output, "</svg>\n");
    int length = snprintf(size, sizeof size, "width=\"1200\" height=\"%.0f\" viewBox=\"0 0 1200 %.0f\"", top, top);
    if (!output->special && length <= 64) gc__output_patch(output, at, size, (size_t)length);
}
