// Checks that a connection survives an absent page in the middle of a transfer.
//
//   late [-s] [-l] ADDRESS
//
// The client writes 1 MiB into the server's memory, and reads it back. With -l a page in the middle
// of the memory that this side receives into is paged in after 1.2 s. The client compares what it
// has read, and the server what was written; a side with -l also waits until its page was missed.
//
// With -s it is the server, which listens on ADDRESS. Uses only C, libibverbs and librdmacm, because
// it also runs on the kernel's adapter, in a guest.

#define _GNU_SOURCE
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "late_page.h"

enum { kLength = 1 << 20, kTimeoutS = 40 };

// What a side sends to the other one, and where it receives the answer.
struct Place {
  uint64_t address;
  uint32_t key;
};

static struct Place messages[2];
static struct ibv_mr *message_region, *memory_region;
static uint8_t* memory;

static uint8_t ByteAt(int place) { return (uint8_t)(place * 7 + (place >> 10)); }

static void Open(struct rdma_cm_id** id, const char* address, int serves) {
  const struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST | (serves ? RAI_PASSIVE : 0),
                                      .ai_port_space = RDMA_PS_TCP};
  struct rdma_addrinfo* found;
  Require(rdma_getaddrinfo(address, "7300", &hints, &found) == 0, address);
  struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
  Require(rdma_create_ep(id, found, NULL, &init) == 0, "rdma_create_ep");
}

// Memory is registered before its page is late: an adapter that pins pages would wait here.
static void Register(struct rdma_cm_id* id) {
  memory = mmap(NULL, kLength, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  message_region = rdma_reg_msgs(id, messages, sizeof messages);
  memory_region =
      ibv_reg_mr(id->pd, memory, kLength,
                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  Require(message_region != NULL && memory_region != NULL, "register");
  Require(rdma_post_recv(id, NULL, &messages[0], sizeof messages[0], message_region) == 0,
          "rdma_post_recv");
}

static void AwaitSend(struct rdma_cm_id* id, const char* what) {
  struct ibv_wc wc;
  Require(rdma_get_send_comp(id, &wc) == 1, what);
  if (wc.status == IBV_WC_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, ibv_wc_status_str(wc.status));
  exit(1);
}

static void SendPlace(struct rdma_cm_id* id) {
  messages[1] = (struct Place){(uintptr_t)memory, memory_region->rkey};
  Require(rdma_post_send(id, NULL, &messages[1], sizeof messages[1], message_region, 0) == 0,
          "rdma_post_send");
  AwaitSend(id, "send");
}

static void Receive(struct rdma_cm_id* id) {
  struct ibv_wc wc;
  Require(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "receive");
}

static void RequireBytes(void) {
  for (int i = 0; i < kLength; ++i) {
    if (memory[i] == ByteAt(i)) continue;
    fprintf(stderr, "byte %d is wrong\n", i);
    exit(1);
  }
}

static const struct rdma_conn_param kDepths = {
    .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};

static void RunClient(struct rdma_cm_id* id) {
  struct rdma_conn_param depths = kDepths;
  Require(rdma_connect(id, &depths) == 0, "rdma_connect");
  SendPlace(id);
  Receive(id);
  const struct Place there = messages[0];
  uint8_t* const source = malloc(kLength);
  for (int i = 0; i < kLength; ++i) source[i] = ByteAt(i);
  struct ibv_mr* const region = ibv_reg_mr(id->pd, source, kLength, IBV_ACCESS_LOCAL_WRITE);
  Require(region != NULL, "register");
  const int64_t start = NowMs();
  Require(rdma_post_write(id, NULL, source, kLength, region, 0, there.address, there.key) == 0,
          "rdma_post_write");
  AwaitSend(id, "write");
  Require(rdma_post_read(id, NULL, memory, kLength, memory_region, 0, there.address, there.key) ==
              0,
          "rdma_post_read");
  AwaitSend(id, "read");
  printf("written and read after %d ms\n", (int)(NowMs() - start));
  RequireBytes();
  SendPlace(id);  // says that it is done
}

static void RunServer(struct rdma_cm_id* id) {
  struct rdma_conn_param depths = kDepths;
  Require(rdma_accept(id, &depths) == 0, "rdma_accept");
  Receive(id);
  Require(rdma_post_recv(id, NULL, &messages[0], sizeof messages[0], message_region) == 0,
          "rdma_post_recv");
  SendPlace(id);
  Receive(id);
  RequireBytes();
}

int main(int argc, char** argv) {
  int serves = 0, is_late = 0, option;
  while ((option = getopt(argc, argv, "sl")) != -1) {
    if (option == 's') serves = 1;
    if (option == 'l') is_late = 1;
  }
  if (optind + 1 != argc) {
    fputs("usage: late [-s] [-l] ADDRESS\n", stderr);
    return 2;
  }
  alarm(kTimeoutS);
  struct rdma_cm_id *listener, *id;
  Open(serves ? &listener : &id, argv[optind], serves);
  if (serves) {
    Require(rdma_listen(listener, 1) == 0, "rdma_listen");
    Require(rdma_get_request(listener, &id) == 0, "rdma_get_request");
  }
  Register(id);
  pthread_t owner;
  if (is_late) {
    Require(pthread_create(&owner, NULL, &PageInLate, memory + kLength / 2) == 0, "thread");
    usleep(100000);
  }
  (serves ? RunServer : RunClient)(id);
  if (is_late) pthread_join(owner, NULL);
  rdma_disconnect(id);
  puts("done");
  return 0;
}
