/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which layers does each pipeline chunk hold, and how is that written?
 *
 * The text form is Megatron-LM's --pipeline-model-parallel-layout
 * (megatron/core/transformer/pipeline_parallel_layer_layout.py): E embedding,
 * t decoder layer, m multi-token-prediction layer, L loss, | between chunks,
 * x*N repeats one item, (…)*N a group that holds no other group; commas mean
 * nothing. Chunks are numbered in the order of the model: virtual stage by
 * virtual stage, in each all pipeline stages. Rules kept: MEG-021, MEG-022.
 * Stricter than Megatron in two things that nobody means: repeats of 0, and
 * chunks after the loss. One item is ours: M stands for the MTP layers that the model has, in
 * layouts of frameworks that count decoder layers alone.
 */
#include "model/layout.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"

void
layout_even(struct layout *layout, int64_t layers, int pp, int vpp)
{
	int chunks = pp * vpp;
	int64_t each = layers / chunks, extra = layers % chunks;
	int64_t inner = chunks > 2 ? chunks - 2 : 0;
	int64_t inner_extra = extra < inner ? extra : inner;
	int64_t next = 0;

	layout->pp = pp;
	layout->vpp = vpp;
	layout->mtp_back = 0;
	layout->vee = false;
	for (int c = 0; c < chunks; c++) {
		bool is_inner = c > 0 && c < chunks - 1;

		layout->first[c] = (int16_t)next;
		next += each;
		/* Late inner chunks first: their stages keep fewer activations alive. */
		if (is_inner ? c >= chunks - 1 - inner_extra : c == 0 && extra > inner_extra)
			next++;
	}
	layout->first[chunks] = (int16_t)next;
}

int
layout_count(const struct layout *layout, const struct model *model, int chunk, int kind)
{
	int count = 0;

	for (int i = layout->first[chunk]; i < layout->first[chunk + 1]; i++)
		count += model->kind_of[i] == kind;
	return count;
}

static int
chunk_layers(const struct layout *layout, int chunk)
{
	return layout->first[chunk + 1] - layout->first[chunk];
}

int
layout_chunk(const struct layout *layout, int stage, int v)
{
	return layout->vee && v == 1 ? 2 * layout->pp - 1 - stage : v * layout->pp + stage;
}

int
layout_stage(const struct layout *layout, int chunk)
{
	return layout->vee && chunk >= layout->pp ? 2 * layout->pp - 1 - chunk : chunk % layout->pp;
}

int
layout_stage_layers(const struct layout *layout, int stage)
{
	int count = 0;

	for (int v = 0; v < layout->vpp; v++)
		count += chunk_layers(layout, layout_chunk(layout, stage, v));
	return count;
}

static void
add_items(struct str *text, char item, int64_t count)
{
	if (count < 3)
		str_pad(text, item, (size_t)count);
	else
		str_addf(text, "%c*%lld", item, (long long)count);
}

/* How many chunks from c on are inner, without MTP layers and as long as chunk c. */
static int
equal_run(const struct layout *layout, int c, int mtp_chunk)
{
	int last = layout->pp * layout->vpp - 1, end = c;

	while (end > 0 && end < last && end != mtp_chunk &&
	       chunk_layers(layout, end) == chunk_layers(layout, c))
		end++;
	return end - c;
}

const char *
layout_text(struct arena *arena, const struct layout *layout, const struct model *model)
{
	struct str text = str_new(arena);
	int last = layout->pp * layout->vpp - 1;
	int mtp_chunk = model->mtp_layers ? last - layout->mtp_back : -1;

	str_addc(&text, 'E');
	for (int c = 0; c <= last; c++) {
		int run = equal_run(layout, c, mtp_chunk);

		if (run >= 3) {
			str_addc(&text, '(');
			add_items(&text, 't', chunk_layers(layout, c));
			str_addf(&text, "|)*%d", run);
			c += run - 1;
			continue;
		}
		add_items(&text, 't', chunk_layers(layout, c));
		if (c == mtp_chunk)
			add_items(&text, 'm', model->mtp_layers);
		str_addc(&text, c == last ? 'L' : '|');
	}
	return text.text;
}

enum { TEXT_MAX = 16384 }; /* of a layout string: far more than 1026 chunks need */

/* A layout being read. `problem` is set at the first mistake, `at` says where. */
struct reader {
	const char *text;
	size_t at;
	const char *problem;
	struct layout *layout;
	const struct model *model; /* whose MTP layers 'M' stands for, or NULL */
	int chunk;
	int layers, mtp;
	int mtp_chunk;
	bool has_embedding, has_loss;
};

static void
fail(struct reader *r, const char *problem)
{
	if (!r->problem)
		r->problem = problem;
}

static void
emit_chunk(struct reader *r, int count)
{
	if (r->chunk + count >= LAYOUT_MAX_CHUNKS) {
		fail(r, "makes more than 1026 chunks");
		return;
	}
	while (count-- > 0)
		r->layout->first[++r->chunk] = (int16_t)r->layers;
}

static void
emit_layers(struct reader *r, int count)
{
	if (r->mtp > 0)
		fail(r, "puts a decoder layer after an MTP layer");
	else if (r->layers + count > MODEL_MAX_LAYERS)
		fail(r, "makes more than 1024 layers");
	else
		r->layers += count;
}

static void
emit_mtp(struct reader *r, int count)
{
	if (r->mtp > 0 && r->mtp_chunk != r->chunk)
		fail(r, "spreads the MTP layers over two chunks");
	else if (r->mtp + count > MODEL_MAX_LAYERS)
		fail(r, "makes more than 1024 MTP layers");
	r->mtp_chunk = r->chunk;
	r->mtp += count;
}

static void
emit(struct reader *r, char item, int count)
{
	if (item != 'E' && !r->has_embedding)
		fail(r, "comes before the embedding: a layout begins with 'E'");
	if (item == 'E' && (r->has_embedding || count > 1))
		fail(r, "is a second embedding");
	if (item == 'L' && (r->has_loss || count > 1))
		fail(r, "is a second loss");
	else if (r->has_loss)
		fail(r, "comes after the loss: a layout ends with 'L'");
	if (r->problem)
		return;
	if (item == 'E')
		r->has_embedding = true;
	else if (item == 'L')
		r->has_loss = true;
	else if (item == 'm')
		emit_mtp(r, count);
	else if (item == 'M')
		emit_mtp(r, r->model ? (int)r->model->mtp_layers : 0);
	else if (item == 't')
		emit_layers(r, count);
	else
		emit_chunk(r, count);
}

static void
skip_commas(struct reader *r)
{
	while (r->text[r->at] == ',')
		r->at++;
}

/* "*N" at the place of reading; 1 when there is none and none is needed. */
static int
read_repeat(struct reader *r, bool needed)
{
	int count = 0;

	skip_commas(r);
	if (r->text[r->at] != '*') {
		if (needed)
			fail(r, "is where '*N' must follow a group");
		return 1;
	}
	r->at++;
	skip_commas(r);
	while (r->text[r->at] >= '0' && r->text[r->at] <= '9' && count <= LAYOUT_MAX_CHUNKS) {
		count = count * 10 + (r->text[r->at++] - '0');
		skip_commas(r);
	}
	if (count < 1 || count > LAYOUT_MAX_CHUNKS)
		fail(r, "is where a repeat count from 1 to 1026 is needed");
	return count;
}

/* Where the group that opens at r->at closes; 0 after a problem. */
static size_t
group_end(struct reader *r)
{
	size_t end = r->at + 1;

	while (r->text[end] && r->text[end] != ')' && r->text[end] != '(')
		end++;
	if (r->text[end] == ')' && end > r->at + 1)
		return end;
	fail(r, r->text[end] == ')'   ? "opens an empty group"
		: r->text[end] == '(' ? "opens a group that holds another group"
				      : "opens a group that is not closed");
	return 0;
}

static void
read_items(struct reader *r, size_t end)
{
	for (skip_commas(r); r->at < end && !r->problem; skip_commas(r)) {
		size_t at = r->at;
		char item = r->text[at];
		int count;

		if (!strchr("EtmML|", item)) {
			fail(r, "is not one of 'E', 't', 'm', 'L', '|'");
			return;
		}
		r->at++;
		count = read_repeat(r, false);
		if (r->problem)
			return;
		size_t next = r->at;
		r->at = at;
		emit(r, item, count);
		if (!r->problem)
			r->at = next;
	}
}

static void
read_group(struct reader *r)
{
	size_t open = r->at, end = group_end(r), after;
	int count;

	if (r->problem)
		return;
	r->at = end + 1;
	count = read_repeat(r, true);
	after = r->at;
	for (int i = 0; i < count && !r->problem; i++) {
		r->at = open + 1;
		read_items(r, end);
	}
	if (!r->problem)
		r->at = after;
}

static void
read_layout(struct reader *r)
{
	size_t length = strlen(r->text);

	if (length > TEXT_MAX)
		fail(r, "is of a text with more than 16384 characters");
	while (r->text[r->at] && !r->problem) {
		const char *open = strchr(r->text + r->at, '(');

		if (r->text[r->at] == '(')
			read_group(r);
		else
			read_items(r, open ? (size_t)(open - r->text) : length);
	}
	if (!r->problem && !r->has_embedding)
		fail(r, "comes before any 'E': the embedding is missing");
	if (!r->problem && !r->has_loss)
		fail(r, "comes before any 'L': the loss is missing");
	if (r->problem)
		return;
	r->layout->first[r->chunk + 1] = (int16_t)r->layers;
}

static bool
is_even(const struct layout *layout, int chunks)
{
	struct layout even;

	layout_even(&even, layout->first[chunks], chunks, 1);
	for (int c = 0; c < chunks; c++)
		if (even.first[c + 1] != layout->first[c + 1])
			return false;
	return true;
}

const char *
layout_of_counts(struct arena *arena, const int64_t *layers, int chunks)
{
	struct model none = {0};
	struct layout layout = {.pp = chunks, .vpp = 1};
	const char *text;
	int64_t sum = 0;

	if (chunks < 2 || chunks >= LAYOUT_MAX_CHUNKS)
		return NULL;
	for (int c = 0; c < chunks; c++) {
		if (layers[c] < 0 || layers[c] > MODEL_MAX_LAYERS - sum)
			return NULL;
		sum += layers[c];
		layout.first[c + 1] = (int16_t)sum;
	}
	if (is_even(&layout, chunks))
		return NULL;
	text = layout_text(arena, &layout, &none);
	return arena_printf(arena, "%.*sML", (int)strlen(text) - 1, text);
}

bool
layout_text_is_even(const char *text)
{
	struct layout layout = {0};
	struct reader r = {.text = text, .layout = &layout};

	read_layout(&r);
	return !r.problem && (r.mtp == 0 || r.mtp_chunk == r.chunk) &&
	       is_even(&layout, r.chunk + 1);
}

int
layout_sizes(const char *text, int *layers, int *mtp)
{
	struct layout layout = {0};
	struct reader r = {.text = text, .layout = &layout};

	read_layout(&r);
	*layers = r.layers;
	*mtp = r.mtp;
	return r.problem ? 0 : r.chunk + 1;
}

int
layout_chunks(const char *text)
{
	int layers, mtp;

	return layout_sizes(text, &layers, &mtp);
}

static int
report_problem(const struct reader *r, struct diags *diags, struct loc loc)
{
	char item[2] = {r->text[r->at], '\0'};

	diag_add(diags, loc, "MEG-022", SEVERITY_ERROR, "layout '%.200s': '%s' at character %zu %s",
	    r->text, item[0] ? item : "end", r->at + 1, r->problem);
	diag_last_hint(diags, "a layout looks like 'Et*3|(tt|)*29m|L': E embedding, t layer, "
			      "m MTP layer, L loss, | between chunks");
	return -1;
}

static int
wrong_number(struct diags *diags, struct loc loc, const char *text, const char *item, int found,
    int64_t wanted)
{
	struct diag *diag = diag_add(diags, loc, "MEG-022", SEVERITY_ERROR,
	    "layout '%.200s' has %d '%s', the model has %lld", text, found, item,
	    (long long)wanted);

	diag_number(diags, diag, "found", found);
	diag_number(diags, diag, "wanted", (double)wanted);
	return -1;
}

static int
check_chunks(const struct reader *r, int pp, struct diags *diags, struct loc loc)
{
	int chunks = r->chunk + 1;

	if (chunks % pp != 0) {
		diag_add(diags, loc, "MEG-021", SEVERITY_ERROR,
		    "layout '%.200s' has %d chunks, not a multiple of PP %d", r->text, chunks, pp);
		diag_last_hint(diags, "chunks are separated by '|'; VPP is chunks / PP");
		return -1;
	}
	if (r->mtp > 0 && r->mtp_chunk / pp != chunks / pp - 1) {
		diag_add(diags, loc, "MEG-022", SEVERITY_ERROR,
		    "layout '%.200s' has MTP layers in chunk %d: they must be in the last virtual "
		    "stage, chunks %d to %d",
		    r->text, r->mtp_chunk, chunks - pp, chunks - 1);
		return -1;
	}
	return 0;
}

int
layout_parse(struct layout *layout, const char *text, const struct model *model, int pp,
    struct diags *diags, struct loc loc)
{
	struct reader r = {.text = text, .layout = layout, .model = model};
	int result = 0;

	layout->first[0] = 0;
	layout->vee = false; /* the schedule says so, not the text */
	read_layout(&r);
	if (r.problem)
		return report_problem(&r, diags, loc);
	if (r.layers != model->layers)
		result = wrong_number(diags, loc, text, "t", r.layers, model->layers);
	if (r.mtp != model->mtp_layers)
		result = wrong_number(diags, loc, text, "m", r.mtp, model->mtp_layers);
	if (check_chunks(&r, pp, diags, loc) < 0 || result < 0)
		return -1;
	layout->pp = pp;
	layout->vpp = (r.chunk + 1) / pp;
	layout->mtp_back = (int16_t)(r.mtp > 0 ? r.chunk - r.mtp_chunk : 0);
	return 0;
}
