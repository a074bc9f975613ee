# build/examples/llvm: functions in LLVM IR, with a C runtime. `make all` builds it where opt and llc are installed, which is
# what tools/setup test does.
llvm_tools := $(shell sh examples/llvm/tools.sh)
llvm_objects := $(patsubst examples/llvm/%.ll,build/objects/examples/llvm/%.o,$(wildcard examples/llvm/*.ll))

ifneq ($(llvm_tools),)
examples += build/examples/llvm
tests/llvm/llvm.t: build/examples/llvm
endif

build/examples/llvm: build/objects/examples/llvm/runtime.o build/objects/examples/collector.o $(llvm_objects)
	@mkdir -p $(@D)
	$(CC) -pthread $^ -o $@

# In a section of its own, which can be written, the stack maps need no relocations of read-only memory in a program that is
# loaded anywhere; and the linker defines symbols for where it starts and stops, since its name is one of C.
$(llvm_objects): build/objects/%.o: %.ll examples/llvm/llvm.mk
	@mkdir -p $(@D)
	$(word 1,$(llvm_tools)) -passes='default<O2>,rewrite-statepoints-for-gc' $< -o $(@:.o=.bc)
	$(word 2,$(llvm_tools)) -O2 --relocation-model=pic -filetype=obj $(@:.o=.bc) -o $@
	objcopy --rename-section .llvm_stackmaps=llvm_stackmaps,alloc,load,data,contents $@
