#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Does the probe work on a real GPU? Needs one GPU with its driver, and under eight minutes.
#
# usage: tests/gpu/run.sh [OUT]              OUT: a folder for reports, logs and the cluster file
#        tests/gpu/run.sh --pack FOLDER      builds, and puts what a machine without GLPK, libyaml and
#                                            a compiler needs into FOLDER (10 MB)
#        PACK=FOLDER tests/gpu/run.sh [OUT]  runs what was packed instead of building
#
# 1 numerics on one rank           2 two ranks on one GPU (through distinct NCCL_HOSTID and sockets:
#   correctness only, times not comparable)                     3 grouped products and copies
# 4 one rank of Mixtral-8x7B, Qwen3-30B-A3B and DeepSeek-V3 layers, predicted against measured
# 5 memory of communicators        6 abort within 10 s of a killed rank
# A part that fails or finds no time leaves the others alone. A short table comes last; the exit status
# says whether every row is right.
set -u
cd "$(dirname "$0")/../.." || exit 2
start=$(date +%s)
ALL_S=470 # of it, the last parts keep what they need

elapsed() {
	echo $(($(date +%s) - start))
}

# --- what is run ----------------------------------------------------------------------------------

build() {
	make -j"$(nproc)" moeplan && make -j"$(nproc)" probe && [ -e moeplan-probe-cuda.so ]
}

# Programs, the backend, and the libraries beside libc and CUDA's.
pack() { # FOLDER
	mkdir -p "$1/lib" && cp moeplan moeplan-probe moeplan-probe-cuda.so "$1/" || return 1
	ldd moeplan moeplan-probe |
		sed -n 's/.* => \(\/[^ ]*lib\(glpk\|yaml\|cjson\|colamd\|amd\|suitesparseconfig\|gmp\|ltdl\|z\)[-.][^ ]*\) .*/\1/p' |
		sort -u | while read -r file; do cp -L "$file" "$1/lib/" || exit 1; done
}

if [ "${1:-}" = --pack ]; then
	[ -n "${2:-}" ] || { echo "usage: tests/gpu/run.sh --pack FOLDER"; exit 2; }
	build || { echo "the cuda backend was not built: set CUDA_HOME"; exit 1; }
	pack "$2" && du -sh "$2"
	exit
fi

out=${1:-$(mktemp -d)}
mkdir -p "$out" || exit 2
table=$out/table.txt
: >"$table"
failed=0

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$out/gpu.txt" 2>&1 ||
	{ echo "there is no GPU: nothing is run, nothing is claimed"; exit 3; }
if [ -n "${PACK:-}" ]; then
	bin=$(cd "$PACK" && pwd) || exit 2
	# CUDA's libraries are in the toolkit or in Python's packages.
	cuda=$(python3 -c 'import glob, site
print(":".join(d for s in site.getsitepackages() for d in glob.glob(s + "/nvidia/*/lib")))' 2>/dev/null)
	LD_LIBRARY_PATH=$bin/lib:${CUDA_HOME:-/usr/local/cuda}/lib64:$cuda:${LD_LIBRARY_PATH:-}
	export LD_LIBRARY_PATH
else
	build >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log"; echo "not built; --pack builds elsewhere"; exit 1; }
	bin=$PWD
fi
MOEPLAN=$bin/moeplan
PROBE=$bin/moeplan-probe
"$MOEPLAN" --version >"$out/version.txt" 2>&1 || { cat "$out/version.txt"; exit 1; }
ldd "$bin/moeplan-probe-cuda.so" 2>/dev/null | grep 'not found' | tee "$out/missing.txt"
[ ! -s "$out/missing.txt" ] || { echo "libraries are missing: set LD_LIBRARY_PATH"; exit 1; }

row() { # NAME STATUS TEXT
	case $2 in
	0) word=ok ;;
	*)
		word=FAIL
		failed=$((failed + 1))
		;;
	esac
	printf '%-28s %-5s %s\n' "$1" "$word" "$3" | tee -a "$table"
}

# Whether a part that takes up to SECONDS still ends in time; a row says so when it does not.
fits() { # NAME SECONDS
	[ $(($(elapsed) + $2)) -le "$ALL_S" ] && return 0
	row "$1" 1 "left out after $(elapsed) s: it may take $2 s"
	return 1
}

# The line that says why, of a log.
why() { # FILE
	grep -a -m 1 -E 'error|stops|failed|fails' "$1" 2>/dev/null || tail -n 1 "$1" 2>/dev/null
}

"$MOEPLAN" detect --output "$out/cluster.yaml" 2>"$out/detect.log"
status=$?
gpu=$(sed -n 's/^  name: \([^ ]*\).*/\1/p' "$out/cluster.yaml" 2>/dev/null | head -n 1)
row detect $status "${gpu:-$(why "$out/detect.log")}"
gpu=${gpu:-H200-SXM5-141GB}

# One layer stack that one GPU holds, of a public model's shapes.
model() { # FILE NAME LAYERS EXPERTS [MORE]
	printf 'schema: moeplan/model/v1\nname: %s\nlike: %s\nnum_layers: %s\nnum_experts: %s\n%s' \
		"$2-part" "$2" "$3" "$4" "${5:-}" >"$out/$1.yaml"
}

plan() { # FILE RANKS SEQ BATCH PINS
	"$MOEPLAN" plan "$out/$1.yaml" "node:1 gpu:$2 $gpu" --seq-len "$3" --global-batch "$4" \
		--pin "$5" --top 1 --quiet --format json --output "$out/$1.plan.json" >"$out/$1.plan.log" 2>&1
}

value() { # REPORT PYTHON-EXPRESSION over r: what it gives, or why it gives nothing, and whether
	said=$(python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$out/$1.report.json" "$2" 2>&1)
	set -- $?
	printf '%s\n' "$said" | tail -n 1
	return "$1"
}

# A row of what a report says; it fails when the report does not say it.
fact() { # NAME REPORT EXPRESSION
	text=$(value "$2" "$3")
	row "$1" $? "$text"
}

numbers() { # NAME REPORT [MORE]: the worst error of all rows; 1e+99: no number
	text=$(value "$2" '"worst error %.1e of %.0e" % max(((1e99 if x["error"] is None else x["error"], x["tolerance"]) for x in r["numerics"]["rows"]), key=lambda p: p[0] / max(p[1], 1e-9))')
	[ "$(value "$2" 'r["numerics"]["ok"]')" = True ]
	row "$1" $? "$text${3:-}"
}

# --- 1, 3, 4: one rank ----------------------------------------------------------------------------

one=tp=1,pp=1,cp=1,ep=1,etp=1,vpp=1,micro_batch=1,recompute=none
model mixtral mixtral-8x7b 2 8
model qwen qwen3-30b-a3b 3 128
model deepseek deepseek-v3 2 32 'dense_first_layers: 1
mtp_layers: 0
'
rows_of() { # NAME
	numbers "numerics, $1" "$1"
	fact "step, $1" "$1" '"predicted %.1f ms, measured %.1f ms (%d of %d micro-batches)" % (r["step"]["predicted_s"] * 1e3, r["step"]["measured_s"]["max"] * 1e3, r["step"]["micro_batches"], r["step"]["micro_batches_planned"])'
	fact "experts, $1" "$1" '"%.0f TFLOP/s best grouped (%s), %.0f best dense" % (max([p["flops"] for p in r["products"] if p["groups"] > 1] or [0]) / 1e12, r["device"]["grouped_engine"], max(p["flops"] for p in r["products"]) / 1e12)'
	fact "copy, permute, $1" "$1" '"%.2f and %.2f TB/s, %.1f us a launch" % (r["device"]["memory_Bps"] / 1e12, r["device"]["permute_Bps"] / 1e12, r["device"]["launch_s"] * 1e6)'
	fact "memory, $1" "$1" '"predicted %.1f GiB, allocated %.1f, outside %.2f" % (sum(v for k, v in r["memory"]["stages"][0]["predicted"].items()) / 2**30, r["memory"]["stages"][0]["measured"]["allocated_bytes"] / 2**30, (r["memory"]["stages"][0]["measured"]["outside_bytes"] or 0) / 2**30)'
}

for name in mixtral qwen deepseek; do
	fits "$name" 90 || continue
	plan $name 1 4096 2 $one || { row "plan $name" 1 "$(why "$out/$name.plan.log")"; continue; }
	timeout -k 5 90 "$PROBE" "$out/$name.plan.json" --backend cuda --timeout 60 --steps 10 \
		--tolerance 1000 --format json --output "$out/$name.report.json" >"$out/$name.log" 2>&1
	status=$?
	if [ -s "$out/$name.report.json" ]; then
		rows_of $name
	else
		row "probe, $name" 1 "status $status: $(why "$out/$name.log")"
	fi
done

# --- 2, 5: two ranks on one GPU ---------------------------------------------------------------------

cp tests/probe/tiny.yaml "$out/two.yaml"
two() { # LIMIT RANK OPTION...: its process id is left in two.RANK.pid
	limit=$1 rank=$2
	shift 2
	# shellcheck disable=SC2016 # expanded by the inner shell
	exec env RANK="$rank" WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=24500 \
		CUDA_VISIBLE_DEVICES=0 NCCL_HOSTID="host$rank" NCCL_NET=Socket NCCL_IB_DISABLE=1 \
		NCCL_SOCKET_IFNAME=lo NCCL_MNNVL_ENABLE=0 NCCL_MAX_CTAS=2 NCCL_BUFFSIZE=1048576 \
		timeout -k 5 "$limit" sh -c 'echo $$ >"$0"; exec "$@"' "$out/two.$rank.pid" \
		"$PROBE" "$out/two.plan.json" --backend cuda --timeout 40 --tolerance 1000 "$@"
}
two_planned=1 took=20
plan two 2 64 8 tp=1,pp=1,cp=1,ep=2,etp=1,vpp=1,micro_batch=1 ||
	{ row "plan of two ranks" 1 "$(why "$out/two.plan.log")"; two_planned=0; }
if [ $two_planned = 1 ] && fits "two ranks, one GPU" 100; then
	began=$(date +%s)
	(two 100 1 --steps 2) >"$out/two.1.log" 2>&1 &
	other=$!
	(two 100 0 --steps 2 --format json --output "$out/two.report.json") >"$out/two.0.log" 2>&1
	status=$?
	wait $other
	took=$(($(date +%s) - began))
	if [ -s "$out/two.report.json" ]; then
		numbers "two ranks, one GPU" two "; times not comparable"
		fact "memory of communicators" two '"%d took %.0f MiB a rank (2 channels, small buffers)" % (r["memory"]["communicators"], r["memory"]["communicator_bytes"] / 2**21)'
	else
		row "two ranks, one GPU" 1 "status $status: $(why "$out/two.0.log")"
	fi
fi

# --- 6: abort -----------------------------------------------------------------------------------------

if [ $two_planned = 1 ] && fits "abort after a killed rank" 70; then
	rm -f "$out"/two.?.pid
	(two 70 1 --steps 1000) >"$out/abort.1.log" 2>&1 &
	other=$!
	(two 70 0 --steps 1000) >"$out/abort.0.log" 2>&1 &
	first=$!
	sleep $((took < 60 ? took / 2 + 2 : 32)) # in the middle of what took so long just now
	kill -KILL "$(cat "$out/two.1.pid" 2>/dev/null || echo none)" 2>>"$out/abort.1.log"
	killed=$(date +%s)
	wait $first
	status=$?
	took=$(($(date +%s) - killed))
	[ $status = 3 ] && [ $took -le 10 ] && grep -q "rank 1 is missing" "$out/abort.0.log"
	row "abort after a killed rank" $? "status $status after $took s: $(why "$out/abort.0.log")"
	wait $other
fi

# --- calibrate ------------------------------------------------------------------------------------------

set --
for name in mixtral qwen deepseek; do
	[ ! -s "$out/$name.report.json" ] || set -- "$@" "$out/$name.report.json"
done
if [ $# -gt 0 ]; then
	"$MOEPLAN" calibrate "node:1 gpu:1 $gpu" "$@" --output "$out/calibrated.yaml" >"$out/calibrate.log" 2>&1
	status=$?
	found=$(sed -n 's/^  \(hbm_GBps.*\|matmul_ceiling.*\)/\1/p' "$out/calibrated.yaml" 2>/dev/null | head -n 1)
	row calibrate $status "${found:-$(why "$out/calibrate.log")}"
else
	row calibrate 1 "there is no report"
fi

echo
date -u '+%Y-%m-%d %H:%M UTC'
cat "$out/gpu.txt" "$table"
echo "$(elapsed) s, $failed rows failed; reports in $out"
[ "$failed" = 0 ]
