/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are values that a framework takes and no plan has read, and is it said what they count as? */
#include <criterion/criterion.h>
#include <string.h>

#include "import_fixture.h"

static const struct {
	const char *file, *text;
	const char *note; /* NULL: there is nothing to say */
} values[] = {
    {"t.toml", "[activation_checkpoint]\nmode = \"memory_budget\"\n",
	"'memory_budget', counted as none"},
    {"t.toml", "[parallelism]\npipeline_parallel_schedule = \"GPipe\"\n",
	"'GPipe', counted as 1F1B"},
    {"t.toml", "[parallelism]\npipeline_parallel_schedule = \"LoopedBFS\"\n",
	"'LoopedBFS', counted as Interleaved1F1B"},
    {"t.toml", "[parallelism]\npipeline_parallel_schedule = \"interleaved1f1b\"\n", NULL},
    {"t.toml", "[training]\nlocal_batch_size = 1\ndtype = \"bfloat16\"\n",
	"'bfloat16', counted as float32"},
    {"t.toml", "[training]\nlocal_batch_size = 1\nmixed_precision_param = \"float32\"\n",
	"'float32', counted as bfloat16"},
    {"a.sh", "pretrain_gpt.py --tensor-model-parallel-size 1 --optimizer muon\n",
	"'muon', counted as adam"},
    {"a.sh", "pretrain_gpt.py --tensor-model-parallel-size 1 --optimizer sgd\n",
	"'sgd', counted as adam"},
    {"a.sh", "pretrain_gpt.py --tensor-model-parallel-size 1 --optimizer adam\n", NULL},
    {"a.sh",
	"pretrain_gpt.py --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend ncclep\n",
	"'ncclep', counted as deepep"},
    {"a.sh",
	"pretrain_gpt.py --recompute-granularity selective --recompute-modules moe_act "
	"gdn_norm_out\n",
	"'gdn_norm_out', counted as kept"},
    {"a.sh", "pretrain_gpt.py --tensor-model-parallel-size 1 --exp-avg-dtype fp16\n",
	"'fp16', counted as bf16"},
    {"d.json", "{\"train_batch_size\": 8, \"optimizer\": {\"type\": \"SGD\"}}",
	"'SGD', counted as Adam"},
    {"d.json", "{\"train_batch_size\": 8, \"optimizer\": {\"type\": \"AdamW\"}}", NULL},
    {"d.json",
	"{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": "
	"{\"device\": \"nvme\"}}}",
	"'nvme', counted as cpu"},
    {"d.json",
	"{\"train_batch_size\": 8, \"zero_optimization\": {\"stage\": 3, \"offload_param\": "
	"{\"device\": \"cpu\"}}}",
	"'cpu', counted as none"},
};

Test(import_values, are_counted_as_the_nearest)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct imported imported = import_good(values[i].file, values[i].text);
		const char *note = values[i].note ? values[i].note : "counted as";

		cr_expect_eq(import_has_message(&imported, SEVERITY_NOTE, note),
		    values[i].note != NULL, "%s", values[i].text);
		imported_free(&imported);
	}
}

Test(import_values, nothing_offloaded_and_nothing_recomputed_is_none)
{
	struct imported imported = import_good("a.sh",
	    "pretrain_gpt.py --optimizer-cpu-offload --optimizer-offload-fraction 0 "
	    "--recompute-granularity selective --recompute-modules gdn_norm_out "
	    "--main-grads-dtype bf16\n");
	const struct strategy *s = &imported.config.strategy;

	cr_assert_eq(s->offload, OFFLOAD_NONE);
	cr_assert_eq(s->recompute.kind, RECOMPUTE_NONE);
	cr_assert_eq(s->grad_type, FLOAT_BF16);
	imported_free(&imported);
}
