/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of bare TCP between two machines, with no library around it: the limit of the times that
 * network_bench measures there. Each PE of the first machine has a connection to its partner on the
 * second one; the PEs of a machine share flags, as meshmem's do. Prints lines as network_bench
 * does: operation, bytes, least and median microseconds.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <shmem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { most_times = 2000, block = 1 << 20, small = 40, shots = 15 };

static int me, n_pes, n_near, partner; /* near: of the same machine */
static int connection;
static char *outgoing, *incoming;
static double took[most_times];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void report(const char* operation, int bytes, int times) {
  qsort(took, (size_t)times, sizeof *took, compare);
  printf("%s,%d,%.3f,%.3f\n", operation, bytes, took[0], took[times / 2]);
  fflush(stdout);
}

static void fail(const char* what) {
  fprintf(stderr, "network_limits: cannot %s: %s\n", what, strerror(errno));
  shmem_global_exit(1);
}

/* The first address of this machine that others can reach. */
static struct in_addr own_address(void) {
  struct ifaddrs* all = NULL;
  struct in_addr found = {htonl(INADDR_LOOPBACK)};
  if (getifaddrs(&all) != 0) fail("list the interfaces");
  for (const struct ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || one->ifa_addr->sa_family != AF_INET || one->ifa_flags & IFF_LOOPBACK)
      continue;
    found = ((const struct sockaddr_in*)one->ifa_addr)->sin_addr;
    break;
  }
  freeifaddrs(all);
  return found;
}

/* PEs of the second machine listen where their partners then connect to; puts bring the address. */
static void connect_to_partner(void) {
  static long address, port; /* symmetric */
  struct sockaddr_in place = {.sin_family = AF_INET};
  socklen_t length = sizeof place;
  const int one = 1;
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) fail("make a socket");
  if (me >= n_near) {
    place.sin_addr = own_address();
    if (bind(made, (struct sockaddr*)&place, sizeof place) != 0 || listen(made, 1) != 0 ||
        getsockname(made, (struct sockaddr*)&place, &length) != 0)
      fail("listen");
    shmem_long_p(&address, place.sin_addr.s_addr, partner);
    shmem_long_p(&port, place.sin_port, partner);
  }
  shmem_barrier_all();
  if (me >= n_near) {
    connection = accept(made, NULL, NULL);
    if (connection < 0) fail("accept a connection");
    close(made);
  } else {
    place.sin_addr.s_addr = (in_addr_t)address;
    place.sin_port = (in_port_t)port;
    if (connect(made, (struct sockaddr*)&place, sizeof place) != 0) fail("connect");
    connection = made;
  }
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/* Sends and receives these bytes, both at once, and polls meanwhile. */
static void exchange(long bytes_out, long bytes_in) {
  long sent = 0, received = 0;
  while (sent < bytes_out || received < bytes_in) {
    if (sent < bytes_out) {
      const ssize_t n = send(connection, outgoing + sent, (size_t)(bytes_out - sent),
                             MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n > 0) sent += n;
      if (n < 0 && errno != EAGAIN) fail("send");
    }
    if (received == bytes_in) continue;
    const ssize_t n =
        recv(connection, incoming + received, (size_t)(bytes_in - received), MSG_DONTWAIT);
    if (n > 0) received += n;
    if (n == 0 || (n < 0 && errno != EAGAIN)) fail("receive");
    if (n < 0 && sent == bytes_out) sched_yield();
  }
}

/* The other process answers at once. In batches, as network_bench times its own: the least of
 * single trips would be that of the luckiest one. */
static void measure_to_and_fro(int is_first) {
  enum { batches = 20, at_once = 500 };
  for (int i = 0; i < batches; i++) {
    const double begin = now();
    for (int j = 0; j < at_once; j++) {
      if (!is_first) exchange(0, small);
      exchange(small, 0);
      if (is_first) exchange(0, small);
    }
    took[i] = (now() - begin) / at_once;
  }
  if (is_first) report("TCP to and fro", small, batches);
}

/* The least that a sum of two PEs in two hops moves is two halves. The first is the other PE's part
 * of the data, and the second one its result. Always the same half: it stays in the caches. */
static void measure_halves(int is_first, int bytes) {
  enum { batches = 20, at_once = 100 };
  for (int i = 0; i < batches; i++) {
    const double begin = now();
    for (int half = 0; half < 2 * at_once; half++) exchange(bytes / 2, bytes / 2);
    took[i] = (now() - begin) / at_once;
  }
  if (is_first) report("TCP two halves each way", bytes, batches);
}

/* A sum of two PEs in one hop. Each sends the other all that it has, and adds arriving data to its
 * own, a piece at a time, while more comes. */
static void sum_with_partner(float* result) {
  enum { piece = 60 << 10 };
  static float arrived_piece[piece / sizeof(float)];
  const float* const own = (const float*)outgoing;
  long sent = 0, received = 0, summed = 0;
  while (summed < block) {
    if (sent < block) {
      const long length = block - sent < piece ? block - sent : piece;
      const ssize_t n =
          send(connection, outgoing + sent, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n > 0) sent += n;
      if (n < 0 && errno != EAGAIN) fail("send");
    }
    const long length = block - summed < piece ? block - summed : piece;
    const ssize_t n = recv(connection, (char*)arrived_piece + received, (size_t)(length - received),
                           MSG_DONTWAIT);
    if (n > 0) received += n;
    if (n == 0 || (n < 0 && errno != EAGAIN)) fail("receive");
    if (n < 0 && sent == block) sched_yield();
    if (received < length) continue;
    const long first = summed / (long)sizeof(float);
    for (long i = 0; i < length / (long)sizeof(float); i++)
      result[first + i] = own[first + i] + arrived_piece[i];
    summed += length;
    received = 0;
  }
}

static void measure_sum(int is_first) {
  enum { batches = 20, at_once = 100 };
  for (int i = 0; i < batches; i++) {
    const double begin = now();
    for (int j = 0; j < at_once; j++) sum_with_partner((float*)incoming);
    took[i] = (now() - begin) / at_once;
  }
  if (is_first) report("TCP and a sum in one hop", block, batches);
}

/* A flag of each PE in a cache line of its own, and where to find those of this machine. */
struct line {
  _Alignas(64) _Atomic long value;
};
static struct line arrived, left; /* symmetric */
static struct line *arrivals[64], *leaving;

static void find_flags(void) {
  const int first = me / n_near * n_near;
  for (int i = 0; i < n_near; i++) arrivals[i] = shmem_ptr(&arrived, first + i);
  leaving = shmem_ptr(&left, first);
  if (!leaving) fail("reach the memory of this machine");
}

static void await(const struct line* flag, long value) {
  while (atomic_load_explicit(&flag->value, memory_order_acquire) < value) sched_yield();
}

/* The steps of a barrier: all PEs of a machine have come, one of them tells the other machine and
 * hears from it, and lets the others go. */
static void meet(long round) {
  atomic_store_explicit(&arrived.value, round, memory_order_release);
  if (me % n_near != 0) return await(leaving, round);
  for (int i = 1; i < n_near; i++) await(arrivals[i], round);
  exchange(small, small);
  atomic_store_explicit(&left.value, round, memory_order_release);
}

static void measure_meeting(void) {
  static long round;
  enum { at_once = 20 };
  for (int i = 0; i < most_times / at_once; i++) {
    const double begin = now();
    for (int j = 0; j < at_once; j++) meet(++round);
    took[i] = (now() - begin) / at_once;
  }
  if (me == 0) report("TCP and flags, a meeting", 0, most_times / at_once);
}

/* The least that an alltoall moves: a block for each PE of the other machine, straight to its
 * place, and a copy for each PE of this one. */
static void measure_blocks(size_t bytes) {
  static long rounds = 1 << 20; /* beyond those of measure_meeting() */
  const int times = bytes < block ? 200 : 20;
  const long all = (long)(bytes * (size_t)n_near);
  for (int i = 0; i < times; i++) {
    meet(++rounds);
    const double begin = now();
    exchange(all, all);
    for (int pe = 0; pe < n_near; pe++)
      memcpy(incoming + bytes * (size_t)pe, outgoing + bytes * (size_t)pe, bytes);
    meet(++rounds);
    took[i] = now() - begin;
  }
  if (me == 0) report("TCP and copies, blocks for all", (int)bytes, times);
}

static _Atomic int all_is_over;

static void* echo(void* unused) {
  (void)unused;
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  char text[small];
  if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, connection, &event) != 0) fail("watch a socket");
  for (int i = 0; i < shots; i++) {
    if (epoll_wait(poll, &event, 1, 10000) != 1) fail("wait for a message");
    if (recv(connection, text, small, 0) != small || send(connection, text, small, 0) != small)
      fail("answer");
  }
  close(poll);
  all_is_over = 1;
  return NULL;
}

/* A thread that sleeps answers, in a process that computes; a shot every 15 ms. */
static void measure_sleeper(int is_first) {
  if (!is_first) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, echo, NULL) != 0) fail("start a thread");
    while (!all_is_over) {
    }
    pthread_join(thread, NULL);
    return;
  }
  for (int i = 0; i < shots; i++) {
    double begin = now();
    while (now() - begin < 15000) {
    }
    begin = now();
    exchange(small, 0);
    exchange(0, small);
    took[i] = now() - begin;
  }
  report("TCP to and fro of one who computes", small, shots);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  n_pes = shmem_n_pes();
  n_near = n_pes / 2;
  if (n_pes % 2 != 0 || n_near > (int)(sizeof arrivals / sizeof *arrivals)) {
    fprintf(stderr, "network_limits: it takes as many PEs on each of two machines, 128 at most\n");
    return 1;
  }
  partner = (me + n_near) % n_pes;
  outgoing = calloc((size_t)n_near, block);
  incoming = calloc((size_t)n_near, block);
  if (!outgoing || !incoming) fail("have memory");
  /* Memory that nobody has written is one page of zeros, which never leaves the cache. */
  memset(outgoing, 1, (size_t)n_near * block);
  connect_to_partner();
  find_flags();
  shmem_barrier_all();
  measure_meeting();
  measure_blocks(64 << 10);
  measure_blocks(block);
  shmem_barrier_all();
  if (me == 0 || partner == 0) {
    measure_to_and_fro(me == 0);
    for (int bytes = 64 << 10; bytes <= block; bytes *= 16) measure_halves(me == 0, bytes);
    measure_sum(me == 0);
    measure_sleeper(me == 0);
  }
  close(connection);
  free(outgoing);
  free(incoming);
  shmem_barrier_all();
  shmem_finalize();
  return 0;
}
