#!/bin/sh
# Mistakes planted into the top rung of examples/vm: under stress and verify each is reported with the place that is to blame.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
ulimit -c 0
make -s tests/scripts/vm_mistakes.t
ok $? 'the top rung compiles'
top=$(ls examples/vm/rungs | sed 's/\.patch$//' | sort -n | tail -1)
sources=build/examples/vm/rung$top
objects=build/examples/vm/objects/$top
command -v addr2line > /dev/null && has_lines=1

# mistake NAME FILE SED SCRIPT PLACE TEXT: the file as SED has changed it; then the report has TEXT, and in its call stacks
# FUNCTION:PATTERN stands for that function, at a line that contains PATTERN.
mistake() {
    name=$1 file=$2 change=$3 script=examples/vm/tests/$4.sprig place=$5 text=$6
    cp "$sources"/*.[ch] "$dir"
    sed "$change" "$sources/$file" > "$dir/$file"
    cmp -s "$sources/$file" "$dir/$file"
    is $? 1 "$name: the mistake is planted"
    "${CC:-cc}" -std=c11 -O1 -g -pthread -I. -c "$dir/$file" -o "$dir/changed.o" &&
        "${CC:-cc}" -pthread $(ls "$objects"/*.o | grep -v "/${file%.c}.o") "$dir/changed.o" build/examples/vm/objects/1/gc.o -lm -o "$dir/vm"
    report=$(GC_STRESS=allocation GC_VERIFY=1 timeout 60 "$dir/vm" "$script" 2>&1)
    [ -z "$text" ] || matches "$report" "$text" "$name: the report says so"
    [ -n "$place" ] || return
    if [ -n "$has_lines" ]; then
        line=$(awk -v function_="${place%%:*}(" -v pattern="${place#*:}" '
            /^[a-z].*\) \{$/ { inside = index($0, function_) > 0 }
            inside && index($0, pattern) { print FNR; exit }' "$dir/$file")
        matches "$report" "gc.h: +${place%%:*} at .*$file:${line:-none}" "$name: line $line of $file is in the report"
    else
        skip "$name: the line" 'addr2line is not installed'
    fi
}

mistake 'a root of new_closure' objects.c 's/GC_ROOTS_DURING(vm.gc, 0, \(c = .*\), f);/\1;/' closures 'new_closure:new_elements(' 'field `function` .* of `closure`|used a `function`'
mistake 'a root of new_bound' objects.c '/GC_ROOTS_WITH(vm.gc, GC_SLOT_VALUE, receiver);/d' bound_methods 'new_bound:new_object(' 'field `receiver` .* of `bound`'
mistake 'a root of array_push, whose value is stored' objects.c '/^void array_push/,/^}/s/GC_ROOTS_WITH(vm.gc, GC_SLOT_VALUE, v);//' closures \
    'array_push:gc_store_value(' 'stored a reference to a `[a-z]+` .* that object (moved away|was found dead)'
mistake 'an interior root of capture' objects.c 's/GC_ROOTS_DURING(vm.gc, GC_SLOT_INTERIOR, \(u = .*\), link);/\1;/' late_upvalues 'capture:new_object(' 'moved away'
mistake 'a variable of capture_all that is not read again' run.c \
    's/^static .*capture_all.*/&\n    closure *c = object_of(*made);/; s/((closure \*)object_of(\*made))->upvalues/c->upvalues/' closures 'capture_all:capture(' 'moved away'
mistake 'a root of native_slice' natives.c '/GC_ROOTS(vm.gc, a);/d' arrays 'native_slice:new_array(' 'used a `array`'
mistake 'a root of native_keys' natives.c '/GC_ROOTS(vm.gc, t);/d' tables 'native_keys:new_array(' 'used a `table`'
mistake 'an argument of call_class that is not read again' call.c 's/&i->class->methods/\&class->methods/' classes 'call_class:new_instance(' 'used a `class`'
mistake 'a root of map_set' map.c '/^bool map_set/,/^}/s/GC_ROOTS_WITH(vm.gc, GC_SLOT_INTERIOR, m);//' tables 'map_set:map_grow(' 'moved away'
mistake 'a root that scan_roots forgets' collector.c '/&vm.init/d' classes '' 'the static variable `vm` .* holds it'
mistake 'a field that its type forgets' collector.c 's/GC_TYPE(instance, class, fields.pairs)/GC_TYPE(instance, class)/' classes '' \
    'offset 16 of `instance` .* its type names no reference there'
mistake 'a barrier of array_push' objects.c 's/gc_store_value(vm.gc, &a->values->items\[a->count++\], v)/a->values->items[a->count++] = v/' \
    closures '' 'element [0-9]+ .* of `values` .* missing write barrier.*That `values` is in field `values` .* of `array`'
matches "$report" 'was stored without a barrier between collection' 'and between which collections that was'
mistake 'a barrier of close_upvalues' objects.c 's/gc_store_value(vm.gc, &u->closed, \*u->location)/u->closed = *u->location/' \
    late_upvalues '' 'field `closed` .* of `upvalue` .* missing write barrier'
mistake 'a store to the stack of a coroutine that waits' run.c '/gc_remember(vm.gc, u->running);/d' coroutine_upvalues '' \
    'of `coroutine` .* missing write barrier'
mistake 'an owned slot without its barrier' emit.c 's/gc_store_value_in(vm.gc, f, &f->constants\[f->constant_count\], v)/f->constants[f->constant_count] = v/' \
    collect_compile '' 'of `function` .* missing write barrier'
finish
