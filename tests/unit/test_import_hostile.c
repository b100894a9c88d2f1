/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs that mean harm get a message: huge, deep, cyclic, binary, never ending, shell tricks. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "import_fixture.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static struct imported imported;

static void
set_up(void)
{
	imported = imported_new();
}

static void
tear_down(void)
{
	imported_free(&imported);
}

TestSuite(import_hostile, .init = set_up, .fini = tear_down, .timeout = 30);

static void
check_refused(const char *part)
{
	cr_assert_eq(imported.result, -1);
	cr_assert(import_has_message(&imported, SEVERITY_ERROR, part), "'%s' is not in '%s'", part,
	    imported.diags->last ? imported.diags->last->message : "");
}

static const char *
repeated(const char *head, const char *piece, size_t times, const char *tail)
{
	struct str text = str_new(imported.arena);

	str_add(&text, head);
	for (size_t i = 0; i < times; i++)
		str_add(&text, piece);
	str_add(&text, tail);
	return text.text;
}

Test(import_hostile, empty)
{
	import_add(&imported, "x", "");
	check_refused("'x' is empty");
}

Test(import_hostile, only_comments)
{
	import_add(&imported, "x", "# nothing\n\n");
	cr_assert_eq(imported.result, 0);
	cr_assert(import_has_message(&imported, SEVERITY_NOTE, "holds nothing but comments"));
}

Test(import_hostile, binary)
{
	import_add_bytes(&imported, "x", "a\0b", 3);
	check_refused("holds a NUL byte");
	import_add_bytes(&imported, "y",
	    "\xff\xfe"
	    "a",
	    3);
	check_refused("is not UTF-8 text");
	import_add_bytes(&imported, "z",
	    "\x7f"
	    "ELF\x02\x01\x01\x00\x00",
	    9);
	check_refused("'z' holds a NUL byte");
}

Test(import_hostile, line_of_sixteen_megabytes)
{
	size_t length = 16 << 20;
	char *text = malloc(length);

	cr_assert_not_null(text);
	memset(text, 'a', length);
	import_add_bytes(&imported, "x", text, length);
	check_refused("a script or TOML file may have 1048576 at most");
	text[0] = '{';
	import_add_bytes(&imported, "y", text, length);
	check_refused("expected a name in double quotes");
	free(text);
}

Test(import_hostile, longer_than_any_document)
{
	size_t length = (16 << 20) + 1;
	char *text = malloc(length);

	cr_assert_not_null(text);
	memset(text, ' ', length);
	text[0] = '{';
	import_add_bytes(&imported, "x", text, length);
	check_refused("allowed are 16777216 at most");
	free(text);
}

Test(import_hostile, deep)
{
	import_add(&imported, "x", repeated("{\"a\":", "[", 100000, ""));
	check_refused("nested deeper than 64 levels");
	import_add(&imported, "y", repeated("a: ", "[", 100000, ""));
	check_refused("nested deeper than 64 levels");
	import_add(&imported, "z", repeated("[t]\na = ", "[", 100000, ""));
	check_refused("nested deeper than 64 levels");
	import_add(&imported, "s", repeated("", "if x; then ", 50000, ""));
	check_refused("nest too deep");
	import_add(&imported, "q", repeated("echo ", "\"$(", 50000, ""));
	check_refused("nest too deep");
	import_add(&imported, "p", repeated("echo $((", "(", 50000, ""));
	cr_assert_eq(imported.result, -1);
}

Test(import_hostile, deep_python)
{
	import_add(&imported, "x.py", repeated("MoE(expert=", "[", 100000, ")"));
	cr_assert_eq(imported.result, -1);
	import_add(&imported, "y.py", repeated("moe_layer(experts=", "{'a':", 100000, ""));
	cr_assert_eq(imported.result, -1);
}

Test(import_hostile, cyclic_aliases)
{
	import_add(&imported, "x", "model: &m\n  tensor_model_parallel_size: 2\n  more: *m\n");
	check_refused("lies inside its own anchor");
}

Test(import_hostile, aliases_that_multiply)
{
	struct str text = str_new(imported.arena);

	str_add(&text, "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
	for (int i = 1; i < 12; i++)
		str_addf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i,
		    i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	import_add(&imported, "x", text.text);
	check_refused("values, the limit");
}

Test(import_hostile, more_settings_than_anybody_has)
{
	struct str text = str_new(imported.arena);

	str_add(&text, "{\"train_batch_size\": 8");
	for (int i = 0; i < 200000; i++)
		str_addf(&text, ",\"k%d\":1", i);
	str_add(&text, "}");
	import_add(&imported, "x", text.text);
	check_refused("more than 4096 settings, the limit");
}

Test(import_hostile, contradictions_without_end)
{
	struct str one = str_new(imported.arena), two = str_new(imported.arena);

	str_add(&one, "{\"train_batch_size\": 8");
	str_add(&two, "{\"train_batch_size\": 8");
	for (int i = 0; i < 2000; i++) {
		str_addf(&one, ",\"k%d\":1", i);
		str_addf(&two, ",\"k%d\":2", i);
	}
	str_add(&one, "}");
	str_add(&two, "}");
	import_add(&imported, "one", one.text);
	cr_assert_eq(imported.result, 0);
	import_add(&imported, "two", two.text);
	cr_assert_eq(imported.result, -1);
	cr_assert_leq(imported.diags->errors, 60);
}

Test(import_hostile, never_ending_quotes)
{
	import_add(&imported, "a", "python t.py --lr 'x\n");
	check_refused("this quote is not closed");
	import_add(&imported, "b", "[training]\nseq_len = \"x\n");
	check_refused("this string is not closed");
	import_add(&imported, "c", "{\"train_batch_size\": \"x\n");
	check_refused("has no closing quote");
	import_add(&imported, "d", "x = MoE(1, 'abc\n");
	cr_assert_eq(imported.result, -1);
}

Test(import_hostile, variables_that_grow)
{
	import_add(&imported, "a", repeated("A=xx\n", "A=$A$A\n", 100, ""));
	check_refused("expands to more than anybody would run");
	import_add(&imported, "b", repeated("A=(x)\n", "A+=(\"${A[@]}\")\n", 100, ""));
	check_refused("expands to more than anybody would run");
	import_add(
	    &imported, "c", "A='$A $A'; eval eval eval eval $A\npython t.py --num-layers 2\n");
	cr_assert(import_has_unresolved(&imported, "$A") || imported.diags->errors > 0);
}

Test(import_hostile, hosts_without_end)
{
	struct str text = str_new(imported.arena);

	for (int i = 0; i < 66000; i++)
		str_addf(&text, "h%d slots=1\n", i);
	import_add(&imported, "hosts", text.text);
	check_refused("more than 65536 hosts, the limit");
}

/* Every way to run something that a shell has: none of the files may be there afterwards. */
Test(import_hostile, nothing_is_run)
{
	static const char *const tricks[] = {
	    "A=$(touch %s)\npython t.py --num-layers $A\n",
	    "python t.py --num-layers `touch %s`\n",
	    "touch %s\npython t.py --num-layers 2\n",
	    "eval 'touch %s'; python t.py --num-layers 2\n",
	    "bash -c 'touch %s; python t.py --num-layers 2'\n",
	    "python t.py --num-layers $(( $(touch %s) + 1 ))\n",
	    "A[$(touch %s)]=1; python t.py --num-layers ${A[0]}\n",
	    "x='a[$(touch %s)]'; python t.py --num-layers $((x))\n",
	    "python t.py --num-layers 2 > %s\n",
	    "cat <<EOF > %s\n$(touch %s)\nEOF\npython t.py --num-layers 2\n",
	    "trap 'touch %s' EXIT; python t.py --num-layers 2\n",
	    "f() { touch %s; }; f; python t.py --num-layers 2\n",
	    "PROMPT_COMMAND='touch %s' python t.py --num-layers 2 <(touch %s)\n",
	    "moe = MoE(__import__('os').system('touch %s'), 1, 8, 2)\n",
	    "{\"train_batch_size\": \"$(touch %s)\"}\n",
	    "model:\n  num_layers: !!python/object/apply:os.system ['touch %s']\n",
	};
	const char *path = arena_printf(imported.arena, "/tmp/moeplan-hostile-%ld", (long)getpid());

	for (size_t i = 0; i < ROWS(tricks); i++) {
		struct str text = str_new(imported.arena);
		struct imported one = imported_new();

		for (const char *c = tricks[i]; *c; c++) {
			if (c[0] == '%' && c[1] == 's') {
				str_add(&text, path);
				c++;
			} else {
				str_addc(&text, *c);
			}
		}
		import_add(&one, "x", text.text);
		cr_assert_neq(access(path, F_OK), 0, "was run: %s", text.text);
		imported_free(&one);
	}
}
