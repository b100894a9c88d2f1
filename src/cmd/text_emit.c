/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was emitted: one file as it is, several with a line above each; or as a document. */
#include "cmd/emit_report.h"
#include "cmd/json_common.h"

void
text_emit(struct request *request, const struct emitted *files)
{
	bool several = files->next != NULL;

	for (; files; files = files->next) {
		if (several)
			str_addf(&request->out, "==> %s <==\n", files->name);
		str_add(&request->out, files->text);
		if (files->next)
			str_addc(&request->out, '\n');
	}
}

/* Schema moeplan/emit/v1. */
void
json_emit(struct request *request, const struct emit_target *target, const char *version,
    const struct emitted *files)
{
	struct jsonw w = json_begin(request);

	jsonw_string(&w, "target", target->name);
	jsonw_string(&w, "version", version);
	jsonw_list(&w, "files");
	for (; files; files = files->next) {
		jsonw_open(&w, NULL);
		jsonw_string(&w, "name", files->name);
		jsonw_bool(&w, "executable", files->executable);
		jsonw_string(&w, "text", files->text);
		jsonw_close(&w);
	}
	jsonw_close(&w);
	json_finish(request, &w);
}
