/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MOEPLAN_TESTS_GLPSOL_H
#define MOEPLAN_TESTS_GLPSOL_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The objective that the stand-alone glpsol finds for a CPLEX LP text; NAN when it is infeasible.
 */
static double
glpsol_objective(const char *lp)
{
	char model[] = "/tmp/moeplan-lp-XXXXXX", answer[] = "/tmp/moeplan-answer-XXXXXX";
	char line[256], kind[8], status = 0;
	double objective = NAN;
	int in = mkstemp(model), out = mkstemp(answer), code = 0;
	pid_t child;
	FILE *file;

	cr_assert(in >= 0 && out >= 0);
	cr_assert_eq(write(in, lp, strlen(lp)), (ssize_t)strlen(lp));
	close(in);
	close(out);
	child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(126);
		execlp("glpsol", "glpsol", "--lp", model, "-w", answer, (char *)NULL);
		_exit(127);
	}
	cr_assert_eq(waitpid(child, &code, 0), child);
	cr_assert(WIFEXITED(code) && WEXITSTATUS(code) == 0,
	    "glpsol (package glpk-utils) exited with %d", WEXITSTATUS(code));
	file = fopen(answer, "r");
	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "s %7s %*d %*d %c %lf", kind, &status, &objective) == 3)
			break;
	fclose(file);
	unlink(model);
	unlink(answer);
	return status == 'o' ? objective : NAN;
}

#endif
