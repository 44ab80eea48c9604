// SPDX-License-Identifier: MIT
// POSIX threads, locks and conditions behind types of our own. The pool is pool.c.
#define _POSIX_C_SOURCE 200809L
#include "thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct pfld_mutex {
	pthread_mutex_t posix;
};

struct pfld_cond {
	pthread_cond_t posix;
};

struct pfld_thread {
	pthread_t posix;
	void (*run)(void *argument);
	void *argument;
};

static pthread_mutex_t foreign_lock = PTHREAD_MUTEX_INITIALIZER;

void pfld_foreign_lock(void)
{
	pthread_mutex_lock(&foreign_lock);
}

void pfld_foreign_unlock(void)
{
	pthread_mutex_unlock(&foreign_lock);
}

struct pfld_mutex *pfld_mutex_create(void)
{
	struct pfld_mutex *mutex = malloc(sizeof *mutex);
	if (mutex && pthread_mutex_init(&mutex->posix, NULL) != 0) {
		free(mutex);
		return NULL;
	}
	return mutex;
}

void pfld_mutex_destroy(struct pfld_mutex **mutex)
{
	if (!mutex || !*mutex) return;
	pthread_mutex_destroy(&(*mutex)->posix);
	free(*mutex);
	*mutex = NULL;
}

void pfld_mutex_lock(struct pfld_mutex *mutex)
{
	pthread_mutex_lock(&mutex->posix);
}

void pfld_mutex_unlock(struct pfld_mutex *mutex)
{
	pthread_mutex_unlock(&mutex->posix);
}

struct pfld_cond *pfld_cond_create(void)
{
	struct pfld_cond *cond = malloc(sizeof *cond);
	if (cond && pthread_cond_init(&cond->posix, NULL) != 0) {
		free(cond);
		return NULL;
	}
	return cond;
}

void pfld_cond_destroy(struct pfld_cond **cond)
{
	if (!cond || !*cond) return;
	pthread_cond_destroy(&(*cond)->posix);
	free(*cond);
	*cond = NULL;
}

void pfld_cond_wait(struct pfld_cond *cond, struct pfld_mutex *mutex)
{
	pthread_cond_wait(&cond->posix, &mutex->posix);
}

void pfld_cond_signal(struct pfld_cond *cond)
{
	pthread_cond_signal(&cond->posix);
}

void pfld_cond_broadcast(struct pfld_cond *cond)
{
	pthread_cond_broadcast(&cond->posix);
}

static void *run_thread(void *argument)
{
	const struct pfld_thread *thread = argument;
	thread->run(thread->argument);
	return NULL;
}

enum pfld_status pfld_thread_create(struct pfld_thread **thread, void (*run)(void *argument), void *argument,
									struct pfld_error *error)
{
	struct pfld_thread *fresh = malloc(sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "a thread");
	fresh->run = run;
	fresh->argument = argument;
	// Signals are the host's: a thread inherits the mask that stands while it is created.
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&fresh->posix, NULL, run_thread, fresh);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		free(fresh);
		return pfld_fail(error, PFLD_ERR_MEMORY, "the system gives this process no further thread");
	}
	*thread = fresh;
	return PFLD_OK;
}

void pfld_thread_join(struct pfld_thread **thread)
{
	if (!thread || !*thread) return;
	pthread_join((*thread)->posix, NULL);
	free(*thread);
	*thread = NULL;
}
