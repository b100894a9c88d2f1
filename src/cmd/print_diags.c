/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How does a person read what went wrong? One line a message, its hint indented below. */
#include <string.h>

#include "cmd/cmd.h"

static const char *
severity_color(enum severity severity)
{
	switch (severity) {
	case SEVERITY_ERROR:
		return "\033[1;31m";
	case SEVERITY_WARNING:
		return "\033[1;33m";
	case SEVERITY_NOTE:
		break;
	}
	return "\033[1;36m";
}

static void
print_loc(const struct loc *loc, struct str *out)
{
	if (!loc->file)
		str_add(out, "moeplan: ");
	else if (loc->line > 0 && loc->column > 0)
		str_addf(out, "%s:%d:%d: ", loc->file, loc->line, loc->column);
	else if (loc->line > 0)
		str_addf(out, "%s:%d: ", loc->file, loc->line);
	else
		str_addf(out, "%s: ", loc->file);
}

static void
print_diag(const struct diag *diag, struct str *out, bool color)
{
	print_loc(&diag->loc, out);
	if (color)
		str_add(out, severity_color(diag->severity));
	str_addf(out, "%s:", severity_name(diag->severity));
	if (color)
		str_add(out, "\033[0m");
	str_addf(out, " %s", diag->message);
	if (diag->rule)
		str_addf(out, " [%s]", diag->rule);
	str_addc(out, '\n');
	if (diag->hint)
		str_addf(out, "    %s\n", diag->hint);
}

void
print_diags(const struct diags *diags, struct str *out, bool color, enum severity least)
{
	const struct diag *diag;

	for (diag = diags->first; diag; diag = diag->next)
		if (diag->severity >= least)
			print_diag(diag, out, color);
}
