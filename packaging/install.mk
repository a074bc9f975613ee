# make install: headers, which go where no architecture is asked for, and gc-inspect. The headers have a directory of their own,
# since the other collector for C, bdwgc, installs a gc.h too; users get it by -I and write #include "gc.h" as ever.
PREFIX ?= /usr/local
# gc-h.pc is read from anywhere, so the prefix in it is absolute.
prefix = $(abspath $(PREFIX))
version = $(shell sed -n 's/^.define GC_VERSION_TEXT "\(.*\)"/\1/p' gc.h)

.PHONY: install
install: build/tools/gc-inspect ## install headers, gc-inspect, a pkg-config file and a CMake package (PREFIX=/usr/local DESTDIR=)
	install -d $(addprefix $(DESTDIR)$(prefix)/,bin include/gc-h share/man/man1 share/pkgconfig share/cmake/gc-h share/doc/gc-h/design)
	install -m 755 build/tools/gc-inspect $(DESTDIR)$(prefix)/bin
	sed 's|@version@|$(version)|' tools/inspect/gc-inspect.1 > $(DESTDIR)$(prefix)/share/man/man1/gc-inspect.1
	install -m 644 $(shipped) $(DESTDIR)$(prefix)/include/gc-h
	sed 's|@prefix@|$(prefix)|; s|@version@|$(version)|' packaging/gc-h.pc.in > $(DESTDIR)$(prefix)/share/pkgconfig/gc-h.pc
	sed 's|@version@|$(version)|' packaging/gc-h-config-version.cmake.in > $(DESTDIR)$(prefix)/share/cmake/gc-h/gc-h-config-version.cmake
	install -m 644 packaging/gc-h-config.cmake $(DESTDIR)$(prefix)/share/cmake/gc-h
	install -m 644 LICENSE README.md CONTRIBUTING.md CHANGELOG.md $(wildcard docs/*.md) $(DESTDIR)$(prefix)/share/doc/gc-h
	install -m 644 $(wildcard docs/design/*.md) $(DESTDIR)$(prefix)/share/doc/gc-h/design
