/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What does one line of a log of routes say? A scanner that looks at each byte about
 * once, since such logs are gigabytes: it finds the members that are known by name and
 * steps over the values of all others.
 */
#include <ctype.h>
#include <string.h>

#include "model/loads_routes.h"

enum member {
	MEMBER_NONE,
	MEMBER_LAYER,
	MEMBER_IDS,
	MEMBER_WEIGHTS,
	MEMBER_NODE,
	MEMBER_DOMAIN,
	MEMBER_TOKEN,
	MEMBER_REQUEST,
};

/* Names that logs use: vLLM patches, SGLang, Hugging Face hooks. */
static const struct member_row {
	const char *name;
	enum member member;
} member_rows[] = {
    {"layer", MEMBER_LAYER},
    {"layer_id", MEMBER_LAYER},
    {"layer_idx", MEMBER_LAYER},
    {"topk_ids", MEMBER_IDS},
    {"topk_experts", MEMBER_IDS},
    {"topk_indices", MEMBER_IDS},
    {"expert_ids", MEMBER_IDS},
    {"experts", MEMBER_IDS},
    {"selected_experts", MEMBER_IDS},
    {"topk_weights", MEMBER_WEIGHTS},
    {"weights", MEMBER_WEIGHTS},
    {"node", MEMBER_NODE},
    {"rank", MEMBER_NODE},
    {"domain", MEMBER_DOMAIN},
    {"token_idx", MEMBER_TOKEN},
    {"token_index", MEMBER_TOKEN},
    {"token", MEMBER_TOKEN},
    {"position", MEMBER_TOKEN},
    {"req_id", MEMBER_REQUEST},
    {"request_id", MEMBER_REQUEST},
    {"batch_id", MEMBER_REQUEST},
};

static const char *
skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

/* Behind the closing quote of a string that begins here; NULL when it does not end. */
static const char *
skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at == '"' ? at + 1 : NULL;
}

/* Behind a value; brackets are counted, not matched by kind. NULL when it does not end. */
static const char *
skip_value(const char *at)
{
	int depth = 0;

	if (*at == '"')
		return skip_string(at);
	for (; *at; at++) {
		if (*at == '"') {
			at = skip_string(at);
			if (!at)
				return NULL;
			at--;
		} else if (*at == '[' || *at == '{') {
			depth++;
		} else if (*at == ']' || *at == '}') {
			if (depth == 0)
				return at;
			if (--depth == 0)
				return at + 1;
		} else if (*at == ',' && depth == 0) {
			return at;
		}
	}
	return NULL;
}

static enum member
member_of(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(member_rows) / sizeof(member_rows[0]); i++)
		if (strncmp(member_rows[i].name, name, length) == 0 &&
		    member_rows[i].name[length] == '\0')
			return member_rows[i].member;
	return MEMBER_NONE;
}

static bool
read_integer(const char *at, const char *end, int64_t *value)
{
	bool negative = *at == '-';
	int64_t number = 0;
	int digits = 0;

	for (at += negative; at < end && *at >= '0' && *at <= '9' && digits < 18; at++, digits++)
		number = 10 * number + (*at - '0');
	*value = negative ? -number : number;
	return digits > 0 && skip_blanks(at) >= end;
}

/* A string without its quotes, or a number as it is written. */
static void
take_text(const char *at, const char *end, const char **text, size_t *length)
{
	if (*at == '"') {
		at++;
		end--;
	}
	while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*text = at;
	*length = (size_t)(end - at);
}

static void
take_member(struct route *route, enum member member, const char *at, const char *end)
{
	switch (member) {
	case MEMBER_LAYER:
		route->has_layer = read_integer(at, end, &route->layer);
		break;
	case MEMBER_IDS:
		if (*at == '[') {
			route->ids = skip_blanks(at + 1);
			route->nested = *route->ids == '[';
		}
		break;
	case MEMBER_WEIGHTS:
		route->weights = at;
		route->weights_length = (size_t)(end - at);
		break;
	case MEMBER_NODE:
	case MEMBER_DOMAIN:
		take_text(at, end, &route->source, &route->source_length);
		route->is_domain = member == MEMBER_DOMAIN;
		break;
	case MEMBER_TOKEN:
		route->has_token = read_integer(at, end, &route->token);
		break;
	case MEMBER_REQUEST:
		take_text(at, end, &route->request, &route->request_length);
		break;
	case MEMBER_NONE:
		break;
	}
}

int
route_parse(const char *line, size_t length, struct route *route)
{
	const struct route none = {.request = "", .source = ""};
	const char *at = skip_blanks(line), *end, *name;
	size_t name_length;

	*route = none;
	if (*at++ != '{' || strlen(line) != length)
		return -1;
	for (at = skip_blanks(at); *at == '"'; at = skip_blanks(at + 1)) {
		name = at + 1;
		at = skip_string(at);
		if (!at)
			return -1;
		name_length = (size_t)(at - name) - 1;
		at = skip_blanks(at);
		if (*at != ':')
			return -1;
		at = skip_blanks(at + 1);
		end = skip_value(at);
		if (!end || end == at)
			return -1;
		take_member(route, member_of(name, name_length), at, end);
		at = skip_blanks(end);
		if (*at != ',')
			break;
	}
	if (*at != '}' || *skip_blanks(at + 1) != '\0')
		return -1;
	return route->ids != NULL;
}

/* Integers up to the closing bracket; where they end, or NULL. */
static const char *
read_ids(const char *at, struct choice *choice)
{
	choice->k = 0;
	for (at = skip_blanks(at); *at != ']'; at = skip_blanks(at)) {
		int64_t number = 0;
		int digits = 0;

		if (choice->k == ROUTES_MAX_K)
			return NULL;
		for (; *at >= '0' && *at <= '9' && digits < 9; at++, digits++)
			number = 10 * number + (*at - '0');
		at = skip_blanks(at);
		if (digits == 0 || (*at != ',' && *at != ']'))
			return NULL;
		choice->ids[choice->k++] = (int)number;
		at += *at == ',';
	}
	return at + 1;
}

int
route_choice(struct route *route, struct choice *choice)
{
	choice->weights = route->weights;
	choice->weights_length = route->weights ? route->weights_length : 0;
	return read_ids(route->ids, choice) ? 0 : -1;
}

int
route_next_choice(struct route *route, struct choice *choice)
{
	const char *at = skip_blanks(route->ids);

	choice->weights = NULL; /* of all tokens together: no use to tell one from another */
	choice->weights_length = 0;
	if (*at == ',')
		at = skip_blanks(at + 1);
	if (*at == ']')
		return 0;
	if (*at != '[')
		return -1;
	route->ids = read_ids(at + 1, choice);
	return route->ids ? 1 : -1;
}

bool
loads_routes_begin(const char *line, size_t length)
{
	struct route route;
	int kind = route_parse(line, length, &route);

	/* A head in front of the routes says so; other objects on one line are documents. */
	return kind > 0 ||
	       (kind == 0 && (strstr(line, "\"layers_logged\"") || strstr(line, "\"meta\"")));
}
