#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Does the probe run under the real torchrun and deepspeed, and say who is missing when they lose a rank?
#
# usage: MOEPLAN=PROGRAM PROBE=PROGRAM tests/conformance/launchers.sh
# A rehearsal on this machine's CPUs: the launchers run inside the frameworks' tree, and start the probe
# outside of it, through a mount of this machine's root. Ends with a line "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 2
: "${MOEPLAN:=$PWD/build/release/moeplan}" "${PROBE:=$PWD/build/release/moeplan-probe}"
tree=$PWD/build/conformance/trixie
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
failed=0

verdict() { # NAME TRUE|FALSE
	if [ "$2" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $1"
		tail -n 25 "$scratch/log"
	fi
}

# What the launchers start in the place of the probe: the same process goes on outside.
cat >"$scratch/probe" <<END
#!/bin/sh
exec chroot /mnt sh -c 'cd "\$0" && exec "\$@"' $scratch $PROBE "\$@"
END
chmod +x "$scratch/probe"

inside() { # SECONDS COMMAND...: within the tree, this machine's root at /mnt
	# shellcheck disable=SC2016 # expanded by the inner shell
	timeout "$1" unshare --mount sh -c '
		tree=$1
		shift 2
		mount -t proc proc "$tree/proc" && mount --rbind / "$tree/mnt" && mount --bind /etc/hosts "$tree/etc/hosts" &&
			exec chroot "$tree" env OMP_NUM_THREADS=1 PATH=/venv/bin:/usr/sbin:/usr/bin:/bin "$@"' - "$tree" "$@" \
		>"$scratch/log" 2>&1
}

plan() { # FILE NODES GPUS [TOKENS]
	"$MOEPLAN" plan tests/probe/tiny.yaml "node:$2 gpu:$3 H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s" \
		--seq-len "${4:-16}" --global-batch 8 --pin tp=2,pp=1,cp=1,ep=2,etp=1,micro_batch=1 --quiet \
		--format json --output "$scratch/$1.json" >"$scratch/log" 2>&1
	verdict "a plan for $1" $?
}

says() { # NAME STATUS PATTERN: of the last run, whose status is $got
	[ "$got" = "$2" ] && grep -qE -- "$3" "$scratch/log"
	verdict "$1 (status $got, wanted $2: $3)" $?
}

plan two 1 2
plan four 1 4
plan eight 2 4
plan long 1 4 512
probe=/mnt$scratch/probe

for n in two:2 four:4; do
	inside 300 torchrun --no-python --nproc-per-node "${n#*:}" "$probe" "${n%:*}.json"
	got=$?
	says "torchrun, ${n%:*} ranks" 0 "the plan was rehearsed"
done
# shellcheck disable=SC2016
inside 300 sh -c 'for node in 1 0; do
	torchrun --nnodes 2 --node-rank $node --nproc-per-node 4 --master-addr 127.0.0.1 --master-port 29611 \
		--no-python "$0" eight.json & done; wait $! && wait' "$probe"
got=$?
says "two nodes of torchrun" 0 "the plan was rehearsed"
inside 300 deepspeed --no_python --num_gpus 4 "$probe" four.json
got=$?
says "deepspeed" 0 "the plan was rehearsed"
inside 300 torchrun --no-python --nproc-per-node 2 "$probe" four.json
got=$?
says "too few ranks" 1 "torchrun started 2 ranks, the plan takes TP 2 x CP 1 x PP 1 x DP 2 = 4"
# shellcheck disable=SC2016 # expanded by each rank's shell
inside 300 torchrun --no-python --nproc-per-node 4 sh -c '[ "$RANK" != 2 ] || exec sleep 60
	exec "$0" four.json --timeout 8' "$probe"
got=$?
says "a rank that never arrives" 1 "waited 8 s for 4 ranks, 3 came; missing: rank 2"
# shellcheck disable=SC2016
inside 300 torchrun --no-python --nproc-per-node 4 sh -c '[ "$RANK" != 2 ] ||
	exec timeout -s KILL 5 "$0" long.json --steps 1000
	exec "$0" long.json --steps 1000' "$probe"
got=$?
says "a rank that is killed" 1 "rank 2 is missing|missing: rank 2" # where it was, is the machine's affair

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
