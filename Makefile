# belay: build of the server module, and the commands that test it.
#
# `make`, `make install`, `make installcheck` and `make uninstall` are PGXS's. The goals below them
# in `make help` work on a machine where PostgreSQL is not installed yet, and pgxs.mk has a goal
# `check` of its own; so they never see PGXS: scripts in test/ set up, call make again and test.

LOCAL_GOALS = bench bench-clients check check-all-versions check-deb check-long check-sanitizers coverage cppcheck dashboard deb demo dist format \
	freeze-hub help lint screenshots setup soak stage tidy

ifneq (,$(filter $(LOCAL_GOALS),$(MAKECMDGOALS)))

# Only what the caller has named reaches the scripts; they find pg_config otherwise.
export PG_CONFIG PG_CONFIGS

.NOTPARALLEL:
.PHONY: $(MAKECMDGOALS)

check:
	+@test/run.sh

check-long:
	+@BELAY_LONG=1 test/run.sh

# The server module with UndefinedBehaviorSanitizer and under valgrind; AddressSanitizer would have
# to be in the server, and locks of glibc do not survive it there. Then core, client, tool and runtime.
SANITIZED_SUITES = --suite unit --suite client --suite tool --suite runtime
check-sanitizers:
	+@test/sanitize.sh
	+@BELAY_SANITIZE=address,undefined test/run.sh $(SANITIZED_SUITES)
	+@BELAY_SANITIZE=thread test/run.sh $(SANITIZED_SUITES)

check-all-versions:
	+@test/all_versions.sh $(PG_CONFIGS)

check-deb:
	+@test/package/chroot.sh

deb:
	+@debian/build.sh

# What is committed, for PGXN.
DIST = belay-$(shell sed -n "s/^default_version = '\(.*\)'/\1/p" src/sql/belay.control)
# The pages of the dashboard are in it as they were built: who installs a release needs no node.
dist:
	@test/setup.sh pages
	@mkdir -p build/dist
	@client/dashboard/build.sh >build/dist/pages.log || { cat build/dist/pages.log; exit 1; }
	@test/package/dist.sh HEAD $(DIST) build/dist/$(DIST).zip
	@echo build/dist/$(DIST).zip

demo:
	+@test/demo.sh

# A throw-away server with a load to look at, and the dashboard; prints its address.
dashboard:
	+@test/dashboard.sh

# The pictures of docs/dashboard.md and README, with a fixed clock and ids.
screenshots:
	@test/setup.sh dashboard
	@client/dashboard/build.sh >/dev/null
	@rm -f docs/pictures/dashboard-*.png
	@node client/dashboard/test/screenshots.mjs --docs docs/pictures

# SECONDS means something to bash, so the scripts get it by another name.
soak:
	+@env -u SECONDS BELAY_SOAK_SECONDS='$(or $(SECONDS),600)' test/soak.sh

bench:
	+@test/optional.sh bench/run.sh
	+@test/optional.sh bench/wakeup.sh

bench-clients:
	+@bench/clients/run.sh

lint:
	+@test/run.sh --suite lint

tidy cppcheck:
	@test/analyze.sh $@

coverage:
	+@test/coverage.sh

# The dumps of hubs that later versions have to upgrade.
freeze-hub:
	+@test/frozen/freeze.sh

format:
	@bash -o pipefail -c "git ls-files -z '*.cpp' '*.hpp' | xargs -0 -r clang-format -i"

setup:
	@test/setup.sh

stage:
	+@test/stage.sh

help:
	@sed -n 's/^# | //p; s/^# |$$//p' Makefile

# Other goals on the same command line (`make clean check`) go to PGXS, one at a time.
OTHER_GOALS = $(filter-out $(LOCAL_GOALS),$(MAKECMDGOALS))
ifneq (,$(OTHER_GOALS))
$(OTHER_GOALS):
	+@$(MAKE) --no-print-directory $@
endif

# | make                     build the server module (belay.so)
# | make install             install it into the PostgreSQL of PG_CONFIG
# | make installcheck        regression and isolation tests against a running server
# | make uninstall           remove it
# | make clean               remove everything that was built
# |
# | make setup               install missing Debian packages
# | make demo                build, start a throw-away server, show a worked example
# | make dashboard           a throw-away server with a load, and the dashboard; prints its address
# | make screenshots         the pictures of the dashboard, in docs/pictures
# | make check               build and run all tests on throw-away servers
# | make check-long          the same, long forms of the random and stress tests
# | make check-sanitizers    the server module with UndefinedBehaviorSanitizer and under valgrind;
# |                          core, client, tool and runtime with Address-, UndefinedBehavior- and
# |                          ThreadSanitizer
# | make check-all-versions PG_CONFIGS="a b c"    make check for each PostgreSQL
# | make check-deb           build the Debian packages and use them in a clean system (needs root or sudo)
# | make deb                 build the Debian packages for the PostgreSQL of PG_CONFIG, in build/deb
# | make dist                the source archive for PGXN, in build/dist
# | make soak SECONDS=600    a mixed load with faults of every kind, and a checker that saw it all
# | make bench               measure
# | make bench-clients       measure the client library beside those of others (Node.js, npm, Redis)
# | make lint                the lints alone
# | make tidy                clang-tidy on src/core and the client, with the checks of .clang-tidy
# | make cppcheck            cppcheck on the same
# | make coverage            lines and branches of src/core, src/ops and the client that the tests reach
# | make format              apply clang-format
# | make freeze-hub          dump hubs of this version for the tests of later ones; until it is tagged
# | make stage               private installation under build/stage, as the tests use it
# |
# | Variables: PG_CONFIG=path selects the PostgreSQL, CXX=clang++ the compiler, ASSERTS=1 turns on
# | assertions, COPT=... adds compiler flags, V=1 shows commands.
# |
# | One test alone: test/run.sh --suite regress --only NAME

else

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq (,$(wildcard $(PGXS)))
$(error '$(PG_CONFIG) --pgxs' names no file: run 'make setup', or set PG_CONFIG)
endif

MODULE_big = belay
SOURCES := $(sort $(wildcard src/*.cpp src/*/*.cpp src/*/*/*.cpp))
# Each PostgreSQL, and each kind of build, has its own objects, so that builds in turn compile nothing again. (PGXS knows the
# version when OBJS is used.)
comma = ,
BUILD_KIND := $(if $(findstring enable-cassert,$(shell $(PG_CONFIG) --configure)),-cassert)$(if \
	$(ASSERTS),-asserts)$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if $(COVERAGE),-coverage)
OBJ_DIR = build/obj/$(VERSION)$(BUILD_KIND)
OBJS = $(SOURCES:%.cpp=$(OBJ_DIR)/%.o)

EXTENSION = src/sql/belay
DATA = $(sort $(wildcard src/sql/extension/belay--*.sql))

# What a hub is made of: installed beside the extension, read by belay.create_hub.
HUB_SQL := $(patsubst src/sql/hub/%,%,$(sort $(wildcard src/sql/hub/*.sql src/sql/hub/*/*.sql \
	src/sql/hub/*/*/*.sql)))

# installcheck: sql/setup.sql creates the extension and specs/setup.spec what the other specs use, so
# they come first; then one after another. test/run.sh runs the same files of sql/ in parallel groups.
REGRESS_ALL := $(patsubst sql/%.sql,%,$(sort $(wildcard sql/*.sql)))
REGRESS := $(filter setup,$(REGRESS_ALL)) $(filter-out setup,$(REGRESS_ALL))
ISOLATION_ALL := $(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec)))
ISOLATION := $(filter setup,$(ISOLATION_ALL)) $(filter-out setup,$(ISOLATION_ALL))
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=belay

EXTRA_CLEAN = build

# PGXS links with the C compiler, which does not ask for the C++ runtime by itself.
SHLIB_LINK += -lstdc++

# Intents reach hubs of other databases through libpq.
SHLIB_LINK += $(libpq)

# libstdc++ marks its templates as exported, against the compiler's options; the linker has the
# last word.
SHLIB_LINK += -Wl,--version-script=$(OBJ_DIR)/exports

# A server with JIT would compile each file to bitcode as well, with clang and without our flags.
# Our functions gain nothing from being inlined. Makefile.global overwrites a plain assignment.
override with_llvm = no

include $(PGXS)

# The flags of the module. Of the server's own flags we keep what decides code generation, and
# leave its warnings: they are chosen for C, and some are unknown to the other compiler.
IS_CLANG := $(findstring clang,$(shell $(CXX) --version 2>/dev/null))
SERVER_CXXFLAGS = $(filter-out -W%,$(CXXFLAGS))
# The server's macros decide what its headers declare.
SERVER_CPPFLAGS = $(filter -D% -U%,$(CPPFLAGS))
# Foreign headers are system headers: warnings are about our code only. (/usr/include must stay
# where the compiler has it, or the headers of libstdc++ do not find those of libc.)
SYSTEM_INCLUDES = $(patsubst %,-isystem %,$(sort $(includedir_server) $(filter-out /usr/include,$(includedir)) \
	$(filter-out /usr/include,$(patsubst -I%,%,$(filter -I/%,$(CPPFLAGS))))))

BELAY_CXXFLAGS = -std=c++20
# Warnings are errors for the compilers that we test with. A newer one may have new ones, and users who
# install belay cannot do anything about them. (g++ 13 and 14 take spans of palloc'd rows in range-for
# loops for dangling.)
CXX_MAJOR := $(firstword $(subst ., ,$(shell $(CXX) -dumpversion 2>/dev/null)))
ifneq (,$(filter g++-12 clang-14,$(if $(IS_CLANG),clang,g++)-$(CXX_MAJOR)))
BELAY_CXXFLAGS += -Wall -Wextra -Werror
else
BELAY_CXXFLAGS += -Wall -Wextra $(if $(IS_CLANG),,-Wno-dangling-reference)
endif
# HOLD_INTERRUPTS() and its like increment volatile variables, which C++20 deprecates.
BELAY_CXXFLAGS += $(if $(IS_CLANG),-Wno-deprecated-volatile,-Wno-volatile)
# g++ may be configured for an excess precision that clang does not know.
ifneq (,$(IS_CLANG))
SERVER_CXXFLAGS := $(filter-out -fexcess-precision=%,$(SERVER_CXXFLAGS))
endif
# Only marked symbols are exported, so nothing is shared with another C++ extension.
BELAY_CXXFLAGS += -fvisibility=hidden -fvisibility-inlines-hidden
# As the server is compiled: it casts between struct types, and signed integers wrap.
BELAY_CXXFLAGS += -fno-strict-aliasing -fwrapv
# ASSERTS=1 turns on Assert() in our code, also where the server has none.
ifdef ASSERTS
BELAY_CXXFLAGS += -DUSE_ASSERT_CHECKING
endif
# SANITIZE=undefined: a finding ends the server process. test/sanitize.sh uses it.
ifdef SANITIZE
BELAY_CXXFLAGS += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer
SHLIB_LINK += -fsanitize=$(SANITIZE)
endif

# COVERAGE=1 counts what is executed, for gcov. test/coverage.sh uses it.
ifdef COVERAGE
BELAY_CXXFLAGS += --coverage -fprofile-update=atomic -O1
SHLIB_LINK += --coverage
endif

COMPILE_FLAGS = $(SERVER_CXXFLAGS) $(BELAY_CXXFLAGS) $(SERVER_CPPFLAGS) -Isrc $(SYSTEM_INCLUDES)

# V=1 shows the whole command.
QUIET = $(if $(V),,@)

# Compilers spend most of their time on PostgreSQL's headers and the standard library's: they read them once, precompiled.
# core sees none of PostgreSQL's.
PRECOMPILED_HEADERS = <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <memory> <optional> <span> <string_view> \
	<tuple> <utility> "pg/pg.hpp"
print_precompiled = printf '\043include %s\n' $(PRECOMPILED_HEADERS:%='%')
PRECOMPILED = $(OBJ_DIR)/precompiled/pg.hpp
PRECOMPILED_BINARY = $(PRECOMPILED).$(if $(IS_CLANG),pch,gch)
USE_PRECOMPILED = $(if $(IS_CLANG),-include-pch $(PRECOMPILED_BINARY),-include $(PRECOMPILED))
$(PRECOMPILED_BINARY): src/pg/pg.hpp $(OBJ_DIR)/flags
	@$(MKDIR_P) $(@D)
	@$(print_precompiled) >$(PRECOMPILED)
	@echo 'CXX $<'
	$(QUIET)$(CXX) $(COMPILE_FLAGS) -x c++-header $(PRECOMPILED) -o $@

# PGXS knows no header dependencies: -MMD writes them, -MP survives a removed header.
compile = @$(MKDIR_P) $(@D) && echo 'CXX $<' && $(if $(V),set -x && )$(CXX) $(COMPILE_FLAGS) $(1) -MMD -MP -c $< -o $@
$(OBJ_DIR)/src/core/%.o: src/core/%.cpp $(OBJ_DIR)/flags
	$(call compile)
$(OBJ_DIR)/%.o: %.cpp $(OBJ_DIR)/flags $(PRECOMPILED_BINARY)
	$(call compile,$(USE_PRECOMPILED))

-include $(OBJS:.o=.d)

# The library that the tests plant bugs in: the same objects, but for the files that have a mutant
# (src/shmem/mutants.hpp). It is never installed.
MUTANT_OBJS = $(patsubst %.cpp,$(OBJ_DIR)/mutants/%.o,$(shell grep -l '"shmem/mutants.hpp"' $(SOURCES)))
$(OBJ_DIR)/mutants/%.o: %.cpp $(OBJ_DIR)/flags $(PRECOMPILED_BINARY)
	$(call compile,$(USE_PRECOMPILED) -DBELAY_MUTANTS)
build/mutants/belay.so: $(MUTANT_OBJS) $(OBJS) build/obj/objects $(OBJ_DIR)/exports
	@$(MKDIR_P) $(@D)
	@$(LINK.shared) -o $@ $(MUTANT_OBJS) $(filter-out $(MUTANT_OBJS:$(OBJ_DIR)/mutants/%=$(OBJ_DIR)/%),$(OBJS)) $(LDFLAGS) \
		$(LDFLAGS_SL) $(SHLIB_LINK)
-include $(MUTANT_OBJS:.o=.d)
.PHONY: mutants
mutants: build/mutants/belay.so

# Changes only if the compiler, the flags or the PostgreSQL changed; then everything is rebuilt.
FLAGS_NOW = $(CXX) $(shell $(CXX) -dumpfullversion -dumpversion 2>/dev/null) $(COMPILE_FLAGS) PostgreSQL $(VERSION) $(PRECOMPILED_HEADERS)
$(OBJ_DIR)/flags: FORCE
	@$(MKDIR_P) $(@D)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' >$@

# A removed source file must also leave the library, and the objects of another PostgreSQL.
build/obj/objects: FORCE
	@$(MKDIR_P) $(@D)
	@printf '%s\n' '$(OBJS)' | cmp -s - $@ || printf '%s\n' '$(OBJS)' >$@
$(OBJ_DIR)/exports: Makefile
	@$(MKDIR_P) $(@D)
	@echo '{ global: Pg_magic_func; _PG_init; pg_finfo_belay_*; belay_*; local: *; };' >$@
$(shlib): build/obj/objects $(OBJ_DIR)/exports

# The command that links all objects is long.
$(if $(V),,.SILENT: $(shlib))

.PHONY: FORCE install-hub uninstall-hub compile-flags precompiled-header
FORCE:

install: install-hub
install-hub: hub_dir = $(DESTDIR)$(datadir)/extension/belay/hub
install-hub: installdirs
	rm -rf '$(hub_dir)'
	$(foreach file,$(HUB_SQL),$(MKDIR_P) '$(hub_dir)/$(dir $(file))' && \
		$(INSTALL_DATA) 'src/sql/hub/$(file)' '$(hub_dir)/$(file)' && ):

uninstall: uninstall-hub
uninstall-hub:
	rm -rf '$(DESTDIR)$(datadir)/extension/belay'

# For the lints that run a compiler.
compile-flags:
	@echo '$(COMPILE_FLAGS)'
precompiled-header:
	@$(print_precompiled)

endif
