# The second porting ladder (docs/porting.md): a bytecode VM with a collector of its own, which becomes gc.h step by step.
# Rung 0 is examples/vm; rung n is rung n-1 and examples/vm/rungs/n.patch. build/examples/vm/rungN/ has the sources of each,
# build/examples/vm/vmN is the program. vmN-VM_SWITCH has a switch instead of computed goto.
vm := build/examples/vm
vm_rungs := 0 $(sort $(patsubst examples/vm/rungs/%.patch,%,$(wildcard examples/vm/rungs/*.patch)))
vm_sources := $(wildcard examples/vm/*.[ch])
vm_units := $(filter-out gc,$(patsubst examples/vm/%.c,%,$(wildcard examples/vm/*.c)))
vm_top := $(lastword $(vm_rungs))
vm_programs := $(foreach rung,$(vm_rungs),$(vm)/vm$(rung)) $(vm)/vm0-VM_SWITCH $(vm)/vm$(vm_top)-VM_SWITCH

$(vm)/rung0/sources: $(vm_sources)
	rm -rf $(@D)
	mkdir -p $(@D)
	cp $^ $(@D)
	touch $@

# $(1): rung; $(2): the rung before
define vm_rung
$(vm)/rung$(1)/sources: examples/vm/rungs/$(1).patch $(vm)/rung$(2)/sources
	rm -rf $$(@D)
	cp -r $(vm)/rung$(2) $$(@D)
	rm -f $$(@D)/*.o $$(@D)/*.d $$(@D)/*/*.o
	patch -s -F0 --no-backup-if-mismatch -d $$(@D) -p1 < $$<
	touch $$@
endef
$(foreach rung,$(filter-out 0,$(vm_rungs)),$(eval $(call vm_rung,$(rung),$(shell expr $(rung) - 1))))

# $(1): rung; $(2): - and a macro, or empty; $(3): flags. gc.h is compiled once for all rungs.
define vm_program
$(vm)/objects/$(1)$(2)/%.o: $(vm)/rung$(1)/sources
	@mkdir -p $$(@D)
	$$(CC) $$(C11) $$(CFLAGS) -I. $(2:-%=-D%) -c $(vm)/rung$(1)/$$*.c -o $$@
$(vm)/vm$(1)$(2): $(vm_units:%=$(vm)/objects/$(1)$(2)/%.o) $(if $(filter-out 0,$(1)),$(vm)/objects/1/gc.o)
	$$(CC) -pthread $$^ -lm -o $$@
endef
$(foreach rung,$(vm_rungs),$(eval $(call vm_program,$(rung))))
$(foreach rung,$(vm_rungs),$(eval $(addprefix $(vm)/rung$(rung)/,$(addsuffix .c,$(vm_units) gc)): $(vm)/rung$(rung)/sources ;))
$(eval $(call vm_program,0,-VM_SWITCH))
$(if $(filter-out 0,$(vm_top)),$(eval $(call vm_program,$(vm_top),-VM_SWITCH)))
$(vm)/objects/1/gc.o: $(parts)

.PHONY: vm-build vm-ladder vm-patches
vm-build: $(vm_programs) ## build the bytecode VM at every rung of its ladder
vm-ladder: $(vm_programs) ## measure it: rows of program, rung, cpu_s, peak_mib
	@examples/vm/measure.sh $(vm_rungs)
tests/scripts/vm.t tests/scripts/vm_mistakes.t: $(vm_programs)

# To change a rung, edit what is in its directory below build/, and have the patches written anew.
vm-patches: ## make the patches of the VM's ladder from build/examples/vm/rung*/
	examples/vm/patches.sh $(vm_rungs)
