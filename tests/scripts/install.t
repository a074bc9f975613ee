#!/bin/sh
# Projects that use gc.h: installed, by pkg-config and by CMake; and within their tree, by CMake and by Meson.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
version=$(sed -n 's/^.define GC_VERSION_TEXT "\(.*\)"/\1/p' src/api/version.h)
matches "$version" '^[0-9]+\.[0-9]+\.[0-9]+$' "the version is $version"
is "$(sed -n 's/^## \[\([0-9.]*\)\].*/\1/p' CHANGELOG.md | head -1)" "$version" "it is the first in CHANGELOG.md"

# The headers' own directory keeps them apart from another gc.h in the prefix.
make -s install DESTDIR="$dir/stage" PREFIX=/opt/gc-h
ok $? "make install DESTDIR="
is "$(cd "$dir/stage" && find . -type f -not -path '*/doc/*' | sort | xargs)" "$(for file in bin/gc-inspect include/gc-h/gc.h include/gc-h/gc_barrier_x86_64.h \
    include/gc-h/gc_dac.h include/gc-h/gc_handles.h include/gc-h/gc_profile.h include/gc-h/gc_stackmap.h include/gc-h/gc_standalone.h share/cmake/gc-h/gc-h-config-version.cmake share/cmake/gc-h/gc-h-config.cmake \
    share/man/man1/gc-inspect.1 share/pkgconfig/gc-h.pc; do
    echo "./opt/gc-h/$file"
done | xargs)" "what it installs"
inspect=$dir/stage/opt/gc-h/bin/gc-inspect manual=$dir/stage/opt/gc-h/share/man/man1/gc-inspect.1
matches "$("$inspect" --version)" '^gc-inspect, ' "the installed gc-inspect runs"
matches "$(head -1 "$manual")" "gc.h $version" "its manual page is of this version"
# What --help lists, the manual page has, too.
listed=$("$inspect" --help | sed -n '/^examples/q; s/^  \(--\)\{0,1\}\([a-z][a-z-]*\).*/\1\2/p')
missing=
for word in $listed; do grep -qF -e "B $(printf '%s' "$word" | sed 's/-/\\-/g')" "$manual" || missing="$missing $word"; done
is "$(echo "$listed" | wc -l) $missing" '22 ' "it has all commands and options"
is "$(grep '^prefix' "$dir/stage/opt/gc-h/share/pkgconfig/gc-h.pc")" prefix=/opt/gc-h "DESTDIR is no part of the prefix"
rm -rf build/prefix && make -s install PREFIX=build/prefix
is "$(grep '^prefix' build/prefix/share/pkgconfig/gc-h.pc)" "prefix=$PWD/build/prefix" "a relative prefix is made absolute"
make -s install PREFIX="$dir/prefix"
ok $? "make install PREFIX="
echo '#error another collector' > "$dir/prefix/include/gc.h"

mkdir "$dir/user"
cat > "$dir/user/gc.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
END
cat > "$dir/user/main.c" << 'END'
#include <gc_handles.h>
#include <stdio.h>
int main(void) {
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    printf("%s %d\n", gc_version(), gc != NULL);
    gc_heap_destroy(heap);
    return 0;
}
END

# runs NAME PROGRAM: it was built, of this version
runs() {
    is "$("$2" 2>&1)" "$version 1" "$1"
    [ -x "$2" ] || tail -20 "$dir/log" >&2
}

if command -v pkg-config > /dev/null; then
    installed() { PKG_CONFIG_PATH="$dir/prefix/share/pkgconfig" pkg-config "$@" gc-h; }
    is "$(installed --modversion)" "$version" "pkg-config --modversion gc-h"
    # shellcheck disable=SC2046 # options
    CPATH="$dir/prefix/include" gcc -std=c11 "$dir/user/gc.c" "$dir/user/main.c" -o "$dir/by-pkg-config" \
        $(installed --cflags --libs) > "$dir/log" 2>&1
    runs "a program built by pkg-config" "$dir/by-pkg-config"
else
    skip "pkg-config" "pkg-config is not installed (tools/setup test)"
fi

# cmake_project NAME LINE: a project that finds gc-h by that line
cmake_project() {
    mkdir "$dir/$1"
    cp "$dir/user/gc.c" "$dir/user/main.c" "$dir/$1"
    printf 'cmake_minimum_required(VERSION 3.12)\nproject(user C)\n%s\nadd_executable(user gc.c main.c)\ntarget_link_libraries(user gc-h::gc-h)\n' \
        "$2" > "$dir/$1/CMakeLists.txt"
    cmake -S "$dir/$1" -B "$dir/$1/build" -DCMAKE_PREFIX_PATH="$dir/prefix" > "$dir/log" 2>&1 && cmake --build "$dir/$1/build" >> "$dir/log" 2>&1
}
if command -v cmake > /dev/null; then
    api=${version%.*}
    cmake_project package "find_package(gc-h $api REQUIRED)"
    runs "a program built by CMake: find_package" "$dir/package/build/user"
    for other in 99 "$api.99" 0.0; do
        cmake_project "package-$other" "find_package(gc-h $other REQUIRED)"
        matches "$(cat "$dir/log")" "gc-h-config.cmake, version: $version" "find_package refuses $version for $other"
    done
    cmake_project directory "add_subdirectory(\"$PWD\" gc-h)"
    runs "a program built by CMake: add_subdirectory" "$dir/directory/build/user"
else
    skip "CMake" "cmake is not installed (tools/setup test)"
fi

if command -v meson > /dev/null && command -v ninja > /dev/null; then
    mkdir -p "$dir/meson/subprojects/gc-h"
    cp "$dir/user/gc.c" "$dir/user/main.c" "$dir/meson"
    cp gc*.h meson.build "$dir/meson/subprojects/gc-h"
    cat > "$dir/meson/meson.build" << 'END'
project('user', 'c', default_options: ['c_std=c11', 'warning_level=3', 'werror=true'])
executable('user', 'gc.c', 'main.c', dependencies: dependency('gc-h', fallback: 'gc-h'))
END
    meson setup --wrap-mode=forcefallback "$dir/meson/build" "$dir/meson" > "$dir/log" 2>&1 && ninja -C "$dir/meson/build" >> "$dir/log" 2>&1
    runs "a program built by Meson, gc.h a subproject" "$dir/meson/build/user"
    matches "$(cat "$dir/log")" "Project version: $version" "whose version is $version"
else
    skip "Meson" "meson or ninja is not installed (tools/setup test)"
fi
finish
