/* The library's side of the protocol: its two exports. */
#pragma once

#include "geometry.h"
#include "../base/outside.h"
#include "../diag/dac_table.h"

#ifdef GC_STANDALONE_LIBRARY
#ifndef GC_LIBRARY_NAME
#define GC_LIBRARY_NAME "gc.h " GC_VERSION_TEXT
#endif
#ifndef GC_LIBRARY_BUILD
#define GC_LIBRARY_BUILD 0
#endif
#ifndef GC_LIBRARY_SETTINGS
#define GC_LIBRARY_SETTINGS NULL /* "GC_STRESS=stack GC_VERIFY=1", say: for what the program's settings leave open */
#endif
#define GC__LIBRARY_EXPORT GC__EXTERN GC__EXPORT

GC__LIBRARY_EXPORT gc_version_info_function GC_VersionInfo;
GC__LIBRARY_EXPORT gc_initialize_function GC_Initialize;

GC__LIBRARY_EXPORT void GC_VersionInfo(gc_version_info *info) {
    info->major = GC_INTERFACE_MAJOR;
    info->minor = GC_INTERFACE_MINOR;
    info->build = GC_LIBRARY_BUILD;
    info->name = GC_LIBRARY_NAME;
}

static bool gc__library_serves; /* GC_Initialize has succeeded */

/* Takes over which values are references. False: they were compiled in, and are other ones. */
GC__FN bool gc__library_take_values(const gc_host *host) {
#ifdef GC__VALUES_OF_PROGRAM
    gc__value_mask = host->value_mask;
    gc__value_tag = host->value_tag;
#endif
    return GC__VALUE_MASK_HERE == host->value_mask && GC__VALUE_TAG_HERE == host->value_tag;
}

/* Whether this library can serve the program; `why` is a sentence if not. */
GC__FN bool gc__library_accepts(const gc_host *host, char *why, size_t bytes) {
    size_t used = (size_t)snprintf(why, bytes, "the geometries differ, which inline code depends on: ");
    if (host->major != GC_INTERFACE_MAJOR)
        snprintf(why, bytes, "the program's interface is %u.%u, and the library's is %d.%d", (unsigned)host->major,
                 (unsigned)host->minor, GC_INTERFACE_MAJOR, GC_INTERFACE_MINOR);
    else if (gc__library_serves)
        snprintf(why, bytes, "the library is in use already, and serves one host: copy the file for another");
    else if (gc__geometry_differs(host->geometry, &gc__geometry_here, why + used, bytes - used))
        return false;
    else if (!gc__library_take_values(host))
        snprintf(why, bytes,
                 "the library was compiled with a GC_VALUE_MASK and GC_VALUE_TAG, and the program with others");
    else
        return true;
    return false;
}

GC__LIBRARY_EXPORT int32_t GC_Initialize(const gc_host *given, const gc_functions **functions, struct GcDacVars *vars) {
    gc_host host; /* fields that an older program does not know of are 0 */
    char why[768];
    memset(&host, 0, sizeof host);
    memcpy(&host, given, given->bytes < sizeof host ? given->bytes : sizeof host);
    if (!gc__library_accepts(&host, why, sizeof why)) {
        if (host.refused) host.refused(host.context, why);
        return GC_ERROR_LIBRARY;
    }
    gc__library_serves = true;
    gc__the_outside.context = host.context;
    gc__the_outside.setting = host.setting;
    gc__the_outside.stomp = host.stomp;
    gc__the_outside.warning = host.warning;
    gc__the_outside.fatal = host.fatal;
    gc__the_outside.stores_no_shadow = !host.shadow_heap;
    gc__the_outside.can_be_chosen = true;
    gc__the_outside.name = GC_LIBRARY_NAME;
    gc__the_outside.settings = GC_LIBRARY_SETTINGS;
    *functions = &gc__functions_here;
    if (vars) gc__dac_describe(vars);
    return 0;
}
#endif
