#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Does tests/gpu/run.sh do what it says? All its rows on a machine without a GPU: the cuda backend over
# stand-ins, small shapes in place of the models'. Then once more with things that fail, which must make
# their rows fail and leave the others alone.
#
# usage: make check-gpu-script, or OBJ=FOLDER sh tests/gpu/dry.sh      prints "N passed, N failed" last
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${OBJ:=$PWD/build/release}" "${CC:=gcc}" "${CXX:=g++}"
: "${CUDA_HOME:=$(dirname "$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")}"
[ -e "$CUDA_HOME/include/nccl.h" ] || { echo "there is no NCCL under '$CUDA_HOME'"; echo "0 passed, 0 failed"; exit 0; }
work=$(mktemp -d)
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
passed=0
failed=0

verdict() { # NAME TRUE|FALSE
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $1"
		tail -n 20 "$work/log"
	fi
}

# --- what takes the place of what ------------------------------------------------------------------


stand_ins() {
	mkdir -p "$work/o" "$work/pack/lib" "$work/bin" && cd "$work/o" || return 1
	top=$OLDPWD
	include="-I$top -isystem $CUDA_HOME/include"
	# shellcheck disable=SC2086 # lists of options
	{
		$CC -std=gnu11 -O2 -fPIC $include -Dmoeplan_backend=backend_of_cuda -c "$top/probe/backend_cuda.c" &&
			$CC -std=gnu11 -O2 -fPIC $include -c "$top"/probe/cuda_*.c "$top"/tests/probe/fake_*.c \
				"$top/tests/probe/emulated.c" "$top/tests/gpu/stand_in.c" || return 1
		for file in "$top"/probe/*.cu; do
			$CXX -x c++ -std=c++17 -O2 -fPIC -I"$top" -I"$top/tests/probe/emulated" -c "$file" \
				-o "$(basename "$file").o" || return 1
		done
		$CXX -shared -o "$work/pack/moeplan-probe-cuda.so" ./*.o -lm &&
			$CC -shared -fPIC -O2 -o "$work/pack/lib/libnvidia-ml.so.1" "$top/tests/gpu/stand_in_nvml.c" || return 1
	}
	cd "$top" && cp "$OBJ/moeplan-probe" "$work/pack/moeplan-probe" || return 1
	printf '#!/bin/sh\necho "NVIDIA H200, 580.95.05, 143771 MiB"\n' >"$work/bin/nvidia-smi"
	# Small shapes of the same kind: a plan for seconds on a CPU.
	cat >"$work/pack/moeplan" <<-END
		#!/bin/sh
		[ "\$1" = plan ] || exec "$OBJ/moeplan" "\$@"
		case \$2 in
		*/two.yaml) more='' ;;
		*/deepseek.yaml) more='mla: {q_lora_rank: 16, kv_lora_rank: 16, qk_nope_head_dim: 8, qk_rope_head_dim: 8, v_head_dim: 8}' ;;
		*) more='head_dim: 8' ;;
		esac
		sed -i 's/^num_experts: .*/num_experts: 8/; s/^num_layers: .*/num_layers: 2/' "\$2"
		[ -z "\$more" ] || cat >>"\$2" <<SMALL
		top_k: 2
		hidden_size: 64
		num_attention_heads: 4
		num_key_value_heads: 2
		vocab_size: 512
		ffn_hidden_size: 64
		moe_ffn_hidden_size: 32
		\$more
		SMALL
		file=\$2 cluster=\$3
		shift 5 # --seq-len and its number too
		exec "$OBJ/moeplan" plan "\$file" "\$cluster" --seq-len 16 "\$@"
	END
	chmod +x "$work/bin/nvidia-smi" "$work/pack/moeplan"
}

run() { # NAME VARIABLE=VALUE...
	name=$1
	shift
	env "$@" PATH="$work/bin:$PATH" PACK="$work/pack" timeout 480 sh tests/gpu/run.sh "$work/$name" \
		>"$work/$name.log" 2>&1
	status=$?
	cp "$work/$name.log" "$work/log"
}

ok() { # NAME ROW: the row is there once and right
	[ "$(grep -c "^$2 *ok " "$work/$1/table.txt")" = 1 ]
	verdict "$1: row '$2' is right" $?
}
wrong() { # NAME ROW
	[ "$(grep -c "^$2 *FAIL " "$work/$1/table.txt")" = 1 ]
	verdict "$1: row '$2' fails" $?
}

stand_ins >"$work/log" 2>&1
verdict "stand-ins are built" $?

# --- all of it -----------------------------------------------------------------------------------------

run whole A=1
verdict "a whole run ends with status 0" $status
for row in detect 'numerics, mixtral' 'step, mixtral' 'experts, mixtral' 'copy, permute, mixtral' 'memory, mixtral' \
	'numerics, qwen' 'numerics, deepseek' 'two ranks, one GPU' 'memory of communicators' \
	'abort after a killed rank' calibrate; do
	ok whole "$row"
done
tail -n 1 "$work/whole.log" | grep -q ' 0 rows failed; reports in '
verdict "the count of rows comes last" $?
grep -q 'origin: measured' "$work/whole/calibrated.yaml" 2>/dev/null
verdict "a calibrated cluster file is written" $?

# --- what fails ------------------------------------------------------------------------------------------

run numbers STAND_IN_WRONG=1
[ $status = 1 ]
verdict "wrong numbers end with status 1, not $status" $?
wrong numbers 'numerics, mixtral'
wrong numbers 'numerics, deepseek'
wrong numbers 'two ranks, one GPU'
ok numbers detect

printf '#!/bin/sh\necho "moeplan-probe: error: it stops at once" >&2\nexit 3\n' >"$work/pack/moeplan-probe"
run stops A=1
[ $status = 1 ]
verdict "a probe that stops ends with status 1, not $status" $?
for row in 'probe, mixtral' 'probe, qwen' 'probe, deepseek' 'two ranks, one GPU' 'abort after a killed rank' calibrate; do
	wrong stops "$row"
done
grep -q 'probe, qwen .*status 3: .*it stops at once' "$work/stops/table.txt"
verdict "a row says why" $?
tail -n 1 "$work/stops.log" | grep -q ' 6 rows failed; reports in '
verdict "the count of rows that failed comes last" $?

printf '#!/bin/sh\nexit 9\n' >"$work/bin/nvidia-smi"
run nothing A=1
[ $status = 3 ] && grep -q "nothing is claimed" "$work/nothing.log"
verdict "without a GPU nothing is claimed, status 3, not $status" $?

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
