// SPDX-License-Identifier: MIT
// lib/base/thread.h: threads, locks, the pool. Also to be run under -fsanitize=thread.
#define _POSIX_C_SOURCE 200809L
#include "base/thread.h"

#include <check.h>
#include <fenv.h>
#include <signal.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SSE2__)
#include <pmmintrin.h>
#endif

struct shared {
	struct pfld_mutex *mutex;
	struct pfld_cond *cond;
	int turn, total;
};

static void take_turns(void *argument)
{
	struct shared *shared = argument;
	for (int i = 0; i < 500; i++) {
		pfld_mutex_lock(shared->mutex);
		while (shared->turn != 1) pfld_cond_wait(shared->cond, shared->mutex);
		shared->turn = 0;
		shared->total++;
		pfld_cond_signal(shared->cond);
		pfld_mutex_unlock(shared->mutex);
	}
}

START_TEST(threads_and_conditions)
{
	struct shared shared = {.mutex = pfld_mutex_create(), .cond = pfld_cond_create()};
	struct pfld_thread *thread = NULL;
	struct pfld_error error;
	ck_assert_int_eq(pfld_thread_create(&thread, take_turns, &shared, &error), PFLD_OK);
	for (int i = 0; i < 500; i++) {
		pfld_mutex_lock(shared.mutex);
		while (shared.turn != 0) pfld_cond_wait(shared.cond, shared.mutex);
		shared.turn = 1;
		pfld_cond_broadcast(shared.cond);
		pfld_mutex_unlock(shared.mutex);
	}
	pfld_thread_join(&thread);
	ck_assert_ptr_null(thread);
	ck_assert_int_eq(shared.total, 500);
	pfld_mutex_destroy(&shared.mutex);
	pfld_cond_destroy(&shared.cond);
	ck_assert(!shared.mutex && !shared.cond);
	pfld_mutex_destroy(&shared.mutex);
	pfld_cond_destroy(&shared.cond);
	pfld_thread_join(&thread);
}
END_TEST

static void note_signals(void *argument)
{
	sigset_t mask;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	*(bool *)argument = sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM) && sigismember(&mask, SIGUSR1);
}

// Signals of the host are handled by the host's threads, and its own mask is not touched.
START_TEST(threads_take_no_signals)
{
	bool blocked = false;
	struct pfld_thread *thread = NULL;
	ck_assert_int_eq(pfld_thread_create(&thread, note_signals, &blocked, NULL), PFLD_OK);
	pfld_thread_join(&thread);
	ck_assert(blocked);
	note_signals(&blocked);
	ck_assert(!blocked);
}
END_TEST

#define MOST_ITEMS 700

struct job {
	int32_t num_items, num_threads;
	atomic_int done[MOST_ITEMS];
	atomic_int busy[16];
	atomic_int wrong;
};

static void count_item(void *arg, int32_t item, int32_t worker)
{
	struct job *job = arg;
	if (item < 0 || item >= job->num_items || worker < 0 || worker >= job->num_threads) {
		atomic_fetch_add(&job->wrong, 1);
		return;
	}
	// A worker's index is in one place at a time: kernels keep scratch memory by it.
	if (atomic_fetch_add(&job->busy[worker], 1) != 0) atomic_fetch_add(&job->wrong, 1);
	atomic_fetch_add(&job->done[item], 1);
	atomic_fetch_sub(&job->busy[worker], 1);
}

START_TEST(every_item_is_done_once)
{
	static const int32_t sizes[] = {0, -1, 1, 2, 3, 5, 16, 64, 333, MOST_ITEMS};
	for (int32_t num_threads = 1; num_threads <= 9; num_threads += 1 + (num_threads > 3)) {
		struct pfld_pool *pool = NULL;
		ck_assert_int_eq(pfld_pool_create(&pool, num_threads, NULL), PFLD_OK);
		ck_assert_int_eq(pfld_pool_num_threads(pool), num_threads);
		for (int round = 0; round < 60; round++) {
			static struct job job;
			memset(&job, 0, sizeof job);
			job.num_items = sizes[(size_t)round % PFLD_COUNT(sizes)];
			job.num_threads = num_threads;
			pfld_pool_run(pool, job.num_items, count_item, &job);
			ck_assert_int_eq(job.wrong, 0);
			for (int32_t i = 0; i < MOST_ITEMS; i++) ck_assert_int_eq(job.done[i], i < job.num_items);
			// Now and then long enough for the workers to fall asleep.
			if (round % 16 == 7) nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
		}
		pfld_pool_destroy(&pool);
		ck_assert_ptr_null(pool);
	}
}
END_TEST

struct sums {
	int64_t values[64], total;
};

static void square(void *arg, int32_t item, int32_t worker)
{
	struct sums *sums = arg;
	sums->values[item] = sums->total + item;
}

// What one run wrote without atomics the caller reads, and what the caller writes the next run reads.
START_TEST(runs_are_ordered)
{
	struct pfld_pool *pool = NULL;
	ck_assert_int_eq(pfld_pool_create(&pool, 4, NULL), PFLD_OK);
	struct sums sums = {.total = 0};
	for (int round = 0; round < 3000; round++) {
		pfld_pool_run(pool, 64, square, &sums);
		int64_t sum = 0;
		for (int i = 0; i < 64; i++) sum += sums.values[i];
		ck_assert_int_eq(sum, 64 * sums.total + 2016);
		sums.total++;
	}
	pfld_pool_destroy(&pool);
}
END_TEST

struct rounding {
	atomic_int num_wrong, num_arrived, num_by[8];
	int mode;
	double tiny; // a normal number whose half is not
};

static void check_rounding(void *arg, int32_t item, int32_t worker)
{
	struct rounding *rounding = arg;
	if (fegetround() != rounding->mode) atomic_fetch_add(&rounding->num_wrong, 1);
	volatile double tiny = rounding->tiny;
	bool flushes = tiny / 2 == 0;
#if defined(__SSE2__)
	bool wanted = rounding->mode == FE_UPWARD;
#else
	bool wanted = false;
#endif
	if (flushes != wanted) atomic_fetch_add(&rounding->num_wrong, 1);
	atomic_fetch_add(&rounding->num_by[worker], 1);
	// Nobody gets a second item before all have one.
	atomic_fetch_add(&rounding->num_arrived, 1);
	for (int i = 0; i < 20000 && atomic_load(&rounding->num_arrived) < 3; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

// Rounding and flushing of denormals are as the caller has them at each run, also on workers that ran otherwise before.
START_TEST(workers_round_as_the_caller)
{
	struct pfld_pool *pool = NULL;
	ck_assert_int_eq(pfld_pool_create(&pool, 3, NULL), PFLD_OK);
	static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TONEAREST};
	fenv_t before;
	fegetenv(&before);
	for (size_t i = 0; i < PFLD_COUNT(modes); i++) {
		struct rounding rounding = {.mode = modes[i], .tiny = 3e-308};
		fesetround(modes[i]);
#if defined(__SSE2__)
		_MM_SET_FLUSH_ZERO_MODE(modes[i] == FE_UPWARD ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
#endif
		pfld_pool_run(pool, 3, check_rounding, &rounding);
		ck_assert_int_eq(fegetround(), modes[i]);
		fesetenv(&before);
		ck_assert_int_eq(rounding.num_wrong, 0);
		for (int worker = 0; worker < 3; worker++) ck_assert_int_eq(rounding.num_by[worker], 1);
	}
	pfld_pool_destroy(&pool);
}
END_TEST

static void do_nothing(void *arg, int32_t item, int32_t worker)
{
}

// Workers that wait use no CPU.
START_TEST(idle_workers_sleep)
{
	struct pfld_pool *pool = NULL;
	ck_assert_int_eq(pfld_pool_create(&pool, 2, NULL), PFLD_OK);
	pfld_pool_run(pool, 10, do_nothing, NULL);
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	uint64_t before = pfld_process_cpu_ns();
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	ck_assert_uint_lt(pfld_process_cpu_ns() - before, 50000000);
	pfld_pool_destroy(&pool);
}
END_TEST

START_TEST(pools_refuse_and_end)
{
	struct pfld_pool *pool = NULL;
	struct pfld_error error;
	ck_assert_int_eq(pfld_pool_create(&pool, 0, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_null(pool);
	pfld_pool_destroy(&pool);
	pfld_pool_destroy(NULL);
	for (int i = 0; i < 100; i++) { // at once, while workers are still starting
		ck_assert_int_eq(pfld_pool_create(&pool, 1 + i % 4, &error), PFLD_OK);
		if (i % 2) pfld_pool_run(pool, 4, do_nothing, NULL);
		pfld_pool_destroy(&pool);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("thread");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 60);
	tcase_add_test(plain, threads_and_conditions);
	tcase_add_test(plain, threads_take_no_signals);
	tcase_add_test(plain, every_item_is_done_once);
	tcase_add_test(plain, runs_are_ordered);
	tcase_add_test(plain, workers_round_as_the_caller);
	tcase_add_test(plain, idle_workers_sleep);
	tcase_add_test(plain, pools_refuse_and_end);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
