# progpack's front door; Meson does the work in build/
#
#	make		build into build/
#	make run	set up, build, run the main job: progpack bench stress
#	make test	set up, build, run every test
#	make install	DESTDIR and PREFIX are honoured
#	make asan|ubsan|tsan	the tests under a sanitizer, in build-asan/ ...
#	make check-riscv64|check-arm64	the tests on Debian 13's kernel for that machine, in QEMU
#	make lab-riscv64|lab-arm64	its TLB misses there, packed and a page per program
#	make bench	the figures of the README
#	make fuzz T=60	random operations on a heap against a model, for T seconds
#	make prove	bounded proofs of the heap's bitmaps and of its search
#	make goldens	encoders against an independent assembler
#	make lint|format	static checks; clang-format in place
#	make clean

BUILD ?= build
PREFIX ?= /usr/local
GROUPS ?= 20
T ?= 60

.PHONY: all build run test install asan ubsan tsan check-riscv64 check-arm64 \
	lab-riscv64 lab-arm64 bench fuzz prove goldens lint format clean setup

all: build

setup:
	@scripts/setup build

$(BUILD)/build.ninja: | setup
	@meson setup $(BUILD) --prefix=$(PREFIX) $(MESON_ARGS)

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) $(NINJA_ARGS)

run: build
	$(BUILD)/progpack bench stress --groups $(GROUPS)

test:
	@scripts/setup build
	@scripts/run-tests $(BUILD)

asan ubsan tsan:
	@scripts/setup build
	@scripts/run-tests build-$@ $@

check-riscv64 check-arm64: check-%:
	@scripts/guest-check $* build-$*

lab-riscv64 lab-arm64: lab-%:
	@scripts/lab $* build-$*

install: build
	@meson configure $(BUILD) "-Dprefix=$(PREFIX)"
	@ninja -C $(BUILD) $(NINJA_ARGS) >/dev/null
	@meson install -C $(BUILD) --no-rebuild $(if $(DESTDIR),--destdir "$(DESTDIR)") --quiet

bench:
	@scripts/setup build bench
	@[ ! -e $(BUILD)/build.ninja ] || meson setup --reconfigure $(BUILD) >/dev/null
	@$(MAKE) --no-print-directory build
	$(BUILD)/progpack bench stress --groups 20
	$(BUILD)/progpack bench stress --groups 100
	$(BUILD)/progpack bench stress --groups 400
	$(BUILD)/progpack bench heap

fuzz:
	@scripts/setup fuzz
	@scripts/fuzz build-fuzz $(T)

prove:
	@scripts/setup prove
	@scripts/prove build-prove

goldens: build
	@tests/goldens/check.py $(BUILD)

lint:
	@scripts/setup build lint
	@scripts/lint $(BUILD)

format:
	@scripts/setup lint
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf $(BUILD) build-asan build-ubsan build-tsan build-clang build-fuzz build-prove \
		build-riscv64 build-arm64
