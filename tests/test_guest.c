// SPDX-License-Identifier: MIT
// The library as a guest that comes and goes: dlopen() and dlclose() again and again, with nothing or with a whole
// prediction between them; its threads, its memory, and the host's own thread keys are looked at afterwards. Links
// nothing of libpfld: the library's path is the argument.
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pfld/pfld.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { ROUNDS = 100, WARM_ROUNDS = 10, THREADS = 3 };
static const char *path;

// Every function used here, by its type in the headers.
#define FUNCTIONS(f) \
	f(pfld_version) f(pfld_device_open) f(pfld_device_close) f(pfld_net_create) f(pfld_net_destroy) f(pfld_input) \
		f(pfld_conv2d) f(pfld_linear) f(pfld_net_output) f(pfld_weights_create) f(pfld_weights_destroy) \
			f(pfld_program_create) f(pfld_program_destroy) f(pfld_program_input) f(pfld_program_output) \
				f(pfld_program_forward) f(pfld_tensor_fill) f(pfld_tensor_download) f(pfld_dataset_open) \
					f(pfld_dataset_close) f(pfld_loader_open) f(pfld_loader_close) f(pfld_loader_next)

struct library {
	void *handle;
#define FIELD(name) __typeof__(&name) name;
	FUNCTIONS(FIELD)
#undef FIELD
};

static struct library load(void)
{
	struct library library = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
	ck_assert_msg(library.handle != NULL, "%s", dlerror());
#define LOOK_UP(name) \
	*(void **)&library.name = dlsym(library.handle, #name); \
	ck_assert_ptr_nonnull(*(void **)&library.name);
	FUNCTIONS(LOOK_UP)
#undef LOOK_UP
	return library;
}

static void unload(struct library *library)
{
	ck_assert_int_eq(dlclose(library->handle), 0);
	library->handle = NULL;
}

static int num_threads(void)
{
	int num = 0;
	DIR *tasks = opendir("/proc/self/task");
	ck_assert_ptr_nonnull(tasks);
	for (struct dirent *entry; (entry = readdir(tasks));) num += entry->d_name[0] != '.';
	closedir(tasks);
	return num;
}

// A thread that was joined may still be listed for a moment.
static void check_alone(void)
{
	for (int tries = 0; num_threads() > 1 && tries < 200; tries++) usleep(10000);
	ck_assert_int_eq(num_threads(), 1);
}

static long resident_pages(void)
{
	long size, resident;
	FILE *file = fopen("/proc/self/statm", "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%ld %ld", &size, &resident), 2);
	fclose(file);
	return resident;
}

// A device with threads, a net on it, and a prediction.
struct visit {
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
	struct pfld_program *program;
};

static void predict(const struct library *l, struct visit *visit)
{
	struct pfld_error error;
	float points[2 * 4];
	ck_assert_int_eq(l->pfld_tensor_fill(l->pfld_program_input(visit->program, "image"), 0.5, &error), PFLD_OK);
	ck_assert_int_eq(l->pfld_program_forward(visit->program, 2, NULL, &error), PFLD_OK);
	struct pfld_tensor *output = l->pfld_program_output(visit->program, "points");
	ck_assert_int_eq(l->pfld_tensor_download(output, PFLD_F32, points, 8, &error), PFLD_OK);
	ck_assert(points[0] == points[4] && points[1] == points[5] && points[0] != points[1]); // two equal pictures
}

static struct visit arrive(const struct library *l)
{
	struct visit visit = {0};
	struct pfld_error error = {0};
	struct pfld_device_options options = {.num_threads = THREADS};
	ck_assert_msg(l->pfld_device_open(&visit.device, "cpu", &options, &error) == PFLD_OK, "%s", error.message);
	visit.net = l->pfld_net_create();
	pfld_value x = l->pfld_input(visit.net, "image", 32, 32, 3);
	x = l->pfld_conv2d(visit.net, x, &(struct pfld_conv2d_options){.filters = 8, .kernel = {3, 3}});
	x = l->pfld_linear(visit.net, x, &(struct pfld_linear_options){.units = 4});
	l->pfld_net_output(visit.net, x, "points");
	ck_assert_msg(!l->pfld_weights_create(&visit.weights, visit.device, visit.net, 1, &error), "%s", error.message);
	struct pfld_program_options infer = {.batch = 2, .mode = PFLD_INFER};
	ck_assert_msg(!l->pfld_program_create(&visit.program, visit.weights, &infer, &error), "%s", error.message);
	predict(l, &visit);
	return visit;
}

static void depart(const struct library *l, struct visit *visit)
{
	l->pfld_program_destroy(&visit->program);
	l->pfld_weights_destroy(&visit->weights);
	l->pfld_net_destroy(&visit->net);
	l->pfld_device_close(&visit->device);
}

// ---- coming and going ----

static void come_and_go(bool use)
{
	pthread_key_t before, after;
	int value;
	long pages = 0;
	ck_assert_int_eq(pthread_key_create(&before, NULL), 0);
	ck_assert_int_eq(pthread_setspecific(before, &value), 0);
	for (int round = 0; round < ROUNDS; round++) {
		struct library library = load();
		ck_assert_int_eq(library.pfld_version()[0], '0');
		if (use) {
			struct visit visit = arrive(&library);
			ck_assert_int_eq(num_threads(), THREADS);
			depart(&library, &visit);
		}
		unload(&library);
		check_alone();
		if (round == WARM_ROUNDS) pages = resident_pages();
	}
	if (!SANITIZED) // these keep freed memory for a while
		ck_assert_msg(resident_pages() - pages < 128, "%ld pages more than after %d rounds", resident_pages() - pages,
		              WARM_ROUNDS);
	ck_assert_ptr_eq(pthread_getspecific(before), &value);
	ck_assert_int_eq(pthread_key_create(&after, NULL), 0);
	ck_assert_int_eq(pthread_setspecific(after, &pages), 0);
	ck_assert_ptr_eq(pthread_getspecific(before), &value);
	ck_assert_int_eq(pthread_key_delete(before), 0);
	ck_assert_int_eq(pthread_key_delete(after), 0);
}

START_TEST(with_nothing)
{
	come_and_go(false);
}
END_TEST

START_TEST(with_a_prediction)
{
	come_and_go(true);
}
END_TEST

// The library stays in memory while a device lives: its threads keep their code.
START_TEST(closed_while_in_use)
{
	struct library library = load();
	struct visit visit = arrive(&library);
	unload(&library);
	predict(&library, &visit);
	depart(&library, &visit);
	check_alone();
}
END_TEST

// ---- the host ends first ----

// What is left behind stays known here, as it would in a host: no leak.
static struct library left_library;
static struct visit left_visit;
static struct pfld_dataset *left_dataset;
static struct pfld_loader *left_loader;

static void leave_loader_running(const struct library *l)
{
	static float inputs[2][4 * 32 * 32 * 3];
	static struct pfld_batch slots[2];
	struct pfld_error error = {0};
	struct pfld_batch *batch = NULL;
	for (int i = 0; i < 2; i++) slots[i] = (struct pfld_batch){.slot = i, .capacity = 4, .inputs = inputs[i]};
	struct pfld_loader_options options = {.sample.size = 32, .num_threads = THREADS};
	ck_assert_msg(!l->pfld_dataset_open(&left_dataset, "builtin:train:12", NULL, &error), "%s", error.message);
	ck_assert_msg(!l->pfld_loader_open(&left_loader, left_dataset, slots, 2, &options, &error), "%s", error.message);
	ck_assert_msg(!l->pfld_loader_next(left_loader, &batch, &error), "%s", error.message);
}

START_TEST(exit_without_goodbye)
{
	for (int loading = 0; loading < 2; loading++) {
		pid_t child = fork();
		ck_assert_int_ge(child, 0);
		if (child == 0) {
			alarm(60);
			left_library = load();
			left_visit = arrive(&left_library);
			if (loading) leave_loader_running(&left_library);
			exit(7);
		}
		int status;
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 7, "ended with status %#x", status);
	}
}
END_TEST

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
		return EXIT_FAILURE;
	}
	path = argv[1];
	Suite *suite = suite_create("guest");
	TCase *cases = tcase_create("guest");
	tcase_set_timeout(cases, 100);
	tcase_add_test(cases, with_nothing);
	tcase_add_test(cases, with_a_prediction);
	tcase_add_test(cases, closed_while_in_use);
	tcase_add_test(cases, exit_without_goodbye);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
