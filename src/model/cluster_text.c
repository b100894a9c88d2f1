/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which cluster do a few words on the command line mean?
 *
 *   dgx-h100            one node of that type (a rack of 18 for *-nvl72)
 *   dgx-h100x16         16 nodes
 *   node:16 gpu:8 H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s
 *
 * The last form is words in any order; only the GPU's name is needed, what is
 * left out comes from its catalogue row. A mistake is quoted with its column.
 */
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/units.h"
#include "model/cluster_build.h"

static const char forms[] =
    "a cluster is a node type (dgx-h100), node type x nodes (dgx-h100x16), or words such as "
    "'node:16 gpu:8 H100-SXM5-80GB nvlink:450GB/s nic:8x400Gb/s'";

struct words {
	struct arena *arena;
	struct diags *diags;
	int column; /* of the word, from 1 */
	const char *word;
	unsigned seen; /* bits of word_rows that were given */
	struct machine machine;
};

static int
refuse_word(struct words *w, const char *allowed)
{
	struct loc loc = {"cluster", 1, w->column};

	return diag_error(w->diags, loc, "'%s' at column %d of the cluster text: %s", w->word,
	    w->column, allowed);
}

static int
read_count(struct words *w, const char *value, int64_t *count, const char *allowed)
{
	if (!units_parse_integer(value, count) || *count < 1 || *count > CLUSTER_MAX_WORLD)
		return refuse_word(w, allowed);
	return 0;
}

static int
read_rate(struct words *w, const char *value, struct quantity *rate)
{
	double Bps;

	if (!units_parse_rate(value, &Bps) || !(Bps > 0))
		return refuse_word(w, "a rate has a unit, such as 450GB/s or 400Gb/s");
	*rate = (struct quantity){Bps, ORIGIN_FILE, "cluster text"};
	return 0;
}

static int
read_node(struct words *w, const char *value)
{
	return read_count(
	    w, value, &w->machine.nodes, "node:N is the number of nodes, 1 to 1000000");
}

static int
read_gpu(struct words *w, const char *value)
{
	return read_count(
	    w, value, &w->machine.gpus_per_node, "gpu:N is the GPUs of a node, from 1");
}

static int
read_domain(struct words *w, const char *value)
{
	return read_count(
	    w, value, &w->machine.domain_gpus, "domain:N is the GPUs of a scale-up domain, from 1");
}

static int
read_link(struct words *w, const char *value)
{
	static const char *const names[] = {"NVLink", "xGMI", "HCCS"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((w->word[0] | 0x20) == (names[i][0] | 0x20))
			w->machine.link_name = names[i];
	return read_rate(w, value, &w->machine.link_Bps);
}

static int
read_pcie(struct words *w, const char *value)
{
	return read_rate(w, value, &w->machine.node_Bps);
}

static int
read_nic(struct words *w, const char *value)
{
	const char *x = strchr(value, 'x');
	struct quantity rate = {0};
	char *count;

	if (!x)
		return refuse_word(w,
		    "nic:NxRATE is the NICs of a node and the rate of one, such as "
		    "nic:8x400Gb/s");
	count = arena_strndup(w->arena, value, (size_t)(x - value));
	if (read_count(w, count, &w->machine.nics_per_node, "nic:NxRATE has N from 1") < 0 ||
	    read_rate(w, x + 1, &rate) < 0)
		return -1;
	rate.value *= 8;
	w->machine.nic_bits = rate;
	return 0;
}

static const struct word_row {
	const char *head;
	int (*read)(struct words *words, const char *value);
	int slot; /* words that mean the same thing have the same one */
} word_rows[] = {
    {"node:", read_node, 0},
    {"gpu:", read_gpu, 1},
    {"domain:", read_domain, 2},
    {"nvlink:", read_link, 3},
    {"xgmi:", read_link, 3},
    {"hccs:", read_link, 3},
    {"pcie:", read_pcie, 4},
    {"nic:", read_nic, 5},
};
enum { WORD_ROWS = sizeof(word_rows) / sizeof(word_rows[0]), NAME_SLOT = 6 };

static int
mark_seen(struct words *w, int slot, const char *message)
{
	if (w->seen & 1U << slot)
		return refuse_word(w, message);
	w->seen |= 1U << slot;
	return 0;
}

/* A word with a colon that is no row of the table. */
static int
unknown_key(struct words *w)
{
	const char *heads[WORD_ROWS + 1] = {NULL}, *near;
	size_t length = strcspn(w->word, ":") + 1;

	for (int i = 0; i < WORD_ROWS; i++)
		heads[i] = word_rows[i].head;
	near = str_nearest(arena_strndup(w->arena, w->word, length), heads);
	refuse_word(w, "not one of node:, gpu:, domain:, nvlink:, xgmi:, hccs:, pcie: and nic:");
	if (near)
		diag_last_hint(w->diags, "did you mean '%s%s'?", near, w->word + length);
	return -1;
}

/* What may be meant by a name that the catalogue does not have. */
static void
hint_name(struct words *w)
{
	const char *near = gpu_suggestion(w->arena, w->word);

	if (near)
		diag_last_hint(w->diags, "did you mean %s?", near);
	else if (node_row_find(w->word))
		diag_last_hint(w->diags, "a node type stands alone: '%sx4' is 4 nodes", w->word);
	else
		diag_last_hint(w->diags, "a name is such as H100-SXM5-80GB: 'moeplan help names' "
					 "shows them; a cluster file takes other GPUs");
}

static int
read_name(struct words *w)
{
	if (strspn(w->word, "0123456789") == strlen(w->word)) {
		refuse_word(w, "a number is the value of a word");
		diag_last_hint(w->diags, "write 'node:%s' or 'gpu:%s'", w->word, w->word);
		return -1;
	}
	if (mark_seen(w, NAME_SLOT, "a second GPU name; a cluster has one kind of GPU") < 0)
		return -1;
	w->machine.row = gpu_row_find(w->word);
	if (w->machine.row) {
		w->machine.gpu = w->machine.row->gpu;
		return 0;
	}
	refuse_word(w, "not a GPU of the catalogue");
	hint_name(w);
	return -1;
}

static int
read_word(struct words *w)
{
	for (int i = 0; i < WORD_ROWS; i++) {
		const struct word_row *row = &word_rows[i];
		size_t length = strlen(row->head);

		if (strncmp(w->word, row->head, length) != 0)
			continue;
		if (mark_seen(w, row->slot, "given before in this text") < 0)
			return -1;
		return row->read(w, w->word + length);
	}
	return strchr(w->word, ':') ? unknown_key(w) : read_name(w);
}

/* NVLink rates for a part that has xGMI are a mistake, and so is a link that nothing is on. */
static int
check_link(struct words *w, struct loc loc)
{
	const struct machine *m = &w->machine;

	if (!m->link_name)
		return 0;
	if (m->row->domain_gpus > 1 && strcmp(m->link_name, m->row->link_name) != 0)
		return diag_error(w->diags, loc, "'%s' has %s, not %s", m->row->gpu.name,
		    m->row->link_name, m->link_name);
	if (m->row->domain_gpus == 1 && m->domain_gpus < 2)
		return diag_error(w->diags, loc,
		    "'%s' is a PCIe card: say with domain:N how many GPUs share the %s bridge",
		    m->row->gpu.name, m->link_name);
	return 0;
}

enum { WORDS_MAX = 4096 }; /* characters of a cluster text */

/* The word at `text` and its length; "gpu: 8" is "gpu:8". */
static const char *
next_word(struct arena *arena, const char *text, size_t *length)
{
	size_t word = strcspn(text, " \t\n"), gap, value;
	bool open = word > 1 && text[word - 1] == ':';

	*length = word;
	gap = open ? strspn(text + word, " \t\n") : 0;
	value = gap > 0 ? strcspn(text + word + gap, " \t\n") : 0;
	if (value == 0)
		return arena_strndup(arena, text, word);
	*length = word + gap + value;
	return arena_printf(
	    arena, "%.*s%.*s", (int)word, text, (int)value, text + word + gap);
}

static struct cluster *
read_words(struct arena *arena, struct diags *diags, const char *text)
{
	struct words w = {.arena = arena, .diags = diags};
	struct loc loc = {"cluster", 0, 0};
	int errors = diags->errors;
	size_t at = 0;

	while (text[at += strspn(text + at, " \t\n")]) {
		size_t length;

		w.word = next_word(arena, text + at, &length);
		w.column = (int)at + 1;
		read_word(&w);
		at += length;
	}
	if (!(w.seen & 1U << NAME_SLOT)) {
		diag_error(diags, loc, "the cluster text '%s' names no GPU", text);
		diag_last_hint(diags, "add a name of the catalogue, such as H100-SXM5-80GB");
	}
	if (diags->errors > errors || check_link(&w, loc) < 0)
		return NULL;
	if (w.machine.nodes == 0)
		w.machine.nodes = 1;
	w.machine.name = arena_strdup(arena, text);
	return machine_build(arena, diags, loc, &w.machine);
}

/* Where "x16" begins in "dgx-h100x16", or NULL. */
static const char *
nodes_suffix(const char *text)
{
	const char *x = strrchr(text, 'x');

	return x && x > text && x[1] && strspn(x + 1, "0123456789") == strlen(x + 1) ? x : NULL;
}

static struct cluster *
unknown_slug(struct arena *arena, struct diags *diags, const char *text, const char *slug)
{
	const char *near = str_nearest(slug, node_slugs(arena));

	diag_error(diags, (struct loc){"cluster", 0, 0}, "'%s' is not a known cluster", text);
	if (near)
		diag_last_hint(diags, "did you mean '%s%s'?", near, text + strlen(slug));
	else
		diag_last_hint(diags, "%s", forms);
	return NULL;
}

static struct cluster *
read_slug(struct arena *arena, struct diags *diags, const char *text)
{
	struct loc loc = {"cluster", 0, 0};
	struct machine machine = {.name = arena_strdup(arena, text)};
	const struct node_row *node = node_row_find(text);
	const char *suffix = node ? NULL : nodes_suffix(text);
	const char *slug = text;
	int64_t nodes = 0;

	if (suffix) {
		slug = arena_strndup(arena, text, (size_t)(suffix - text));
		node = node_row_find(slug);
	}
	if (!node)
		return unknown_slug(arena, diags, text, slug);
	machine_from_node(&machine, node);
	if (suffix &&
	    (!units_parse_integer(suffix + 1, &nodes) || nodes < 1 || nodes > CLUSTER_MAX_NODES)) {
		diag_error(diags, loc, "'%s': the number of nodes after 'x' is 1 to %d", text,
		    CLUSTER_MAX_NODES);
		return NULL;
	}
	if (suffix)
		machine.nodes = nodes;
	return machine_build(arena, diags, loc, &machine);
}

static bool
has_words(const char *text)
{
	if (strpbrk(text, " \t\n") || gpu_row_find(text))
		return true;
	for (int i = 0; i < WORD_ROWS; i++)
		if (strncmp(text, word_rows[i].head, strlen(word_rows[i].head)) == 0)
			return true;
	return false;
}

bool
is_cluster_text(const char *text)
{
	if (gpu_row_find(text) || node_row_find(text))
		return true;
	for (int i = 0; i < WORD_ROWS; i++) {
		const char *head = strstr(text, word_rows[i].head);

		if (head && (head == text || strchr(" \t\n", head[-1])))
			return true;
	}
	return text[0] && !strpbrk(text, "./") && strcmp(text, "-") != 0;
}

struct cluster *
cluster_from_text(struct arena *arena, struct diags *diags, const char *text)
{
	if (strlen(text) > WORDS_MAX) {
		diag_error(diags, (struct loc){"cluster", 0, 0},
		    "a cluster text has at most %d characters", WORDS_MAX);
		return NULL;
	}
	if (has_words(text))
		return read_words(arena, diags, text);
	return read_slug(arena, diags, text);
}
