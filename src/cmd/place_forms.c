/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The placement in a form that something else reads:
 *   csv          layer,slot,gpu,expert
 *   eplb         physical_to_logical_map, [layer][slot]: EPLB, vLLM, SGLang
 *   ranks        the experts of each rank, layer by layer, for launch scripts
 *   permutation  for frameworks that only take contiguous experts: which old expert
 *                gets each new number in the checkpoint (weights and router rows alike)
 */
#include "base/jsonw.h"
#include "cmd/place_facts.h"

static void
write_csv(struct request *request, const struct placement *p)
{
	str_add(&request->out, "layer,slot,gpu,expert\n");
	for (int l = 0; l < p->layers; l++)
		for (int s = 0; s < p->gpus * p->slots_per_gpu; s++)
			str_addf(&request->out, "%lld,%d,%d,%d\n", (long long)p->layer[l].number, s,
			    s / p->slots_per_gpu, p->layer[l].expert_of_slot[s]);
}

static void
write_ranks(struct request *request, const struct placement *p)
{
	str_add(&request->out, "rank,layer,experts\n");
	for (int g = 0; g < p->gpus; g++)
		for (int l = 0; l < p->layers; l++) {
			const int *experts = p->layer[l].expert_of_slot + g * p->slots_per_gpu;

			str_addf(&request->out, "%d,%lld,", g, (long long)p->layer[l].number);
			for (int k = 0; k < p->slots_per_gpu; k++)
				str_addf(&request->out, "%s%d", k > 0 ? " " : "", experts[k]);
			str_addc(&request->out, '\n');
		}
}

static void
write_layers(struct jsonw *w, const struct placement *p)
{
	jsonw_row(w, "layers");
	for (int l = 0; l < p->layers; l++)
		jsonw_int(w, NULL, p->layer[l].number);
	jsonw_close(w);
}

static void
write_rows(struct jsonw *w, const char *key, const struct placement *p, bool inverse)
{
	int slots = p->gpus * p->slots_per_gpu;

	jsonw_list(w, key);
	for (int l = 0; l < p->layers; l++) {
		const int *expert_of_slot = p->layer[l].expert_of_slot;

		jsonw_row(w, NULL);
		for (int s = 0; s < slots; s++) {
			int at = 0;

			while (inverse && expert_of_slot[at] != s)
				at++;
			jsonw_int(w, NULL, inverse ? at : expert_of_slot[s]);
		}
		jsonw_close(w);
	}
	jsonw_close(w);
}

static void
write_eplb(struct request *request, const struct placement *p)
{
	struct jsonw w = jsonw_new(request->arena);

	jsonw_open(&w, NULL);
	write_layers(&w, p);
	write_rows(&w, "physical_to_logical_map", p, false);
	jsonw_close(&w);
	str_add(&request->out, jsonw_end(&w));
}

static void
write_permutation(struct request *request, const struct placement *p)
{
	struct jsonw w = jsonw_new(request->arena);

	jsonw_open(&w, NULL);
	write_layers(&w, p);
	write_rows(&w, "old_of_new", p, false);
	write_rows(&w, "new_of_old", p, true);
	jsonw_close(&w);
	str_add(&request->out, jsonw_end(&w));
}

void
place_write_form(struct request *request, const struct place_facts *facts)
{
	switch ((enum place_form)request->place.form) {
	case FORM_CSV:
		write_csv(request, facts->placement);
		break;
	case FORM_EPLB:
		write_eplb(request, facts->placement);
		break;
	case FORM_RANKS:
		write_ranks(request, facts->placement);
		break;
	case FORM_PERMUTATION:
		write_permutation(request, facts->placement);
		break;
	case FORM_REPORT:
	case FORMS:
		break;
	}
}
