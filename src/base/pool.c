/* A parallel for-loop: threads are made for one call and take items from a shared counter. */
#include "base/pool.h"

#include "base/mem.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MOST_JOBS = 256 };

struct pool {
	void (*run)(void *context, unsigned int worker, size_t item);
	void *context;
	size_t items;
	_Atomic size_t next;
};

struct worker {
	struct pool *pool;
	unsigned int number;
	pthread_t thread;
};

unsigned int pool_default_jobs(void)
{
	cpu_set_t cpus;
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	int count = CPU_COUNT(&cpus);
	return count < 1 ? 1 : (unsigned int)count;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct pool *pool = worker->pool;
	for (size_t item; (item = atomic_fetch_add(&pool->next, 1)) < pool->items;)
		pool->run(pool->context, worker->number, item);
	return NULL;
}

void pool_run(unsigned int jobs, size_t items, void (*run)(void *context, unsigned int worker, size_t item), void *context)
{
	struct pool pool = {.run = run, .context = context, .items = items};
	if (jobs > items)
		jobs = (unsigned int)items;
	if (jobs > MOST_JOBS)
		jobs = MOST_JOBS;
	struct worker *workers = mem_zalloc_array(jobs ? jobs : 1, sizeof(*workers));
	unsigned int started = 1;
	for (unsigned int i = 0; i < jobs; i++)
		workers[i] = (struct worker){.pool = &pool, .number = i};
	/* A thread that can't be made is done without: its share falls to the others. */
	while (started < jobs && pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
		started++;
	workers[0].pool = &pool;
	work(&workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
}
