# SPDX-License-Identifier: GPL-3.0-or-later
# moeplan: plan TP/PP/EP/DP for Mixture-of-Experts training on GPU clusters.
# `make help` lists the targets. Objects live in build/VARIANT, one folder per kind of build.

VERSION := $(shell sed -n 's/^\#define MOEPLAN_VERSION "\(.*\)"/\1/p' src/cmd/cmd.h)

ifeq ($(origin CC),default)
CC = gcc
endif
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
CASES ?= 50
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Test programs that check-valgrind leaves out ("test_search prop/test_bound"), and a Criterion --filter.
VALGRIND_SKIP ?=
TEST_FILTER ?= *

# --- one folder of objects per kind of build ------------------------------------------------------

BUILD ?= release
# V=1 shows whole commands.
say = $(if $(V),,@echo '  $(1)  $@';)
CFLAGS ?= -O2 -g
SANITIZE_release =
SANITIZE_asan = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZE_fuzz = $(SANITIZE_asan) -fsanitize=fuzzer-no-link
SANITIZE_fit = -DRATE_CONST=
SANITIZE = $(SANITIZE_$(BUILD))

OBJ ?= build/$(BUILD)$(if $(filter gcc cc,$(CC)),,-$(notdir $(lastword $(CC))))

CFLAGS_ALL = -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef -I. -Isrc $(CFLAGS) \
	$(SANITIZE)
LDLIBS = -lglpk -lyaml -lcjson -lm -ldl

# --- sources --------------------------------------------------------------------------------------

GENERATED = build/gen/builtin_models.c
LIB_SRC = $(wildcard src/base/*.c src/model/*.c src/emit/*.c src/check/*.c planner/*.c)
CMD_SRC = $(wildcard src/cmd/*.c)
TEST_SRC = $(wildcard tests/unit/test_*.c tests/prop/test_*.c)
FAKE_SRC = $(wildcard tests/unit/fake_*.c)
FUZZ_SRC = $(wildcard tests/fuzz/fuzz_*.c)
# The fit changes the rates that all others compile in as constants: a kind of build of its own.
BENCH_SRC := $(filter-out $(if $(filter fit,$(BUILD)),,tests/bench/fit.c),\
	$(shell grep -lw '^main' tests/bench/*.c 2>/dev/null))
# What several programs of a folder share.
TEST_HELP = $(filter-out $(TEST_SRC) $(FAKE_SRC),$(wildcard tests/unit/*.c tests/prop/*.c))
FUZZ_HELP = $(filter-out $(FUZZ_SRC) tests/fuzz/replay.c,$(wildcard tests/fuzz/*.c))
BENCH_HELP = $(filter-out $(BENCH_SRC) tests/bench/fit.c,$(wildcard tests/bench/*.c))
TEST_C = $(wildcard tests/*/*.c)
MODELS = $(wildcard examples/models/*.json)

LIB_OBJ = $(LIB_SRC:%.c=$(OBJ)/%.o) $(GENERATED:build/%.c=$(OBJ)/%.o)
CMD_OBJ = $(CMD_SRC:%.c=$(OBJ)/%.o)
TEST_BIN = $(TEST_SRC:%.c=$(OBJ)/%)
FUZZ_BIN = $(FUZZ_SRC:%.c=$(OBJ)/%)
BENCH_BIN = $(BENCH_SRC:%.c=$(OBJ)/%)
objects = $(patsubst %.c,$(OBJ)/%.o,$(1))

# Files a test links in front of the library, so that they stand in for objects of it.
EXTRA_test_search = tests/unit/fake_evaluator.c
EXTRA_test_search_answers = tests/unit/fake_evaluator.c
EXTRA_test_identity = probe/identity.c
EXTRA_test_routing = $(PROBE_SRC)
EXTRA_test_passes = probe/passes.c probe/sends.c
EXTRA_test_rendezvous = $(wildcard probe/control*.c) probe/rendezvous.c probe/wire.c

SCRIPTS = $(wildcard tests/*.sh tests/*/*.sh src/model/*.sh) .ci/run
MAN = $(wildcard man/*.[0-9])

# --- build ----------------------------------------------------------------------------------------

all: moeplan ## Build ./moeplan (CC=clang, CFLAGS=…, BUILD=asan for another kind)

# Copied only when it differs, since every kind of build has its own program.
moeplan: $(OBJ)/moeplan FORCE
	@cmp -s $< $@ || cp $< $@

$(OBJ)/moeplan: $(CMD_OBJ) $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(OBJ)/libmoeplan.a: $(LIB_OBJ) $(OBJ)/sources
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $(LIB_OBJ)

$(OBJ)/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(OBJ)/gen/%.o: build/gen/%.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

build/gen/builtin_models.c: src/model/embed.sh $(MODELS) build/gen/models
	@mkdir -p $(@D)
	$(call say,GEN)sh src/model/embed.sh $(MODELS) >$@.tmp
	@mv $@.tmp $@

# What a file depends on beside other files: the command, the list of sources, the list of models.
# Each is written only when it changes.
remember = @mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' >$@
$(OBJ)/flags: FORCE
	$(call remember,$(CC) $(CFLAGS_ALL))
$(OBJ)/sources: FORCE
	$(call remember,$(LIB_OBJ) $(TEST_HELP) $(PROBE_SRC))
build/gen/models: FORCE
	$(call remember,$(MODELS))

-include $(LIB_OBJ:.o=.d) $(CMD_OBJ:.o=.d) $(patsubst %.c,$(OBJ)/%.d,$(TEST_C))

# --- tests ----------------------------------------------------------------------------------------

.SECONDEXPANSION:
.SECONDARY:

# An archive, so that a test links only what it uses.
$(OBJ)/tests/libhelp.a: $(call objects,$(TEST_HELP)) $(OBJ)/sources
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $(call objects,$(TEST_HELP))

$(TEST_BIN): %: %.o $$(call objects,$$(EXTRA_$$(@F))) $(OBJ)/tests/libhelp.a $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ -lcriterion $(LDLIBS)

# With libFuzzer in the fuzz build, else with a main() that replays files.
ifeq ($(BUILD),fuzz)
$(FUZZ_BIN): %: %.o $$(call objects,$$(FUZZ_HELP)) $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LDLIBS)
else
$(FUZZ_BIN): %: %.o $$(call objects,tests/fuzz/replay.c $$(FUZZ_HELP)) $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LDLIBS)
endif

$(BENCH_BIN): %: %.o $$(call objects,$$(BENCH_HELP)) $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LDLIBS)

tests: $(OBJ)/moeplan $(TEST_BIN) $(FUZZ_BIN)
benches: $(OBJ)/moeplan $(BENCH_BIN)
fuzzers: $(FUZZ_BIN)

# Sub-makes run in parallel even when this one does not.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
RUN = OBJ='$(OBJ)' TEST_FILTER='$(TEST_FILTER)' sh tests/run.sh
SUITES = unit prop golden schema rules fuzz docs accuracy

demo: ## Install what is missing, build, and plan a public model on a public cluster
	@sh tests/setup.sh demo
	@$(SUBMAKE) all
	@sh tests/demo.sh

test: ## Install what is missing, build, and run all tests
	@sh tests/setup.sh test
	@$(SUBMAKE) all tests $(OBJ)/tests/bench/accuracy
	@$(RUN) deps $(SUITES) install

conformance: ## What we emit on the real frameworks, without a GPU (root, gigabytes, minutes; CASES=50)
	@sh tests/setup.sh demo probe
	@$(SUBMAKE) all probe-programs
	@MOEPLAN='$(abspath $(OBJ)/moeplan)' CASES='$(CASES)' sh tests/conformance/run.sh

check-deps: ## Check who includes whom, banned functions and file names
	@sh tests/run.sh deps

check-asan: ## All tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@sh tests/setup.sh test asan
	@$(SUBMAKE) BUILD=asan tests build/asan/tests/bench/accuracy
	@$(MAKE) --no-print-directory BUILD=asan run-suites

run-suites:
	@$(RUN) $(SUITES)

check-valgrind: ## Unit and golden tests under valgrind (VALGRIND_SKIP="test_x …" leaves slow ones out)
	@sh tests/setup.sh test valgrind
	@$(SUBMAKE) tests
	@SKIP='$(VALGRIND_SKIP)' VALGRIND=1 $(RUN) unit golden

fuzz: ## Fuzz every reader for FUZZ_SECONDS each, with clang's libFuzzer
	@sh tests/setup.sh demo fuzz
	@$(SUBMAKE) BUILD=fuzz CC=clang fuzzers
	@OBJ=build/fuzz-clang FUZZ_SECONDS='$(FUZZ_SECONDS)' sh tests/fuzz.sh

lint: ## clang-tidy, mandoc -T lint and shellcheck
	@sh tests/setup.sh demo lint
	@$(SUBMAKE) build/gen/builtin_models.c
	printf '%s\n' $(LIB_SRC) $(CMD_SRC) $(filter-out tests/bench/fit.c tests/probe/fake_%.c,$(TEST_C)) | \
		xargs -n 8 -P $(JOBS) sh -c 'clang-tidy --quiet "$$@" -- $(CFLAGS_ALL)' clang-tidy
	mandoc -T lint -W warning $(MAN)
	shellcheck -x $(SCRIPTS)

format: ## Show where clang-format would lay out the code differently (a proposal, not a test)
	clang-format --dry-run $(LIB_SRC) $(CMD_SRC) $(TEST_C)

bench: ## Measure accuracy and speed (minutes; prints tables)
	@test -f tests/bench/run.sh || { echo 'tests/bench/run.sh is missing' >&2; exit 1; }
	@$(SUBMAKE) all benches
	@OBJ='$(OBJ)' MOEPLAN='$(abspath $(OBJ)/moeplan)' sh tests/bench/run.sh

accuracy: ## Replay published runs and say how far the predictions are off (seconds; FORMAT=json, svg or rows)
	@$(SUBMAKE) $(OBJ)/tests/bench/accuracy >&2
	@$(OBJ)/tests/bench/accuracy $(FORMAT:%=--%) tests/bench

bands: ## Learn the bands around predictions anew, after rates or formulas changed (a minute)
	@$(SUBMAKE) BUILD=fit build/fit/tests/bench/fit
	build/fit/tests/bench/fit --cross tests/bench >build/fit/cross.csv
	@cmp -s build/fit/cross.csv tests/bench/cross.csv || cp build/fit/cross.csv tests/bench/cross.csv
	@$(SUBMAKE) benches
	ACCURACY='$(OBJ)/tests/bench/accuracy' sh tests/bench/bands.sh --update
	@$(SUBMAKE) all benches
	ACCURACY='$(OBJ)/tests/bench/accuracy' sh tests/bench/readme.sh --update

fit: ## Refit the efficiencies to the published runs by cross-validation (minutes; prints a proposal)
	@$(SUBMAKE) BUILD=fit build/fit/tests/bench/fit
	build/fit/tests/bench/fit tests/bench

check-fit: ## Would the fit move a rate that should stay, or miss one that should move? (minutes)
	@$(SUBMAKE) BUILD=fit build/fit/tests/bench/fit
	build/fit/tests/bench/fit --self-test tests/bench

docs: all ## Put real output into the examples of README.md and the man pages
	@OBJ='$(OBJ)' MOEPLAN='$(abspath $(OBJ)/moeplan)' sh tests/docs/run.sh --update

# --- the probe: a second program, without GLPK, and its backends -----------------------------------

# A backend is built where the machine has what it needs: MPI and CBLAS, the CUDA toolkit and NCCL.
MPICC ?= mpicc
CUDA_HOME ?= $(patsubst %/bin/nvcc,%,$(shell command -v nvcc 2>/dev/null))
CUDA_ARCH ?= 80 90 100
CUDA_SRC = probe/backend_cuda.c $(wildcard probe/cuda_*.c)
CUDA_CU = $(wildcard probe/*.cu)
HOST_SRC = probe/host_kernels.c probe/host_norm.c
CPU_SRC = probe/backend_cpu.c $(HOST_SRC) $(wildcard probe/cpu_*.c)
PROBE_SO = $(CPU_SRC) $(CUDA_SRC)
PROBE_SRC = $(filter-out $(PROBE_SO) probe/probe_main.c,$(wildcard probe/*.c))
PROBE_TEST_SRC = $(wildcard tests/probe/*.c)
FAULTS_SRC = tests/probe/faults.c tests/probe/faults_blocking.c $(wildcard tests/probe/blocking*.c)
KERNELS_SRC = tests/probe/kernels.c tests/probe/emulated.c $(HOST_SRC)
STAND_INS_SRC = tests/probe/emulated.c $(wildcard tests/probe/fake_*.c) $(CUDA_SRC) $(PROBE_SRC)
CUDA_CALLS_SRC = tests/probe/cuda_calls.c $(STAND_INS_SRC)
CUDA_FAULTS_SRC = tests/probe/faults.c tests/probe/faults_cuda.c $(STAND_INS_SRC)
PROBE_LIBS = -lyaml -lcjson -lm -lpthread -ldl
cflags_of_mpi = $(shell $(MPICC) --showme:compile 2>/dev/null || $(MPICC) -compile_info 2>/dev/null | cut -d' ' -f2-)
libs_of_mpi = $(shell $(MPICC) --showme:link 2>/dev/null || $(MPICC) -link_info 2>/dev/null | cut -d' ' -f2-)
comma = ,
gencode = -gencode arch=compute_$(1),code=sm_$(1)

$(OBJ)/libprobe.a: $(call objects,$(PROBE_SRC)) $(OBJ)/sources
	@rm -f $@
	$(call say,AR)$(AR) rcs $@ $(call objects,$(PROBE_SRC))

$(OBJ)/moeplan-probe: $(OBJ)/probe/probe_main.o $(OBJ)/libprobe.a $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(PROBE_LIBS)

$(OBJ)/pic/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS_ALL) -fPIC $(cflags_of_mpi) -MMD -MP -c -o $@ $<

$(CUDA_SRC:%.c=$(OBJ)/pic/%.o): $(OBJ)/pic/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS_ALL) -fPIC -isystem $(CUDA_HOME)/include -MMD -MP -c -o $@ $<

$(OBJ)/pic/probe/%.o: probe/%.cu $(wildcard probe/cuda_*.cuh) probe/cuda_grid.h probe/cuda_kernels.h
	@mkdir -p $(@D)
	$(call say,NVCC)$(CUDA_HOME)/bin/nvcc -O2 -std=c++17 -I. -Werror all-warnings \
		-Xcompiler -fPIC,-Wall,-Wextra,-Werror $(foreach arch,$(CUDA_ARCH),$(call gencode,$(arch))) \
		-gencode arch=compute_$(lastword $(CUDA_ARCH)),code=compute_$(lastword $(CUDA_ARCH)) -c -o $@ $<

$(OBJ)/moeplan-probe-cpu.so: $(CPU_SRC:%.c=$(OBJ)/pic/%.o) $(OBJ)/pic/probe/wire.o
	$(call say,LD)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared -o $@ $^ $(libs_of_mpi) -lopenblas -lm

$(OBJ)/moeplan-probe-cuda.so: $(CUDA_SRC:%.c=$(OBJ)/pic/%.o) $(CUDA_CU:%.cu=$(OBJ)/pic/%.o)
	$(call say,LD)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -shared \
		$(if $(SANITIZE),,-Wl$(comma)--no-undefined) -o $@ $^ -L$(CUDA_HOME)/lib64 -lnccl -lcublas \
		-lcudart -lstdc++ -lm

$(OBJ)/tests/probe/faults: $(call objects,$(FAULTS_SRC) $(HOST_SRC)) $(OBJ)/libprobe.a $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(PROBE_LIBS)

# The cuda backend without a GPU: its kernels as C++ and its host side over stand-ins for CUDA's
# libraries, under sanitizers in every kind of build.
HOST_CXX = $(if $(findstring clang,$(CC)),clang++,g++)
on_host = $(patsubst %.c,$(OBJ)/on-host/%.o,$(1)) $(CUDA_CU:%.cu=$(OBJ)/on-host/%.o)

$(OBJ)/on-host/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS_ALL) $(SANITIZE_asan) $(if $(CUDA_HOME),-isystem $(CUDA_HOME)/include) \
		-MMD -MP -c -o $@ $<

$(OBJ)/on-host/%.o: %.cu $(OBJ)/flags
	@mkdir -p $(@D)
	$(call say,CXX)$(HOST_CXX) -x c++ -std=c++17 -O2 -g -Wall -Wextra -Werror $(SANITIZE_asan) -I. \
		-Itests/probe/emulated -MMD -MP -c -o $@ $<

$(OBJ)/tests/probe/kernels: $(call on_host,$(KERNELS_SRC))
	@mkdir -p $(@D)
	$(call say,LD)$(HOST_CXX) $(SANITIZE_asan) $(LDFLAGS) -o $@ $^ -lm

$(OBJ)/tests/probe/cuda_calls: $(call on_host,$(CUDA_CALLS_SRC)) $(OBJ)/libmoeplan.a
	@mkdir -p $(@D)
	$(call say,LD)$(HOST_CXX) $(SANITIZE_asan) $(LDFLAGS) -o $@ $^ $(PROBE_LIBS)

$(OBJ)/tests/probe/cuda_faults: $(call on_host,$(CUDA_FAULTS_SRC)) $(OBJ)/libmoeplan.a
	@mkdir -p $(@D)
	$(call say,LD)$(HOST_CXX) $(SANITIZE_asan) $(LDFLAGS) -o $@ $^ $(PROBE_LIBS)

# Faults once more under sanitizers: of memory, of threads.
FAULTS_ALL = $(FAULTS_SRC) $(HOST_SRC) $(PROBE_SRC)

$(OBJ)/threads/%.o: %.c $(OBJ)/flags
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS_ALL) -fsanitize=thread -MMD -MP -c -o $@ $<

$(OBJ)/tests/probe/faults_memory: $(patsubst %.c,$(OBJ)/on-host/%.o,$(FAULTS_ALL)) $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) $(SANITIZE_asan) $(LDFLAGS) -o $@ $^ $(PROBE_LIBS)

$(OBJ)/tests/probe/faults_threads: $(FAULTS_ALL:%.c=$(OBJ)/threads/%.o) $(OBJ)/libmoeplan.a
	$(call say,LD)$(CC) -fsanitize=thread $(LDFLAGS) -o $@ $^ $(PROBE_LIBS)

# What this machine can build.
probe_backends = $(if $(shell command -v $(MPICC) 2>/dev/null),$(OBJ)/moeplan-probe-cpu.so) \
	$(if $(wildcard $(CUDA_HOME)/include/nccl.h),$(OBJ)/moeplan-probe-cuda.so)
probe_tests = $(addprefix $(OBJ)/tests/probe/,faults faults_memory \
	$(if $(SANITIZE),,faults_threads) kernels \
	$(if $(wildcard $(CUDA_HOME)/include/nccl.h),cuda_calls cuda_faults))

probe-programs: $(OBJ)/moeplan-probe $$(probe_backends)
probe-tests: $$(probe_tests)

probe: ## Build ./moeplan-probe and the backends that this machine can build (CUDA_HOME=, MPICC=)
	@$(SUBMAKE) probe-programs
	@for file in $(OBJ)/moeplan-probe $(OBJ)/moeplan-probe-*.so; do \
		test ! -e $$file || cmp -s $$file $${file##*/} || cp $$file $${file##*/}; done
	@test -e $(OBJ)/moeplan-probe-cpu.so || echo '  no cpu backend: $(MPICC) is not there'
	@test -e $(OBJ)/moeplan-probe-cuda.so || echo '  no cuda backend: CUDA_HOME has no include/nccl.h'

check-probe: ## Build the probe and test it: faults, layouts over MPI, the cuda backend without a GPU
	@sh tests/setup.sh demo probe
	@$(SUBMAKE) all probe-programs probe-tests
	@$(RUN) probe

check-gpu-script: ## Try tests/gpu/run.sh itself, on stand-ins for a GPU (minutes)
	@$(SUBMAKE) all probe-programs
	OBJ=$(abspath $(OBJ)) CC='$(CC)' sh tests/gpu/dry.sh

install-probe: probe ## Install moeplan-probe and its backends
	install -d $(BINDIR) $(DESTDIR)$(PREFIX)/lib/moeplan
	install -m 755 moeplan-probe $(BINDIR)/moeplan-probe
	install -m 755 moeplan-probe-*.so $(DESTDIR)$(PREFIX)/lib/moeplan/

-include $(patsubst %.c,$(OBJ)/%.d,$(wildcard probe/*.c) $(PROBE_TEST_SRC)) $(PROBE_SO:%.c=$(OBJ)/pic/%.d) \
	$(patsubst %.c,$(OBJ)/on-host/%.d,$(KERNELS_SRC) $(CUDA_CALLS_SRC) $(CUDA_FAULTS_SRC) $(FAULTS_SRC)) \
	$(FAULTS_ALL:%.c=$(OBJ)/threads/%.d) $(CUDA_CU:%.cu=$(OBJ)/on-host/%.d)

# --- install --------------------------------------------------------------------------------------

BINDIR = $(DESTDIR)$(PREFIX)/bin
MANDIR = $(DESTDIR)$(PREFIX)/share/man
DATADIR = $(DESTDIR)$(PREFIX)/share/moeplan
BASH_COMPLETION = $(DESTDIR)$(PREFIX)/share/bash-completion/completions/moeplan
ZSH_COMPLETION = $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_moeplan
FISH_COMPLETION = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/moeplan.fish

install: moeplan ## Install program, man pages, completions, examples and schemas (PREFIX=, DESTDIR=)
	install -d $(BINDIR) $(DATADIR) $(dir $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION))
	install -m 755 moeplan $(BINDIR)/moeplan
	set -e; for page in $(MAN); do \
		install -d $(MANDIR)/man$${page##*.}; \
		install -m 644 $$page $(MANDIR)/man$${page##*.}/; \
	done
	./moeplan completion bash >$(BASH_COMPLETION)
	./moeplan completion zsh >$(ZSH_COMPLETION)
	./moeplan completion fish >$(FISH_COMPLETION)
	set -e; find examples schemas -type f | while read -r file; do \
		install -d $(DATADIR)/$${file%/*}; \
		install -m 644 $$file $(DATADIR)/$$file; \
	done

uninstall: ## Remove what install put there
	rm -f $(BINDIR)/moeplan $(BASH_COMPLETION) $(ZSH_COMPLETION) $(FISH_COMPLETION)
	set -e; for page in $(notdir $(MAN)); do rm -f $(MANDIR)/man$${page##*.}/$$page; done
	rm -rf $(DATADIR)

dist: ## Write moeplan-VERSION.tar.gz from the last commit
	git archive --format=tar --prefix=moeplan-$(VERSION)/ HEAD | gzip -n -9 >moeplan-$(VERSION).tar.gz

clean: ## Remove everything that was built
	rm -rf build moeplan moeplan-probe moeplan-probe-*.so moeplan-$(VERSION).tar.gz

help: ## Show this list
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/\1|\2/p' Makefile | \
		awk -F'|' '{ printf "  make %-15s %s\n", $$1, $$2 }'

FORCE:
.PHONY: all tests benches fuzzers demo test conformance check-deps check-asan run-suites check-valgrind fuzz lint \
	format bench accuracy bands fit check-fit docs probe probe-programs probe-tests check-probe check-gpu-script install-probe install uninstall dist clean help FORCE
.DELETE_ON_ERROR:
