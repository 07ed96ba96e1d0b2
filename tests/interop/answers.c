// Checks how a requester of another implementation handles two responses.
//
//   answers refused|held [-d DEVICE] -g GID_INDEX [SERVER]
//
// refused: a write with a key that allows only reads. The client must see a remote access error.
// held:    a read of a page that is paged in after 1.2 s; the client's timeout is 67 ms, with three
//          retries. The client must get the page. The server pages it in through a userfaultfd.
//
// Uses only C and libibverbs, because it also runs on the kernel's adapter, in a guest.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "late_page.h"

enum { kPort = 18515, kTimeoutMs = 20000 };

struct Place {
  uint32_t qp, key;
  uint64_t address;
  union ibv_gid gid;
};

static int Meet(const char* server) {
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(kPort)};
  if (server != NULL) {
    Require(inet_pton(AF_INET, server, &at.sin_addr) == 1, server);
    for (int tries = 0; connect(listening, (struct sockaddr*)&at, sizeof at) != 0; ++tries) {
      Require(tries < 50, "connect");
      usleep(200000);
    }
    return listening;
  }
  Require(bind(listening, (struct sockaddr*)&at, sizeof at) == 0, "bind");
  Require(listen(listening, 1) == 0, "listen");
  return accept(listening, NULL, NULL);
}

static void ConnectQp(struct ibv_qp* qp, const struct Place* peer, int gid_index) {
  struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
                          .port_num = 1,
                          .qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE};
  Require(!ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
          "INIT");
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                           .path_mtu = IBV_MTU_1024,
                           .dest_qp_num = peer->qp,
                           .max_dest_rd_atomic = 1,
                           .min_rnr_timer = 12,
                           .ah_attr = {.is_global = 1,
                                       .port_num = 1,
                                       .grh = {.dgid = peer->gid,
                                               .sgid_index = (uint8_t)gid_index,
                                               .hop_limit = 64}}};
  Require(!ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
          "RTR");
  a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                           .timeout = 14,
                           .retry_cnt = 3,
                           .rnr_retry = 3,
                           .max_rd_atomic = 1};
  Require(!ibv_modify_qp(qp, &a,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                             IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
          "RTS");
}

static struct ibv_wc WaitFor(struct ibv_cq* cq) {
  struct ibv_wc wc = {.status = IBV_WC_GENERAL_ERR};
  for (const int64_t end = NowMs() + kTimeoutMs; NowMs() < end;) {
    if (ibv_poll_cq(cq, 1, &wc) != 0) return wc;
    usleep(1000);
  }
  fputs("no completion before the timeout\n", stderr);
  exit(1);
}

static struct ibv_context* OpenDevice(const char* name) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  for (int i = 0; list != NULL && i < count; ++i) {
    if (name == NULL || strcmp(ibv_get_device_name(list[i]), name) == 0) {
      return ibv_open_device(list[i]);
    }
  }
  return NULL;
}

// Posts the client's request; returns whether it ended as expected.
static int Ask(struct ibv_qp* qp, struct ibv_cq* cq, const struct ibv_mr* mr,
               const struct Place* peer, int is_held) {
  struct ibv_sge sge = {(uintptr_t)mr->addr, 64, mr->lkey};
  struct ibv_send_wr wr = {.sg_list = &sge,
                           .num_sge = 1,
                           .opcode = is_held ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
                           .send_flags = IBV_SEND_SIGNALED,
                           .wr.rdma = {peer->address, peer->key}};
  struct ibv_send_wr* bad;
  const int64_t start = NowMs();
  Require(!ibv_post_send(qp, &wr, &bad), "post");
  const struct ibv_wc wc = WaitFor(cq);
  printf("%s after %d ms, vendor_err %u\n", ibv_wc_status_str(wc.status), (int)(NowMs() - start),
         wc.vendor_err);
  if (!is_held) return wc.status == IBV_WC_REM_ACCESS_ERR;
  return wc.status == IBV_WC_SUCCESS && *(const char*)mr->addr == 'h' &&
         NowMs() - start >= kHeldMs;
}

int main(int argc, char** argv) {
  const char* device = NULL;
  int gid_index = 0, option;
  while ((option = getopt(argc, argv, "d:g:")) != -1) {
    if (option == 'd') device = optarg;
    if (option == 'g') gid_index = atoi(optarg);
  }
  Require(optind < argc, "usage: answers [-d DEVICE] -g GID_INDEX refused|held [SERVER]");
  const int is_held = strcmp(argv[optind], "held") == 0;
  const char* const server = optind + 1 < argc ? argv[optind + 1] : NULL;

  struct ibv_context* const context = OpenDevice(device);
  Require(context != NULL, "cannot open the device");
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_cq* const cq = ibv_create_cq(context, 16, NULL, NULL, 0);
  char* const memory =
      mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  // Registered before the userfaultfd is set up: an adapter that pins pages would wait for them
  // here.
  struct ibv_mr* const mr =
      ibv_reg_mr(pd, memory, kPage,
                 IBV_ACCESS_REMOTE_READ | (server != NULL ? IBV_ACCESS_LOCAL_WRITE : 0));
  Require(mr != NULL, "register");
  struct ibv_qp_init_attr init = {
      .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};
  struct ibv_qp* const qp = ibv_create_qp(pd, &init);
  Require(qp != NULL, "queue pair");
  pthread_t owner;
  if (is_held && server == NULL) {
    pthread_create(&owner, NULL, &PageInLate, memory);
    usleep(100000);
  }

  struct Place here = {qp->qp_num, mr->rkey, (uintptr_t)memory, {{0}}}, peer;
  Require(!ibv_query_gid(context, 1, gid_index, &here.gid), "GID");
  const int meeting = Meet(server);
  Require(write(meeting, &here, sizeof here) == sizeof here, "write");
  Require(recv(meeting, &peer, sizeof peer, MSG_WAITALL) == sizeof peer, "read");
  ConnectQp(qp, &peer, gid_index);
  char ready = 1;
  Require(write(meeting, &ready, 1) == 1 && recv(meeting, &ready, 1, MSG_WAITALL) == 1, "ready");

  const int good = server == NULL || Ask(qp, cq, mr, &peer, is_held);
  if (server == NULL) ready = recv(meeting, &ready, 1, MSG_WAITALL) == 0;  // until the client ends
  return good ? 0 : 1;
}
