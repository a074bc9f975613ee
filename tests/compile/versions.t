#!/bin/bash
# Programs and libraries of several versions of the interface: the first numbers must be the same; a newer program does without
# what an older library lacks; a newer library has more than an older program calls.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_NAME GC_PATH GC_STRESS GC_VERIFY GC_CHECKMARK
chmod 755 "$dir"
umask 022
versions='1.0 1.1 1.2 2.0'

# headers VERSION: the shipped headers as they may be in that version, whose list of functions has grown: gc_newer_1 came
# with 1.1, gc_newer_2 with 1.2. Major version 2 is another list.
headers() {
    local version=$1 major=${1%.*} minor=${1#*.} to=$dir/$1 last i
    last=$(sed -n 's/^    X(CALL, \(gc_[a-z_]*\))$/\1/p' src/api/interface.h | tail -1)
    mkdir "$to" && cp ./*.h "$to"
    [ "$major" -eq 1 ] || minor=2
    sed -i "s/#define GC_INTERFACE_MAJOR 1/#define GC_INTERFACE_MAJOR $major/; s/#define GC_INTERFACE_MINOR 0/#define GC_INTERFACE_MINOR ${version#*.}/" "$to/gc_standalone.h"
    for ((i = 1; i <= minor; i++)); do
        sed -i "s/X(CALL, $last)/X(CALL, $last) X(CALL, gc_newer_$i)/" "$to/gc_standalone.h"
        last=gc_newer_$i
        sed -i "s/^GC_API const char \*gc_version(void);/GC_API int gc_newer_$i(void);\n&/; s/^GC_API const char \*gc_version(void) {/GC_API int gc_newer_$i(void) { return ${version/./}$i; }\n&/" "$to/gc.h"
    done
}

cat > "$dir/program.c" << 'END_OF_PROGRAM'
#include "gc_standalone.h"
#ifdef GC_IMPLEMENTATION
int program(void);
#define main program
#endif
#include <stdlib.h>
typedef struct cell { gc_object header; struct cell *next; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
/* Prints what it runs on, what of the newer functions that has, and what they return. */
int main(void) {
    const gc_library *library = gc_library_choose(NULL, NULL);
    printf("%u.%u", library->version.major, library->version.minor);
#if GC_INTERFACE_MINOR >= 1 || GC_INTERFACE_MAJOR > 1
    if (GC_LIBRARY_HAS(library, gc_newer_1)) printf(" %d", gc_newer_1());
#endif
#if GC_INTERFACE_MINOR >= 2 || GC_INTERFACE_MAJOR > 1
    if (GC_LIBRARY_HAS(library, gc_newer_2)) printf(" %d", gc_newer_2());
    if (getenv("CALL_NEWEST")) gc_newer_2();
#endif
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    cell *list = NULL;
    {
        GC_ROOTS(gc, list);
        for (int i = 0; i < 1000; i++) {
            cell *c = (cell *)gc_new(gc, &cell_type);
            gc_store(gc, &c->next, list);
            list = c;
            if (i % 100 == 0) gc_collect(heap, i / 100 % 3, 0);
        }
        int count = 0;
        for (cell *c = list; c; c = c->next) count++;
        printf(count == 1000 ? ", works\n" : ", loses cells\n");
    }
    gc_thread_detach(gc);
    gc_heap_destroy(heap);
    return 0;
}
END_OF_PROGRAM
printf '#define GC_IMPLEMENTATION\n#include "gc_standalone.h"\n' > "$dir/gc.c"

# By the compiler that takes half the time.
build() {
    local of=$dir/$1
    clang -std=c11 -O0 -w -pthread -I"$of" -DGC_STANDALONE "$dir/program.c" "$dir/gc.c" -o "$of/program" &&
        clang -std=c11 -O0 -w -pthread -I"$of" -DGC_STANDALONE_LIBRARY -shared -fPIC "$dir/gc.c" -o "$of/libgc.so"
}
for version in $versions; do headers "$version"; done
# shellcheck disable=SC2086 # a list of words
export -f build && export dir && printf '%s\n' $versions | xargs -n1 -P2 bash -c 'build "$0"'
ok $? "programs and libraries of the versions $versions are built"

# The newer functions that version $1 has and version $2 knows of, as the program prints them.
newer() {
    local has=${1#*.} knows=${2#*.} i
    for ((i = 1; i <= has && i <= knows; i++)); do printf ' %s' "$(echo "$1$i" | tr -d .)"; done
}
for program in $versions; do
    page=$("$dir/$program/program" 2>&1)
    matches "$page" "^$program.*, works$" "a program of version $program runs on its own collector"
    for library in $versions; do
        page=$(GC_PATH=$dir/$library/libgc.so "$dir/$program/program" 2>&1)
        status=$?
        if [ "${program%.*}" != "${library%.*}" ]; then
            matches "$status $page" "^127 .*the first numbers of the versions differ.*The program has version $program of.*the library version $library " \
                "a program of version $program refuses a library of version $library"
        elif [ "$program" = 2.0 ]; then
            matches "$status $page" '^0 2.0 .*, works$' "a program of version 2.0 accepts a library of version 2.0"
        else
            is "$status $page" "0 $library$(newer "$library" "$program"), works" "a program of version $program accepts a library of version $library"
        fi
    done
done
page=$(CALL_NEWEST=1 GC_PATH=$dir/1.1/libgc.so "$dir/1.2/program" 2>&1)
matches "$page" 'gc_newer_2 is newer than the collector in use.* 1\.1 .*1\.2' "a call of what the library lacks is reported with both versions"
page=$(CALL_NEWEST=1 GC_PATH=$dir/1.2/libgc.so "$dir/1.2/program" 2>&1)
matches "$page" 'works$' "and works where it has it"

# The library's side: GC_Initialize, called by a host that does not check.
cat > "$dir/careless.c" << 'END_OF_HOST'
#include "gc_standalone.h"
#include <dlfcn.h>
#include <stdlib.h>
const char GC__CONFIGURATION = 1;
static void refused(void *context, const char *why) { printf("%s: %s\n", (char *)context, why); }
static const gc_geometry geometry = {sizeof geometry,
#define VALUE(name, value) value,
                                     GC_GEOMETRY(VALUE)
};
int main(int count, char **arguments) {
    gc_host host = {sizeof host, (uint32_t)atoi(arguments[2]), (uint32_t)atoi(arguments[3])};
    gc_version_info info = {host.major, host.minor, 0, "careless"};
    const gc_functions *functions = NULL;
    host.geometry = &geometry;
    host.context = (void *)"told";
    host.refused = refused;
    if (count > 4) host.bytes = (uint32_t)atoi(arguments[4]);
    void *library = dlopen(arguments[1], RTLD_NOW);
    ((gc_version_info_function *)dlsym(library, "GC_VersionInfo"))(&info);
    int32_t result = ((gc_initialize_function *)dlsym(library, "GC_Initialize"))(&host, &functions, NULL);
    printf("%s %s\n", result ? "refuses" : "accepts", functions ? functions->gc_version() : "nothing");
    return 0;
}
END_OF_HOST
gcc -std=c11 -w -I"$dir/1.0" "$dir/careless.c" -o "$dir/careless" -ldl
ok $? "a host that does not check is built"
for program in $versions 0.0 1.99; do
    for library in 1.0 1.2 2.0; do
        page=$("$dir/careless" "$dir/$library/libgc.so" "${program%.*}" "${program#*.}" 2>&1 | tr '\n' ' ')
        if [ "${program%.*}" = "${library%.*}" ]; then
            matches "$page" '^accepts [0-9.]+ $' "a library of version $library accepts a program of version $program"
        else
            matches "$page" "^told: .*$program.*$library.* refuses nothing \$" "a library of version $library refuses a program of version $program"
        fi
    done
done
finish
