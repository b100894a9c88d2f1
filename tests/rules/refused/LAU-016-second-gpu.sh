# deepspeedai/DeepSpeed#3624
cat >hostfile <<END
work1 slots=2
work2 slots=2
END
deepspeed --hostfile hostfile --include=work1:2,3 training.py --deepspeed_config ds.json
