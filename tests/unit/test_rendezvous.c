/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do the ranks of one job meet, and is everybody else sent away with the reason? */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/control.h"
#include "probe/wire.h"

static struct control_options
options_of(int rank, int world, int port, int listener)
{
	return (struct control_options){.rank = rank,
	    .world = world,
	    .host = "127.0.0.1",
	    .port = port,
	    .listener = listener,
	    .timeout_s = 2,
	    .token = "job-1",
	    .version = "1",
	    .plan_sha256 = "aa",
	    .backend = "test",
	    .local_rank = rank};
}

/* A child's rank: leaves with 0 when it was welcome and got rank 0's number. */
static pid_t
start(const struct control_options *options, const char *says)
{
	char why[CONTROL_TEXT];
	struct control *control;
	pid_t child = fork();
	int number = 0;

	if (child != 0)
		return child;
	control = control_open(options, why);
	if (!control)
		_exit(says && strstr(why, says) ? 0 : 2);
	if (says || control_gather(control, &options->rank, sizeof(options->rank), NULL) != 0 ||
	    control_share(control, &number, sizeof(number)) != 0 || number != 42)
		_exit(1);
	control_close(control);
	_exit(0);
}

static int
status_of(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Comes when whoever was there before has had his turn. */
static pid_t
start_later(const struct control_options *options)
{
	pid_t child = fork();

	if (child != 0)
		return child;
	sleep(1);
	_exit(status_of(start(options, NULL)));
}

Test(rendezvous, meet_gather_and_share)
{
	int port = 0, listener = wire_listen(&port), number = 42, all[3] = {-1, -1, -1}, rank = 0,
	    i;
	struct control_options own = options_of(0, 3, port, listener);
	struct control *control;
	char why[CONTROL_TEXT] = "";
	pid_t children[2];

	for (i = 0; i < 2; i++) {
		struct control_options other = options_of(i + 1, 3, port, -1);

		children[i] = start(&other, NULL);
	}
	control = control_open(&own, why);
	cr_assert_not_null(control, "%s", why);
	cr_assert_eq(control_gather(control, &rank, sizeof(rank), all), 0);
	cr_assert(all[0] == 0 && all[1] == 1 && all[2] == 2);
	cr_assert_eq(control_share(control, &number, sizeof(number)), 0);
	for (i = 0; i < 2; i++)
		cr_assert_eq(status_of(children[i]), 0);
	control_close(control);
}

/* Rank 1 comes with something changed: both sides must say the same. */
static void
refuse(void (*change)(struct control_options *options), const char *says)
{
	int port = 0, listener = wire_listen(&port);
	struct control_options own = options_of(0, 2, port, listener);
	struct control_options other = options_of(1, 2, port, -1);
	char why[CONTROL_TEXT] = "";
	pid_t child;

	change(&other);
	child = start(&other, says);
	cr_assert_null(control_open(&own, why));
	cr_assert(strstr(why, says), "rank 0 says '%s'", why);
	cr_assert_eq(status_of(child), 0);
}

static void
another_plan(struct control_options *options)
{
	options->plan_sha256 = "bb";
}

static void
another_version(struct control_options *options)
{
	options->version = "2";
}

static void
another_backend(struct control_options *options)
{
	options->backend = "other";
}

static void
another_world(struct control_options *options)
{
	options->world = 4;
}

Test(rendezvous, refuses_another_plan)
{
	refuse(another_plan, "another plan");
}

Test(rendezvous, refuses_another_version)
{
	refuse(another_version, "another version");
}

Test(rendezvous, refuses_another_backend)
{
	refuse(another_backend, "another backend");
}

Test(rendezvous, refuses_another_world)
{
	refuse(another_world, "a world of 4 ranks");
}

Test(rendezvous, refuses_a_rank_that_is_there_twice)
{
	int port = 0, listener = wire_listen(&port);
	struct control_options own = options_of(0, 3, port, listener);
	struct control_options other = options_of(1, 3, port, -1);
	pid_t children[2] = {start(&other, "two processes"), start(&other, "two processes")};
	char why[CONTROL_TEXT] = "";

	cr_assert_null(control_open(&own, why));
	cr_assert(strstr(why, "two processes say they are rank 1"), "%s", why);
	cr_assert_eq(status_of(children[0]), 0);
	cr_assert_eq(status_of(children[1]), 0);
}

/* Somebody else's process on our port is sent away, and our job goes on. */
Test(rendezvous, a_stranger_does_not_end_the_job)
{
	int port = 0, listener = wire_listen(&port), rank = 0, all[2], number = 42, junk;
	struct control_options own = options_of(0, 2, port, listener);
	struct control_options ours = options_of(1, 2, port, -1), stranger = ours;
	char why[CONTROL_TEXT] = "";
	struct control *control;
	pid_t other, child;

	stranger.token = "job-2";
	other = start(&stranger, "another job");
	junk = wire_connect("127.0.0.1", port, 1);
	cr_assert(write(junk, "GET / HTTP/1.0\r\n\r\n", 18) == 18);
	child = start_later(&ours);
	control = control_open(&own, why);
	cr_assert_not_null(control, "%s", why);
	cr_assert_eq(control_gather(control, &rank, sizeof(rank), all), 0);
	cr_assert_eq(control_share(control, &number, sizeof(number)), 0);
	cr_assert_eq(status_of(child), 0);
	cr_assert_eq(status_of(other), 0);
	close(junk);
	control_close(control);
}

Test(rendezvous, says_who_is_missing)
{
	int port = 0, listener = wire_listen(&port);
	struct control_options own = options_of(0, 4, port, listener);
	struct control_options other = options_of(2, 4, port, -1);
	char why[CONTROL_TEXT] = "";
	pid_t child = start(&other, "missing: rank 1, 3");

	cr_assert_null(control_open(&own, why));
	cr_assert(strstr(why, "missing: rank 1, 3"), "%s", why);
	cr_assert_eq(status_of(child), 0);
}

/* Rank 0 has a second name, which answers where the first does not. */
Test(rendezvous, a_second_name_of_rank_0)
{
	int port = 0, listener = wire_listen(&port), number = 42, all[2], rank = 0;
	struct control_options own = options_of(0, 2, port, listener);
	struct control_options other = options_of(1, 2, port, -1);
	struct control *control;
	char why[CONTROL_TEXT] = "";
	pid_t child;

	other.host = "name.invalid";
	other.other_host = "127.0.0.1";
	child = start(&other, NULL);
	control = control_open(&own, why);
	cr_assert_not_null(control, "%s", why);
	cr_assert_eq(control_gather(control, &rank, sizeof(rank), all), 0);
	cr_assert_eq(control_share(control, &number, sizeof(number)), 0);
	cr_assert_eq(status_of(child), 0);
	control_close(control);
}
