/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_IMPORT_SHELL_PRIVATE_H
#define MOEPLAN_IMPORT_SHELL_PRIVATE_H

/* What the parts of import_shell.h share: import_shell*.c only. */

#include "check/import_shell.h"

enum {
	SHELL_MAX_DEPTH = 64,
	SHELL_MAX_WORK = 24 << 20, /* bytes made, definitions looked at */
	SHELL_FIRST_BUCKETS = 256,
};

enum shell_truth { SHELL_FALSE, SHELL_TRUE, SHELL_UNKNOWN };

/* Whether a stretch of the script runs. */
enum shell_live { SHELL_DEAD, SHELL_MAYBE, SHELL_LIVE };

struct block {
	enum shell_live live;
	int construct; /* arms of one `if` or `case` have the same number, 0 none */
	bool subshell; /* what it assigns is gone when it ends */
	bool open;
	struct block *parent;
};

/* One assignment. Newer ones come first; which of them counts depends on the blocks. */
struct definition {
	struct shell_words value;
	bool array, unset;
	bool append; /* the older value is its beginning */
	struct block *block;
	struct definition *older;
};

struct variable {
	const char *name;
	bool exported;
	struct definition *newest;
	struct variable *next, *later; /* of its bucket; in order of appearance */
};

/* Where reading is. */
struct shell_cursor {
	struct shell_text text;
	size_t at;
	struct here_doc *here_docs; /* whose bodies begin on the next line */
};

struct function {
	const char *name;
	struct shell_cursor body;
	bool called, active;
	struct function *next;
};

struct shell {
	struct arena *arena;
	struct diags *diags;
	const struct import_text *source;
	shell_command_fn *on_command;
	shell_document_fn *on_document; /* or NULL */
	void *context;
	long work;
	bool failed;
	int depth;
	struct block *block;
	int constructs;
	struct variable **buckets; /* by hash; as many as there are variables, or more */
	size_t n_buckets, n_variables;
	struct variable *first, *last;
	struct function *functions;
	const struct shell_words *positional; /* of the function that is called, or NULL */
	const struct shell_words *outer;
	bool task; /* behind srun and the like: what is read runs once in each task */
	struct shell_text output; /* file that the command being read writes, or empty */
	bool appends;		  /* ">>" */
	enum shell_truth status; /* of the command that was read last */
};

/* import_shell_text.c */
bool shell_spend(struct shell *shell, size_t work);
int shell_fail(struct shell *shell, uint32_t origin, const char *message);
void shell_put(struct shell *shell, struct shell_text *text, char c, uint32_t origin);
void shell_put_text(struct shell *shell, struct shell_text *text, const struct shell_text *more);
void shell_put_string(
    struct shell *shell, struct shell_text *text, const char *more, uint32_t origin);
/* A mark around `raw`. */
void shell_put_mark(struct shell *shell, struct shell_text *text, char kind, const char *raw,
    size_t length, uint32_t origin);
void shell_push(struct shell *shell, struct shell_words *words, struct shell_text text);
/* All words in one text with blanks between. */
struct shell_text shell_join(struct shell *shell, const struct shell_words *words, size_t from);
bool shell_equals(const struct shell_text *text, const char *word);
/* The byte under the cursor, '\0' at the end; its place in the file. */
char shell_peek(const struct shell_cursor *cursor, size_t ahead);
uint32_t shell_origin(const struct shell_cursor *cursor);
/*
 * A mark at the cursor, as text that is read a second time has them: nothing in it is
 * looked at. Copies it (`text` may be NULL); false when there is none.
 */
bool shell_take_mark(struct shell *shell, struct shell_cursor *cursor, struct shell_text *text);
bool shell_is_name(char c, bool first);
/* Bytes of a name at the cursor, 0 when there is none. */
size_t shell_name_length(const struct shell_cursor *cursor);

/* import_shell_variable.c */
struct block *shell_enter(struct shell *shell, enum shell_live live, int construct, bool subshell);
void shell_leave(struct shell *shell, struct block *block);
enum shell_live shell_live(const struct shell *shell);
struct variable *shell_variable(struct shell *shell, const char *name, bool create);
void shell_assign(struct shell *shell, const char *name, const struct shell_words *value,
    bool array, bool append);
void shell_export(struct shell *shell, const char *name);
void shell_unset(struct shell *shell, const char *name);
enum lookup { LOOKUP_UNSET, LOOKUP_FOUND, LOOKUP_UNCERTAIN };
/* Words of an array, one of a scalar. */
enum lookup shell_lookup(
    struct shell *shell, const char *name, struct shell_words *value, bool *array);

/* import_shell_word.c: -1 after an error. */
enum word_mode {
	WORD_SPLIT = 1,	  /* blanks of expansions separate words */
	WORD_PATTERN = 2, /* file name patterns and braces make a word unknown */
};
/* Reads one word as it is written and adds what it expands to. *pattern: it has an unquoted *?[ */
int shell_word(struct shell *shell, struct shell_cursor *cursor, unsigned mode,
    struct shell_words *out, bool *pattern);
/* Expands `text` as if it stood in double quotes. */
int shell_expand_quoted(struct shell *shell, const struct shell_text *text, struct shell_text *out);

/* import_shell_expand.c: one `$…` or `…` in a word. */
struct word_builder {
	struct shell_words *out;
	struct shell_text text;
	bool have;     /* the word exists even when it is empty */
	bool vanishes; /* an empty list stands between its quotes */
	unsigned mode;
	bool pattern;
};
int shell_dollar(
    struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder, bool quoted);
int shell_backquote(
    struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder, bool quoted);
int shell_double_quoted(
    struct shell *shell, struct shell_cursor *cursor, struct word_builder *builder);
void builder_add(
    struct shell *shell, struct word_builder *builder, const struct shell_text *text, bool quoted);
void builder_end(struct shell *shell, struct word_builder *builder);
/* All of `text` as one word, with the quotes and expansions in it. */
int shell_expand_operand(
    struct shell *shell, const struct shell_text *text, struct word_builder *builder);

/* import_shell.c */
bool shell_at_end(const struct shell_cursor *cursor);
bool shell_has(const struct shell_cursor *cursor, const char *text);
void shell_skip_blanks(struct shell_cursor *cursor);
/* Blanks, ends of lines with the here-documents behind them, comments, and ; and &. */
int shell_skip_separators(struct shell *shell, struct shell_cursor *cursor, bool semicolons);
int shell_unexpected(struct shell *shell, const struct shell_cursor *cursor, const char *expected);
int shell_run_list(struct shell *shell, struct shell_cursor *cursor);

/* Takes a reserved word, one that something ends behind it. */
bool shell_take_keyword(struct shell_cursor *cursor, const char *word);

/* import_shell_branch.c: behind the reserved word each. */
int shell_run_if(struct shell *shell, struct shell_cursor *cursor);
int shell_run_for(struct shell *shell, struct shell_cursor *cursor);
int shell_run_while(struct shell *shell, struct shell_cursor *cursor, bool until);
int shell_run_case(struct shell *shell, struct shell_cursor *cursor);
int shell_need(struct shell *shell, struct shell_cursor *cursor, const char *keyword);
enum shell_truth shell_both(enum shell_truth a, enum shell_truth b);
enum shell_truth shell_not(enum shell_truth truth);
enum shell_live shell_live_of(enum shell_truth truth);
/* The only item of `items`, or something that is not known, becomes the variable's value. */
int shell_unknown_variable(
    struct shell *shell, const char *name, const struct shell_words *items, uint32_t at);

/* import_shell_simple.c */
int shell_run_simple(struct shell *shell, struct shell_cursor *cursor);
int shell_run_nested(struct shell *shell, struct shell_text text);
/* [n]> file and the like: skipped, the file's name too. */
int shell_redirection(struct shell *shell, struct shell_cursor *cursor, bool *taken);

/* import_shell_skip.c: the end of what the cursor stands in front of, quotes observed. */
/* Behind the ')' that closes an already opened '('; -1 after an error. */
int shell_skip_parens(struct shell *shell, struct shell_cursor *cursor, uint32_t start);
/* Behind the '}' of "${", which the cursor is behind of. */
int shell_skip_braces(
    struct shell *shell, struct shell_cursor *cursor, uint32_t start, bool quoted);
int shell_skip_single(struct shell *shell, struct shell_cursor *cursor);

/* import_shell_here.c */
int shell_skip_here_docs(struct shell *shell, struct shell_cursor *cursor);
/* At "<<": remembers the delimiter, the body comes at the end of the line. */
int shell_take_here_doc(struct shell *shell, struct shell_cursor *cursor);
/* This command reads those that were announced since the last one. */
void shell_claim_here_docs(
    struct shell *shell, struct shell_cursor *cursor, const struct shell_words *words);
void shell_note_echo(struct shell *shell, const struct shell_words *words);

/* import_shell_task.c */
/* Behind these words each task is on its own; what was before, to be set again behind it. */
bool shell_enter_task(struct shell *shell, const struct shell_words *outer);
/* What is not known, as messages name it: of what differs between tasks, that it does. */
const char *shell_in_task(struct shell *shell, const char *raw);

/* import_shell_arith.c */
enum arith { ARITH_OK, ARITH_UNKNOWN };
enum arith shell_arith(struct shell *shell, const struct shell_text *text, int64_t *value);

/* import_shell_test.c */
enum shell_truth shell_test(const struct shell_words *words, size_t from, size_t to);
/* Behind "[[" */
int shell_double_test(struct shell *shell, struct shell_cursor *cursor, enum shell_truth *truth);

#endif
