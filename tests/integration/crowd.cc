// Many processes of one machine open the device. Measures the cost of each, and checks that they
// reach each other.
//
// usage: crowd PROCESSES [KIBIBYTES]: starts PROCESSES members. When all have the device open, each
// sends datagrams to the next, until all have received one from the member before. Then each member
// reports its figures, and the parent prints minimum, median and maximum. Fails if a member cannot
// open the device or receives nothing, or if the median of the private memory (Private_Clean plus
// Private_Dirty) is more than KIBIBYTES.

#include <infiniband/verbs.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kQKey = 0x1234;
constexpr uint32_t kGrh = 40;
constexpr uint32_t kText = 8;
constexpr int kDepth = 64;
constexpr int kSocket = 3;  // descriptor of a member's socket to the parent
constexpr int kTimeoutMs = 60'000;

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "crowd: %s\n", what.c_str());
  std::exit(1);
}
void Must(bool good, const std::string& what) {
  if (!good) Die(what);
}

// The resources of a member.
struct Figures {
  uint64_t resident_kib = 0;
  uint64_t proportional_kib = 0;  // shared pages divided by the number of processes
  uint64_t private_kib = 0;
  uint64_t descriptors = 0;
  uint64_t threads = 0;
};

// --- A member. ---

uint64_t EntriesIn(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<uint64_t>(std::distance(begin(entries), end(entries)));
}

Figures Measure() {
  Figures figures{.descriptors = EntriesIn("/proc/self/fd"),
                  .threads = EntriesIn("/proc/self/task")};
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string line;
  std::getline(rollup, line);  // skips the address range
  std::string name, unit;
  for (uint64_t kib = 0; rollup >> name >> kib >> unit;) {
    if (name == "Rss:") figures.resident_kib = kib;
    if (name == "Pss:") figures.proportional_kib = kib;
    if (name == "Private_Clean:" || name == "Private_Dirty:") figures.private_kib += kib;
  }
  return figures;
}

class Member {
 public:
  Member() {
    ibv_device** const list = ibv_get_device_list(nullptr);
    Must(list != nullptr && list[0] != nullptr, "no device");
    context_ = ibv_open_device(list[0]);
    Must(context_ != nullptr, std::string("ibv_open_device: ") + std::strerror(errno));
    pd_ = ibv_alloc_pd(context_);
    cq_ = ibv_create_cq(context_, 2 * kDepth, nullptr, nullptr, 0);
    mr_ = ibv_reg_mr(pd_, bytes_.data(), bytes_.size(), IBV_ACCESS_LOCAL_WRITE);
    Must(pd_ != nullptr && cq_ != nullptr && mr_ != nullptr, "cannot create the objects");
    ibv_qp_init_attr wish{};
    wish.send_cq = wish.recv_cq = cq_;
    wish.cap.max_send_wr = wish.cap.max_recv_wr = kDepth;
    wish.cap.max_send_sge = wish.cap.max_recv_sge = 1;
    wish.qp_type = IBV_QPT_UD;
    qp_ = ibv_create_qp(pd_, &wish);
    Must(qp_ != nullptr, "ibv_create_qp");
    Start();
  }

  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  // Destroys the objects before the memory is freed: another member can still be sending into it.
  ~Member() {
    Must(ibv_destroy_qp(qp_) == 0 && ibv_destroy_ah(ah_) == 0 && ibv_dereg_mr(mr_) == 0 &&
             ibv_destroy_cq(cq_) == 0 && ibv_dealloc_pd(pd_) == 0 &&
             ibv_close_device(context_) == 0,
         "something is still in use");
  }

  [[nodiscard]] uint32_t number() const { return qp_->qp_num; }

  void SendTo(uint32_t peer) {
    ibv_sge sge{.addr = AddressOf(kGrh + kText), .length = kText, .lkey = mr_->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.ud = {.ah = ah_, .remote_qpn = peer, .remote_qkey = kQKey};
    ibv_send_wr* refused = nullptr;
    Must(ibv_post_send(qp_, &wr, &refused) == 0, "ibv_post_send");
  }
  // Whether a datagram has arrived.
  bool HasReceived() {
    ibv_wc wc{};
    bool has_received = false;
    while (ibv_poll_cq(cq_, 1, &wc) == 1) {
      Must(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
      if (wc.opcode != IBV_WC_RECV) continue;
      has_received = true;
      PostReceive();
    }
    return has_received;
  }

 private:
  uint64_t AddressOf(size_t offset) { return reinterpret_cast<uint64_t>(bytes_.data()) + offset; }

  void PostReceive() {
    ibv_sge sge{.addr = AddressOf(0), .length = kGrh + kText, .lkey = mr_->lkey};
    ibv_recv_wr wr{.wr_id = 0, .next = nullptr, .sg_list = &sge, .num_sge = 1};
    ibv_recv_wr* refused = nullptr;
    Must(ibv_post_recv(qp_, &wr, &refused) == 0, "ibv_post_recv");
  }

  void Start() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = kQKey;
    bool good = ibv_modify_qp(qp_, &attributes,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) == 0;
    for (int i = 0; i < kDepth / 2; ++i) PostReceive();
    attributes.qp_state = IBV_QPS_RTR;
    good = good && ibv_modify_qp(qp_, &attributes, IBV_QP_STATE) == 0;
    attributes.qp_state = IBV_QPS_RTS;
    good = good && ibv_modify_qp(qp_, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0;
    Must(good, "ibv_modify_qp");
    ibv_ah_attr path{};
    path.is_global = 1;
    path.port_num = 1;
    path.grh.hop_limit = 64;
    path.grh.sgid_index = FindLoopback(path.grh.dgid);
    ah_ = ibv_create_ah(pd_, &path);
    Must(ah_ != nullptr, "ibv_create_ah");
  }

  uint8_t FindLoopback(ibv_gid& gid) const {
    constexpr std::array<uint8_t, 16> kLoopback{0, 0, 0,    0,    0,   0, 0, 0,
                                                0, 0, 0xFF, 0xFF, 127, 0, 0, 1};
    for (int i = 0; ibv_query_gid(context_, 1, i, &gid) == 0; ++i) {
      if (std::memcmp(gid.raw, kLoopback.data(), sizeof gid.raw) == 0) {
        return static_cast<uint8_t>(i);
      }
    }
    Die("127.0.0.1 is not in the GID table");
  }

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_ah* ah_ = nullptr;
  std::array<std::byte, kGrh + 2 * kText> bytes_{};
};

template <class T>
void SendValue(int socket, const T& value) {
  Must(send(socket, &value, sizeof value, MSG_NOSIGNAL) == sizeof value, "the peer has ended");
}
template <class T>
T ReceiveValue(int socket) {
  pollfd file{.fd = socket, .events = POLLIN, .revents = 0};
  T value{};
  Must(poll(&file, 1, kTimeoutMs) == 1, "the peer sends nothing");
  Must(recv(socket, &value, sizeof value, MSG_WAITALL) == sizeof value, "the peer has ended");
  return value;
}
bool IsReadable(int socket, int milliseconds) {
  pollfd file{.fd = socket, .events = POLLIN, .revents = 0};
  return poll(&file, 1, milliseconds) == 1;
}

// The next member can start late, and a datagram can be lost, so a member sends until all have
// received one. The parent then closes the socket.
int BeMember() {
  constexpr int kPeriodMs = 50;
  Member member;
  SendValue(kSocket, member.number());
  const auto next = ReceiveValue<uint32_t>(kSocket);
  bool has_received = false;
  do {
    member.SendTo(next);
    if (member.HasReceived() && !has_received) {
      SendValue(kSocket, Measure());
      has_received = true;
    }
  } while (!IsReadable(kSocket, kPeriodMs));
  return 0;
}

// --- The parent. ---

struct Started {
  pid_t process = 0;
  int socket = -1;
};

Started StartMember(const char* self) {
  std::array<int, 2> ends{};
  Must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "socketpair");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], kSocket);
  const std::array<const char*, 3> arguments{self, "member", nullptr};
  Started started{.socket = ends[0]};
  const int error = posix_spawn(&started.process, self, &actions, nullptr,
                                const_cast<char* const*>(arguments.data()), environ);
  Must(error == 0, std::string("cannot start another process: ") + std::strerror(error));
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  return started;
}

// The parent has a socket per member.
void RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Prints minimum, median and maximum; returns the median.
uint64_t Print(const char* name, const std::vector<Figures>& all, uint64_t Figures::*which) {
  std::vector<uint64_t> values;
  values.reserve(all.size());
  for (const Figures& figures : all) values.push_back(figures.*which);
  std::ranges::sort(values);
  const uint64_t median = values[values.size() / 2];
  std::printf("%-22s %8ju %8ju %8ju\n", name, uintmax_t{values.front()}, uintmax_t{median},
              uintmax_t{values.back()});
  return median;
}

int BeAll(const char* self, size_t count, uint64_t private_kib_max) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  RaiseDescriptorLimit();
  const auto start = Clock::now();
  std::vector<Started> members;
  members.reserve(count);
  while (members.size() < count) members.push_back(StartMember(self));
  std::vector<uint32_t> numbers;
  for (const Started& member : members) numbers.push_back(ReceiveValue<uint32_t>(member.socket));
  std::printf("%zu processes have the device open after %.1f s\n", count, seconds_since(start));
  for (size_t i = 0; i < count; ++i) SendValue(members[i].socket, numbers[(i + 1) % count]);
  std::vector<Figures> all;
  for (const Started& member : members) all.push_back(ReceiveValue<Figures>(member.socket));
  std::printf("all have received a datagram after %.1f s\n\n", seconds_since(start));
  for (const Started& member : members) close(member.socket);
  int failures = 0;
  for (const Started& member : members) {
    int status = -1;
    waitpid(member.process, &status, 0);
    if (status == 0) continue;
    ++failures;
    std::fprintf(stderr, "crowd: process %d: %s %d\n", member.process,
                 WIFSIGNALED(status) ? "signal" : "exit",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  std::printf("%-22s %8s %8s %8s\n", "per process", "min", "median", "max");
  Print("resident, KiB", all, &Figures::resident_kib);
  Print("proportional, KiB", all, &Figures::proportional_kib);
  const uint64_t median = Print("private, KiB", all, &Figures::private_kib);
  Print("descriptors", all, &Figures::descriptors);
  Print("threads", all, &Figures::threads);
  Must(failures == 0, std::to_string(failures) + " processes failed");
  Must(median <= private_kib_max,
       "the median of private memory is more than " + std::to_string(private_kib_max) + " KiB");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "member") == 0) return BeMember();
  const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  Must(count > 0 && argc <= 3, "usage: crowd PROCESSES [KIBIBYTES]");
  return BeAll(argv[0], count, argc == 3 ? std::strtoull(argv[2], nullptr, 10) : UINT64_MAX);
}
