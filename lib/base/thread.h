// SPDX-License-Identifier: MIT
// Threads, locks, one pool of workers, the clock, and how many threads this process should use.
#ifndef PFLD_BASE_THREAD_H
#define PFLD_BASE_THREAD_H

#include "base.h"

struct pfld_mutex;  // created locks, so that no POSIX type leaks out of lib/base
struct pfld_cond;
struct pfld_thread;
struct pfld_mutex *pfld_mutex_create(void); // NULL: out of memory
void pfld_mutex_destroy(struct pfld_mutex **mutex);
void pfld_mutex_lock(struct pfld_mutex *mutex);
void pfld_mutex_unlock(struct pfld_mutex *mutex);
// The one lock of the whole process: around libraries that keep state of their own, which no lock of an object of ours
// could guard.
void pfld_foreign_lock(void);
void pfld_foreign_unlock(void);
struct pfld_cond *pfld_cond_create(void);
void pfld_cond_destroy(struct pfld_cond **cond);
void pfld_cond_wait(struct pfld_cond *cond, struct pfld_mutex *mutex);
void pfld_cond_signal(struct pfld_cond *cond);
void pfld_cond_broadcast(struct pfld_cond *cond);
// A joinable thread with all signals blocked. PFLD_ERR_MEMORY when the system has none to give.
enum pfld_status pfld_thread_create(struct pfld_thread **thread, void (*run)(void *argument), void *argument,
                                    struct pfld_error *error) PFLD_MUST_USE;
void pfld_thread_join(struct pfld_thread **thread); // waits; writes NULL

// A pool whose caller is worker 0. run() calls fn(arg, item, worker) once for every item in [0, num_items), on any
// worker, in any order, and returns when all are done: which worker takes which item must not matter to the result.
// One run at a time. Waiting workers spin for at most some microseconds, then sleep. Workers carry the caller's
// rounding and denormal mode as it was at run().
typedef void pfld_pool_fn(void *arg, int32_t item, int32_t worker);
struct pfld_pool;
enum pfld_status pfld_pool_create(struct pfld_pool **pool, int32_t num_threads,
                                  struct pfld_error *error) PFLD_MUST_USE;
void pfld_pool_destroy(struct pfld_pool **pool); // joins the workers
int32_t pfld_pool_num_threads(const struct pfld_pool *pool);
void pfld_pool_run(struct pfld_pool *pool, int32_t num_items, pfld_pool_fn *fn, void *arg);

// Threads by default: the CPUs this process may run on (affinity mask), no more than its cgroup quota rounded up (v2
// cpu.max of the group and its parents, v1 cpu.cfs_quota_us / cpu.cfs_period_us). At least 1.
int32_t pfld_default_threads(void);
// The same with the root of the file system given, for tests ("/proc/self/cgroup" and "/sys/fs/cgroup" are read
// below it); num_cpus <= 0 asks the affinity mask.
int32_t pfld_default_threads_at(const char *root, int32_t num_cpus);

// CPUs in the affinity mask of the calling thread. At least 1.
int32_t pfld_affinity_cpus(void);

uint64_t pfld_now_ns(void);             // monotonic
uint64_t pfld_process_cpu_ns(void);     // CPU time of all threads of this process
uint64_t pfld_process_peak_bytes(void); // peak resident memory of this process, 0 where unknown
uint64_t pfld_process_bytes_read(void); // bytes this process had fetched from storage, 0 where unknown

#endif
