# qwen3-30b-a3b on 16 GPUs (2 nodes of 8)
# What the client's code does for this plan beside ds_config.json:
import deepspeed

SEQUENCE_LENGTH = 4096
CROSS_ENTROPY = "fused"
RECOMPUTE = "full"  # each decoder layer, as the pipeline below does


from deepspeed.moe.layer import MoE
from deepspeed.moe.utils import split_params_into_different_moe_groups_for_optimizer

# DeepSpeed has no setting for it: add it to the loss, times the sum of every layer's l_aux.
AUX_LOSS_COEFFICIENT = 0.01


def make_moe_layer(expert):
    """`expert`: a module 2048 -> 768 -> 2048, which is copied for each expert of a rank."""
    return MoE(
        hidden_size=2048,
        expert=expert,
        num_experts=128,
        ep_size=1,
        k=8,
        capacity_factor=1,
        eval_capacity_factor=1,
        min_capacity=4,
        drop_tokens=False,
        use_residual=False,
        use_tutel=False,
        enable_expert_tensor_parallelism=False,
    )


def optimizer_groups(parameters):
    """ZeRO needs the experts' parameters in groups of their own."""
    return split_params_into_different_moe_groups_for_optimizer(
        {"params": list(parameters), "name": "parameters"})


import itertools

from deepspeed.pipe import PipelineModule
from deepspeed.runtime.pipe.topology import PipeModelDataParallelTopology

LAYERS_OF_STAGES = [6, 6, 6, 6, 6, 7, 7, 4]


class PlannedModule(PipelineModule):
    """Stages as planned: embedding on the first, norm and head on the last."""

    def _partition_layers(self, method=None):
        ends = list(itertools.accumulate(LAYERS_OF_STAGES, initial=1))
        self.parts = [0, *ends[1:-1], len(self._layer_specs)]
        stage = self._topo.get_coord(self.global_rank).pipe
        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])


def pipeline(layers, decoder_layer_class, loss_fn):
    """`layers`: LayerSpecs of embedding, 48 decoder layers, norm and head."""
    return PlannedModule(
        layers=layers,
        loss_fn=loss_fn,
        num_stages=8,
        topology=PipeModelDataParallelTopology(num_pp=8, num_mp=1, num_dp=2),
        activation_checkpoint_interval=1,
    )


def initialize(model, parameters):
    """engine, optimizer, data loader, schedule: behind deepspeed.init_distributed()"""
    return deepspeed.initialize(
        model=model, model_parameters=parameters, config="ds_config.json")
