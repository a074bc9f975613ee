# The random test, once per configuration: build/tests/random-VARIANT, with -O2 unless it says otherwise.
random_parts := $(wildcard tests/random*.[ch])
random_programs :=

# $(1): variant, $(2): flags
define random_variant
build/tests/random-$(1): $(random_parts) $(if $(filter -I.,$(2)),$(shipped),$(parts))
	@mkdir -p $$(@D)
	$(CC) -std=c11 $(WARNINGS) -pthread -O2 -g $(2) tests/random.c -o $$@
random_programs += build/tests/random-$(1)
endef

$(eval $(call random_variant,shift16,-Isrc -DGC_REGION_SHIFT=16))
$(eval $(call random_variant,shift18,-Isrc -DGC_REGION_SHIFT=18))
$(eval $(call random_variant,shift22,-Isrc -DGC_REGION_SHIFT=22))
$(eval $(call random_variant,bit-cards,-Isrc -DGC_REGION_SHIFT=16 -DGC_CARD_BITS=1 -DGC_CARD_SHIFT=7))
$(eval $(call random_variant,no-bundles,-Isrc -DGC_REGION_SHIFT=18 -DGC_BUNDLE_SHIFT=0))
$(eval $(call random_variant,portable,-Isrc -DGC_REGION_SHIFT=18 -DGC_BARRIER_PORTABLE))
$(eval $(call random_variant,tagged,-Isrc -DGC_REGION_SHIFT=16 -DRANDOM_TAGGED))
$(eval $(call random_variant,nanbox,-Isrc -DGC_REGION_SHIFT=18 -DRANDOM_NANBOX))
$(eval $(call random_variant,shadow,-Isrc -DGC_REGION_SHIFT=18 -DGC_SHADOW_HEAP=1 -DGC_DEBUG=3 '-DGC_ARENA_BYTES=((size_t)1<<36)'))
$(eval $(call random_variant,sanitize,-Isrc -DGC_REGION_SHIFT=18 -DGC_DEBUG=2 $(sanitize)))
$(eval $(call random_variant,shipped,-I.))

.PHONY: random-programs
random-programs: $(random_programs)
test-programs: random-programs
