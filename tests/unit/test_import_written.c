/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are files that a script writes itself read as those files, and nothing else? */
#include <criterion/criterion.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "import_fixture.h"

TestSuite(import_written, .timeout = 20);

#define LAUNCH "deepspeed --num_gpus 8 train.py --deepspeed --deepspeed_config ds.json\n"

static int
line_of(const struct imported *in, const char *name)
{
	const struct setting *setting = setting_find(&in->config, name);

	return setting ? setting->value->loc.line : 0;
}

Test(import_written, cat_writes_a_configuration)
{
	struct imported in = import_good("run.sh", "#!/bin/bash\n"
						   "MICRO=2\n"
						   "cat >ds.json <<EOF\n"
						   "{\n"
						   "  \"train_micro_batch_size_per_gpu\": $MICRO,\n"
						   "  \"zero_optimization\": {\"stage\": 2}\n"
						   "}\n"
						   "EOF\n" LAUNCH);

	cr_assert_str_eq(import_sizes(&in, "micro_batch"), "micro_batch=2");
	cr_assert_eq(in.config.form, CONFIG_DEEPSPEED);
	cr_assert_eq(line_of(&in, "train_micro_batch_size_per_gpu"), 5);
	cr_assert_eq(line_of(&in, "zero_optimization.stage"), 6);
	cr_assert_eq(in.config.launch.processes_per_node, 8);
	imported_free(&in);
}

/* As bash 5 writes them: a quoted delimiter keeps everything, tabs go with "<<-". */
Test(import_written, ways_to_write)
{
	static const struct {
		const char *script, *micro;
	} rows[] = {
	    {"cat <<EOF >ds.json\n{\"train_micro_batch_size_per_gpu\": 3}\nEOF\n" LAUNCH, "3"},
	    {"cat <<-'EOF' > ds.json\n\t{\"train_micro_batch_size_per_gpu\": 4}\n\tEOF\n" LAUNCH,
		"4"},
	    {"tee ds.json <<\"END\" >/dev/null\n"
	     "{\"train_micro_batch_size_per_gpu\": 5}\nEND\n" LAUNCH,
		"5"},
	    {"echo '{\"train_micro_batch_size_per_gpu\": 6}' > ds.json\n" LAUNCH, "6"},
	    {"f=ds.json\nN=7\necho \"{\\\"train_micro_batch_size_per_gpu\\\": $N}\" >$f\n" LAUNCH,
		"7"},
	    {"cat >ds.json <<EOF\n{\"train_micro_batch_size_per_gpu\": 1}\nEOF\n"
	     "cat >ds.json <<EOF\n{\"train_micro_batch_size_per_gpu\": 8}\nEOF\n" LAUNCH,
		"8"},
	    {"w() {\ncat >$1 <<EOF\ntrain_micro_batch_size_per_gpu: 9\nEOF\n}\nw ds.json\n" LAUNCH,
		"9"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct imported in = import_good("run.sh", rows[i].script);
		const char *found = import_value_of(&in, "train_micro_batch_size_per_gpu");

		cr_expect_not_null(found, "%s", rows[i].script);
		cr_expect_str_eq(found ? found : "", rows[i].micro, "%s", rows[i].script);
		imported_free(&in);
	}
}

Test(import_written, what_cannot_be_told_stays_open)
{
	struct imported in = import_good("run.sh",
	    "cat >ds.json <<EOF\n{\"train_micro_batch_size_per_gpu\": $MICRO,\n"
	    " \"zero_optimization\": {\"stage\": $(nproc \"a\")}, \"steps_per_print\": \"$X\"}\n"
	    "EOF\n" LAUNCH);

	cr_assert_not_null(import_unknown_of(&in, "train_micro_batch_size_per_gpu"));
	cr_assert_not_null(import_unknown_of(&in, "zero_optimization.stage"));
	cr_assert(import_has_unresolved(&in, "MICRO"));
	imported_free(&in);
	in = import_good("run.sh", "cat >ds.json <<'EOF'\n{\"train_micro_batch_size_per_gpu\": 2,\n"
				   " \"wandb\": {\"team\": \"$X\"}}\nEOF\n" LAUNCH);
	cr_assert_str_eq(import_value_of(&in, "wandb.team"), "$X");
	imported_free(&in);
}

Test(import_written, hostfile_in_pieces)
{
	struct imported in = import_good("run.sh",
	    "echo \"w1 slots=4\" > hosts\necho \"w2 slots=4\" >> hosts\n"
	    "deepspeed --hostfile hosts train.py --deepspeed --deepspeed_config ds.json\n");

	cr_assert_eq(in.config.launch.nodes, 2);
	cr_assert_eq(in.config.strategy.world, 8);
	imported_free(&in);
}

/* What is added line by line is not copied line by line. */
Test(import_written, many_pieces)
{
	struct imported in = imported_new();
	struct str script = str_new(in.arena);

	str_add(&script, "echo '{\"train_micro_batch_size_per_gpu\": 6,' >ds.json\n");
	for (int i = 0; i < 50000; i++)
		str_add(&script, "echo >>ds.json ' '\n");
	str_add(&script, "echo '}' >>ds.json\n" LAUNCH);
	import_add(&in, "run.sh", script.text);
	cr_assert_str_eq(import_sizes(&in, "micro_batch"), "micro_batch=6");
	imported_free(&in);
}

Test(import_written, other_files_are_left_alone)
{
	static const char *const scripts[] = {
	    "cat >notes.txt <<EOF\nnothing: ${here\nEOF\n" LAUNCH,
	    "cat >blend.json <<EOF\n{\"train\": [\"a\", \"b\"]}\nEOF\n" LAUNCH,
	    "cat >x.py <<'EOF'\nimport os\nprint({}}\nEOF\n" LAUNCH,
	    "cat <<EOF\n{\"train_micro_batch_size_per_gpu\": 3}\nEOF\n" LAUNCH,
	    "echo 'train_micro_batch_size_per_gpu: 3'\n" LAUNCH,
	    "echo \"w1 slots=$N\" >hosts\n" LAUNCH,
	    "if false; then\ncat >ds.json <<EOF\n"
	    "{\"train_micro_batch_size_per_gpu\": 3}\nEOF\nfi\n" LAUNCH,
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		struct imported in = import_good("run.sh", scripts[i]);

		cr_expect_null(setting_find(&in.config, "train_micro_batch_size_per_gpu"), "%s",
		    scripts[i]);
		cr_expect_null(in.config.launch.hostfile, "%s", scripts[i]);
		imported_free(&in);
	}
}

Test(import_written, mistakes_in_a_needed_file_are_told)
{
	struct imported in = imported_new();

	import_add(&in, "run.sh", "cat >ds.json <<EOF\n{\"train_batch_size\": 3,,}\nEOF\n" LAUNCH);
	cr_assert_eq(in.result, -1);
	cr_assert_str_eq(in.diags->first->loc.file, "run.sh");
	cr_assert_eq(in.diags->first->loc.line, 2);
	imported_free(&in);
}

Test(import_written, branches_are_said)
{
	struct imported in = import_good("run.sh",
	    "if [ \"$(hostname)\" = big ]; then\ncat >ds.json <<EOF\n"
	    "{\"train_micro_batch_size_per_gpu\": 8}\nEOF\nelse\ncat >ds.json <<EOF\n"
	    "{\"train_micro_batch_size_per_gpu\": 2}\nEOF\nfi\n" LAUNCH);

	cr_assert(import_has_message(&in, SEVERITY_NOTE, "is written in 2 branches"));
	cr_assert_str_eq(import_value_of(&in, "train_micro_batch_size_per_gpu"), "2");
	imported_free(&in);
}
