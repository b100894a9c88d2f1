#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Does the probe find what is right and what is wrong? Faults with ranks that it forks itself, every
# class of layout over MPI, refusals, and the cuda backend where there is no GPU.
#
# usage: OBJ=FOLDER MOEPLAN=PROGRAM sh tests/probe/run.sh      prints "N passed, N failed" last
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${OBJ:=$PWD/build/release}" "${MOEPLAN:=$OBJ/moeplan}"
PROBE=$OBJ/moeplan-probe
[ -x "$PROBE" ] || { echo "there is no $PROBE: make check-probe builds it"; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0
MPIRUN="mpirun --oversubscribe"
[ "$(id -u)" != 0 ] || MPIRUN="$MPIRUN --allow-run-as-root"
# What MPI itself keeps until the end is no leak of ours; containers often forbid its shortcut.
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
ASAN_OPTIONS=${ASAN_OPTIONS:-}${ASAN_OPTIONS:+:}detect_leaks=0
export ASAN_OPTIONS

verdict() { # NAME TRUE|FALSE
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $1"
		tail -n 25 "$scratch/log"
	fi
}

batch=16 length=64 # global; of sequences
plan() { # FILE MODEL RANKS PINS OPTION...
	file=$1 model=$2 ranks=$3 pins=$4
	shift 4
	"$MOEPLAN" plan "$model" "node:1 gpu:$ranks H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s" \
		--seq-len 64 --global-batch "$batch" --pin "$pins" --quiet --format json \
		--output "$scratch/$file.json" "$@" >"$scratch/log" 2>&1
}

probe() { # RANKS PLAN OPTION...
	n=$1 file=$2
	shift 2
	# shellcheck disable=SC2086 # a command and its options
	timeout 300 $MPIRUN -n "$n" "$PROBE" "$file" --backend cpu --steps 1 --timeout 100 "$@" \
		>"$scratch/log" 2>&1
}

# An estimate of a schedule that no release of the framework runs, so that none is planned.
foreign() { # FILE MODEL RANKS PINS SCHEDULE OPTION...
	file=$1 model=$2 ranks=$3 schedule=$5
	degrees=$(echo "--$4" | sed 's/=/ /g; s/,/ --/g; s/micro_batch/micro-batch/')
	shift 5
	# shellcheck disable=SC2086 # options and their values
	"$MOEPLAN" estimate "$model" "node:1 gpu:$ranks H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s" \
		--seq-len "$length" --global-batch "$batch" $degrees --schedule "$schedule" --quiet \
		--format json --output "$scratch/$file.json" "$@" >"$scratch/log" 2>&1
}

# The ranks as torchrun starts them, which no MPI knows: they talk over TCP.
tcp() { # RANKS PLAN OPTION...
	n=$1 file=$2 rank=0 pids='' worst=0
	shift 2
	while [ "$rank" -lt "$n" ]; do
		RANK=$rank WORLD_SIZE=$n LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$n MASTER_ADDR=127.0.0.1 \
			MASTER_PORT=$port timeout 300 "$PROBE" "$file" --backend cpu --steps 1 --timeout 100 "$@" \
			>>"$scratch/log" 2>&1 &
		pids="$pids $!"
		rank=$((rank + 1))
	done
	for pid in $pids; do
		wait "$pid" || worst=$?
	done
	return $worst
}
port=$((20000 + $$ % 10000))
start=probe

# A layout is right when the probe says so with status 0, and its report follows the schema.
layout() { # NAME MODEL RANKS PINS [PROBE OPTIONS [PLAN OPTIONS [FOREIGN SCHEDULE]]]
	# shellcheck disable=SC2086 # lists of options
	if [ -n "${7:-}" ]; then
		foreign "$1" "$2" "$3" "$4,micro_batch=1" "$7" ${6:-}
	else
		plan "$1" "$2" "$3" "$4,micro_batch=1" ${6:-}
	fi &&
		$start "$3" "$scratch/$1.json" --format json --output "$scratch/report.json" ${5:-} &&
		python3 tests/probe/report.py "$scratch/report.json" "$1" >"$scratch/log" 2>&1
	verdict "layout $1 ($start)" $?
}

expect() { # NAME STATUS TEXT COMMAND...
	name=$1 status=$2 text=$3
	shift 3
	timeout 120 "$@" >"$scratch/log" 2>&1
	got=$?
	[ "$got" = "$status" ] && grep -qF -- "$text" "$scratch/log"
	verdict "$name (status $got, wanted $status: $text)" $?
}

tiny=tests/probe/tiny.yaml
sed 's/^num_layers: .*/num_layers: 8/' $tiny >"$scratch/deep.yaml" # enough for many chunks
cat >"$scratch/loads.csv" <<'END'
layer,e0,e1,e2,e3,e4,e5,e6,e7
1,1000,100,100,100,100,100,50,10
2,10,700,100,100,100,100,50,10
END
# Two layers of public models, for what the tiny one does not have.
small() { # FILE MODEL MORE
	printf 'schema: moeplan/model/v1\nname: %s\nlike: %s\nnum_layers: 2\n%s' "$1" "$2" "$3" >"$scratch/$1.yaml"
}
few='num_experts: 4
top_k: 2
'
small head-norms qwen3-30b-a3b ""
small whole-norms olmoe-1b-7b "num_key_value_heads: 4
"
small sinks-biases gpt-oss-120b "${few}hidden_size: 2048
"
small shared-gate qwen2-57b-a14b "$few"
small norms-behind grok-1 "${few}hidden_size: 2048
"
small norm-biases phi-3.5-moe "$few"
gated() { # FILE KEYS: a layer with an output gate, as Qwen3-Next has it between its linear ones
	printf '{"architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 2048,
"num_hidden_layers": 2, "layer_types": ["full_attention", "%s"], "num_attention_heads": 16,
"num_key_value_heads": 2, "head_dim": 256, "vocab_size": 151936, "intermediate_size": 5120, "num_experts": 8,
"num_experts_per_tok": 2, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
"linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
"linear_value_head_dim": 128, "max_position_embeddings": 4096}' "$2" >"$scratch/$1.json"
}
gated output-gate-model full_attention
gated linear linear_attention
for form in json csv; do
	case $form in json) as="--format json" ;; csv) as="--map csv" ;; esac
	# shellcheck disable=SC2086 # an option and its value
	"$MOEPLAN" place "$scratch/loads.csv" --gpus 4 --redundant 4 --quiet $as \
		--output "$scratch/experts.$form" >"$scratch/log" 2>&1
	verdict "a placement as $form" $?
done

many() { # NAME PROGRAM ARGUMENT...: prints "N passed, ..." itself
	name=$1
	shift
	timeout 1200 "$@" >"$scratch/log" 2>&1
	verdict "$name" $?
	ok=$(sed -n 's/^\([0-9]*\) passed, .*/\1/p' "$scratch/log")
	passed=$((passed + ${ok:-1} - 1))
}

short() { # FILE MODEL RANKS PINS OVERLAP: a plan whose step takes seconds
	"$MOEPLAN" plan "$2" "node:1 gpu:$3 H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s" --seq-len 16 \
		--global-batch 8 --overlap "$5" --pin "$4,cp=1,micro_batch=1" --quiet --format json --output "$scratch/$1.json" \
		>"$scratch/log" 2>&1
	verdict "a short plan $1" $?
}

# --- faults ---------------------------------------------------------------------------------------

plan faults $tiny 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1,micro_batch=1
verdict "a plan for the faults" $?
short order-ep $tiny 4 tp=2,pp=1,ep=2,etp=1,vpp=1 dp,ep
short order-pp "$scratch/deep.yaml" 4 tp=1,pp=2,ep=2,etp=1,vpp=2 dp,ep # a receive that blocks cannot come early
short order-tp $tiny 4 tp=4,pp=1,ep=2,etp=1,vpp=1 tp
many faults "$OBJ/tests/probe/faults" "$scratch/faults.json" "$scratch/order-ep.json" \
	"$scratch/order-pp.json" "$scratch/order-tp.json"
many "faults under sanitizers of memory" "$OBJ/tests/probe/faults_memory" "$scratch/faults.json" \
	"$scratch/order-ep.json" "$scratch/order-pp.json"
if [ -x "$OBJ/tests/probe/faults_threads" ]; then
	many "faults under a sanitizer of threads" env TSAN_OPTIONS=halt_on_error=1:exitcode=66 \
		"$OBJ/tests/probe/faults_threads" "$scratch/faults.json"
fi

# --- the cuda backend on this host --------------------------------------------------------------------

many "kernels" "$OBJ/tests/probe/kernels"
if [ -x "$OBJ/tests/probe/cuda_calls" ]; then
	many "faults over the cuda backend" "$OBJ/tests/probe/cuda_faults" "$scratch/faults.json"
	short short-ep $tiny 4 tp=2,pp=1,ep=2,etp=1,vpp=1 dp
	short short-pp $tiny 4 tp=1,pp=2,ep=2,etp=1,vpp=2 dp,pp
	short short-interleaved "$scratch/deep.yaml" 4 tp=1,pp=2,ep=2,etp=1,vpp=4 none
	length=16 batch=8
	foreign short-zbv "$scratch/deep.yaml" 4 tp=1,pp=2,ep=2,vpp=2,micro_batch=1 zbv --overlap dp,pp &&
		foreign short-dualpipe "$scratch/deep.yaml" 4 tp=1,pp=4,micro_batch=1 dualpipe &&
		batch=12 &&
		foreign short-zb "$scratch/deep.yaml" 6 tp=1,pp=3,ep=2,vpp=2,micro_batch=1 zb
	verdict "short estimates" $?
	length=64 batch=16
	short short-pairs $tiny 4 tp=2,pp=1,ep=2,etp=2,vpp=1 ep
	short short-fetch "$scratch/deep.yaml" 4 tp=1,pp=2,ep=2,etp=1,vpp=2 ep,pp
	short short-all "$scratch/deep.yaml" 4 tp=2,pp=2,ep=2,etp=1,vpp=2 dp,tp,ep,pp
	many "calls of the cuda backend" "$OBJ/tests/probe/cuda_calls" "$scratch/short-ep.json" \
		"$scratch/short-pp.json" "$scratch/short-pairs.json" "$scratch/short-interleaved.json" \
		"$scratch/short-zbv.json" "$scratch/short-dualpipe.json" "$scratch/order-ep.json" \
		"$scratch/short-fetch.json" "$scratch/short-zb.json" "$scratch/order-tp.json" \
		"$scratch/short-all.json"
fi

# --- an estimate instead of a plan ----------------------------------------------------------------

"$MOEPLAN" estimate $tiny "node:1 gpu:4 H100-SXM5-80GB nvlink:450GB/s" --tp 1 --pp 1 --ep 4 \
	--seq-len 64 --global-batch 16 --format json --output "$scratch/estimate.json" >/dev/null
probe 4 "$scratch/estimate.json"
verdict "an estimate" $?

# --- refusals -------------------------------------------------------------------------------------

plan eight $tiny 8 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1,micro_batch=1
expect "no plan" 2 "no plan is given" "$PROBE"
expect "not a plan" 2 "is no plan" "$PROBE" examples/models/mixtral-8x7b.json
expect "a world of another size" 1 "the plan takes TP 2 x CP 1 x PP 2 x DP 2 = 8" \
	env RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=4 "$PROBE" "$scratch/eight.json" --backend cpu
expect "what deepspeed puts in front" 1 "the plan takes TP 2 x CP 1 x PP 2 x DP 2 = 8" env RANK=0 \
	WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_SIZE=4 "$PROBE" --local_rank=0 "$scratch/eight.json" --backend cpu
env RANK=1 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 "$PROBE" "$scratch/eight.json" --backend cpu \
	>"$scratch/log" 2>&1
got=$?
[ "$got" = 1 ] && [ ! -s "$scratch/log" ]
verdict "another rank of the host has said it (status $got)" $?
expect "a lost rank" 2 "promised ranks" env OMPI_COMM_WORLD_SIZE=8 "$PROBE" "$scratch/eight.json"
expect "an sbatch shell" 2 "start it with srun" env SLURM_NTASKS=8 "$PROBE" "$scratch/eight.json"
expect "half a launcher" 2 "'RANK' is set, but 'WORLD_SIZE' is not" env RANK=1 "$PROBE" "$scratch/eight.json"
expect "a bad load" 2 "is no load" "$PROBE" "$scratch/eight.json" --load-skew much
expect "loads of another model" 2 "loads of 64 experts, the model has 8" "$PROBE" "$scratch/eight.json" \
	--load-skew examples/loads/mixed-64.csv
expect "a placement for other ranks" 2 "expert 0 is twice on expert-parallel rank 0" \
	"$PROBE" "$scratch/eight.json" --placement "$scratch/experts.csv"
plan four $tiny 4 tp=1,pp=1,cp=1,ep=4,etp=1,vpp=1,micro_batch=1
sed 's/,5$/,4/' "$scratch/experts.csv" >"$scratch/lost.csv"
expect "a placement without an expert" 2 "no slot of layer 1 holds expert 5" \
	"$PROBE" "$scratch/four.json" --placement "$scratch/lost.csv"
expect "an unknown option" 2 "--stepps" "$PROBE" "$scratch/eight.json" --stepps 3
plan sharded-stages $tiny 8 tp=2,pp=2,ep=2,zero=3,micro_batch=1
verdict "a plan with sharded weights on stages" $?
expect "sharded weights on stages" 1 "the probe cannot run sharded weights on several pipeline stages" \
	"$PROBE" "$scratch/sharded-stages.json"
foreign few "$scratch/deep.yaml" 4 tp=1,pp=4,vpp=1,micro_batch=2 dualpipe
verdict "an estimate with few micro-batches" $?
sed 's/"micro_batches": 8/"micro_batches": 4/; s/"micro_batch": 2/"micro_batch": 4/' "$scratch/few.json" \
	>"$scratch/fewer.json"
expect "too few micro-batches" 2 \
	"schedule 'dualpipe' over pp 4 needs 8 micro-batches or more, an even number, there are 4" \
	"$PROBE" "$scratch/fewer.json"

plan linear-layers "$scratch/linear.json" 2 tp=1,pp=1,ep=2,micro_batch=1
verdict "a plan with linear attention" $?
expect "linear attention" 1 "the probe cannot run gated_deltanet" "$PROBE" "$scratch/linear-layers.json"

# --- the cuda backend without a GPU -----------------------------------------------------------------

if [ -e "$OBJ/moeplan-probe-cuda.so" ] && [ ! -e /dev/nvidia0 ]; then
	expect "no GPU" 3 "there is no GPU to use" "$PROBE" "$scratch/eight.json" --backend cuda
	if ldd "$PROBE" | grep -q glpk; then false; else true; fi
	verdict "the probe links no GLPK" $?
elif [ ! -e "$OBJ/moeplan-probe-cuda.so" ]; then
	expect "no cuda backend" 3 "the 'cuda' backend cannot be loaded" "$PROBE" "$scratch/eight.json" --backend cuda
fi

# --- layouts over MPI -------------------------------------------------------------------------------

if [ -e "$OBJ/moeplan-probe-cpu.so" ] && command -v mpirun >/dev/null; then
	expect "alone without mpirun" 3 "mpirun -n 8 moeplan-probe $scratch/eight.json --backend cpu" \
		env PATH=/nowhere "$PROBE" "$scratch/eight.json" --backend cpu
	expect "an mpirun that starts no ranks" 3 "tells its ranks apart" \
		env MOEPLAN_PROBE_STARTED=1 "$PROBE" "$scratch/eight.json" --backend cpu
	expect "alone" 0 "the plan was rehearsed" "$MOEPLAN" probe "$scratch/faults.json" --steps 1
	expect "alone, found wrong" 2 "is no load" "$MOEPLAN" probe "$scratch/faults.json" --load-skew x
	layout tp2 $tiny 2 tp=2,pp=1,cp=1,ep=1,etp=2,vpp=1
	# shellcheck disable=SC2016 # expanded by the inner shell
	expect "an MPI singleton" 3 "MPI says rank 0 of 1" env PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0 \
		MPI_LOCALNRANKS=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" sh -c '
		PMI_RANK=1 MPI_LOCALRANKID=1 "$0" "$1" --backend cpu --timeout 20 &
		"$0" "$1" --backend cpu --timeout 20
		status=$?; wait; exit $status' "$PROBE" "$scratch/tp2.json"
	layout tp4 $tiny 4 tp=4,pp=1,cp=1,ep=1,etp=1,vpp=1
	layout ep4 $tiny 4 tp=1,pp=1,cp=1,ep=4,etp=1,vpp=1
	python3 tests/probe/calibrated.py "$scratch/report.json" "$MOEPLAN" "$scratch" >"$scratch/log" 2>&1
	verdict "a report calibrates the next plan" $?
	layout ep2-edp2 $tiny 4 tp=1,pp=1,cp=1,ep=2,etp=1,vpp=1,zero=0
	layout no-overlap $tiny 4 tp=1,pp=1,cp=1,ep=2,etp=1,vpp=1 "" "--overlap none"
	layout etp2-ep2 $tiny 8 tp=2,pp=1,cp=1,ep=2,etp=2,vpp=1
	layout cp2 $tiny 4 tp=1,pp=1,cp=2,ep=2,etp=1,vpp=1
	layout pp4 $tiny 4 tp=1,pp=4,cp=1,ep=1,etp=1,vpp=1
	layout pp-overlap $tiny 4 tp=1,pp=2,cp=1,ep=2,etp=1,vpp=2 "" "--overlap dp,pp"
	layout tp4-overlap $tiny 4 tp=4,pp=1,cp=1,ep=2,etp=1,vpp=1 "" "--overlap dp,tp"
	layout tp-overlap-mla tests/probe/mla.yaml 4 tp=4,pp=1,cp=1,ep=2,etp=1,vpp=1 "" "--overlap tp"
	layout tp-overlap-pp deepseek-v2-lite 8 tp=2,pp=2,cp=1,ep=4,etp=1,vpp=1 "" "--overlap tp"
	layout mtp-tp-overlap tests/probe/mtp.yaml 4 tp=4,pp=1,cp=1,ep=4,etp=1,vpp=1 "" "--overlap tp"
	layout recompute-tp-overlap $tiny 4 tp=4,pp=1,cp=1,ep=2,etp=1,vpp=1,recompute=full "" "--overlap tp"
	layout all-overlap $tiny 16 tp=2,pp=2,cp=2,ep=2,etp=2,vpp=2 "" "--overlap dp,tp,ep,pp"
	layout pairs $tiny 4 tp=1,pp=1,cp=1,ep=4,etp=1,vpp=1 "--load-skew one" "--overlap dp,ep"
	layout pairs-etp $tiny 8 tp=2,pp=1,cp=1,ep=2,etp=2,vpp=1 "" "--overlap ep"
	layout pairs-cp $tiny 8 tp=2,pp=1,cp=2,ep=4,etp=1,vpp=1 "--load-skew zipf=1.2" "--overlap dp,ep"
	layout pairs-pp $tiny 8 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=2 "" "--overlap dp,ep,pp"
	layout pairs-everything $tiny 16 tp=2,pp=2,cp=2,ep=2,etp=2,vpp=2 "" "--overlap ep"
	layout pairs-zero2 $tiny 8 tp=2,pp=2,cp=1,ep=2,etp=2,vpp=2,zero=2 "" "--overlap ep"
	layout recompute-pairs $tiny 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1,recompute=selective:layernorm+moe_act+core_attn "" \
		"--overlap ep"
	layout pairs-uneven tests/probe/mla.yaml 4 tp=1,pp=2,cp=1,ep=2,etp=1,vpp=2 "" "--overlap ep"
	layout torchtitan-beside $tiny 4 tp=2,pp=1,ep=2,zero=3 "" "--framework torchtitan --overlap ep"
	layout pp2-vpp2 $tiny 4 tp=1,pp=2,cp=1,ep=2,etp=1,vpp=2
	layout etp-not-tp $tiny 8 tp=4,pp=1,cp=1,ep=2,etp=2,vpp=1
	layout etp-beyond-tp $tiny 8 tp=1,pp=1,cp=2,ep=2,etp=4,vpp=1
	layout uneven tests/probe/mla.yaml 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1
	layout folding $tiny 8 tp=4,pp=1,cp=2,ep=8,etp=1,vpp=1
	layout everything $tiny 16 tp=2,pp=2,cp=2,ep=2,etp=2,vpp=2
	layout recompute $tiny 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1,recompute=full
	layout recompute-some $tiny 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1,recompute=full:1
	layout recompute-parts $tiny 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1,recompute=selective:layernorm+moe_act+core_attn
	layout recompute-moe $tiny 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1,recompute=selective:moe+mlp+shared_experts
	layout recompute-mla tests/probe/mla.yaml 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1,recompute=selective:mla_up_proj
	layout mtp tests/probe/mtp.yaml 1 tp=1,pp=1,cp=1,ep=1,etp=1,vpp=1
	layout mtp-tp2 tests/probe/mtp.yaml 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1
	layout mtp-everything tests/probe/mtp.yaml 16 tp=2,pp=2,cp=2,ep=2,etp=2,vpp=2
	layout capacity $tiny 4 tp=1,pp=1,cp=1,ep=4,etp=1,vpp=1 "--load-skew zipf=1.2" "--capacity 1.0"
	layout kv-copies $tiny 8 tp=8,pp=1,cp=1,ep=4,etp=1,vpp=1
	layout kv-copies-pp $tiny 16 tp=8,pp=2,cp=1,ep=8,etp=1,vpp=1,zero=0
	layout loads $tiny 4 tp=1,pp=1,cp=1,ep=4,etp=1,vpp=1 "--load-skew $scratch/loads.csv"
	layout placement $tiny 8 tp=2,pp=1,cp=1,ep=4,etp=1,vpp=1 \
		"--load-skew $scratch/loads.csv --placement $scratch/experts.json"
	layout placement-etp $tiny 16 tp=2,pp=1,cp=1,ep=4,etp=2,vpp=1 \
		"--load-skew zipf=1.2 --placement $scratch/experts.csv" "--capacity 1.0"
	layout one-expert $tiny 4 tp=1,pp=1,cp=1,ep=4,etp=1,vpp=1 "--load-skew one"
	layout zero2 $tiny 8 tp=2,pp=2,cp=1,ep=2,etp=2,vpp=2,zero=2
	layout mtp-zero3 tests/probe/mtp.yaml 8 tp=2,pp=1,cp=2,ep=4,etp=1,vpp=1,zero=3
	layout zero2-alone $tiny 4 tp=4,pp=1,cp=1,ep=2,etp=1,vpp=1,zero=2
	layout torchtitan-stages $tiny 4 tp=2,pp=2,vpp=2,ep=2,zero=3 "" "--framework torchtitan"
	layout torchtitan-sharded-stages $tiny 8 tp=2,pp=2,vpp=2,ep=2,zero=3 "" "--framework torchtitan"
	layout deepspeed $tiny 4 tp=1,pp=1,ep=2,zero=2 "" "--framework deepspeed"
	layout deepspeed-pp $tiny 8 tp=2,pp=2,ep=2,zero=1 "" "--framework deepspeed"
	layout deepspeed-lanes $tiny 8 tp=2,pp=1,ep=2,zero=1 "" "--framework deepspeed --expert-tp on"
	layout deepspeed-data-first $tiny 8 tp=1,pp=1,ep=2,zero=2 "" "--framework deepspeed --data-before-expert"
	layout deepspeed-auto-ep $tiny 8 tp=2,pp=1,ep=4,zero=1 "" "--framework deepspeed --auto-ep"
	layout torchtitan $tiny 8 tp=2,pp=1,cp=2,ep=4,zero=3 "" "--framework torchtitan"
	layout recompute-torchtitan $tiny 8 tp=1,pp=1,ep=2,zero=3,recompute=full "" "--framework torchtitan"
	layout head-norms "$scratch/head-norms.yaml" 8 tp=2,pp=1,cp=2,ep=2,etp=2,vpp=1
	layout head-norms-copies "$scratch/head-norms.yaml" 8 tp=8,pp=1,cp=1,ep=4,etp=1,vpp=1
	layout recompute-norms "$scratch/head-norms.yaml" 4 \
		tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1,recompute=selective:layernorm+core_attn
	layout whole-norms "$scratch/whole-norms.yaml" 8 tp=8,pp=1,cp=1,ep=4,etp=1,vpp=1
	layout sinks-biases "$scratch/sinks-biases.yaml" 4 tp=2,pp=1,ep=2,etp=1,vpp=1,zero=2
	layout shared-gate "$scratch/shared-gate.yaml" 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1
	layout recompute-gate "$scratch/shared-gate.yaml" 2 \
		tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1,recompute=selective:moe+shared_experts
	layout norms-behind "$scratch/norms-behind.yaml" 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1
	layout norm-biases "$scratch/norm-biases.yaml" 4 tp=2,pp=1,ep=2,etp=1,vpp=1,zero=3
	layout output-gate "$scratch/output-gate-model.json" 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1
	layout mla deepseek-v2-lite 8 tp=2,pp=2,cp=1,ep=4,etp=1,vpp=1
	layout fp8-rehearsed $tiny 2 tp=1,pp=1,cp=1,ep=2,etp=1,vpp=1 "" "--precision fp8"
	deep=$scratch/deep.yaml
	layout zb-tp-overlap "$deep" 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1 "" "--overlap tp" zb
	layout zb-tp2 "$deep" 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1 "" "" zb
	layout zb-pp4 "$deep" 4 tp=1,pp=4,cp=1,ep=1,etp=1,vpp=1 "" "--overlap dp,pp" zb
	layout zb-interleaved "$deep" 8 tp=1,pp=2,cp=1,ep=2,etp=2,vpp=2 "" "" zb
	layout zb-sinks "$scratch/sinks-biases.yaml" 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1 "" "" zb
	layout zb-shared-gate "$scratch/shared-gate.yaml" 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1 "" "" zb
	layout zb-norms-behind "$scratch/norms-behind.yaml" 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1 "" "" zb
	layout zb-output-gate "$scratch/output-gate-model.json" 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1 "" "" zb
	layout zb-mla tests/probe/mla.yaml 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1 "" "" zb
	layout recompute-zb "$deep" 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=1,recompute=selective:moe+layernorm \
		"" "" zb
	layout torchtitan-zb "$deep" 4 tp=1,pp=2,ep=2,vpp=4 "" "--framework torchtitan --schedule zb"
	layout zbv-ep2 "$deep" 4 tp=1,pp=2,cp=1,ep=2,etp=1,vpp=2 "" "" zbv
	layout torchtitan-zbv "$deep" 4 tp=1,pp=4,vpp=2 "" \
		"--framework torchtitan --schedule zbv --overlap dp,pp"
	batch=3
	layout torchtitan-zbv-few "$deep" 4 tp=1,pp=4,vpp=2 "" "--framework torchtitan --schedule zbv"
	batch=16
	layout torchtitan-zbv-mla deepseek-v2-lite 8 tp=2,pp=2,ep=4,vpp=2 "" \
		"--framework torchtitan --schedule zbv"
	layout mtp-zbv tests/probe/mtp.yaml 4 tp=2,pp=2,cp=1,ep=2,etp=1,vpp=2 "" "" zbv
	layout torchtitan-dualpipev "$deep" 4 tp=2,pp=2,ep=2,vpp=2 "" \
		"--framework torchtitan --schedule dualpipev"
	layout torchtitan-dualpipev-pp4 "$deep" 8 tp=1,pp=4,ep=2,vpp=2 "" \
		"--framework torchtitan --schedule dualpipev --overlap dp,pp"
	layout torchtitan-dualpipev-pairs "$deep" 4 tp=1,pp=2,ep=2,vpp=2 "" \
		"--framework torchtitan --schedule dualpipev --overlap ep"
	layout dualpipe-tp2 "$deep" 8 tp=2,pp=2,cp=1,ep=2,etp=2,vpp=1 "" "" dualpipe
	layout dualpipe-pp4 "$deep" 8 tp=1,pp=4,cp=1,ep=2,etp=1,vpp=1,zero=0 "" "--overlap dp,pp" dualpipe
	layout mtp-dualpipe tests/probe/mtp.yaml 4 tp=1,pp=2,cp=1,ep=2,etp=1,vpp=1 "" "" dualpipe
	layout mla-q tests/probe/mla.yaml 4 tp=2,pp=1,cp=1,ep=2,etp=1,vpp=1
	start=tcp
	layout tp2 $tiny 2 tp=2,pp=1,cp=1,ep=1,etp=2,vpp=1
	layout everything $tiny 16 tp=2,pp=2,cp=2,ep=2,etp=2,vpp=2
	layout mla deepseek-v2-lite 8 tp=2,pp=2,cp=1,ep=4,etp=1,vpp=1
	layout all-overlap $tiny 16 tp=2,pp=2,cp=2,ep=2,etp=2,vpp=2 "" "--overlap dp,tp,ep,pp"
	layout dualpipe-tp2 "$deep" 8 tp=2,pp=2,cp=1,ep=2,etp=2,vpp=1 "" "" dualpipe
	layout torchtitan $tiny 8 tp=2,pp=1,cp=2,ep=4,zero=3 "" "--framework torchtitan"
	layout placement $tiny 8 tp=2,pp=1,cp=1,ep=4,etp=1,vpp=1 \
		"--load-skew $scratch/loads.csv --placement $scratch/experts.json"
else
	echo "layouts are left out: there is no cpu backend or no mpirun"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
