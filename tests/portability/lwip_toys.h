/* lwip_toys.h: three toy servers and a client on one lwIP: what is sent to its own address comes
 * back to it. Nothing reaches the machine's network. The client's source comes first. */
#include "tests/portability/fake_servers.h"

#include <lwip/netif.h>
#include <lwip/sockets.h>
#include <lwip/sys.h>
#include <lwip/tcpip.h>

enum { FIRST_PORT = 7001 };

static struct netif loop;
static sys_sem_t up;

static int64_t toys_now_ms(void) { return sys_now(); }

/* What is not for this stack goes nowhere. */
static err_t drop(struct netif *n, struct pbuf *p, const ip4_addr_t *to) {
  (void)n, (void)p, (void)to;
  return ERR_OK;
}

static err_t set_up_loop(struct netif *n) {
  n->output = drop;
  n->mtu = 1500;
  return ERR_OK;
}

static void start_network(void *arg) {
  ip4_addr_t address, mask;
  IP4_ADDR(&address, 10, 0, 0, 1);
  IP4_ADDR(&mask, 255, 255, 255, 0);
  netif_add(&loop, &address, &mask, &address, NULL, set_up_loop, tcpip_input);
  netif_set_default(&loop);
  netif_set_link_up(&loop);
  netif_set_up(&loop);
  sys_sem_signal((sys_sem_t *)arg);
}

static void converse(struct toy *t, int fd) {
  char data[32]; /* less than a toy always has room for */
  int got, on = 1;
  (void)lwip_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* no waiting for an ACK */
  while ((got = (int)lwip_recv(fd, data, sizeof data, 0)) > 0 && !t->down) {
    (void)toy_take(t, data, (size_t)got);
    (void)lwip_send(fd, data, toy_give(t, data, sizeof data), 0);
  }
}

/* One that is taken down goes when it is next asked: so no socket is closed under its user. */
static void serve(void *arg) {
  struct toy *t = (struct toy *)arg;
  int fd, listener = lwip_socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in at;
  memset(&at, 0, sizeof at);
  at.sin_family = AF_INET;
  at.sin_port = htons((uint16_t)(FIRST_PORT + (t - toys)));
  (void)lwip_bind(listener, (struct sockaddr *)&at, sizeof at);
  (void)lwip_listen(listener, 4);
  sys_sem_signal(&up);
  while (!t->down && (fd = lwip_accept(listener, NULL, NULL)) >= 0) {
    converse(t, fd);
    if (t->down) (void)lwip_close(listener);
    (void)lwip_close(fd);
  }
}

static void take_down(int server) { toys[server].down = 1; }

int main(void) {
  int i;
  sys_sem_new(&up, 0);
  tcpip_init(start_network, &up);
  sys_sem_wait(&up);
  for (i = 0; i < REDLOCK_MAX_SERVERS; i++) {
    sys_thread_new("toy", serve, &toys[i], 4096, 1);
    sys_sem_wait(&up);
  }
  return toys_run("10.0.0.1:7001,10.0.0.1:7002,10.0.0.1:7003", take_down);
}
