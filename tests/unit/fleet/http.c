/* The client for HTTP: answers as they come, within their limits, and a request that is stopped. */
#include "fleet/http.h"

#include "base/mem.h"
#include "made/receiver.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static atomic_int way; /* enum receiver_way */
static atomic_uint requests;
static struct receiver *receiver;
static struct http *http;
static char *url;

static enum receiver_way choose(void *context, unsigned int number, const char *path)
{
	atomic_fetch_add(&requests, 1);
	return (enum receiver_way)atomic_load(&way);
}

static void keep(void *context, const char *path, const struct strbuf *body)
{
}

static int start(void **state)
{
	uint16_t port;
	atomic_store(&way, RECEIVER_TAKES);
	atomic_store(&requests, 0);
	receiver = receiver_start(choose, keep, NULL, &port);
	url = mem_printf("http://127.0.0.1:%u/?secret=hush", port);
	return http_open(&(struct http_options){.timeout_ms = 20000}, &http) != NULL;
}

static int stop(void **state)
{
	http_close(http);
	receiver_stop(receiver);
	free(url);
	return 0;
}

static struct http_request request(void)
{
	return (struct http_request){.method = "POST", .url = url, .body = "abc", .body_size = 3};
}

/* Each answer is "{}". */
static void within_limits(void **state)
{
	const struct http_request asked = request();
	struct http_answer answer;
	assert_null(http_do(http, &asked, 2, &answer));
	assert_int_equal(answer.status, 200);
	assert_string_equal(strbuf_str(&answer.body), "{}");
	strbuf_deinit(&answer.body);
	struct error *error = http_do(http, &asked, 1, &answer);
	assert_non_null(error);
	assert_non_null(strstr(error_message(error), "more than 1 bytes"));
	assert_null(strstr(error_message(error), "hush")); /* what is behind the host may be a statement */
	assert_null(answer.body.data);
	error_free(error);
	atomic_store(&way, RECEIVER_IS_BUSY);
	assert_null(http_do(http, &asked, 2, &answer));
	assert_int_equal(answer.status, 429);
	assert_int_equal(answer.retry_after_s, 1);
	strbuf_deinit(&answer.body);
	atomic_store(&way, RECEIVER_FAILS);
	assert_null(http_do(http, &asked, 2, &answer));
	assert_int_equal(answer.status, 500);
	assert_string_equal(strbuf_str(&answer.body), "{}");
	strbuf_deinit(&answer.body);
}

static void *stop_it(void *context)
{
	while (!atomic_load(&requests))
		usleep(1000);
	http_stop(http);
	return NULL;
}

static void is_stopped(void **state)
{
	const struct http_request asked = request();
	struct http_answer answer;
	pthread_t thread;
	atomic_store(&way, RECEIVER_HANGS);
	assert_int_equal(pthread_create(&thread, NULL, stop_it, NULL), 0);
	struct error *error = http_do(http, &asked, 2, &answer);
	assert_non_null(strstr(error_message(error), "stopped"));
	error_free(error);
	pthread_join(thread, NULL);
	error = http_do(http, &asked, 2, &answer); /* from now on nothing is asked */
	assert_non_null(strstr(error_message(error), "stopped"));
	error_free(error);
	assert_int_equal(atomic_load(&requests), 1);
}

int fleet_http_tests(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(within_limits, start, stop),
		cmocka_unit_test_setup_teardown(is_stopped, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
