// SPDX-License-Identifier: MIT
// The pool: workers that share the items of one job at a time. The CPU backend runs its kernels on it; the loader has
// threads of its own.
//
// A job is announced by opening a gate, one atomic word that holds the number of the job, whether it may still be
// entered, and how many workers are inside. The caller works too; when no item is left it shuts the gate and waits for
// those inside only. So a worker that sleeps through a job delays nobody, and the fields of the job are written only
// while the gate is shut and nobody is inside.
#include "thread.h"

#include <fenv.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SPIN_NS 20000 // waking a sleeper takes about as long

#define GATE_OPEN ((uint64_t)1 << 31)
#define GATE_INSIDE (GATE_OPEN - 1)
#define GATE_JOB(gate) ((uint64_t)(gate) >> 32)

struct worker {
	struct pfld_pool *pool;
	struct pfld_thread *thread;
	int32_t index;
};

struct pfld_pool {
	// The job.
	pfld_pool_fn *fn;
	void *arg;
	int64_t num_items;
	fenv_t environment;

	_Alignas(64) atomic_uint_fast64_t gate;
	_Alignas(64) atomic_int_fast64_t next_item; // 64 bits: every worker counts once beyond num_items
	_Alignas(64) atomic_int num_sleeping;
	atomic_bool caller_sleeps, stop;
	struct pfld_mutex *mutex; // guards the sleeping only
	struct pfld_cond *wake, *left;

	int32_t num_threads;
	bool spin;               // not when there are more threads than CPUs: the one that is waited for needs the CPU
	struct worker workers[]; // num_threads - 1
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static bool new_job(uint64_t gate, uint64_t last_job)
{
	return (gate & GATE_OPEN) && GATE_JOB(gate) != last_job;
}

static void do_items(struct pfld_pool *pool, int32_t worker)
{
	for (;;) {
		int64_t item = atomic_fetch_add_explicit(&pool->next_item, 1, memory_order_relaxed);
		if (item >= pool->num_items) return;
		pool->fn(pool->arg, (int32_t)item, worker);
	}
}

// Wait for a job other than the last; false when the pool ends.
static bool wait_for_job(struct pfld_pool *pool, uint64_t last_job)
{
	uint64_t until = pool->spin ? pfld_now_ns() + SPIN_NS : 0;
	while (until) {
		for (int i = 0; i < 16; i++) {
			if (new_job(atomic_load(&pool->gate), last_job)) return true;
			relax();
		}
		if (pfld_now_ns() > until) break;
	}
	// Either the caller sees that we sleep and wakes us, or we see its gate: both sides write before they look.
	pfld_mutex_lock(pool->mutex);
	atomic_fetch_add(&pool->num_sleeping, 1);
	while (!new_job(atomic_load(&pool->gate), last_job) && !atomic_load(&pool->stop)) {
		pfld_cond_wait(pool->wake, pool->mutex);
	}
	atomic_fetch_sub(&pool->num_sleeping, 1);
	pfld_mutex_unlock(pool->mutex);
	return !atomic_load(&pool->stop);
}

static void work(void *argument)
{
	const struct worker *worker = argument;
	struct pfld_pool *pool = worker->pool;
	uint64_t last_job = 0;
	while (wait_for_job(pool, last_job)) {
		uint64_t gate = atomic_load(&pool->gate);
		last_job = GATE_JOB(gate);
		bool entered = false;
		while (!entered && (gate & GATE_OPEN) && GATE_JOB(gate) == last_job) {
			entered = atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1);
		}
		if (!entered) continue;
		fesetenv(&pool->environment);
		do_items(pool, worker->index);
		gate = atomic_fetch_sub(&pool->gate, 1);
		// The last one out, behind a shut gate.
		if (!(gate & GATE_OPEN) && (gate & GATE_INSIDE) == 1 && atomic_load(&pool->caller_sleeps)) {
			pfld_mutex_lock(pool->mutex);
			pfld_cond_signal(pool->left);
			pfld_mutex_unlock(pool->mutex);
		}
	}
}

static void wait_until_left(struct pfld_pool *pool)
{
	uint64_t until = pool->spin ? pfld_now_ns() + SPIN_NS : 0;
	do {
		for (int i = 0; i < 16; i++) {
			if ((atomic_load(&pool->gate) & GATE_INSIDE) == 0) return;
			relax();
		}
	} while (until && pfld_now_ns() < until);
	pfld_mutex_lock(pool->mutex);
	atomic_store(&pool->caller_sleeps, true);
	while ((atomic_load(&pool->gate) & GATE_INSIDE) != 0) pfld_cond_wait(pool->left, pool->mutex);
	atomic_store(&pool->caller_sleeps, false);
	pfld_mutex_unlock(pool->mutex);
}

// No more of the sleepers than there are items for.
static void wake_workers(struct pfld_pool *pool, int32_t most)
{
	if (atomic_load(&pool->num_sleeping) == 0) return;
	pfld_mutex_lock(pool->mutex);
	int32_t num_woken = atomic_load(&pool->num_sleeping);
	num_woken = PFLD_MIN(num_woken, most);
	for (int32_t i = 0; i < num_woken; i++) pfld_cond_signal(pool->wake);
	pfld_mutex_unlock(pool->mutex);
}

void pfld_pool_run(struct pfld_pool *pool, int32_t num_items, pfld_pool_fn *fn, void *arg)
{
	if (pool->num_threads == 1 || num_items <= 1) {
		for (int32_t item = 0; item < num_items; item++) fn(arg, item, 0);
		return;
	}
	pool->fn = fn;
	pool->arg = arg;
	pool->num_items = num_items;
	fegetenv(&pool->environment);
	atomic_store(&pool->next_item, 0);
	uint64_t job = (uint32_t)(GATE_JOB(atomic_load(&pool->gate)) + 1);
	atomic_store(&pool->gate, job << 32 | GATE_OPEN);
	wake_workers(pool, num_items - 1);
	do_items(pool, 0);
	atomic_fetch_and(&pool->gate, ~GATE_OPEN);
	wait_until_left(pool);
}

enum pfld_status pfld_pool_create(struct pfld_pool **pool, int32_t num_threads, struct pfld_error *error)
{
	if (num_threads < 1)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "%d threads: at least 1 is needed", (int)num_threads);
	size_t bytes = sizeof(struct pfld_pool) + (size_t)(num_threads - 1) * sizeof(struct worker);
	bytes = (bytes + 63) / 64 * 64;
	struct pfld_pool *fresh = aligned_alloc(64, bytes);
	if (!fresh) return pfld_fail_memory(error, bytes, "a pool of threads");
	*fresh = (struct pfld_pool){.num_threads = 1, .mutex = pfld_mutex_create()};
	fresh->wake = pfld_cond_create();
	fresh->left = pfld_cond_create();
	fresh->spin = num_threads <= pfld_affinity_cpus();
	enum pfld_status status = PFLD_OK;
	if (!fresh->mutex || !fresh->wake || !fresh->left) status = pfld_fail_memory(error, bytes, "a pool of threads");
	for (int32_t i = 1; !status && i < num_threads; i++) {
		struct worker *worker = &fresh->workers[i - 1];
		*worker = (struct worker){.pool = fresh, .index = i};
		status = pfld_thread_create(&worker->thread, work, worker, error);
		if (!status) fresh->num_threads = i + 1;
	}
	if (status)
		pfld_pool_destroy(&fresh);
	else
		*pool = fresh;
	return status;
}

void pfld_pool_destroy(struct pfld_pool **pool)
{
	if (!pool || !*pool) return;
	struct pfld_pool *old = *pool;
	if (old->num_threads > 1) {
		pfld_mutex_lock(old->mutex);
		atomic_store(&old->stop, true);
		pfld_cond_broadcast(old->wake);
		pfld_mutex_unlock(old->mutex);
	}
	for (int32_t i = 0; i < old->num_threads - 1; i++) pfld_thread_join(&old->workers[i].thread);
	pfld_cond_destroy(&old->left);
	pfld_cond_destroy(&old->wake);
	pfld_mutex_destroy(&old->mutex);
	free(old);
	*pool = NULL;
}

int32_t pfld_pool_num_threads(const struct pfld_pool *pool)
{
	return pool->num_threads;
}
