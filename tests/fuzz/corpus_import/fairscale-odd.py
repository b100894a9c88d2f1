from fairscale.nn import MOELayer, Top2Gate
EXPERT_PARALLEL = 8
gate = Top2Gate(4096, 8, *rest)
