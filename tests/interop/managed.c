// Checks connections between the connection managers of two implementations.
//
//   managed [-s] accepted|server-ends|rejected|unserved ADDRESS
//
// accepted:    private data of the full size goes with the request (56 bytes) and with the
//              acceptance (196), a message goes each way, and the client disconnects.
// server-ends: the same, but the server disconnects.
// rejected:    the server rejects with 148 bytes. The client must see them and reason 28.
// unserved:    the client first connects to a port without a listener, and must see reason 8.
//
// With -s it is the server, which listens on ADDRESS. Uses only C and librdmacm, because it also
// runs on the kernel's connection manager, in a guest.

#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kPort = 7200, kUnservedPort = 7201, kTimeoutS = 40, kResolveMs = 5000, kMessage = 64 };
enum { kRequestBytes = 56, kAcceptBytes = 196, kRejectBytes = 148 };
enum { kInvalidServiceId = 8, kConsumerDefined = 28 };  // reasons of a rejection, IBA 12.6.7.2

static struct rdma_event_channel* channel;
static char message[2][kMessage];  // receive buffer, send buffer
static struct ibv_mr* region;

static void Require(int good, const char* what) {
  if (good) return;
  perror(what);
  exit(1);
}

// Private data, different for each kind of message and in every byte.
static const uint8_t* DataOf(uint8_t size) {
  static uint8_t bytes[256];
  for (unsigned i = 0; i < size; ++i) bytes[i] = (uint8_t)(size + 7 * i);
  return bytes;
}

static void RequireData(const struct rdma_cm_event* event, uint8_t size) {
  const struct rdma_conn_param* const param = &event->param.conn;
  if (param->private_data_len == size && memcmp(param->private_data, DataOf(size), size) == 0) {
    return;
  }
  fprintf(stderr, "%s: wrong private data, %u bytes instead of %u\n", rdma_event_str(event->event),
          param->private_data_len, size);
  exit(1);
}

// The next event, which must be of this type. The caller acknowledges it.
static struct rdma_cm_event* Await(enum rdma_cm_event_type type) {
  struct rdma_cm_event* event;
  Require(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
  if (event->event == type) return event;
  fprintf(stderr, "%s, status %d, instead of %s\n", rdma_event_str(event->event), event->status,
          rdma_event_str(type));
  exit(1);
}

static void Pass(enum rdma_cm_event_type type) { rdma_ack_cm_event(Await(type)); }

static struct addrinfo* Resolve(const char* address, int port) {
  char service[8];
  snprintf(service, sizeof service, "%d", port);
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
  struct addrinfo* found;
  Require(getaddrinfo(address, service, &hints, &found) == 0, address);
  return found;
}

static void MakeQp(struct rdma_cm_id* id) {
  struct ibv_qp_init_attr init = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
  Require(rdma_create_qp(id, NULL, &init) == 0, "rdma_create_qp");
  region = rdma_reg_msgs(id, message, sizeof message);
  Require(region != NULL, "rdma_reg_msgs");
  Require(rdma_post_recv(id, NULL, message[0], kMessage, region) == 0, "rdma_post_recv");
}

static void SendOne(struct rdma_cm_id* id) {
  struct ibv_wc wc;
  memset(message[1], 'm', kMessage);
  Require(rdma_post_send(id, NULL, message[1], kMessage, region, 0) == 0, "rdma_post_send");
  Require(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "send");
}

static void ReceiveOne(struct rdma_cm_id* id) {
  struct ibv_wc wc;
  Require(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS, "receive");
  Require(wc.byte_len == kMessage && message[0][kMessage - 1] == 'm', "message");
}

static void End(struct rdma_cm_id* id, int is_first) {
  if (!is_first) Pass(RDMA_CM_EVENT_DISCONNECTED);
  Require(rdma_disconnect(id) == 0, "rdma_disconnect");
  if (is_first) Pass(RDMA_CM_EVENT_DISCONNECTED);
}

static struct rdma_conn_param ParametersOf(uint8_t size) {
  return (struct rdma_conn_param){.private_data = DataOf(size),
                                  .private_data_len = size,
                                  .responder_resources = 1,
                                  .initiator_depth = 1,
                                  .retry_count = 7,
                                  .rnr_retry_count = 7};
}

static struct rdma_cm_id* Connect(const char* address, int port) {
  struct rdma_cm_id* id;
  Require(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
  struct sockaddr* const to = Resolve(address, port)->ai_addr;
  Require(rdma_resolve_addr(id, NULL, to, kResolveMs) == 0, "rdma_resolve_addr");
  Pass(RDMA_CM_EVENT_ADDR_RESOLVED);
  Require(rdma_resolve_route(id, kResolveMs) == 0, "rdma_resolve_route");
  Pass(RDMA_CM_EVENT_ROUTE_RESOLVED);
  MakeQp(id);
  struct rdma_conn_param param = ParametersOf(kRequestBytes);
  Require(rdma_connect(id, &param) == 0, "rdma_connect");
  return id;
}

static void AwaitRejection(int reason) {
  struct rdma_cm_event* const event = Await(RDMA_CM_EVENT_REJECTED);
  printf("rejected, status %d\n", event->status);
  if (event->status != reason) exit(1);
  if (reason == kConsumerDefined) RequireData(event, kRejectBytes);
  rdma_ack_cm_event(event);
}

static void RunClient(const char* address, const char* mode) {
  if (strcmp(mode, "unserved") == 0) {
    Connect(address, kUnservedPort);
    AwaitRejection(kInvalidServiceId);
  }
  struct rdma_cm_id* const id = Connect(address, kPort);
  if (strcmp(mode, "rejected") == 0) {
    AwaitRejection(kConsumerDefined);
    return;
  }
  struct rdma_cm_event* const event = Await(RDMA_CM_EVENT_ESTABLISHED);
  RequireData(event, kAcceptBytes);
  rdma_ack_cm_event(event);
  SendOne(id);
  ReceiveOne(id);
  End(id, strcmp(mode, "server-ends") != 0);
}

static void RunServer(const char* address, const char* mode) {
  struct rdma_cm_id* listener;
  Require(rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
  Require(rdma_bind_addr(listener, Resolve(address, kPort)->ai_addr) == 0, "rdma_bind_addr");
  Require(rdma_listen(listener, 1) == 0, "rdma_listen");
  struct rdma_cm_event* const event = Await(RDMA_CM_EVENT_CONNECT_REQUEST);
  RequireData(event, kRequestBytes);
  struct rdma_cm_id* const id = event->id;
  rdma_ack_cm_event(event);
  if (strcmp(mode, "rejected") == 0) {
    Require(rdma_reject(id, DataOf(kRejectBytes), kRejectBytes) == 0, "rdma_reject");
    return;
  }
  MakeQp(id);
  struct rdma_conn_param param = ParametersOf(kAcceptBytes);
  Require(rdma_accept(id, &param) == 0, "rdma_accept");
  Pass(RDMA_CM_EVENT_ESTABLISHED);
  ReceiveOne(id);
  SendOne(id);
  End(id, strcmp(mode, "server-ends") == 0);
}

int main(int argc, char** argv) {
  int serves = 0;
  while (getopt(argc, argv, "s") != -1) serves = 1;
  if (optind + 2 != argc) {
    fputs("usage: managed [-s] accepted|server-ends|rejected|unserved ADDRESS\n", stderr);
    return 2;
  }
  alarm(kTimeoutS);
  channel = rdma_create_event_channel();
  Require(channel != NULL, "rdma_create_event_channel");
  (serves ? RunServer : RunClient)(argv[optind + 1], argv[optind]);
  puts("done");
  return 0;
}
