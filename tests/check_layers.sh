#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The house keeps its order: who may include whom, and that a framework, an engine or a workload is named in its own
# folder only. ARCHITECTURE.md explains the table.
set -u
shopt -s nullglob
cd "$(dirname "$0")/.." || exit 1

# module: what its files may include beside itself
declare -A allowed=(
  [src/base]=""
  [src/graph]="base"
  [src/kernels]="graph base"
  [src/onnx]="kernels graph base"
  [src/recipe]="graph base"
  [src/data]="recipe graph base"
  [src/record]="base"
  [src/trace]="record base"
  [src/protocol]="recipe data record graph base"
  [src/worker]="protocol recipe data trace graph record base"
  [src/run]="protocol recipe data record graph base"
  [src/conformance]="run onnx protocol recipe kernels graph base"
  [src/verify]="run onnx protocol recipe data kernels record graph base"
  [src/store]="record base"
  [src/analysis]="store record base"
  [src/report]="analysis store record base"
  [src/cli]="conformance verify onnx report analysis store run protocol data recipe graph record base workloads"
  [workloads]="recipe graph base workloads"
  [engines]="worker kernels protocol recipe graph record trace base engines"
)
failures=0
complain() { echo "$1"; failures=$((failures + 1)); }

for module in "${!allowed[@]}"; do
  own=${module#src/}
  while IFS=: read -r file line text; do
    target=$(sed -E 's/.*"([^"\/]*)\/.*/\1/' <<<"$text")
    [[ $target == "$own" || " ${allowed[$module]} " == *" $target "* ]] && continue
    # Tests of workloads and engines may use what they need to state facts.
    [[ $file == *_test.cc && $module != src/* ]] && continue
    complain "$file:$line: $own may not include $target/ (ARCHITECTURE.md, 'Who may include whom')"
  done < <(grep -rnE '^#include "[^"/]+/' --include='*.h' --include='*.cc' "$module")
done

# Code under src/ (comments apart) names no framework, engine folder or workload folder (`null` and `reference` are words).
names=$(for folder in engines/*/ workloads/*/; do basename "$folder"; done | grep -vxE 'null|reference' | paste -sd'|')
while IFS=: read -r file line text; do
  [[ $file == *_test.cc ]] && continue
  complain "$file:$line: names a framework, an engine or a workload:$text"
done < <(grep -rniE "\b($names|pytorch|libtorch|tensorflow|mxnet|caffe|cntk)\b" --include='*.h' --include='*.cc' src |
  grep -vE '^[^:]*:[0-9]+: *(//|\*)' | sed -E 's://.*$::' |
  grep -iE "\b($names|pytorch|libtorch|tensorflow|mxnet|caffe|cntk)\b")

# Adding an engine or a workload edits nothing: no build file or script outside its folder names it.
while IFS=: read -r file line text; do
  complain "$file:$line: names a single engine or workload:$text"
done < <(grep -nE "\b($names)\b" CMakeLists.txt cmake/*.cmake engines/CMakeLists.txt workloads/CMakeLists.txt \
  src/cli/CMakeLists.txt tests/CMakeLists.txt)

while read -r lines file; do
  [[ $file == total ]] && continue
  ((lines > 800)) && complain "$file: $lines lines; 800 is the most (engineering style)"
done < <(find src engines workloads tests bench -name '*.h' -o -name '*.cc' | xargs wc -l)

while read -r file; do
  head -2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || complain "$file: no SPDX line"
done < <(find src engines workloads tests bench -name '*.h' -o -name '*.cc' -o -name '*.sh' -o -name '*.py')

((failures == 0)) || { echo "$failures fault(s)"; exit 1; }
echo "layers: ok"
