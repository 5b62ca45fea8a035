# make: builds build/perf, installing what is missing. make test: all tests; the last line counts them.
.PHONY: all test check install clean format

all:
	@tools/build

test: all
	@tools/install-packages build test
	@tools/run-tests

# The quick part of the tests: checks of the sources and unit tests.
check: all
	@tools/install-packages build test
	@tools/run-tests checks unit

install: all
	@meson install -C build

format:
	@clang-format -i $$(git ls-files 'src/*.[ch]' 'tests/*.[ch]')

clean:
	rm -rf build build-*
