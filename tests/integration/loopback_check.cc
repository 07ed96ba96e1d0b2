// A program that loads libibverbs at run time (dlopen). Two queue pairs of the program are
// connected to each other.
//
// usage: loopback_check reload|child|inherit
//   reload   loads, uses and unloads the library, three times
//   child    the program forks before it opens a device; parent and child use one each
//   inherit  the program forks with an open device: calls of the child on it fail, the child opens
//            the device itself, and the parent continues

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr uint8_t kPort = 1;
constexpr size_t kBytes = 100'000;
constexpr auto kTimeout = std::chrono::seconds(20);

void Must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "loopback_check, process %d: %s\n", static_cast<int>(getpid()), what);
  std::exit(1);
}

// The functions that are not inline in verbs.h, with their default symbol versions.
class Library {
 public:
  Library() : handle_(dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    Must(handle_ != nullptr, "dlopen");
    Find(get_device_list, "ibv_get_device_list");
    Find(free_device_list, "ibv_free_device_list");
    Find(open_device, "ibv_open_device");
    Find(close_device, "ibv_close_device");
    Find(alloc_pd, "ibv_alloc_pd");
    Find(dealloc_pd, "ibv_dealloc_pd");
    Find(reg_mr, "ibv_reg_mr");
    Find(dereg_mr, "ibv_dereg_mr");
    Find(create_cq, "ibv_create_cq");
    Find(destroy_cq, "ibv_destroy_cq");
    Find(create_qp, "ibv_create_qp");
    Find(destroy_qp, "ibv_destroy_qp");
    Find(modify_qp, "ibv_modify_qp");
    Find(query_gid, "ibv_query_gid");
  }
  ~Library() { Must(dlclose(handle_) == 0, "dlclose"); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  decltype(&ibv_get_device_list) get_device_list = nullptr;
  decltype(&ibv_free_device_list) free_device_list = nullptr;
  decltype(&ibv_open_device) open_device = nullptr;
  decltype(&ibv_close_device) close_device = nullptr;
  decltype(&ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&ibv_dealloc_pd) dealloc_pd = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, int) = nullptr;
  decltype(&ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&ibv_create_cq) create_cq = nullptr;
  decltype(&ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&ibv_create_qp) create_qp = nullptr;
  decltype(&ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&ibv_modify_qp) modify_qp = nullptr;
  decltype(&ibv_query_gid) query_gid = nullptr;

 private:
  template <class Function>
  void Find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlvsym(handle_, name, "IBVERBS_1.1"));
    Must(function != nullptr, name);
  }

  void* handle_;
};

// An open device with two queue pairs that are connected to each other.
class Loop {
 public:
  explicit Loop(const Library& verbs) : verbs_(verbs) {
    ibv_device** const list = verbs.get_device_list(nullptr);
    Must(list != nullptr && list[0] != nullptr, "no device");
    context_ = verbs.open_device(list[0]);
    verbs.free_device_list(list);
    Must(context_ != nullptr, "ibv_open_device");
    pd_ = verbs.alloc_pd(context_);
    cq_ = verbs.create_cq(context_, 16, nullptr, nullptr, 0);
    mr_ = verbs.reg_mr(pd_, bytes_.data(), bytes_.size(),
                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    Must(pd_ != nullptr && cq_ != nullptr && mr_ != nullptr, "cannot create the objects");
    for (ibv_qp*& qp : qps_) qp = MakeQp();
    Connect(qps_[0], qps_[1]);
    Connect(qps_[1], qps_[0]);
  }
  ~Loop() {
    for (ibv_qp* const qp : qps_) Must(verbs_.destroy_qp(qp) == 0, "ibv_destroy_qp");
    Must(verbs_.dereg_mr(mr_) == 0 && verbs_.destroy_cq(cq_) == 0 && verbs_.dealloc_pd(pd_) == 0 &&
             verbs_.close_device(context_) == 0,
         "something is still in use");
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Writes the first half of the memory to the second by RDMA, and checks the result.
  void Move(uint8_t seed) {
    for (size_t i = 0; i < kBytes; ++i) bytes_[i] = static_cast<uint8_t>(i * 7 + seed);
    Must(Post() == 0, "ibv_post_send");
    const auto end = std::chrono::steady_clock::now() + kTimeout;
    ibv_wc wc{};
    while (ibv_poll_cq(cq_, 1, &wc) == 0) {
      Must(std::chrono::steady_clock::now() < end, "no completion before the timeout");
    }
    Must(wc.status == IBV_WC_SUCCESS, "a write failed");
    Must(std::memcmp(bytes_.data(), bytes_.data() + kBytes, kBytes) == 0, "wrong bytes");
  }

  // In a child, a call on the parent's objects must fail: it must not succeed, block or crash.
  void MustFail() {
    Must(Post() == EPERM, "a child can post");
    ibv_wc wc{};
    Must(ibv_poll_cq(cq_, 1, &wc) <= 0, "a child polled a completion");
    errno = 0;
    Must(verbs_.alloc_pd(context_) == nullptr && errno == EPERM, "a child can allocate a PD");
    errno = 0;
    Must(verbs_.reg_mr(pd_, bytes_.data(), bytes_.size(), 0) == nullptr && errno == EPERM,
         "a child can register memory");
    Must(verbs_.destroy_qp(qps_[0]) == EPERM, "a child can destroy a queue pair");
  }

 private:
  ibv_qp* MakeQp() {
    ibv_qp_init_attr wish{};
    wish.send_cq = wish.recv_cq = cq_;
    wish.cap = {.max_send_wr = 4,
                .max_recv_wr = 4,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 0};
    wish.qp_type = IBV_QPT_RC;
    ibv_qp* const qp = verbs_.create_qp(pd_, &wish);
    Must(qp != nullptr, "ibv_create_qp");
    return qp;
  }

  void Connect(ibv_qp* from, ibv_qp* to) {
    ibv_qp_attr a{};
    a.qp_state = IBV_QPS_INIT;
    a.port_num = kPort;
    a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    Modify(from, a, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    a.qp_state = IBV_QPS_RTR;
    a.path_mtu = IBV_MTU_1024;
    a.dest_qp_num = to->qp_num;
    a.ah_attr.is_global = 1;
    a.ah_attr.port_num = kPort;
    a.ah_attr.grh.hop_limit = 64;
    Must(verbs_.query_gid(context_, kPort, 0, &a.ah_attr.grh.dgid) == 0, "ibv_query_gid");
    Modify(from, a,
           IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    a.qp_state = IBV_QPS_RTS;
    a.timeout = 14;
    a.retry_cnt = a.rnr_retry = 7;
    Modify(from, a,
           IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
               IBV_QP_MAX_QP_RD_ATOMIC);
  }
  void Modify(ibv_qp* qp, ibv_qp_attr attributes, int mask) {
    Must(verbs_.modify_qp(qp, &attributes, mask | IBV_QP_STATE) == 0, "ibv_modify_qp");
  }

  int Post() {
    ibv_sge sge{reinterpret_cast<uint64_t>(bytes_.data()), kBytes, mr_->lkey};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {.remote_addr = sge.addr + kBytes, .rkey = mr_->rkey};
    ibv_send_wr* refused = nullptr;
    return ibv_post_send(qps_[0], &wr, &refused);
  }

  const Library& verbs_;
  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_mr* mr_ = nullptr;
  std::array<ibv_qp*, 2> qps_ = {};
  std::array<uint8_t, 2 * kBytes> bytes_ = {};
};

void MustEndWell(pid_t child) {
  int status = 0;
  Must(child > 0 && waitpid(child, &status, 0) == child, "fork");
  Must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed");
}

void Reload() {
  for (uint8_t round = 0; round < 3; ++round) {
    const Library verbs;
    Loop(verbs).Move(round);
  }
}

void Child() {
  const Library verbs;
  const pid_t child = fork();
  Loop(verbs).Move(1);
  if (child == 0) std::exit(0);
  MustEndWell(child);
}

void Inherit() {
  const Library verbs;
  Loop loop(verbs);
  loop.Move(1);
  const pid_t child = fork();
  if (child == 0) {
    loop.MustFail();
    Loop(verbs).Move(2);
    std::exit(0);
  }
  loop.Move(3);
  MustEndWell(child);
  loop.Move(4);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count == 2 ? arguments[1] : "";
  Must(mode == "reload" || mode == "child" || mode == "inherit",
       "usage: loopback_check reload|child|inherit");
  if (mode == "reload") Reload();
  if (mode == "child") Child();
  if (mode == "inherit") Inherit();
  std::puts("every byte is right");
}
