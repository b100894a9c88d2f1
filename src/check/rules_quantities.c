/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which numbers follow from a configuration, whether it is right or not? */
#include "check/rules_quantities.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "check/context.h"
#include "check/rules_tables.h"

#define GIB_BYTES "1073741824"

/* clang-format off */
const struct quantity_row quantity_rows[] = {
	{"world", "world", "WORLD_SIZE"},
	{"dense_product", "dense_product", "GPUs of one copy of the dense layers"},
	{"expert_product", "expert_product", "GPUs of one copy of the experts"},
	{"dp", "dp", "dense data-parallel ranks"},
	{"edp", "edp", "expert data-parallel ranks"},
	{"expert_product_if_etp_defaults_to_tp", "tp * ep * egtp * pp",
	    "the same when ETP is left to Megatron-Core"},
	{"min_world", "lcm(dense_product, expert_product)", "least GPUs for these degrees"},
	{"dp_at_min_world", "lcm(dense_product, expert_product) / dense_product",
	    "dense DP on them"},
	{"edp_at_min_world", "lcm(dense_product, expert_product) / expert_product",
	    "expert DP on them"},
	{"sparse_region", "if(framework == 'torchtitan' and world > 0, sparse_region, whole(0))",
	    "GPUs that EP is taken from"},
	{"kv_replication", "whole(max(tp, " ULYSSES ") / kv_heads)",
	    "ranks that hold a KV head"},
	{"physical", "experts + redundant", "experts with their redundant copies"},
	{"per_rank", "(experts + redundant) / ep", "of them on a rank"},
	{"global_experts", "if(num_experts_per_device > 0, num_experts_per_device * world, "
	    "whole(world / (0 - num_experts_per_device)))", "experts of a layer of Tutel"},
	{"total", "given(dp_replicate_size, 1) * dp_shard_size * given(tp_size, tp) * "
	    "given(cp_size, 1) * given(sp_size, 1)", "processes that Accelerate's sizes make"},
	{"experts_per_rank", "experts_per_rank", "experts of a rank"},
	{"num_microbatches", "micro_batches", "micro-batches of a step"},
	{"grad_accum", "whole(global_batch / (micro_batch * dp))", "accumulation steps"},
	{"implied_world", "if(framework == 'deepspeed', whole(global_batch / (micro_batch * "
	    "gradient_accumulation_steps)), whole(0))", "ranks that the batch is for"},
	{"per_micro_step", "micro_batch * dp", "sequences of a forward pass, all ranks together"},
	{"batch_per_dp_rank", "given(max_train_batch_size, global_batch) / dp",
	    "sequences of a data-parallel rank"},
	{"micro_batch", "if(said(micro_batch_sizes), max(dividing(micro_batch_sizes, "
	    "max_train_batch_size / dp)), micro_batch)", "sequences of a forward pass"},
	{"m_mod_pp", "micro_batches % pp", "micro-batches over whole rounds of the pipeline"},
	{"claimed_divisor", "pp * vpp", "chunks of the pipeline; no divisor of the micro-batches"},
	{"bubble_fraction", "(pp - 1) / (vpp * micro_batches + pp - 1)",
	    "idle share of the pipeline"},
	{"layers", "layers", "layers of the model"},
	{"vpp", "whole(layout_chunks(layout) / pp)", "virtual stages a rank that the layout has"},
	{"layers_in_layout", "layout_layers(layout)", "layers that the layout has"},
	{"stages", "layout_chunks(layout)", "stages that the layout has"},
	{"total_params", "params", "parameters"},
	{"expert_params_per_rank", "expert_params_per_rank", "expert parameters of a mean rank"},
	{"dense_params_per_rank", "dense_params_per_rank", "dense parameters of a mean rank"},
	{"bytes_per_param", "if(zero == 1, 6 + 12 / dp, if(zero == 2, 2 + 16 / dp, if(zero == 3 "
	    "and framework == 'torchtitan', 16, 18)))", "bytes of model state a dense parameter"},
	{"state_mib", "params_most_loaded * if(zero == 1, 6 + 12 / dp, 18) / 1048576",
	    "model state of the fullest rank"},
	{"gib_without_offload", "state_bytes / " GIB_BYTES, "model state of a rank"},
	{"gib_with_offload", "offloaded_bytes / " GIB_BYTES,
	    "the same with the optimizer in host memory"},
	{"host_gib_per_node", "params * 12 / given(nodes, ceil(world / 8)) / " GIB_BYTES,
	    "optimizer in host memory, a node"},
	{"weights_gb_per_gpu", "if(gpu_bytes > 0, params * (" TYPE_BYTES "), whole(0)) / world / "
	    "1000000000", "weights shared evenly"},
	{"expert_weights_gb", "expert_params_per_rank * (" TYPE_BYTES ") / 1000000000",
	    "expert weights of a mean rank"},
	{"fp32_logits_gib", "seq_len * micro_batch / cp * vocab_size / tp * 4 / " GIB_BYTES,
	    "one fp32 tensor of logits"},
	{"naive_gb", "params * 18 / world / 1000000000",
	    "model state if all of it were shared evenly"},
	{"naive_gib", "params * 18 / world / " GIB_BYTES, "the same in GiB"},
	{"token_multiple", "ep * topk * capacity / experts",
	    "tokens of an expert over those of a rank"},
	{"predicted_state_gib", "if(zero == 3, 16 * params, whole(0)) / " GIB_BYTES,
	    "state of all ranks under full sharding"},
	{"fit_state_gib", "fit_states(gpu_counts, mem_gib)", "sharded part of the measured memory"},
	{"copies", "placement_copies(placement)", "copies of each expert"},
	{"gpu_load", "placement_loads(expert_load, placement, world)", "load of each GPU"},
	{"max", "max(placement_loads(expert_load, placement, world))", "load of the fullest GPU"},
	{"mean", "sum_of(expert_load) / world", "mean load of a GPU"},
	{"max_over_mean",
	    "max(placement_loads(expert_load, placement, world)) / (sum_of(expert_load) / world)",
	    "fullest over mean"},
	{"node_load", "placement_loads(expert_load, placement, nodes)", "load of each node"},
	{"optimum_same_rules",
	    "best_placement(expert_load, slots_total, world, nodes, expert_groups)",
	    "best load of the fullest GPU with groups kept on a node"},
	{"optimum_ignoring_groups", "best_placement(expert_load, slots_total, world, 1, 1)",
	    "best load of the fullest GPU with experts anywhere"},
	{"gain", "gains(alternatives, baseline)", "gain of each alternative"},
	{.name = NULL},
};
/* clang-format on */

static void
add_quantity(struct diags *diags, struct diag *diag, const char *name, const struct value *value)
{
	if (value_is_numeric(value)) {
		diag_number(diags, diag, name, value_as_number(value));
		return;
	}
	for (size_t i = 0; value->kind == VALUE_LIST && i < value->count; i++)
		if (value_is_numeric(&value->items[i]))
			diag_number(diags, diag, name, value_as_number(&value->items[i]));
}

/* "world 8, TP x CP x PP 4, DP 2, …": the few that everybody asks for. */
static const char *
summary(struct arena *arena, const struct diag *numbers)
{
	static const char *const shown[][2] = {{"world", "world"}, {"dp", "DP"},
	    {"edp", "expert DP"}, {"num_microbatches", "micro-batches"},
	    {"experts_per_rank", "experts a rank"}};
	struct str text = str_new(arena);

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		for (const struct diag_number *n = numbers->numbers; n; n = n->next)
			if (strcmp(n->name, shown[i][0]) == 0)
				str_addf(&text, "%s%s %.0f", text.length > 0 ? ", " : "",
				    shown[i][1], n->value);
	return text.length > 0 ? text.text : "see the numbers";
}

struct diag *
quantities_note(const struct check_context *check, struct arena *arena, struct diags *diags)
{
	struct diag numbers = {.message = ""}, *diag;
	struct facts facts;
	struct expr_scope scope;

	facts_init(&facts, check, arena);
	scope = facts_scope(&facts);
	for (const struct quantity_row *row = quantity_rows; row->name; row++) {
		const struct expr *expr =
		    expr_parse(arena, diags_new(arena), row->expression, rule_function_tables);
		struct value value = expr ? expr_evaluate(expr, &scope) : value_undecided;

		add_quantity(diags, &numbers, row->name, &value);
	}
	if (!numbers.numbers)
		return NULL;
	diag = diag_add(diags, (struct loc){NULL, 0, 0}, NULL, SEVERITY_NOTE, "what follows: %s",
	    summary(arena, &numbers));
	diag->numbers = numbers.numbers;
	return diag;
}
