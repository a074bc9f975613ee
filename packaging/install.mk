# make install: headers only, so everything goes where no architecture is asked for. The headers have a directory of their own,
# since the other collector for C, bdwgc, installs a gc.h too; users get it by -I and write #include "gc.h" as ever.
PREFIX ?= /usr/local
version = $(shell sed -n 's/^.define GC_VERSION_TEXT "\(.*\)"/\1/p' gc.h)

.PHONY: install
install: ## install headers, a pkg-config file and a CMake package (PREFIX=/usr/local DESTDIR=)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,include/gc-h share/pkgconfig share/cmake/gc-h share/doc/gc-h)
	install -m 644 $(shipped) $(DESTDIR)$(PREFIX)/include/gc-h
	sed 's|@prefix@|$(PREFIX)|; s|@version@|$(version)|' packaging/gc-h.pc.in > $(DESTDIR)$(PREFIX)/share/pkgconfig/gc-h.pc
	sed 's|@version@|$(version)|' packaging/gc-h-config-version.cmake.in > $(DESTDIR)$(PREFIX)/share/cmake/gc-h/gc-h-config-version.cmake
	install -m 644 packaging/gc-h-config.cmake $(DESTDIR)$(PREFIX)/share/cmake/gc-h
	install -m 644 LICENSE README.md CHANGELOG.md $(wildcard docs/*.md) $(DESTDIR)$(PREFIX)/share/doc/gc-h
