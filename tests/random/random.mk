# The random test, once per configuration: build/tests/random-VARIANT. With -O1 compiling and running take least time together;
# the default geometry has -O2, as programs of users have.
random_parts := $(wildcard tests/random/random*.[ch])
random_programs :=

# $(1): variant, $(2): flags
define random_variant
build/tests/random-$(1): $(random_parts) $(parts)
	@mkdir -p $$(@D)
	$(CC) -std=c11 $(WARNINGS) -pthread -O1 -g1 $(2) tests/random/random.c -o $$@
random_programs += build/tests/random-$(1)
endef

$(eval $(call random_variant,shift16,-Isrc -DGC_REGION_SHIFT=16))
$(eval $(call random_variant,shift18,-Isrc -DGC_REGION_SHIFT=18))
$(eval $(call random_variant,shift22,-O2 -Isrc -DGC_REGION_SHIFT=22))
$(eval $(call random_variant,bit-cards,-Isrc -DGC_REGION_SHIFT=16 -DGC_CARD_BITS=1 -DGC_CARD_SHIFT=7))
$(eval $(call random_variant,no-bundles,-Isrc -DGC_REGION_SHIFT=18 -DGC_BUNDLE_SHIFT=0))
$(eval $(call random_variant,portable,-Isrc -DGC_REGION_SHIFT=18 -DGC_PORTABLE_BARRIERS))
$(eval $(call random_variant,tagged,-Isrc -DGC_REGION_SHIFT=16 -DRANDOM_TAGGED))
$(eval $(call random_variant,nanbox,-Isrc -DGC_REGION_SHIFT=18 -DRANDOM_NANBOX))
$(eval $(call random_variant,wide,-Isrc -DGC_REGION_SHIFT=16 -DRANDOM_WIDE))
$(eval $(call random_variant,shadow,-Isrc -DGC_REGION_SHIFT=18 -DGC_SHADOW_HEAP=1 -DGC_DEBUG=3 '-DGC_ARENA_BYTES=((size_t)1<<36)'))
$(eval $(call random_variant,least,-Isrc -DGC_REGION_SHIFT=16 $(least)))
random_programs += build/tests/random-sanitize

# With sanitizers the collector takes fifteen seconds to compile, so these share one.
sanitized := gcc -std=c11 -pthread -g1 -DGC_REGION_SHIFT=18 -DGC_DEBUG=2 $(sanitize) $(WARNINGS)
build/tests/random-inside.o: tests/unit/inside.c tests/inside.h $(parts)
	@mkdir -p $(@D)
	$(sanitized) -O1 -Isrc -c $< -o $@
build/tests/random-sanitize build/tests/threads-asan build/tests/tables-sanitize: build/tests/%: build/tests/random-inside.o $(random_parts) tests/random/threads.c tests/random/tables.c tests/random/replay.h $(wildcard tests/*.h) $(parts)
	$(sanitized) -O0 -DSHARES_INSIDE -isystem src tests/random/$(firstword $(subst -, ,$*)).c $< -o $@

of_configurations := $(random_programs)
tests/random/random.t: $(of_configurations)

# One per shape of a barrier, inlined in gc_store: cards, cards and written pages, a log; and one that calls any of them, and changes
# it as it goes.
inlined_barriers := pre_grow write_watch_bit_region object_logging
$(foreach barrier,$(inlined_barriers),$(eval $(call random_variant,$(barrier),-Isrc -DGC_REGION_SHIFT=18 -DGC_BARRIER=$(barrier))))
$(eval $(call random_variant,none,-Isrc -DGC_REGION_SHIFT=18 -DGC_BARRIER=none))
$(eval $(call random_variant,at_run_time,-Isrc -DGC_REGION_SHIFT=18 -DGC_BARRIER=at_run_time))
$(eval $(call random_variant,at_run_time-tagged,-Isrc -DGC_REGION_SHIFT=16 -DGC_BARRIER=at_run_time -DRANDOM_TAGGED -DGC_CARD_BITS=1 -DGC_BUNDLE_SHIFT=0))
tests/random/random_barriers.t: build/tests/random-shift18 $(filter-out $(of_configurations),$(random_programs))

# `make quick` runs this one alone.
build/tests/random-quick: $(random_parts) $(parts)
	@mkdir -p $(@D)
	clang -std=c11 $(WARNINGS) -pthread -O0 -Isrc -DGC_REGION_SHIFT=18 -DGC_DEBUG=2 tests/random/random.c -o $@

# Several threads on one heap.
# $(1): variant, $(2): compiler, $(3): flags
define threads_variant
build/tests/threads-$(1): tests/random/threads.c tests/fixture.h tests/tap.h $(parts)
	@mkdir -p $$(@D)
	$(2) -std=c11 $(WARNINGS) -pthread -O2 -g1 -Isrc -DGC_REGION_SHIFT=18 $(3) tests/random/threads.c -o $$@
random_programs += build/tests/threads-$(1)
endef
$(eval $(call threads_variant,plain,$(CC),))
$(eval $(call threads_variant,debug,$(CC),-O1 -DGC_DEBUG=3))
$(eval $(call threads_variant,logging,$(CC),-O1 -DGC_BARRIER=object_logging))
random_programs += build/tests/threads-asan
$(eval $(call threads_variant,tsan,clang,-O0 -fsanitize=thread -DGC_PORTABLE_BARRIERS '-DGC_ARENA_BYTES=((size_t)1<<34)'))
$(eval $(call threads_variant,tsan-watch,clang,-O0 -fsanitize=thread -DGC_PORTABLE_BARRIERS -DGC_BARRIER=write_watch_byte_region '-DGC_ARENA_BYTES=((size_t)1<<34)'))

# Handles and finalizers.
# $(1): variant, $(2): compiler, $(3): flags
define handles_variant
build/tests/handles-$(1): tests/random/handles.c tests/random/replay.h tests/fixture.h tests/tap.h $(parts)
	@mkdir -p $$(@D)
	$(2) -std=c11 $(WARNINGS) -pthread -g1 -Isrc $(3) tests/random/handles.c -o $$@
random_programs += build/tests/handles-$(1)
endef
$(eval $(call handles_variant,shift16,$(CC),-O1 -DGC_REGION_SHIFT=16 -DGC_CARD_BITS=1 -DGC_BUNDLE_SHIFT=0 -DGC__SMALL_MARK_STACK=12))
$(eval $(call handles_variant,shift18,$(CC),-O1 -DGC_REGION_SHIFT=18))
$(eval $(call handles_variant,shift22,$(CC),-O2))
$(eval $(call handles_variant,debug,$(CC),-O1 -DGC_REGION_SHIFT=17 -DGC_DEBUG=3))
$(eval $(call handles_variant,sanitize,gcc,-O1 -DGC_REGION_SHIFT=18 -DGC_DEBUG=2 $(sanitize)))

# Tables whose entries change between strong and weak, for each kind of values. Most of the time goes to compiling.
# $(1): variant, $(2): flags
define tables_variant
build/tests/tables-$(1): tests/random/tables.c tests/random/replay.h tests/fixture.h tests/tap.h $(parts)
	@mkdir -p $$(@D)
	clang -std=c11 $(WARNINGS) -pthread -O0 -g1 -Isrc -DGC_REGION_SHIFT=16 $(2) tests/random/tables.c -o $$@
random_programs += build/tests/tables-$(1)
endef
$(eval $(call tables_variant,plain,))
$(eval $(call tables_variant,wide,-DTABLES_WIDE))
$(eval $(call tables_variant,nanbox,-DTABLES_NANBOX))
random_programs += build/tests/tables-sanitize

# Stack maps.
# $(1): variant, $(2): the variant of unit tests whose collector it shares, $(3): compiler, $(4): flags, as they are there but for the level
define stackmaps_variant
build/tests/stackmaps-$(1): build/tests/$(2)/inside.o $(wildcard tests/random/stackmap*.[ch]) tests/inside.h tests/tap.h $(parts)
	@mkdir -p $$(@D)
	$(3) -std=c11 $(WARNINGS) -pthread -g1 -isystem src $(4) -DSHARES_INSIDE tests/random/stackmaps.c $$< -o $$@
random_programs += build/tests/stackmaps-$(1)
endef
$(eval $(call stackmaps_variant,plain,plain,$(CC),-O0))
$(eval $(call stackmaps_variant,sanitize,clang-sanitize,clang,-O0 -DGC_DEBUG=2 -DGC_PORTABLE_BARRIERS -DGC_REGION_SHIFT=18 $(sanitize) $(integer)))

tests/random/stackmaps.t: $(filter build/tests/stackmaps-%,$(random_programs))
tests/random/threads.t: $(filter build/tests/threads-%,$(random_programs))
tests/random/tables.t: $(filter build/tests/tables-%,$(random_programs))
tests/random/handles.t: $(filter build/tests/handles-%,$(random_programs))

.PHONY: random-programs
random-programs: $(random_programs)
