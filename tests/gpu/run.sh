#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Does the probe work on a real GPU? Needs one GPU, the CUDA toolkit with NCCL, and under eight minutes.
#
# usage: tests/gpu/run.sh [OUT]      OUT: a folder for reports, logs and the calibrated cluster file
#
# 1 numerics on one rank           2 two ranks on one GPU (through distinct NCCL_HOSTID and sockets:
#   correctness only, times not comparable)                     3 grouped products and copies
# 4 one rank of Mixtral-8x7B, Qwen3-30B-A3B and DeepSeek-V3 layers, predicted against measured
# 5 memory of a communicator       6 abort within 10 s of a killed rank
# A short table comes last; the exit status says whether every row is right.
set -u
cd "$(dirname "$0")/../.." || exit 2
out=${1:-$(mktemp -d)}
mkdir -p "$out"
start=$(date +%s)
table=$out/table.txt
: >"$table"
failed=0

row() { # NAME STATUS TEXT
	case $2 in 0) word=ok ;; *) word=FAIL failed=$((failed + 1)) ;; esac
	printf '%-28s %-5s %s\n' "$1" "$word" "$3" >>"$table"
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$out/gpu.txt" 2>&1 ||
	{ echo "there is no GPU: nothing is run, nothing is claimed"; exit 3; }
make -j"$(nproc)" moeplan probe >"$out/build.log" 2>&1 || { tail -n 20 "$out/build.log"; exit 1; }
ls moeplan-probe-cuda.so >/dev/null || { echo "the cuda backend was not built: set CUDA_HOME"; exit 1; }
./moeplan detect --output "$out/cluster.yaml" 2>"$out/detect.log"
row detect $? "$(sed -n 's/^  name: //p' "$out/cluster.yaml" 2>/dev/null | head -n 1)"
gpu=$(sed -n 's/^  name: \([^ ]*\).*/\1/p' "$out/cluster.yaml" 2>/dev/null | head -n 1)
gpu=${gpu:-H100-SXM5-80GB}

# One layer stack that one GPU holds, of a public model's shapes.
model() { # FILE NAME LAYERS EXPERTS
	printf 'schema: moeplan/model/v1\nname: %s\nlike: %s\nnum_layers: %s\nnum_experts: %s\n%s' \
		"$2-part" "$2" "$3" "$4" "${5:-}" >"$out/$1.yaml"
}

plan() { # FILE RANKS SEQ BATCH PINS
	./moeplan plan "$out/$1.yaml" "node:1 gpu:$2 $gpu" --seq-len "$3" --global-batch "$4" \
		--pin "$5" --top 1 --quiet --format json --output "$out/$1.plan.json" >"$out/$1.log" 2>&1
}

probe() { # FILE SECONDS OPTION...
	file=$1 limit=$2
	shift 2
	timeout "$limit" ./moeplan-probe "$out/$file.plan.json" --backend cuda --timeout 60 --format json \
		--output "$out/$file.report.json" "$@" >>"$out/$file.log" 2>&1
}

value() { # REPORT PYTHON-EXPRESSION over r
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$out/$1.report.json" "$2" 2>&1 | tail -n 1
}

numbers() { # REPORT: the worst error of all rows
	value "$1" '"worst error %.1e of %.0e" % max(((x["error"], x["tolerance"]) for x in r["numerics"]["rows"]), key=lambda p: p[0] / max(p[1], 1e-9))'
}

# --- 1, 3, 4: one rank ----------------------------------------------------------------------------

one=tp=1,pp=1,cp=1,ep=1,etp=1,vpp=1,micro_batch=1,recompute=none
model mixtral mixtral-8x7b 2 8
model qwen qwen3-30b-a3b 3 128
model deepseek deepseek-v3 2 32 'dense_first_layers: 1
mtp_layers: 0
'
for name in mixtral qwen deepseek; do
	plan $name 1 4096 2 $one || { row "plan $name" 1 "$(tail -n 1 "$out/$name.log")"; continue; }
	probe $name 100 --steps 10 --tolerance 1000
	[ -s "$out/$name.report.json" ]
	ran=$?
	ok=$(value $name 'int(not r["numerics"]["ok"])')
	row "numerics, $name" "${ok:-1}" "$(numbers $name)"
	row "step, $name" $ran "$(value $name '"predicted %.1f ms, measured %.1f ms (%d of %d micro-batches)" % (r["step"]["predicted_s"] * 1e3, r["step"]["measured_s"]["max"] * 1e3, r["step"]["micro_batches"], r["step"]["micro_batches_planned"])')"
	row "experts, $name" $ran "$(value $name '"%.0f TFLOP/s best grouped (%s), %.0f best dense" % (max([p["flops"] for p in r["products"] if p["groups"] > 1] or [0]) / 1e12, r["device"]["grouped_engine"], max(p["flops"] for p in r["products"]) / 1e12)')"
	row "copy and launch, $name" $ran "$(value $name '"%.2f TB/s, %.1f us a launch" % (r["device"]["memory_Bps"] / 1e12, r["device"]["launch_s"] * 1e6)')"
done

# --- 2, 5: two ranks on one GPU ---------------------------------------------------------------------

cp tests/probe/tiny.yaml "$out/two.yaml"
plan two 2 64 8 tp=1,pp=1,cp=1,ep=2,etp=1,vpp=1,micro_batch=1
before=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -n 1)
two() { # RANK OPTION...
	rank=$1
	shift
	env RANK="$rank" WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=24500 \
		CUDA_VISIBLE_DEVICES=0 NCCL_HOSTID="host$rank" NCCL_NET=Socket NCCL_IB_DISABLE=1 \
		NCCL_SOCKET_IFNAME=lo NCCL_MNNVL_ENABLE=0 NCCL_MAX_CTAS=2 NCCL_BUFFSIZE=1048576 \
		timeout 100 ./moeplan-probe "$out/two.plan.json" --backend cuda \
		--timeout 40 --steps 2 --tolerance 1000 "$@"
}
two 1 >"$out/two.1.log" 2>&1 &
other=$!
(sleep 8; nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -n 1 >"$out/two.used") &
two 0 --format json --output "$out/two.report.json" >"$out/two.0.log" 2>&1
wait $other
[ -s "$out/two.report.json" ]
ran=$?
row "two ranks, one GPU" $ran "$(numbers two); times not comparable"
row "memory of two processes" $ran "$(($(cat "$out/two.used" 2>/dev/null || echo 0) - before)) MiB with all communicators"

# --- 6: abort -----------------------------------------------------------------------------------------

two 1 --steps 1000 >"$out/abort.1.log" 2>&1 &
other=$!
two 0 --steps 1000 >"$out/abort.0.log" 2>&1 &
first=$!
sleep 20
# the shell's child is timeout(1), and that one's the probe
child=$(pgrep -P "$(pgrep -P "$other" | head -n 1)" | head -n 1)
kill -KILL "$child"
killed=$(date +%s)
wait $first
status=$?
took=$(($(date +%s) - killed))
[ $status = 3 ] && [ $took -le 10 ] && grep -q "rank 1 is missing" "$out/abort.0.log"
row "abort after a killed rank" $? "status $status after $took s"
wait $other 2>/dev/null

# --- calibrate ------------------------------------------------------------------------------------------

./moeplan calibrate "node:1 gpu:1 $gpu" "$out/mixtral.report.json" "$out/qwen.report.json" \
	--output "$out/calibrated.yaml" >"$out/calibrate.log" 2>&1
row calibrate $? "$(sed -n 's/^  \(hbm_GBps.*\|matmul_ceiling.*\)/\1/p' "$out/calibrated.yaml" 2>/dev/null | head -n 1)"

echo
date -u '+%Y-%m-%d %H:%M UTC'
cat "$out/gpu.txt" "$table"
echo "$(($(date +%s) - start)) s, $failed rows failed; reports in $out"
[ "$failed" = 0 ]
