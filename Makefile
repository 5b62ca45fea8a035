# make: builds build/perf, installing what is missing. make test: builds and runs all tests; the last line counts them.
.PHONY: all test check soak guest-test guest-shell arm64 deb portable install clean format

all:
	@tools/build

test:
	@tools/install-packages build unit
	@tools/run-tests --install

# The quick part of the tests: checks of the sources and unit tests.
check:
	@tools/install-packages build unit test
	@tools/run-tests checks unit

# What takes too long for each run (CONTRIBUTING.md).
soak: all
	@tools/install-packages build unit test soak
	@tools/run-tests soak

# make guest-test GUEST=arm64 TEST=record: one test in one guest; all tests, or all guests, without TEST or GUEST.
guest-test:
	@tools/install-packages build unit test
	@tests/guest/run -v $(or $(GUEST),all) $(TEST)

# make guest-shell GUEST=arm64: a shell in a guest.
guest-shell: all
	@tools/install-packages build unit test
	@tests/guest/run --shell $(GUEST)

# build-arm64/perf, cross-compiled.
arm64:
	@tools/install-packages build unit test
	@tools/build-arm64

# Debian packages in build/deb, for the Debian that this is.
deb:
	@tools/build-deb

# build/portable/perf-ng-VERSION-MACHINE.tar.xz, which runs from its folder on any Linux with glibc 2.31 or newer.
portable:
	@tools/build-portable

install: all
	@meson install -C build

format:
	@clang-format -i $$(git ls-files 'src/*.[ch]' 'tests/*.[ch]')

clean:
	rm -rf build build-*
