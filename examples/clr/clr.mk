# build/examples/clr/libgch.so: a collector for .NET 10. Building it needs no .NET; what loads it does: docs/clr.md.
clr_objects := $(patsubst %.c,build/objects/%.o,$(wildcard examples/clr/*.c))
examples += build/examples/clr/libgch.so
tests/scripts/clr.t: build/examples/clr/libgch.so

$(clr_objects): build/objects/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(C11) $(CFLAGS) -D_GNU_SOURCE -fPIC -mtls-dialect=gnu2 -fvisibility=hidden -I. -c $< -o $@

build/examples/clr/libgch.so: $(clr_objects)
	@mkdir -p $(@D)
	$(CC) -shared -Wl,-z,now -Wl,--no-undefined -Wl,--exclude-libs,ALL -pthread $^ -o $@
