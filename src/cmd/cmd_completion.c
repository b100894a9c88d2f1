/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How does a shell complete our command lines? A script made from the rows
 * that also read the options: commands, options with their choices, names of
 * built-in models and clusters, files.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "model/builtin_models.h"

/* Calls `emit` for every option of a command. */
typedef void option_fn(
    struct request *request, const struct command *command, const struct field *field);

static void
each_option(struct request *request, const struct command *command, option_fn *emit)
{
	struct field_set sets[MAX_SETS];
	const struct field *field;
	size_t i;

	command->sets(request, sets);
	for (i = 0; sets[i].fields; i++)
		for (field = sets[i].fields; field->name; field++)
			emit(request, command, field);
}

static void
add_word(struct str *words, const char *word)
{
	str_addf(words, "%s%s", words->length > 0 ? " " : "", word);
}

/* Models and clusters that a command takes by name, or its words. */
static const char *
names_of(struct request *request, const struct command *command)
{
	struct str names = str_new(request->arena);
	int i;

	for (i = 0; command->words && command->words[i]; i++)
		add_word(&names, command->words[i]);
	for (i = 0; (command->slots & 1U << SLOT_MODEL) && builtin_model_name(i); i++)
		add_word(&names, builtin_model_name(i));
	for (i = 0; (command->slots & 1U << SLOT_CLUSTER) && cluster_slug(i); i++)
		add_word(&names, cluster_slug(i));
	return names.text;
}

static bool
takes_file(const struct field *field)
{
	return field->arg && strstr(field->arg, "FILE");
}

static const char *
choices_of(struct request *request, const struct field *field)
{
	struct str words = str_new(request->arena);
	size_t i;

	for (i = 0; field->choices && field->choices[i]; i++)
		add_word(&words, field->choices[i]);
	return words.text;
}

/* --- bash ----------------------------------------------------------------------------------- */

static void
bash_option(struct request *request, const struct command *command, const struct field *field)
{
	(void)command;
	str_addf(&request->out, " %s", option_name(request->arena, field));
}

static void
bash_choices(struct request *request, const struct command *command, const struct field *field)
{
	struct str *out = &request->out;

	if (!field->arg)
		return;
	str_addf(out, "\t%s:%s) ", command->name, option_name(request->arena, field));
	if (field->choices)
		str_addf(out, "words='%s'", choices_of(request, field));
	else
		str_add(out, takes_file(field) ? "files=1" : "return");
	str_add(out, " ;;\n");
}

static void
bash_script(struct request *request)
{
	struct str *out = &request->out;
	const struct command *command;

	str_add(out, "# bash completion for moeplan\n"
		     "_moeplan()\n{\n"
		     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		     "\tlocal command=${COMP_WORDS[1]} words='' files=''\n"
		     "\tCOMPREPLY=()\n"
		     "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		     "\t\twords='");
	for (command = commands; command->name; command++)
		str_addf(out, "%s ", command->name);
	str_add(out, "--help --version'\n\telse\n\tcase $command:$prev in\n");
	for (command = commands; command->name; command++)
		each_option(request, command, bash_choices);
	for (command = commands; command->name; command++) {
		str_addf(out, "\t%s:*) words='", command->name);
		str_add(out, names_of(request, command));
		each_option(request, command, bash_option);
		str_addf(out, "'%s ;;\n", command->slots ? " files=1" : "");
	}
	str_add(out, "\tesac\n\tfi\n"
		     "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
		     "\t[ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
		     "}\n"
		     "complete -o filenames -o nosort -F _moeplan moeplan\n");
}

/* --- zsh ------------------------------------------------------------------------------------ */

/* Text inside '...[...]' of _arguments: quotes and brackets are special there. */
static void
add_zsh_help(struct str *out, const char *help)
{
	for (; *help; help++) {
		if (*help == '\'')
			str_add(out, "'\\''");
		else if (*help == '[' || *help == ']' || *help == ':' || *help == '\\')
			str_addf(out, "\\%c", *help);
		else
			str_addc(out, *help);
	}
}

static void
zsh_option(struct request *request, const struct command *command, const struct field *field)
{
	struct str *out = &request->out;

	(void)command;
	str_addf(out, " \\\n\t\t'%s%s[", option_name(request->arena, field), field->arg ? "=" : "");
	add_zsh_help(out, field->help);
	str_addc(out, ']');
	if (field->arg && field->choices)
		str_addf(out, ":value:(%s)", choices_of(request, field));
	else if (field->arg)
		str_add(out, takes_file(field) ? ":file:_files" : ":value:");
	str_addc(out, '\'');
}

static void
zsh_script(struct request *request)
{
	struct str *out = &request->out;
	const struct command *command;

	str_add(out, "#compdef moeplan\n# zsh completion for moeplan\n"
		     "_moeplan_names() {\n"
		     "\tlocal -a names\n\tnames=(${=1})\n"
		     "\t_alternative 'names:name:compadd -a names' \"${2:+files:file:_files}\"\n}\n"
		     "_moeplan() {\n\tlocal -a commands\n\tcommands=(\n");
	for (command = commands; command->name; command++) {
		str_addf(out, "\t\t'%s:", command->name);
		add_zsh_help(out, command->summary);
		str_add(out, "'\n");
	}
	str_add(out, "\t)\n\tif (( CURRENT == 2 )); then\n"
		     "\t\t_describe command commands\n\t\treturn\n\tfi\n"
		     "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
		     "\tcase $command in\n");
	for (command = commands; command->name; command++) {
		str_addf(out, "\t%s) _arguments", command->name);
		each_option(request, command, zsh_option);
		str_addf(out, " \\\n\t\t'*:argument: _moeplan_names \"%s\" \"%s\"' ;;\n",
		    names_of(request, command), command->slots ? "files" : "");
	}
	str_add(out, "\tesac\n}\n_moeplan \"$@\"\n");
}

/* --- fish ----------------------------------------------------------------------------------- */

static void
add_fish_text(struct str *out, const char *text)
{
	str_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			str_addc(out, '\\');
		str_addc(out, *text);
	}
	str_addc(out, '\'');
}

static void
fish_option(struct request *request, const struct command *command, const struct field *field)
{
	struct str *out = &request->out;

	str_addf(out, "complete -c moeplan -n '__fish_seen_subcommand_from %s' -l %s",
	    command->name, option_name(request->arena, field) + 2);
	if (field->arg && field->choices)
		str_addf(out, " -x -a '%s'", choices_of(request, field));
	else if (field->arg)
		str_add(out, takes_file(field) ? " -r" : " -x");
	str_add(out, " -d ");
	add_fish_text(out, field->help);
	str_addc(out, '\n');
}

static void
fish_script(struct request *request)
{
	struct str *out = &request->out;
	const struct command *command;

	str_add(out, "# fish completion for moeplan\n");
	for (command = commands; command->name; command++) {
		str_addf(out, "complete -c moeplan -n __fish_use_subcommand -f -a %s -d ",
		    command->name);
		add_fish_text(out, command->summary);
		str_addf(out,
		    "\ncomplete -c moeplan -n '__fish_seen_subcommand_from %s'%s -a '%s'\n",
		    command->name, command->slots ? "" : " -f", names_of(request, command));
		each_option(request, command, fish_option);
	}
}

/* -------------------------------------------------------------------------------------------- */

enum status
cmd_completion(struct request *request)
{
	static const struct {
		const char *shell;
		void (*write)(struct request *request);
	} writers[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
	const char *shell = request->arguments.count ? request->arguments.positional[0] : NULL;
	struct loc nowhere = {NULL, 0, 0};
	size_t i;

	for (i = 0; shell && i < sizeof(writers) / sizeof(*writers); i++)
		if (strcmp(shell, writers[i].shell) == 0) {
			writers[i].write(request);
			return STATUS_YES;
		}
	if (shell)
		diag_error(request->diags, nowhere, "no completion for '%s'", shell);
	else
		diag_error(request->diags, nowhere, "no shell is given");
	diag_last_hint(request->diags, "shells: bash, zsh, fish");
	return STATUS_USAGE;
}
