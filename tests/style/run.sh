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
if command -v clang-format >/dev/null; then
    rule "clang-format" "$(clang-format --dry-run -Werror $code 2>&1 | grep 'error:' | head)"
else
    echo "SKIP clang-format is not installed"
fi

# includes DIR ALLOWED: the folders of src/ that files in DIR may include from
includes() {
    rule "src/$1 includes only: $2" \
        "$(grep -nE '^#include "' src/"$1"/*.[ch] | grep -vE "#include \"($2)/")"
}
includes base 'base'
includes packet 'packet|base'
includes config 'config|base'
includes tables 'tables|packet|base'
includes sched 'sched|config|base'
includes engine 'engine|config|base'
includes capture 'capture|engine|tables|config|packet|base'
includes tasks 'tasks|sched|engine|config|tables|packet|base'
includes telemetry 'telemetry|engine|tables|config|base'
includes explain 'explain|tasks|engine|tables|config|packet|base'
includes control 'control|explain|capture|telemetry|tasks|sched|engine|config|tables|packet|base'
rule "config and base are free of DPDK" "$(grep -nE '#include <rte_' src/config/* src/base/*)"
rule "tasks do not include each other" "$(grep -nE '#include "tasks/' src/tasks/*.c |
    awk -F'[/:.]' '{ base = $3; sub(/_.*/, "", base) } !index($0, "tasks/task_types.h") && !match($0, "\"tasks/" base)')"
rule "no shell is built from a string" "$(grep -nE '\b(system|popen|execl[pe]?)\(' $code
    grep -nE 'shell ?= ?True|os\.(system|popen)|getoutput\(|create_subprocess_shell' $scripts | grep -v style/run.sh)"
rule "no unfinished marks" "$(grep -nwE 'TODO|FIXME|XXX|HACK' $code $scripts | grep -v style/run.sh)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
