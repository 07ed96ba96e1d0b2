// Measures connections of the connection manager, or of TCP: set-up time and connections per
// second. Linked with the system's librdmacm, as other programs are.
//
//   cm_rate rdma|tcp ADDRESS COUNT      prints microseconds (median of the set-up) and cycles/s
//
// A cycle is connect, disconnect and destroy; cycles do not overlap. The set-up lasts from the
// first call of the client until the connection is established.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <rdma/rdma_cma.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kBacklog = 128;
constexpr int kResolveMilliseconds = 2000;

void Check(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  _exit(1);
}

sockaddr_in Address(const char* text, uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = port;
  Check(inet_pton(AF_INET, text, &address.sin_addr) == 1, text);
  return address;
}

sockaddr* Plain(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

// Runs the cycles and prints the results.
void Print(const std::function<Clock::duration()>& cycle, int count) {
  for (int i = 0; i < count / 10; ++i) cycle();
  std::vector<double> setups;
  const auto begin = Clock::now();
  for (int i = 0; i < count; ++i) {
    setups.push_back(std::chrono::duration<double, std::micro>(cycle()).count());
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto middle = setups.begin() + count / 2;
  std::nth_element(setups.begin(), middle, setups.end());
  std::printf("%.2f %.0f\n", *middle, count / seconds);
}

// Runs `server` in a child process, which writes its port number, then `client`; kills the child.
template <class Server, class Client>
int RunPair(const Server& server, const Client& client) {
  int ends[2];
  Check(pipe(ends) == 0, "pipe");
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    server(ends[1]);
    _exit(0);
  }
  uint16_t port = 0;
  Check(read(ends[0], &port, sizeof port) == sizeof port, "reading the server's port");
  client(port);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return 0;
}

void Announce(int pipe_end, uint16_t port) {
  Check(write(pipe_end, &port, sizeof port) == sizeof port, "write");
}

// TCP.

void TcpServer(const char* text, int pipe_end) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Address(text, 0);
  socklen_t bytes = sizeof address;
  Check(bind(listener, Plain(address), bytes) == 0, "bind");
  Check(listen(listener, kBacklog) == 0, "listen");
  getsockname(listener, Plain(address), &bytes);
  Announce(pipe_end, address.sin_port);
  for (;;) {
    const int accepted = accept(listener, nullptr, nullptr);
    char none = 0;
    Check(read(accepted, &none, 1) == 0, "the end of the stream");
    close(accepted);
  }
}

Clock::duration TcpCycle(sockaddr_in address) {
  const auto begin = Clock::now();
  const int connected = socket(AF_INET, SOCK_STREAM, 0);
  Check(connect(connected, Plain(address), sizeof address) == 0, "connect");
  const auto setup = Clock::now() - begin;
  // Waits for the peer's end of stream, because a disconnect of RDMA is a round trip, too.
  shutdown(connected, SHUT_WR);
  char none = 0;
  Check(read(connected, &none, 1) == 0, "the end of the stream");
  close(connected);
  return setup;
}

// The connection manager.

// The queue pairs of a process share a completion queue.
struct Shared {
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;

  void Open(ibv_context* context) {
    if (pd != nullptr) return;
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 16, nullptr, nullptr, 0);
    Check(pd != nullptr && cq != nullptr, "ibv_create_cq");
  }
  void AddQp(rdma_cm_id* id) {
    Open(id->verbs);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cq;
    attributes.cap = {.max_send_wr = 1,
                      .max_recv_wr = 1,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = 0};
    attributes.qp_type = IBV_QPT_RC;
    Check(rdma_create_qp(id, pd, &attributes) == 0, "rdma_create_qp");
  }
};

rdma_conn_param Parameters() {
  rdma_conn_param parameters{};
  parameters.responder_resources = parameters.initiator_depth = 1;
  parameters.retry_count = parameters.rnr_retry_count = 7;
  return parameters;
}

void RdmaServer(const char* text, int pipe_end) {
  rdma_event_channel* const channel = rdma_create_event_channel();
  Check(channel != nullptr, "rdma_create_event_channel");
  rdma_cm_id* listener = nullptr;
  Check(rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  sockaddr_in address = Address(text, 0);
  Check(rdma_bind_addr(listener, Plain(address)) == 0, "rdma_bind_addr");
  Check(rdma_listen(listener, kBacklog) == 0, "rdma_listen");
  Announce(pipe_end, rdma_get_src_port(listener));
  Shared shared;
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(channel, &event) == 0) {
    const auto type = event->event;
    rdma_cm_id* const id = event->id;
    rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
      shared.AddQp(id);
      auto parameters = Parameters();
      Check(rdma_accept(id, &parameters) == 0, "rdma_accept");
    } else if (type == RDMA_CM_EVENT_DISCONNECTED) {
      rdma_disconnect(id);
      rdma_destroy_qp(id);
      rdma_destroy_id(id);
    }
  }
}

void Expect(rdma_event_channel* channel, rdma_cm_event_type type) {
  rdma_cm_event* event = nullptr;
  Check(rdma_get_cm_event(channel, &event) == 0, "rdma_get_cm_event");
  if (event->event != type) {
    std::fprintf(stderr, "%s (status %d) instead of %s\n", rdma_event_str(event->event),
                 event->status, rdma_event_str(type));
    _exit(1);
  }
  rdma_ack_cm_event(event);
}

Clock::duration RdmaCycle(rdma_event_channel* channel, Shared& shared, sockaddr_in address) {
  const auto begin = Clock::now();
  rdma_cm_id* id = nullptr;
  Check(rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0, "rdma_create_id");
  Check(rdma_resolve_addr(id, nullptr, Plain(address), kResolveMilliseconds) == 0,
        "rdma_resolve_addr");
  Expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
  Check(rdma_resolve_route(id, kResolveMilliseconds) == 0, "rdma_resolve_route");
  Expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
  shared.AddQp(id);
  auto parameters = Parameters();
  Check(rdma_connect(id, &parameters) == 0, "rdma_connect");
  Expect(channel, RDMA_CM_EVENT_ESTABLISHED);
  const auto setup = Clock::now() - begin;
  Check(rdma_disconnect(id) == 0, "rdma_disconnect");
  Expect(channel, RDMA_CM_EVENT_DISCONNECTED);
  rdma_destroy_qp(id);
  Check(rdma_destroy_id(id) == 0, "rdma_destroy_id");
  return setup;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: cm_rate rdma|tcp ADDRESS COUNT\n");
    return 2;
  }
  const char* const address = argv[2];
  const int count = std::atoi(argv[3]);
  if (std::strcmp(argv[1], "tcp") == 0) {
    return RunPair(
        [&](int pipe_end) { TcpServer(address, pipe_end); },
        [&](uint16_t port) { Print([&] { return TcpCycle(Address(address, port)); }, count); });
  }
  return RunPair([&](int pipe_end) { RdmaServer(address, pipe_end); },
                 [&](uint16_t port) {
                   rdma_event_channel* const channel = rdma_create_event_channel();
                   Check(channel != nullptr, "rdma_create_event_channel");
                   Shared shared;
                   Print([&] { return RdmaCycle(channel, shared, Address(address, port)); }, count);
                   rdma_destroy_event_channel(channel);
                 });
}
