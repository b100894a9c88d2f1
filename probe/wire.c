/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How do ranks talk to rank 0 beside the collectives?
 *
 * Over TCP, in small framed messages. Every read and write has a limit in time and in size; a
 * peer that sends something else than our frames is cut off.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "probe/wire.h"

#define WIRE_MAGIC 0x6d6f6531u /* "moe1" */
enum { HEAD = 12, SEND_TIMEOUT_S = 5 };

double
wire_now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void
set_options(int fd)
{
	struct timeval limit = {.tv_sec = SEND_TIMEOUT_S};
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static int
close_with(int fd, int error)
{
	close(fd);
	errno = error;
	return -1;
}

int
wire_listen(int *port)
{
	struct sockaddr_in6 address = {
	    .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)*port)};
	struct sockaddr_in plain = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
	struct sockaddr_storage bound;
	socklen_t size = sizeof(bound);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool six = fd >= 0;
	int one = 1, zero = 0;

	if (!six)
		fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (six)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (bind(fd, six ? (struct sockaddr *)&address : (struct sockaddr *)&plain,
		six ? sizeof(address) : sizeof(plain)) != 0 ||
	    listen(fd, 1024) != 0 || getsockname(fd, (struct sockaddr *)&bound, &size) != 0)
		return close_with(fd, errno);
	*port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
						  : ((struct sockaddr_in *)&bound)->sin_port);
	set_options(fd);
	return fd;
}

static int
connect_one(const struct addrinfo *info, double timeout_s)
{
	int fd = socket(info->ai_family, info->ai_socktype, info->ai_protocol);
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	int error = 0, flags;
	socklen_t size = sizeof(error);

	if (fd < 0)
		return -1;
	flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	if (connect(fd, info->ai_addr, info->ai_addrlen) != 0) {
		if (errno != EINPROGRESS)
			return close_with(fd, errno);
		if (poll(&wait, 1, (int)(timeout_s * 1e3)) <= 0)
			return close_with(fd, ETIMEDOUT);
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
			return close_with(fd, error);
	}
	fcntl(fd, F_SETFL, flags);
	set_options(fd);
	return fd;
}

int
wire_connect(const char *host, int port, double timeout_s)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list, *info;
	char service[8] = {0};
	int fd = -1, i, rest = port;

	for (i = 4; i >= 0; i--, rest /= 10)
		service[i] = (char)('0' + rest % 10);
	if (getaddrinfo(host, service, &hints, &list) != 0) {
		errno = ENOENT;
		return -1;
	}
	for (info = list; info && fd < 0; info = info->ai_next)
		fd = connect_one(info, timeout_s);
	freeaddrinfo(list);
	return fd;
}

static bool
is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		return six->sin6_addr.s6_addr[12] == 127;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

int
wire_peer(int fd, char *host, size_t size, bool *on_this_host)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	memset(&address, 0, sizeof(address));
	if (getpeername(fd, (struct sockaddr *)&address, &length) != 0 ||
	    getnameinfo((struct sockaddr *)&address, length, host, (socklen_t)size, NULL, 0,
		NI_NUMERICHOST) != 0)
		return -1;
	*on_this_host = is_loopback(&address);
	return 0;
}

static int
send_all(int fd, const void *bytes, size_t length)
{
	const char *from = bytes;

	while (length > 0) {
		ssize_t n = send(fd, from, length, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		from += n;
		length -= (size_t)n;
	}
	return 0;
}

int
wire_send(int fd, enum message_kind kind, const void *bytes, size_t length)
{
	uint32_t head[3] = {htonl(WIRE_MAGIC), htonl((uint32_t)kind), htonl((uint32_t)length)};

	if (length > WIRE_MAX_BYTES || send_all(fd, head, sizeof(head)) != 0)
		return -1;
	return send_all(fd, bytes, length);
}

static int
reserve(struct wire_buffer *buffer, size_t more)
{
	size_t wanted = buffer->length + more;
	unsigned char *bytes;

	if (wanted <= buffer->capacity)
		return 0;
	if (wanted > 2 * (size_t)WIRE_MAX_BYTES)
		return -1;
	bytes = realloc(buffer->bytes, wanted * 2);
	if (!bytes)
		return -1;
	buffer->bytes = bytes;
	buffer->capacity = wanted * 2;
	return 0;
}

int
wire_read(int fd, struct wire_buffer *buffer)
{
	ssize_t n;

	if (reserve(buffer, 65536) != 0)
		return -1;
	n = recv(fd, buffer->bytes + buffer->length, 65536, MSG_DONTWAIT);
	if (n == 0)
		return 0;
	if (n < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 1 : -1;
	buffer->length += (size_t)n;
	return 1;
}

int
wire_take(struct wire_buffer *buffer, enum message_kind *kind, char **bytes, size_t *length)
{
	uint32_t head[3];
	size_t size;

	if (buffer->length < HEAD)
		return 0;
	memcpy(head, buffer->bytes, HEAD);
	size = ntohl(head[2]);
	if (ntohl(head[0]) != WIRE_MAGIC || size > WIRE_MAX_BYTES)
		return -1;
	if (buffer->length < HEAD + size)
		return 0;
	*bytes = malloc(size + 1);
	if (!*bytes)
		return -1;
	memcpy(*bytes, buffer->bytes + HEAD, size);
	(*bytes)[size] = '\0';
	*kind = (enum message_kind)ntohl(head[1]);
	*length = size;
	buffer->length -= HEAD + size;
	memmove(buffer->bytes, buffer->bytes + HEAD + size, buffer->length);
	return 1;
}

int
wire_receive(int fd, struct wire_buffer *buffer, double deadline_s, enum message_kind *kind,
    char **bytes, size_t *length)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};

	for (;;) {
		int taken = wire_take(buffer, kind, bytes, length);
		double left = deadline_s - wire_now_s();

		if (taken != 0)
			return taken;
		if (left <= 0)
			return 0;
		if (poll(&wait, 1, left > 0.1 ? 100 : (int)(left * 1e3) + 1) > 0 &&
		    wire_read(fd, buffer) <= 0)
			return 0;
	}
}

void
wire_buffer_free(struct wire_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct wire_buffer){0};
}
