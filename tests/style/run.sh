#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The rules of the tree that a machine can see: licence lines, format, and the direction of includes (doc/design.md).
set -u
cd "$1"
failed=0
passed=0

# rule NAME OUTPUT: a rule holds when nothing is printed against it
rule() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s\n%s\n' "$1" "$2"
    fi
}

code=$(find src tests -name '*.[ch]' | sort)
scripts=$(find tools tests .ci -type f \( -perm -u+x -o -name '*.py' -o -name '*.sh' \) | sort)

rule "every file names its licence" "$(grep -L 'SPDX-License-Identifier: BSD-3-Clause' $code $scripts)"
format=$(command -v clang-format-14 || command -v clang-format)
case "$([ -z "$format" ] || "$format" --version)" in
*"version 14."*) rule "clang-format" "$("$format" --dry-run -Werror $code 2>&1 | grep 'error:' | head)" ;;
*) echo "SKIP clang-format: version 14 is not installed, and others put breaks elsewhere" ;;
esac

# includes DIR ALLOWED [FILE]: the folders of src/ that files in DIR may include from, and a file of src/ itself
includes() {
    rule "src/$1 includes only: $2" \
        "$(grep -nE '^#include "' -r src/"$1" --include='*.[ch]' | grep -vE "#include \"(($2)/|${3:-none})")"
}
includes base 'base'
includes packet 'packet|base'
includes template 'template|base'
includes config 'config|sched|template|base'
includes plan 'plan|config|sched|base'
includes tables 'tables|packet|base'
includes sched 'sched|packet|base'
includes engine 'engine|plan|config|base' packet/free.h
includes capture 'capture|engine|tables|plan|config|packet|base'
includes tester 'tester|engine|tables|template|config|packet|base'
includes tasks 'tasks|sched|engine|config|tables|packet|base'
includes telemetry 'telemetry|engine|tables|plan|config|base'
includes cp/ppp 'cp/ppp|cp/packet'
includes cp/radius 'cp/radius|config|base'
includes explain 'explain|tasks|engine|tables|plan|config|packet|base'
includes control 'control|explain|capture|telemetry|tester|tasks|sched|engine|plan|config|tables|packet|base' provision.h
includes cp 'cp|control/socket|config|base' packet/punt.h
rule "base, template, config, plan and cp are free of DPDK" "$(grep -rnE '#include <rte_' src/base src/template src/config src/plan src/cp src/control/socket/{answer,listener,server}.[ch])"
rule "config and plan include of sched only what is free of DPDK" "$(grep -rnE '#include "sched/' src/config src/plan |
    grep -vE '"sched/(params|check)[.]h"'; grep -nE '#include (<rte_|"sched/)' src/sched/params.h src/sched/check.h | grep -v '"sched/params.h"')"
# A task includes its own header, in a folder of its own the headers there, and the list of chains; fused/ sees all whose work it does.
rule "tasks do not include each other" "$(grep -rnE '#include "tasks/' src/tasks --include='*.c' | awk -F: '
    $1 !~ "^src/tasks/fused/" { folder = $1; sub("^src/", "", folder); own = folder; sub("[.]c$", ".h", own); sub("/[^/]*$", "/", folder)
      split($3, word, "\""); if (word[2] != own && word[2] != "tasks/fused/fused.h" && (folder == "tasks/" || index(word[2], folder) != 1)) print }')"
rule "a folder of src has at most 30 sources" "$(find src -name '*.[ch]' -printf '%h\n' | sort | uniq -c | awk '$1 > 30')"
rule "a source has at most 500 lines" "$(find src -name '*.[ch]' -exec wc -l {} + | awk '$2 != "total" && $1 > 500')"
# Beside others all of them would wait for it.
rule "a test that is not parallel has the suite clock or alone" "$(find tests -name meson.build | xargs awk '
    /^ *test[(]/ { call = "" } { call = call $0 }
    /[)]$/ { if (call ~ /is_parallel: false/ && call !~ /.clock.|.alone./) print FILENAME ": " call; call = "" }')"
rule "no test stands behind the end of its table" "$(awk '/^static const struct test tests/ { in_table = 1; end = 0 }
    in_table && end && !/^};/ { print FILENAME ":" FNR ":" $0 } in_table && /NULL, NULL/ { end = 1 } /^};/ { in_table = 0 }' $(grep -l 'struct test tests' $code))"
rule "no shell is built from a string" "$(grep -nE '\b(system|popen|execl[pe]?)\(' $code
    grep -nE 'shell ?= ?True|os\.(system|popen)|getoutput\(|create_subprocess_shell' $scripts | grep -v style/run.sh)"
rule "the folders of Python modules are named once, in tests/meson.build" "$(grep -nE '\bsys\.path\b' $scripts | grep -v style/run.sh)"
rule "tools/test --help names every suite" "$(grep -ohE "suite: '[a-z0-9]+'" -r tests --include=meson.build | cut -d"'" -f2 | sort -u |
    grep -vxFf <(tools/test --help | tr -cs 'a-z0-9' '\n'))"
rule "doc/CHANGES.md has a section of this version, and each entry a heading of its kind" "$(
    version=$(sed -n "s/^  version: '\(.*\)',$/\1/p" meson.build)
    grep -qE "^## ${version//./[.]}(,|$)" doc/CHANGES.md || echo "no section ## $version"
    awk '/^## / { kind = "" } /^### / { kind = $0; if (!/^### (Changed: .+|Removed|Added|Fixed)$/) print NR ": " $0 }
         /^- / && kind == "" { print NR ": " $0 }' doc/CHANGES.md)"
rule "no unfinished marks" "$(grep -nwE 'TODO|FIXME|XXX|HACK' $code $scripts | grep -v style/run.sh)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
