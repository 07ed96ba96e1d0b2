// Many connections over librdmacm: a server for all of them, and clients that make, use and end
// them. Prints events as JSON, one object per line.
//
// usage:
//   cm_crowd serve PORT                 accepts all connections and echoes every message with its
//                                       bits inverted; prints its figures for each line of input
//   cm_crowd cycle PORT COUNT           connects, exchanges a message and disconnects, COUNT times
//   cm_crowd many PORT COUNT            the same with COUNT connections in parallel; waits for a
//                                       line of input after all are established, and after all
//                                       messages are echoed
//   cm_crowd talk ADDRESS PORT SECONDS  one connection that exchanges messages; prints how it ended
//   cm_crowd hold                       keeps the device open until it is killed

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kText = 64;
constexpr int kTimeoutMs = 40'000;
constexpr int kResolveMs = 2000;
constexpr int kProbeMs = 500;
constexpr int kBacklog = 1024;
constexpr size_t kServedMax = 2048;
constexpr int kStandardInput = 0;
// 67 ms: a dead peer is noticed after a few timeouts.
constexpr uint8_t kAckTimeout = 14;
constexpr uint8_t kRetries = 3;
constexpr uint8_t kRetriesWithoutReceive = 7;  // unlimited

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "cm_crowd: %s\n", what.c_str());
  std::exit(1);
}
void Must(bool good, const std::string& what) {
  if (!good) Die(what + (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
}

size_t Descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

bool IsReadable(int file, int milliseconds) {
  pollfd wanted{.fd = file, .events = POLLIN, .revents = 0};
  return poll(&wanted, 1, milliseconds) == 1;
}

// False at the end of the input.
bool ReadLine() {
  char byte = 0;
  while (read(kStandardInput, &byte, 1) == 1) {
    if (byte == '\n') return true;
  }
  return false;
}

class Stopwatch {
 public:
  [[nodiscard]] int64_t milliseconds() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

struct CmEvent {
  rdma_cm_event_type type = RDMA_CM_EVENT_CONNECT_ERROR;
  int status = 0;
  rdma_cm_id* id = nullptr;
};

// The device, an event channel, and memory for the messages of `count` connections. Each connection
// has a slot, whose number is the context of its id and the wr_id of its work requests.
class Endpoint {
 public:
  explicit Endpoint(size_t count) : bytes_(2 * kText * count) {
    ibv_context** const devices = rdma_get_devices(nullptr);
    Must(devices != nullptr && devices[0] != nullptr, "rdma_get_devices");
    channel_ = rdma_create_event_channel();
    pd_ = ibv_alloc_pd(devices[0]);
    completions_ = ibv_create_comp_channel(devices[0]);
    Must(channel_ != nullptr && pd_ != nullptr && completions_ != nullptr,
         "cannot create the objects");
    cq_ = ibv_create_cq(devices[0], static_cast<int>(4 * count), nullptr, completions_, 0);
    mr_ = ibv_reg_mr(pd_, bytes_.data(), bytes_.size(), IBV_ACCESS_LOCAL_WRITE);
    Must(cq_ != nullptr && mr_ != nullptr, "cannot create the objects");
    Must(ibv_req_notify_cq(cq_, 0) == 0, "ibv_req_notify_cq");
    rdma_free_devices(devices);
  }

  rdma_cm_id* CreateId(size_t place) {
    rdma_cm_id* id = nullptr;
    Must(rdma_create_id(channel_, &id, ContextOf(place), RDMA_PS_TCP) == 0, "rdma_create_id");
    return id;
  }
  static void* ContextOf(size_t place) { return reinterpret_cast<void*>(place); }
  static size_t PlaceOf(const rdma_cm_id* id) { return reinterpret_cast<size_t>(id->context); }

  // Makes a queue pair with one posted receive request.
  void CreateQp(rdma_cm_id* id) {
    ibv_qp_init_attr wish{};
    wish.send_cq = wish.recv_cq = cq_;
    wish.cap.max_send_wr = wish.cap.max_recv_wr = 2;
    wish.cap.max_send_sge = wish.cap.max_recv_sge = 1;
    wish.qp_type = IBV_QPT_RC;
    wish.sq_sig_all = 1;
    Must(rdma_create_qp(id, pd_, &wish) == 0, "rdma_create_qp");
    uint8_t timeout = kAckTimeout;
    Must(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1) == 0,
         "RDMA_OPTION_ID_ACK_TIMEOUT");
    PostReceive(id);
  }
  void Destroy(rdma_cm_id* id) {
    if (id->qp != nullptr) rdma_destroy_qp(id);
    Must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
  }

  char* sent(size_t place) { return &bytes_[2 * kText * place]; }
  char* received(size_t place) { return sent(place) + kText; }

  void PostReceive(rdma_cm_id* id) {
    ibv_sge sge = ElementOf(received(PlaceOf(id)));
    ibv_recv_wr wr{.wr_id = PlaceOf(id), .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* refused = nullptr;
    Must(ibv_post_recv(id->qp, &wr, &refused) == 0, "ibv_post_recv");
  }
  void PostSend(rdma_cm_id* id) {
    ibv_sge sge = ElementOf(sent(PlaceOf(id)));
    ibv_send_wr wr{};
    wr.wr_id = PlaceOf(id);
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    ibv_send_wr* refused = nullptr;
    Must(ibv_post_send(id->qp, &wr, &refused) == 0, "ibv_post_send");
  }

  // An empty write: fails if the peer is gone, even if the peer has acknowledged all messages.
  void PostProbe(rdma_cm_id* id) {
    ibv_send_wr wr{};
    wr.wr_id = PlaceOf(id);
    wr.opcode = IBV_WR_RDMA_WRITE;
    ibv_send_wr* refused = nullptr;
    Must(ibv_post_send(id->qp, &wr, &refused) == 0, "ibv_post_send");
  }

  // Whether there is a completion; completions of successful sends are skipped.
  bool Poll(ibv_wc& wc) {
    while (ibv_poll_cq(cq_, 1, &wc) == 1) {
      if (wc.status != IBV_WC_SUCCESS || wc.opcode == IBV_WC_RECV) return true;
    }
    return false;
  }
  // After this, a completion that Poll did not find makes completion_file() readable.
  void Rearm() {
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (IsReadable(completion_file(), 0)) {
      Must(ibv_get_cq_event(completions_, &cq, &context) == 0, "ibv_get_cq_event");
      ibv_ack_cq_events(cq, 1);
    }
    Must(ibv_req_notify_cq(cq_, 0) == 0, "ibv_req_notify_cq");
  }
  CmEvent Next() {
    Must(IsReadable(event_file(), kTimeoutMs), "no event for 40 s");
    rdma_cm_event* raised = nullptr;
    Must(rdma_get_cm_event(channel_, &raised) == 0, "rdma_get_cm_event");
    const CmEvent event{.type = raised->event, .status = raised->status, .id = raised->id};
    Must(rdma_ack_cm_event(raised) == 0, "rdma_ack_cm_event");
    return event;
  }
  [[nodiscard]] int event_file() const { return channel_->fd; }
  [[nodiscard]] int completion_file() const { return completions_->fd; }

 private:
  [[nodiscard]] ibv_sge ElementOf(const char* text) const {
    return {.addr = reinterpret_cast<uint64_t>(text), .length = kText, .lkey = mr_->lkey};
  }

  std::vector<char> bytes_;
  rdma_event_channel* channel_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_comp_channel* completions_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
};

rdma_conn_param Parameters() {
  rdma_conn_param parameters{};
  parameters.retry_count = kRetries;
  parameters.rnr_retry_count = kRetriesWithoutReceive;
  return parameters;
}

sockaddr_in AddressOf(const char* host, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  Must(inet_pton(AF_INET, host, &address.sin_addr) == 1, "ADDRESS is not an IPv4 address");
  return address;
}

// --- The server. ---

class Server {
 public:
  explicit Server(const char* port) : endpoint_(kServedMax), served_(kServedMax) {
    for (size_t place = kServedMax; place > 0; --place) free_.push_back(place - 1);
    sockaddr_in address = AddressOf("0.0.0.0", port);
    listener_ = endpoint_.CreateId(0);
    Must(rdma_bind_addr(listener_, reinterpret_cast<sockaddr*>(&address)) == 0, "rdma_bind_addr");
    Must(rdma_listen(listener_, kBacklog) == 0, "rdma_listen");
    std::printf("{\"listening\": %s}\n", port);
  }

  // Runs until the end of the input.
  int Run() {
    std::array<pollfd, 3> files{
        {{.fd = endpoint_.event_file(), .events = POLLIN, .revents = 0},
         {.fd = endpoint_.completion_file(), .events = POLLIN, .revents = 0},
         {.fd = kStandardInput, .events = POLLIN, .revents = 0}}};
    while (true) {
      Must(poll(files.data(), files.size(), -1) >= 0, "poll");
      if (files[1].revents != 0) endpoint_.Rearm();
      ServeCompletions();
      if (files[0].revents != 0) Serve(endpoint_.Next());
      if (files[2].revents == 0) continue;
      if (!ReadLine()) return 0;
      SayFigures();
    }
  }

 private:
  void Serve(const CmEvent& event) {
    if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) return Accept(event.id);
    if (event.type == RDMA_CM_EVENT_ESTABLISHED) {
      ++established_;
      return;
    }
    if (event.type == RDMA_CM_EVENT_TIMEWAIT_EXIT) return;
    if (event.type == RDMA_CM_EVENT_DISCONNECTED) rdma_disconnect(event.id);
    Forget(event.id);
  }

  void Accept(rdma_cm_id* id) {
    if (free_.empty()) {
      rdma_reject(id, nullptr, 0);
      Must(rdma_destroy_id(id) == 0, "rdma_destroy_id");
      return;
    }
    const size_t place = free_.back();
    free_.pop_back();
    id->context = Endpoint::ContextOf(place);
    served_[place] = id;
    endpoint_.CreateQp(id);
    rdma_conn_param parameters = Parameters();
    // The client may already be gone.
    if (rdma_accept(id, &parameters) != 0) Forget(id);
  }

  void Forget(rdma_cm_id* id) {
    const size_t place = Endpoint::PlaceOf(id);
    served_[place] = nullptr;
    free_.push_back(place);
    endpoint_.Destroy(id);
  }

  void ServeCompletions() {
    ibv_wc wc{};
    while (endpoint_.Poll(wc)) {
      rdma_cm_id* const id = served_[wc.wr_id];
      // Skips completions of a destroyed queue pair, or of an earlier one in this slot.
      if (id == nullptr || id->qp == nullptr || id->qp->qp_num != wc.qp_num) continue;
      if (wc.status != IBV_WC_SUCCESS) {
        if (wc.status == IBV_WC_WR_FLUSH_ERR) continue;  // an event reports the reason
        ++lost_;
        Forget(id);
        continue;
      }
      for (uint32_t i = 0; i < kText; ++i) {
        endpoint_.sent(wc.wr_id)[i] = static_cast<char>(~endpoint_.received(wc.wr_id)[i]);
      }
      endpoint_.PostReceive(id);
      endpoint_.PostSend(id);
      ++messages_;
    }
  }

  void SayFigures() const {
    std::printf(
        "{\"connections\": %zu, \"established\": %zu, \"messages\": %zu, \"lost\": %zu, "
        "\"descriptors\": %zu}\n",
        kServedMax - free_.size(), established_, messages_, lost_, Descriptors());
  }

  Endpoint endpoint_;
  rdma_cm_id* listener_ = nullptr;
  std::vector<rdma_cm_id*> served_;
  std::vector<size_t> free_;
  size_t established_ = 0;
  size_t messages_ = 0;
  size_t lost_ = 0;
};

// --- Clients. ---

// Connections to one address, which go through all steps together.
class Clients {
 public:
  Clients(const char* host, const char* port, size_t count)
      : endpoint_(count), address_(AddressOf(host, port)), ids_(count) {}

  Endpoint& endpoint() { return endpoint_; }
  rdma_cm_id* id(size_t place) { return ids_[place]; }

  void BeginToConnect() {
    for (size_t place = 0; place < ids_.size(); ++place) {
      ids_[place] = endpoint_.CreateId(place);
      Must(rdma_resolve_addr(ids_[place], nullptr, reinterpret_cast<sockaddr*>(&address_),
                             kResolveMs) == 0,
           "rdma_resolve_addr");
    }
  }
  // The next event that is not part of the connection establishment.
  CmEvent NextOfConnection() {
    while (true) {
      const CmEvent event = endpoint_.Next();
      if (event.type == RDMA_CM_EVENT_ADDR_RESOLVED) {
        Must(rdma_resolve_route(event.id, kResolveMs) == 0, "rdma_resolve_route");
      } else if (event.type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
        endpoint_.CreateQp(event.id);
        rdma_conn_param parameters = Parameters();
        Must(rdma_connect(event.id, &parameters) == 0, "rdma_connect");
      } else if (event.type != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
        return event;
      }
    }
  }
  void ExpectOfAll(rdma_cm_event_type type) {
    for (size_t i = 0; i < ids_.size(); ++i) {
      const CmEvent event = NextOfConnection();
      errno = 0;
      Must(event.type == type, std::string(rdma_event_str(event.type)) + ", status " +
                                   std::to_string(event.status) + " instead of " +
                                   rdma_event_str(type));
    }
  }

  void Send(size_t place, uint32_t round) {
    for (uint32_t i = 0; i < kText; ++i) endpoint_.sent(place)[i] = ByteOf(place, round, i);
    endpoint_.PostSend(ids_[place]);
  }
  // Whether the response has the right bytes.
  bool IsRight(size_t place, uint32_t round) {
    for (uint32_t i = 0; i < kText; ++i) {
      if (endpoint_.received(place)[i] != static_cast<char>(~ByteOf(place, round, i))) return false;
    }
    return true;
  }
  void ExchangeAll(uint32_t round) {
    for (size_t place = 0; place < ids_.size(); ++place) Send(place, round);
    const Stopwatch watch;
    for (size_t come = 0; come < ids_.size();) {
      errno = 0;
      Must(watch.milliseconds() < kTimeoutMs, "not all messages are echoed");
      ibv_wc wc{};
      if (!endpoint_.Poll(wc)) {
        // A completion between Poll and Rearm raises no event, so the wait is short.
        IsReadable(endpoint_.completion_file(), 10);
        endpoint_.Rearm();
        continue;
      }
      Must(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
      Must(IsRight(wc.wr_id, round), "wrong bytes");
      ++come;
    }
  }

  void DisconnectAll() {
    for (rdma_cm_id* const id : ids_) Must(rdma_disconnect(id) == 0, "rdma_disconnect");
    ExpectOfAll(RDMA_CM_EVENT_DISCONNECTED);
    DestroyAll();
  }
  void DestroyAll() {
    for (rdma_cm_id* const id : ids_) endpoint_.Destroy(id);
    ibv_wc wc{};
    while (endpoint_.Poll(wc)) {  // completions of destroyed queue pairs
    }
  }

 private:
  // A byte of a message: different for all processes, connections and rounds.
  static char ByteOf(size_t place, uint32_t round, uint32_t i) {
    const size_t number = static_cast<size_t>(getpid()) * 31 + place * 7 + round * 3 + i;
    return static_cast<char>(number * 2654435761U >> 24);
  }

  Endpoint endpoint_;
  sockaddr_in address_;
  std::vector<rdma_cm_id*> ids_;
};

int Cycle(const char* port, uint32_t count) {
  Clients clients("127.0.0.1", port, 1);
  size_t before = 0;
  const Stopwatch watch;
  for (uint32_t round = 0; round <= count; ++round) {
    clients.BeginToConnect();
    clients.ExpectOfAll(RDMA_CM_EVENT_ESTABLISHED);
    clients.ExchangeAll(round);
    clients.DisconnectAll();
    if (round == 0) before = Descriptors();  // the first connection creates shared resources
  }
  std::printf("{\"cycles\": %u, \"ms\": %jd, \"before\": %zu, \"after\": %zu}\n", count,
              intmax_t{watch.milliseconds()}, before, Descriptors());
  return 0;
}

int Many(const char* port, size_t count) {
  Clients clients("127.0.0.1", port, count);
  clients.BeginToConnect();
  clients.ExpectOfAll(RDMA_CM_EVENT_ESTABLISHED);
  std::printf("{\"established\": %zu}\n", count);
  Must(ReadLine(), "the input ended");
  clients.ExchangeAll(0);
  std::printf("{\"exchanged\": %zu}\n", count);
  Must(ReadLine(), "the input ended");
  clients.DisconnectAll();
  std::printf("{\"disconnected\": %zu}\n", count);
  return 0;
}

void PrintEvent(const char* what, int status, const Stopwatch& watch) {
  std::printf("{\"event\": \"%s\", \"status\": %d, \"ms\": %jd}\n", what, status,
              intmax_t{watch.milliseconds()});
}

// Exchanges messages until the connection breaks or the time is over. Returns how it ended.
const char* TalkOn(Clients& clients, int64_t milliseconds) {
  Endpoint& endpoint = clients.endpoint();
  const Stopwatch watch;
  for (uint32_t round = 0; watch.milliseconds() < milliseconds; ++round) {
    clients.Send(0, round);
    ibv_wc wc{};
    bool is_probed = false;
    const Stopwatch since_sent;
    while (!endpoint.Poll(wc)) {
      if (IsReadable(endpoint.event_file(), 0)) return "event";
      if (!is_probed && since_sent.milliseconds() > kProbeMs) {
        endpoint.PostProbe(clients.id(0));
        is_probed = true;
      }
      errno = 0;
      Must(watch.milliseconds() < milliseconds + kTimeoutMs, "a message is not echoed");
      IsReadable(endpoint.completion_file(), 10);
      endpoint.Rearm();
    }
    if (wc.status != IBV_WC_SUCCESS) return ibv_wc_status_str(wc.status);
    errno = 0;
    Must(clients.IsRight(0, round), "wrong bytes");
    endpoint.PostReceive(clients.id(0));
  }
  return "time";
}

int Talk(const char* host, const char* port, double seconds) {
  Clients clients(host, port, 1);
  const Stopwatch watch;
  clients.BeginToConnect();
  CmEvent event = clients.NextOfConnection();
  PrintEvent(rdma_event_str(event.type), event.status, watch);
  if (event.type == RDMA_CM_EVENT_ESTABLISHED) {
    const char* const end = TalkOn(clients, static_cast<int64_t>(1000 * seconds));
    PrintEvent(end, 0, watch);
    if (std::strcmp(end, "event") != 0) rdma_disconnect(clients.id(0));
    event = clients.NextOfConnection();
    PrintEvent(rdma_event_str(event.type), event.status, watch);
    rdma_disconnect(clients.id(0));
  }
  clients.DestroyAll();
  return 0;
}

int Hold() {
  const Endpoint endpoint(1);
  std::printf("{\"holding\": true}\n");
  while (ReadLine()) {
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto is = [&](const char* name, size_t count) {
    return words.size() == count && words[0] == name;
  };
  if (is("serve", 2)) return Server(argv[2]).Run();
  if (is("cycle", 3)) return Cycle(argv[2], static_cast<uint32_t>(std::atoi(argv[3])));
  if (is("many", 3)) return Many(argv[2], static_cast<size_t>(std::atoi(argv[3])));
  if (is("talk", 4)) return Talk(argv[2], argv[3], std::atof(argv[4]));
  if (is("hold", 1)) return Hold();
  Die("usage: cm_crowd serve PORT | cycle PORT COUNT | many PORT COUNT | "
      "talk ADDRESS PORT SECONDS | hold");
}
