/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a script would run. Every row is a script whose commands named `show` are written as
 * [word][word]; what cannot be told is ?text?. Expected texts of rows without '?' are those
 * that bash 5 prints.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "base/str.h"
#include "check/import_shell.h"
#include "scratch.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static struct import_text source;
static struct str out;

TestSuite(import_shell, .init = scratch_open, .fini = scratch_close, .timeout = 20);

static void
on_command(void *context, const struct shell_command *command)
{
	(void)context;
	if (strcmp(command->words.items[0].bytes, "show") != 0)
		return;
	if (out.length > 0)
		str_addc(&out, ' ');
	if (command->maybe)
		str_add(&out, "maybe:");
	for (size_t i = 0; i < command->n_env; i++)
		str_addf(&out, "%s=%s ", command->env[i].name,
		    shell_plain(arena, &command->env[i].value));
	for (size_t i = 0; command->outer && i < command->outer->count; i++)
		str_addf(&out, "{%s}", command->outer->items[i].bytes);
	for (size_t i = 1; i < command->words.count; i++) {
		const struct shell_text *word = &command->words.items[i];
		const char *mark = shell_is_marked(word) ? "?" : "";

		str_addf(&out, "[%s%s%s]", mark, shell_plain(arena, word), mark);
	}
}

static int
run(const char *script)
{
	struct shell *shell;

	out = str_new(arena);
	if (import_text_open(&source, arena, diags, "script", script, strlen(script)) != 0)
		return -1;
	shell = shell_new(arena, diags, &source, on_command, NULL);
	return shell_read(shell);
}

struct row {
	const char *script, *expected;
};

static void
check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cr_assert_eq(run(rows[i].script), 0, "refused: %s: %s", rows[i].script,
		    diags->last ? diags->last->message : "");
		cr_assert_str_eq(out.text, rows[i].expected, "%s\n got %s\nwant %s", rows[i].script,
		    out.text, rows[i].expected);
	}
}

Test(import_shell, quotes)
{
	static const struct row rows[] = {
	    {"show a 'b c' \"d e\" f\\ g", "[a][b c][d e][f g]"},
	    {"show 'it'\\''s' \"a\\\"b\" '$X' \"\\$X\"", "[it's][a\"b][$X][$X]"},
	    {"show $'a\\tb' $'q\\'q' $\"text\"", "[a\tb][q'q][text]"},
	    {"show a\\\n  b \\\n c", "[a][b][c]"},
	    {"show a # comment\nshow b#no", "[a] [b#no]"},
	    {"show '' \"\"", "[][]"},
	    {"show one; show two && show three", "[one] [two] maybe:[three]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, variables)
{
	static const struct row rows[] = {
	    {"A=x; B=$A-y; show $A ${B}z \"$B\"", "[x][x-yz][x-y]"},
	    {"A='a  b'; show $A \"$A\"", "[a][b][a  b]"},
	    {"A=1; A=2; show $A", "[2]"},
	    {"A=x; A+=y; show $A", "[xy]"},
	    {"A=; show a$A\"$A\" $A", "[a]"},
	    {"export A=1 B='c d'; readonly C=3; show $A \"$B\" $C", "[1][c d][3]"},
	    {"A=1; unset A; show $A ${A-gone}", "[?$A?][gone]"},
	    {"A=1 show $A", "A=1 [?$A?]"},
	    {"A=abc; show ${#A}", "[3]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, defaults)
{
	static const struct row rows[] = {
	    {"show ${TP:-4} ${TP-5} ${TP:=6} $TP", "[4][5][6][6]"},
	    {"E=; show ${E:-full} \"${E-empty}\" ${E:+x}", "[full][]"},
	    {"A=1; show ${A:-2} ${A:+set} ${N:+unset}", "[1][set]"},
	    {"show ${A:-\"b c\"} ${A:-b c} \"${A:-b c}\"", "[b c][b][c][b c]"},
	    {"X=8; show ${A:-${X:-9}}", "[8]"},
	    {"show ${A:?must be set}", "[?${A:?must be set}?]"},
	    {"A=1; show ${A:?must}", "[1]"},
	    {": \"${A:=7}\"; show $A", "[7]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, arrays)
{
	static const struct row rows[] = {
	    {"A=(--tp 2 'x y'); show ${A[@]} \"${A[@]}\"", "[--tp][2][x][y][--tp][2][x y]"},
	    {"A=(a # one\n  b\n  c\n); show ${#A[@]} ${A[1]} $A ${A[-1]}", "[3][b][a][c]"},
	    {"A=(a); A+=(b c); show \"${A[*]}\"", "[a b c]"},
	    {"A=(); show x\"${A[@]}\" ${A[@]} \"${A[@]}\"", "[x]"},
	    {"B=(1 2); A=(0 \"${B[@]}\" 3); show ${A[@]}", "[0][1][2][3]"},
	    {"A=(a b); A[1]=c; show ${A[@]}", "[?A?]"},
	    {"declare -a A=(x y); show ${A[1]}", "[y]"},
	    {"A=(a b); B=${A[@]}; show \"$B\"", "[a b]"},
	    {"A=(a b); show \"x${A[@]}y\"", "[xa][by]"},
	    {"show \"${NOT_THERE[@]}\" end", "[end]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, arithmetic)
{
	static const struct row rows[] = {
	    {"N=2; show $((N * 8)) $(($N+1)) $((2**10)) $((7/2)) $((7%4))", "[16][3][1024][3][3]"},
	    {"show $((1 + 2 * 3)) $(((1 + 2) * 3)) $((10 - 3 - 2)) $((-5 + 2))", "[7][9][5][-3]"},
	    {"show $((3 > 2)) $((1 == 2)) $((0 || 1 && 0)) $((5 > 3 ? 10 : 20))", "[1][0][0][10]"},
	    {"show $((0x10)) $((1 << 4)) $((6 & 3)) $((6 | 1)) $((6 ^ 3)) $((!0)) $((~0))",
		"[16][16][2][7][5][1][-1]"},
	    {"A='B + 1'; B=4; show $((A * 2))", "[10]"},
	    {"show $((1 / 0)) $((9223372036854775807 + 1)) $((NONE)) $((1 +))",
		"[?$((1 / 0))?][?$((9223372036854775807 + 1))?][?$((NONE))?][?$((1 +))?]"},
	    {"A=A; show $((A))", "[?$((A))?]"},
	    {"G=8 N=4; W=$(($G*$N)); show $W", "[32]"},
	    {"(( N = 3 )); show $N", "[?$N?]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, unknown_values)
{
	static const struct row rows[] = {
	    {"show $(date) `hostname` $HOME \"$@\" $1 $?",
		"[?$(date)?][?`hostname`?][?$HOME?][?$@?][?$1?][?$??]"},
	    {"A=$(wc -l < hosts); show --nnodes $A", "[--nnodes][?$(wc -l < hosts)?]"},
	    {"show $(echo \"a ) b\" 'c )' $(x) ) end", "[?$(echo \"a ) b\" 'c )' $(x) )?][end]"},
	    {"show $(cat <<EOF\nit's )\nEOF\n) end", "[?$(cat <<EOF\nit's )\nEOF\n)?][end]"},
	    {"show *.txt a? {a,b} {1..4} '*' \"?\" [0] ${U:-*}",
		"[?*.txt?][?a??][?{a,b}?][?{1..4}?][*][?][[0]][?*?]"},
	    {"A=x.y; show ${A%.*} ${A/x/z} ${A^^} ${A:1:2} ${!A}",
		"[?${A%.*}?][?${A/x/z}?][?${A^^}?][?${A:1:2}?][?${!A}?]"},
	    {"read A B; show $A", "[?$A?]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, branches_that_are_known)
{
	static const struct row rows[] = {
	    {"N=4; if [ $N -gt 2 ]; then show big; else show small; fi", "[big]"},
	    {"N=1; if [ $N -gt 2 ]; then show big; elif [ $N -eq 1 ]; then show one; else show no; "
	     "fi",
		"[one]"},
	    {"A=x; if [[ $A == x && -n $A ]]; then B=1; else B=2; fi; show $B", "[1]"},
	    {"if [ -z \"$EP\" ]; then EP=8; fi; show $EP", "[8]"},
	    {"if [ -n \"${KEY}\" ]; then show key; fi; show end", "[end]"},
	    {"[ \"$MODE\" = train ] && show train; [ \"$MODE\" != train ] && show other",
		"[other]"},
	    {"A=b; case $A in a) show 1;; b|c) show 2;; *) show 3;; esac", "[2]"},
	    {"A=z; case $A in a) show 1;; *) show 3;; esac", "[3]"},
	    {"true && show a; false && show b; false || show c; ! true || show d", "[a] [c] [d]"},
	    {"for I in one; do show $I; done", "[one]"},
	    {"while [ $# -gt 0 ]; do A=$1; shift; done; A=${A:-9}; show $A", "[9]"},
	    {"if (( 2 > 1 )); then show yes; fi", "[yes]"},
	    {"if [[ $# -eq 0 ]]; then set -- --mock-data; fi; show \"$@\"", "[--mock-data]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, branches_that_are_not_known)
{
	static const struct row rows[] = {
	    {"A=1; if [ -f x ]; then A=2; fi; show $A", "[?$A?]"},
	    {"if [ -f x ]; then A=2; show $A; else show $A; fi", "maybe:[2] maybe:[?$A?]"},
	    {"A=1; if [ -f x ]; then A=2; else show $A; fi; A=3; show $A", "maybe:[1] [3]"},
	    {"A=(--a); if [ -f x ]; then A+=(--b 1); fi; A+=(--c); show \"${A[@]}\"",
		"[--a][?A+=…?][--c]"},
	    {"A='--a 1'; if grep -q x y; then A=\"$A --b\"; fi; show $A", "[--a][1][?A+=…?]"},
	    {"for I in 1 2; do show $I; B=$I; done; show $B", "maybe:[?$I?] [?$B?]"},
	    {"( A=1; show $A ); show ${A:-none}", "[1] [none]"},
	    {"A=1; echo x | A=2; show $A", "[1]"},
	    {"test -d x && A=2; show $A", "[?$A?]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, functions)
{
	static const struct row rows[] = {
	    {"f() { show $1 $# \"$@\"; }; f a 'b c'", "[a][2][a][b c]"},
	    {"function run { A=5; }\nrun\nshow $A", "[5]"},
	    {"f() { show \"$@\" end; }\nf", "[end]"},
	    {"main() {\n  show inside\n}\n", "maybe:[inside]"},
	    {"f() { f; show x; }; show y", "[y] maybe:[x]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, commands_in_text)
{
	static const struct row rows[] = {
	    {"C=\"show a 'b c'\"; eval $C; $C", "[a][b c] [a]['b][c']"},
	    {"eval \"show x &> log\"", "[x]"},
	    {"A=$(echo \"a ; b' |\"); eval \"show $A 'q $A' end\"",
		"[?$(echo \"a ; b' |\")?][?q $(echo \"a ; b' |\")?][end]"},
	    {"srun -N 2 bash -c \"cd x; show a b\"", "{srun}{-N}{2}[a][b]"},
	    {"A=1; bash -lc 'show $A $B'", "[1][?$B?]"},
	    {"sh -c 'show \"$@\"' name a b", "[a][b]"},
	    {"show a > out 2>&1 < in; show b >>out b2; show c &", "[a] [b][b2] [c]"},
	    {"show a 2>&1 | tee log", "[a]"},
	    {"cat <<EOF\nshow no\nEOF\nshow yes", "[yes]"},
	    {"cat <<-'E O'\n\tshow no\n\tE O\nshow yes", "[yes]"},
	    {"cat << \"E\"x\nit's\nEx\nshow yes", "[yes]"},
	    {"cat <<A <<B\nshow no\nA\nshow no\nB\nshow yes", "[yes]"},
	    {"show < <(show no) yes", "[yes]"},
	    {"show a <<< \"$X\" b", "[a][b]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, places)
{
	const char *script = "N=4\nARGS=(\n  --tp $N\n)\n\nshow ${ARGS[@]} $((N*2))\n";
	struct shell *shell;

	cr_assert_eq(run(script), 0);
	shell = shell_new(arena, diags, &source, on_command, NULL);
	cr_assert_eq(shell_read(shell), 0);
	cr_assert_eq(import_text_loc(&source, 0).line, 1);
	cr_assert_eq(import_text_loc(&source, strlen("N=4\nARGS=(\n  ")).line, 3);
	cr_assert_eq(import_text_loc(&source, strlen("N=4\nARGS=(\n  ")).column, 3);
}

Test(import_shell, lines_of_windows)
{
	static const struct row rows[] = {
	    {"A=1\r\nshow $A \\\r\n  b\r\n", "[1][b]"},
	};

	check_rows(rows, ROWS(rows));
}

Test(import_shell, refused)
{
	static const struct {
		const char *script;
		int line;
		const char *message;
	} rows[] = {
	    {"A=1\nshow 'x", 2, "this quote is not closed"},
	    {"show \"a\nb", 1, "this quote is not closed"},
	    {"show $(x", 1, "this '(' is not closed"},
	    {"show ${A", 1, "this '${' is not closed"},
	    {"show `x", 1, "this '`' is not closed"},
	    {"A=(a b", 1, "this '(' of an array is not closed"},
	    {"if true; then\nshow x", 2, "expected 'fi'"},
	    {"for i in a; show $i", 1, "expected 'do'"},
	    {"case x in a) show y", 1, "expected 'esac'"},
	    {"show a; fi", 1, "expected a command"},
	    {"{ show a", 1, "expected '}'"},
	    {"( show a", 1, "expected ')'"},
	    {"[[ -n x", 1, "this '[[' is not closed"},
	    {"show \x01", 1, "control character 0x01"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		cr_assert_eq(run(rows[i].script), -1, "read: %s", rows[i].script);
		cr_assert_not_null(strstr(diags->last->message, rows[i].message),
		    "%s: '%s' is not in '%s'", rows[i].script, rows[i].message,
		    diags->last->message);
		cr_assert_eq(diags->last->loc.line, rows[i].line, "%s: line %d", rows[i].script,
		    diags->last->loc.line);
	}
}

/* What grows without end is given up with a message, quickly. */
Test(import_shell, growth)
{
	struct str doubling = str_new(arena), calls = str_new(arena), deep = str_new(arena);
	struct str arrays = str_new(arena), braces = str_new(arena), here = str_new(arena);
	struct str open = str_new(arena), many = str_new(arena);

	str_add(&doubling, "A=0123456789\n");
	for (int i = 0; i < 200; i++)
		str_add(&doubling, "A=$A$A\n");
	cr_assert_eq(run(doubling.text), -1);
	cr_assert_not_null(strstr(diags->last->message, "expands to more than anybody would run"));

	str_add(&calls, "f0() { :; }\n");
	for (int i = 1; i < 60; i++)
		str_addf(&calls, "f%d() { f%d; f%d; }\n", i, i - 1, i - 1);
	str_add(&calls, "f59\n");
	cr_assert_eq(run(calls.text), -1);

	str_add(&arrays, "A=(x)\n");
	for (int i = 0; i < 60; i++)
		str_add(&arrays, "A+=(\"${A[@]}\")\n");
	cr_assert_eq(run(arrays.text), -1);

	for (int i = 0; i < 5000; i++)
		str_add(&deep, "if true; then ");
	cr_assert_eq(run(deep.text), -1);
	cr_assert_not_null(strstr(diags->last->message, "nest too deep"));

	str_add(&braces, "show ");
	for (int i = 0; i < 5000; i++)
		str_add(&braces, "${A:-");
	cr_assert_eq(run(braces.text), -1);

	for (int i = 0; i < 100000; i++)
		str_add(&here, "cat <<A;");
	cr_assert_eq(run(here.text), -1);
	cr_assert_not_null(strstr(diags->last->message, "expands to more than anybody would run"));

	for (int i = 0; i < 300000; i++)
		str_add(&open, "a={");
	cr_assert_eq(run(open.text), -1);

	for (int i = 0; i < 50000; i++)
		str_addf(&many, "f%d() { :; }\nf0\n", i);
	cr_assert_eq(run(many.text), -1);
}

Test(import_shell, recursion_ends)
{
	cr_assert_eq(run("f() { g; }; g() { f; }; f; show end"), 0);
	cr_assert_str_eq(out.text, "[end]");
	cr_assert_eq(run("A='eval $A'; eval $A"), -1);
	cr_assert_not_null(strstr(diags->last->message, "call each other too deep"));
	cr_assert_eq(run("A=B; B=A; show $((A))"), 0);
	cr_assert_str_eq(out.text, "[?$((A))?]");
}

/* Far more variables than a script has keep their values, and their last ones. */
Test(import_shell, many_variables)
{
	struct str many = str_new(arena);

	for (int i = 0; i < 60000; i++)
		str_addf(&many, "V%d=%d\n", i, i + 1);
	str_add(&many, "V7=seven\nshow $V0 $V7 $V255 $V256 $V59999 \"$V60000\"\n");
	cr_assert_eq(run(many.text), 0);
	cr_assert_str_eq(out.text, "[1][seven][256][257][60000][?$V60000?]");
}
