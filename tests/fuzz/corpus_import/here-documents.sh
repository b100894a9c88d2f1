cat <<A >a.json; tee <<-'B' b.json; cat <<C
{"train_batch_size": 8}
A
	{"train_micro_batch_size_per_gpu": 1}
	B
C
cat >>a.json <<EOF
$(cat <<X
X
) ${N:-2} `date` \$ $((1<<N))
EOF
deepspeed t.py --deepspeed_config a.json
