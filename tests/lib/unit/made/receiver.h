/* For tests: a server for HTTP on loopback, a thread of this process, which keeps what is sent to it and answers as it is told. */
#pragma once

#include "base/strbuf.h"

#include <stdint.h>
#include <sys/types.h>

enum receiver_way {
	RECEIVER_TAKES,	      /* 200 */
	RECEIVER_REFUSES,     /* 400 */
	RECEIVER_FAILS,	      /* 500 */
	RECEIVER_IS_BUSY,     /* 429, Retry-After: 1 */
	RECEIVER_CUTS_BODY,   /* the connection is reset when a half of the body has come */
	RECEIVER_CUTS_ANSWER, /* the request is kept, the connection reset without an answer */
	RECEIVER_HANGS,	      /* the request is not answered, until receiver_stop() */
};

struct receiver;

/* A request that has come; `body` lasts as long as the call. On the receiver's thread, one at a time. `number`: of requests, from 0 on.
 * */
typedef enum receiver_way receiver_choose(void *context, unsigned int number, const char *path);
typedef void receiver_keep(void *context, const char *path, const struct strbuf *body);

/* `keep` is called for whole requests that are taken, before the answer. */
struct receiver *receiver_start(receiver_choose *choose, receiver_keep *keep, void *context, uint16_t *ret_port);
void receiver_stop(struct receiver *receiver);
