# The smaller porting ladder (docs/porting_calc.md): build/examples/ladder/rung0 to rung6, some rungs with a mistake planted,
# rung4-FORGET_BARRIER for example, and some with gcc's sanitizers, whose report the page shows.
ladder := build/examples/ladder
ladder_objects := build/objects/examples/ladder
ladder_rungs := $(patsubst examples/ladder/%.c,$(ladder)/%,$(wildcard examples/ladder/rung*.c))
ladder_programs := $(ladder_rungs)

# $(1): directory below both, empty or ending in /; $(2): rung; $(3): - and a mistake, or empty; $(4): flags
define ladder_program
$(ladder_objects)/$(1)$(2)$(3).o: examples/ladder/$(2).c
	@mkdir -p $$(@D)
	$(if $(1),gcc,$$(CC)) $$(C11) $$(CFLAGS) -I. $(4) $(3:-%=-D%) -c $$< -o $$@
$(ladder)/$(1)$(2)$(3): $(addprefix $(ladder_objects)/$(1),$(2)$(3).o syntax.o host.o $(if $(filter rung0 rung1,$(2)),,collector.o))
	@mkdir -p $$(@D)
	$(if $(1),gcc,$$(CC)) -pthread $(4) $$^ -lm -o $$@
ladder_programs += $(ladder)/$(1)$(2)$(3)
endef

$(ladder_objects)/sanitize/%.o: examples/ladder/%.c
	@mkdir -p $(@D)
	gcc $(C11) $(if $(filter collector.o,$(@F)),-O0,-O1) -g -I. -DGC_DEBUG=2 $(sanitize) -c $< -o $@

$(foreach rung,$(notdir $(ladder_rungs)),$(eval $(call ladder_program,,$(rung))))
$(eval $(call ladder_program,,rung3,-FORGET_ROOT))
$(eval $(call ladder_program,,rung4,-FORGET_BARRIER))
$(eval $(call ladder_program,,rung5,-FORGET_ROOT))
$(eval $(call ladder_program,,rung5,-FORGET_ADDRESS))
$(eval $(call ladder_program,sanitize/,rung3,-FORGET_ROOT,-O1 -DGC_DEBUG=2 $(sanitize)))
$(foreach rung,rung1 rung2 rung3 rung4 rung5 rung6,$(eval $(call ladder_program,sanitize/,$(rung),,-O1 -DGC_DEBUG=2 $(sanitize))))

.PHONY: ladder ladder-build
ladder: $(ladder_rungs) ## build the rungs of the porting ladder, and measure them
	examples/ladder/measure.sh

ladder-build: $(ladder_programs) ## build them, and those with planted mistakes
tests/scripts/ladder.t: $(ladder_programs)
