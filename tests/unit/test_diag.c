/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of what is wrong. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/diag.h"
#include "base/str.h"
#include "scratch.h"

TestSuite(diag, .init = scratch_open, .fini = scratch_close);

Test(diag, keeps_the_order_and_counts_by_severity)
{
	struct loc loc = {"a.yaml", 3, 7};

	cr_assert_null(diags->first);
	diag_add(diags, loc, "MEG-001", SEVERITY_WARNING, "first %d", 1);
	cr_assert_eq(diag_error(diags, loc, "second '%s'", "x"), -1);
	diag_add(diags, loc, NULL, SEVERITY_NOTE, "third");
	diag_add(diags, loc, NULL, SEVERITY_ERROR, "fourth");

	cr_assert_eq(diags->errors, 2);
	cr_assert_eq(diags->warnings, 1);
	cr_assert_eq(diags->notes, 1);
	cr_assert_str_eq(diags->first->message, "first 1");
	cr_assert_str_eq(diags->first->rule, "MEG-001");
	cr_assert_eq(diags->first->loc.line, 3);
	cr_assert_eq(diags->first->loc.column, 7);
	cr_assert_str_eq(diags->first->next->message, "second 'x'");
	cr_assert_null(diags->first->next->rule);
	cr_assert_eq(diags->first->next->severity, SEVERITY_ERROR);
	cr_assert_str_eq(diags->first->next->next->message, "third");
	cr_assert_str_eq(diags->last->message, "fourth");
	cr_assert_null(diags->last->next);
}

Test(diag, the_message_is_a_copy)
{
	char name[] = "before";

	diag_error(diags, (struct loc){0}, "%s", name);
	name[0] = 'X';
	cr_assert_str_eq(diags->last->message, "before");
}

Test(diag, hints_go_to_their_message)
{
	struct diag *first = diag_add(diags, (struct loc){0}, NULL, SEVERITY_ERROR, "one");

	diag_error(diags, (struct loc){0}, "two");
	cr_assert_null(first->hint);
	diag_last_hint(diags, "for %s", "two");
	diag_hint(diags, first, "for %s", "one");
	cr_assert_str_eq(first->hint, "for one");
	cr_assert_str_eq(diags->last->hint, "for two");
}

Test(diag, a_hint_without_a_message_is_dropped)
{
	diag_last_hint(diags, "nothing");
	cr_assert_null(diags->first);
}

Test(diag, numbers_keep_their_order)
{
	struct diag *diag = diag_add(diags, (struct loc){0}, NULL, SEVERITY_ERROR, "one");

	diag_number(diags, diag, "world", 128);
	diag_number(diags, diag, "needed", 512);
	cr_assert_str_eq(diag->numbers->name, "world");
	cr_assert_eq(diag->numbers->value, 128);
	cr_assert_str_eq(diag->numbers->next->name, "needed");
	cr_assert_eq(diag->numbers->next->value, 512);
	cr_assert_null(diag->numbers->next->next);
}

Test(diag, control_characters_do_not_reach_the_terminal)
{
	diag_error(diags, (struct loc){0}, "key '%s'", "a\x1b[31m\nb\x7f\xc2\x9b" "c\xc3\xa9");
	cr_assert_str_eq(diags->last->message, "key 'a\\x1b[31m\\x0ab\\x7f\\xc2\\x9bc\xc3\xa9'");
	diag_last_hint(diags, "\t\xc2");
	cr_assert_str_eq(diags->last->hint, "\\x09\xc2");
}

Test(diag, endless_messages_are_cut_between_characters)
{
	for (int pad = 0; pad < 3; pad++) {
		struct str text = str_new(arena);

		str_pad(&text, 'x', (size_t)pad);
		for (int i = 0; i < 100000; i++)
			str_add(&text, "\xe4\xb8\xad");
		diag_error(diags, (struct loc){0}, "%s", text.text);
		cr_assert_leq(strlen(diags->last->message), 2003);
		cr_assert_geq(strlen(diags->last->message), 2000);
		cr_assert_str_eq(strrchr(diags->last->message, '\xad'), "\xad...");
	}
}

Test(diag, names_of_severities)
{
	cr_assert_str_eq(severity_name(SEVERITY_ERROR), "error");
	cr_assert_str_eq(severity_name(SEVERITY_WARNING), "warning");
	cr_assert_str_eq(severity_name(SEVERITY_NOTE), "note");
}
