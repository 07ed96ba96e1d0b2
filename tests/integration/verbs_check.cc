// A program on the plain verbs that checks every byte, because benchmarks do not.
//
// usage: verbs_check rc|uc|ud[:BYTES] PORT [HOST]
// A server, or with HOST its client; no message is longer than BYTES. Both go through the same
// steps: one side posts, both synchronize over TCP, and the other side checks its memory, including
// the bytes around the message.

#include <infiniband/verbs.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr uint8_t kPort = 1;
constexpr int kDepth = 64;
constexpr uint32_t kQKey = 0x1234;
constexpr size_t kGrh = 40;
constexpr size_t kGuard = 64;  // bytes around each message that must not change
constexpr size_t kMost = 16U << 20;
constexpr size_t kBytes = kMost + 2 * kGuard + 4'096;
constexpr auto kTimeout = std::chrono::seconds(20);

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "verbs_check: %s\n", what.c_str());
  std::exit(1);
}
void Must(bool good, const std::string& what) {
  if (!good) Die(what);
}

// --- The other side, over TCP. ---

class Peer {
 public:
  Peer(const char* host, const char* port) : is_client(host != nullptr) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = is_client ? 0 : AI_PASSIVE;
    addrinfo* found = nullptr;
    Must(getaddrinfo(host, port, &hints, &found) == 0, "getaddrinfo");
    const int file = socket(found->ai_family, found->ai_socktype, 0);
    if (is_client) {
      Must(connect(file, found->ai_addr, found->ai_addrlen) == 0, "connect");
      socket_ = file;
    } else {
      const int yes = 1;
      setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      Must(bind(file, found->ai_addr, found->ai_addrlen) == 0 && listen(file, 1) == 0, "listen");
      socket_ = accept(file, nullptr, nullptr);
      close(file);
    }
    freeaddrinfo(found);
  }

  template <class T>
  T Swap(const T& mine) {
    T theirs;
    Must(send(socket_, &mine, sizeof mine, MSG_NOSIGNAL) == sizeof mine, "the peer is gone");
    Must(recv(socket_, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs, "the peer is gone");
    return theirs;
  }
  void Meet() { (void)Swap(char{}); }

  const bool is_client;

 private:
  int socket_ = -1;
};

struct Address {
  uint32_t qp = 0;
  uint32_t psn = 0;
  uint32_t key = 0;
  uint64_t start = 0;
  ibv_gid gid = {};
};

// --- This side. ---

struct Device {
  ibv_context* context = nullptr;
  ibv_pd* pd = nullptr;
  ibv_cq* cq = nullptr;
  ibv_qp* qp = nullptr;
  ibv_mr* mr = nullptr;
  ibv_ah* ah = nullptr;
  std::vector<std::byte> bytes = std::vector<std::byte>(kBytes);
  Address peer = {};

  explicit Device(ibv_qp_type type) {
    ibv_device** const list = ibv_get_device_list(nullptr);
    Must(list != nullptr && list[0] != nullptr, "no device");
    context = ibv_open_device(list[0]);
    Must(context != nullptr, "ibv_open_device");
    ibv_free_device_list(list);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 2 * kDepth, nullptr, nullptr, 0);
    mr = ibv_reg_mr(pd, bytes.data(), bytes.size(),
                    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                        IBV_ACCESS_REMOTE_ATOMIC);
    Must(pd != nullptr && cq != nullptr && mr != nullptr, "cannot create the objects");
    ibv_qp_init_attr wish{};
    wish.send_cq = wish.recv_cq = cq;
    wish.cap = {.max_send_wr = kDepth,
                .max_recv_wr = kDepth,
                .max_send_sge = 3,
                .max_recv_sge = 3,
                .max_inline_data = 64};
    wish.qp_type = type;
    qp = ibv_create_qp(pd, &wish);
    Must(qp != nullptr, "ibv_create_qp");
  }
  ~Device() {
    Must(ibv_destroy_qp(qp) == 0, "ibv_destroy_qp");
    if (ah != nullptr) Must(ibv_destroy_ah(ah) == 0, "ibv_destroy_ah");
    Must(ibv_dereg_mr(mr) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0 &&
             ibv_close_device(context) == 0,
         "something is still in use");
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  bool is(ibv_qp_type type) const { return qp->qp_type == type; }

  void Modify(ibv_qp_attr attributes, int mask, const char* name) const {
    Must(ibv_modify_qp(qp, &attributes, mask | IBV_QP_STATE) == 0, name);
  }

  void Connect(Peer& to) {
    Address mine{.qp = qp->qp_num,
                 .psn = 0xFFFFF0,  // so that the PSN wraps
                 .key = mr->rkey,
                 .start = reinterpret_cast<uint64_t>(bytes.data())};
    Must(ibv_query_gid(context, kPort, 0, &mine.gid) == 0, "ibv_query_gid");
    peer = to.Swap(mine);
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = kPort;
    a.qkey = kQKey;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    Modify(a,
           IBV_QP_PKEY_INDEX | IBV_QP_PORT | (is(IBV_QPT_UD) ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
           "to INIT");
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = peer.qp;
    a.rq_psn = peer.psn;
    a.max_dest_rd_atomic = a.max_rd_atomic = 4;
    a.min_rnr_timer = 12;
    a.ah_attr.is_global = 1;
    a.ah_attr.grh.dgid = peer.gid;
    a.ah_attr.grh.hop_limit = 64;
    a.ah_attr.port_num = kPort;
    const int path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    const int responder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    Modify(a, is(IBV_QPT_UD) ? 0 : path | (is(IBV_QPT_RC) ? responder : 0), "to RTR");
    a.qp_state = IBV_QPS_RTS;
    a.sq_psn = mine.psn;
    a.timeout = 16;  // 268 ms, for a peer under valgrind
    a.retry_cnt = a.rnr_retry = 7;
    const int retries =
        IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    Modify(a, IBV_QP_SQ_PSN | (is(IBV_QPT_RC) ? retries : 0), "to RTS");
    if (is(IBV_QPT_UD)) ah = ibv_create_ah(pd, &a.ah_attr);
  }

  ibv_sge Sge(size_t offset, size_t length) const {
    return {reinterpret_cast<uint64_t>(bytes.data()) + offset, static_cast<uint32_t>(length),
            mr->lkey};
  }
  void Post(ibv_send_wr wr) const {
    ibv_send_wr* refused = nullptr;
    wr.send_flags |= IBV_SEND_SIGNALED;
    if (is(IBV_QPT_UD)) wr.wr.ud = {.ah = ah, .remote_qpn = peer.qp, .remote_qkey = kQKey};
    Must(ibv_post_send(qp, &wr, &refused) == 0, "ibv_post_send");
  }
  void Receive(std::vector<ibv_sge> list) const {
    ibv_recv_wr wr{.wr_id = 1,
                   .next = nullptr,
                   .sg_list = list.data(),
                   .num_sge = static_cast<int>(list.size())};
    ibv_recv_wr* refused = nullptr;
    Must(ibv_post_recv(qp, &wr, &refused) == 0, "ibv_post_recv");
  }
  ibv_wc Wait() const {
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    ibv_wc wc{};
    while (ibv_poll_cq(cq, 1, &wc) == 0) {
      Must(std::chrono::steady_clock::now() < end, "no completion before the timeout");
    }
    Must(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
    return wc;
  }
};

// --- Bytes. ---

std::byte Pattern(size_t i, size_t seed) {
  return static_cast<std::byte>(i * 31 + (i >> 8) * 7 + seed);
}
constexpr std::byte kBlank{0xEE};

class Buffer {
 public:
  explicit Buffer(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  void Blank(size_t length) { std::fill_n(bytes_.begin(), length + 2 * kGuard, kBlank); }
  void Fill(size_t length, size_t seed) {
    for (size_t i = 0; i < length; ++i) bytes_[kGuard + i] = Pattern(i, seed);
  }
  bool Holds(size_t length, size_t seed) const {
    for (size_t i = 0; i < length; ++i) {
      // volatile: the peer may be writing the byte.
      const volatile std::byte& here = bytes_[kGuard + i];
      if (here != Pattern(i, seed)) return false;
    }
    return true;
  }
  void Check(size_t length, size_t seed, const std::string& what) const {
    Must(Holds(length, seed), what + ": wrong bytes");
    for (size_t i = 0; i < kGuard; ++i) {
      Must(bytes_[i] == kBlank && bytes_[kGuard + length + i] == kBlank,
           what + ": bytes around the message have changed");
    }
  }

 private:
  std::vector<std::byte>& bytes_;
};

// --- Steps. ---

class Steps {
 public:
  Steps(Device& device, Peer& peer) : device_(device), peer_(peer), buffer_(device.bytes) {}

  void Write(size_t length, bool with_immediate, bool inlined) {
    const std::string what = Begin("write", length);
    if (!peer_.is_client && with_immediate) device_.Receive({});
    peer_.Meet();
    if (peer_.is_client) {
      ibv_sge list[] = {device_.Sge(kGuard, length / 2),
                        device_.Sge(kGuard + length / 2, length - length / 2)};
      ibv_send_wr wr =
          RequestOf(with_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE, list, 2);
      wr.imm_data = static_cast<uint32_t>(seed_);
      wr.send_flags = inlined ? IBV_SEND_INLINE : 0;
      device_.Post(wr);
      (void)device_.Wait();
    } else if (with_immediate) {
      const ibv_wc wc = device_.Wait();
      Must(wc.imm_data == seed_ && wc.byte_len == length,
           what + ": wrong immediate data or length");
    }
    End();
    if (peer_.is_client) return;
    // On UC a completion means only that the message was sent.
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    while (!buffer_.Holds(length, seed_) && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    buffer_.Check(length, seed_, what);
  }

  void Read(size_t length) {
    const std::string what = Begin("read", length, /*server_fills=*/true);
    peer_.Meet();
    if (peer_.is_client) {
      ibv_sge list[] = {device_.Sge(kGuard, length / 3),
                        device_.Sge(kGuard + length / 3, length - length / 3)};
      device_.Post(RequestOf(IBV_WR_RDMA_READ, list, 2));
      (void)device_.Wait();
      buffer_.Check(length, seed_, what);
    }
    End();
  }

  void Send(size_t length, bool inlined) {
    const std::string what = Begin("send", length);
    if (!peer_.is_client) {
      std::vector<ibv_sge> list = {device_.Sge(kGuard, length / 2),
                                   device_.Sge(kGuard + length / 2, length - length / 2)};
      // The GRH of a datagram goes to the end of the memory.
      if (device_.is(IBV_QPT_UD)) list.insert(list.begin(), device_.Sge(kBytes - kGrh, kGrh));
      device_.Receive(list);
    }
    peer_.Meet();
    if (peer_.is_client) {
      ibv_sge sge = device_.Sge(kGuard, length);
      ibv_send_wr wr = RequestOf(IBV_WR_SEND, &sge, 1);
      wr.send_flags = inlined ? IBV_SEND_INLINE : 0;
      device_.Post(wr);
      (void)device_.Wait();
    } else {
      const ibv_wc wc = device_.Wait();
      const size_t header = device_.is(IBV_QPT_UD) ? kGrh : 0;
      Must(wc.byte_len == length + header, what + ": length");
      buffer_.Check(length, seed_, what);
    }
    End();
  }

  // Adds to and swaps the server's first word; each operation must return the previous value.
  void Atomics() {
    std::memset(device_.bytes.data(), 0, 64);
    peer_.Meet();
    constexpr uint64_t kTimes = 100;
    if (peer_.is_client) {
      for (uint64_t i = 0; i < kTimes; ++i) {
        Must(Atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 0) == 3 * i, "fetch and add");
      }
      Must(Atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 1, 5) == 3 * kTimes, "compare and swap, not equal");
      Must(Atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 3 * kTimes, 77) == 3 * kTimes,
           "compare and swap, equal");
    }
    End();
    if (!peer_.is_client) Must(Word(0) == 77 && Word(1) == 0, "atomics: wrong bytes");
  }

 private:
  std::string Begin(const char* name, size_t length, bool server_fills = false) {
    ++seed_;
    buffer_.Blank(length);
    if (peer_.is_client != server_fills) buffer_.Fill(length, seed_);
    return std::string(name) + " of " + std::to_string(length);
  }
  void End() { peer_.Meet(); }

  ibv_send_wr RequestOf(ibv_wr_opcode opcode, ibv_sge* list, int count) const {
    ibv_send_wr wr{};
    wr.sg_list = list;
    wr.num_sge = count;
    wr.opcode = opcode;
    wr.wr.rdma = {.remote_addr = device_.peer.start + kGuard, .rkey = device_.peer.key};
    return wr;
  }
  uint64_t Word(size_t index) const {
    uint64_t word = 0;
    std::memcpy(&word, device_.bytes.data() + index * sizeof word, sizeof word);
    return word;
  }
  uint64_t Atomic(ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap) const {
    ibv_sge sge = device_.Sge(8, 8);
    ibv_send_wr wr = RequestOf(opcode, &sge, 1);
    wr.wr.atomic = {.remote_addr = device_.peer.start,
                    .compare_add = compare_add,
                    .swap = swap,
                    .rkey = device_.peer.key};
    device_.Post(wr);
    (void)device_.Wait();
    return Word(1);
  }

  Device& device_;
  Peer& peer_;
  Buffer buffer_;
  size_t seed_ = 0;
};

void Run(Device& device, Peer& peer, size_t longest) {
  Steps steps(device, peer);
  constexpr std::array<size_t, 12> kSizes = {1,     2,     63,     64,      1'023,    1'024,
                                             1'025, 4'097, 65'536, 262'145, 1U << 20, kMost};
  for (const size_t size : kSizes) {
    if (size > longest) continue;
    // A datagram has at most one packet. On UC a longer message can overrun the sockets.
    if (device.is(IBV_QPT_UD) && size > 1'024) continue;
    if (device.is(IBV_QPT_UC) && size > 65'536) continue;
    const bool fits_inline = size <= 64;
    steps.Send(size, false);
    if (fits_inline) steps.Send(size, true);
    if (device.is(IBV_QPT_UD)) continue;
    steps.Write(size, false, false);
    steps.Write(size, true, false);
    if (fits_inline) steps.Write(size, false, true);
    if (device.is(IBV_QPT_RC)) steps.Read(size);
  }
  if (device.is(IBV_QPT_RC)) steps.Atomics();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) Die("usage: verbs_check rc|uc|ud[:BYTES] PORT [HOST]");
  const std::string words = arguments[1];
  const size_t colon = words.find(':');
  const std::string type = words.substr(0, colon);
  const size_t longest = colon == std::string::npos ? kMost : std::stoul(words.substr(colon + 1));
  Device device(type == "ud" ? IBV_QPT_UD : type == "uc" ? IBV_QPT_UC : IBV_QPT_RC);
  Peer peer(count > 3 ? arguments[3] : nullptr, arguments[2]);
  device.Connect(peer);
  peer.Meet();
  Run(device, peer, longest);
  peer.Meet();
  std::puts("every byte is right");
}
