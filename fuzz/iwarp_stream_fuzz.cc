// Any bytes, and frames with any headers, into a live iWARP queue pair, in order and ahead of gaps,
// while its program posts work and its pages come and go: it stays consistent, touches no byte
// outside of its region, and holds nothing after its end.
//
// An input is a byte for the stream, then a sequence of steps of one byte each, which some bytes
// more may follow.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/check.h"
#include "fuzz/input.h"
#include "memory/copy/signal_guard.h"
#include "memory/memory_core.h"
#include "transport/iwarp/iwarp_qp.h"
#include "wire/iwarp/rdmap_atomic.h"
#include "wire/iwarp/rdmap_read_request.h"

namespace {

using namespace verbena;
using namespace verbena::transport;
using fuzz::Input;
using wire::DdpTagged;
using wire::DdpUntagged;
using wire::StreamOffset;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPages = 4;
constexpr uint64_t kBase = 0x100000;
constexpr std::byte kGuard{0xA5};
constexpr QpNumber kQp{5};

class World {
 public:
  explicit World(Input input) : input_(input) {
    std::ranges::fill(memory(), kGuard);
    pd_ = *core_.domains.Allocate(*core_.consumers.Open({}));
    const memory::RegionSpec spec{
        .pd = pd_, .start = KeyAddress(kBase), .length = 2 * kPage, .rights = Access::kAll};
    const memory::PhysicalAddress at(reinterpret_cast<uintptr_t>(memory().data() + kPage));
    keys_ = *core_.regions.Register(spec, memory::LinearBacking{at});
    CHECK(core_.regions.MapPages(keys_.local, 0, 2, {}, true).has_value());
    window_ = *core_.windows.Allocate(pd_, WindowType::k1);
    const uint8_t how = input_.Byte();
    config_ = {.local_qp = kQp,
               .who = {pd_, kQp},
               .registration = RegistrationMode::kAnticipatory,
               .max_rd_atomic = static_cast<uint8_t>(how >> 4 & 3),
               .max_dest_rd_atomic = static_cast<uint8_t>(how >> 6),
               .remote_rights = Access::kRemote,
               .stream = {.framing = (how & 8) != 0 ? StreamFraming::kRecords : StreamFraming::kMpa,
                          .send_markers = (how & 1) != 0,
                          .receive_markers = (how & 1) != 0,
                          .crc = (how & 2) != 0,
                          .ulpdu_max = 900,
                          .waits_for_first = (how & 4) != 0,
                          .receive_window = 8192}};
    qp_ = std::make_unique<IwarpQp>(config_, sends_, ReceiveSource(receives_), cq_, cq_);
    qp_->Connect(buffer_);
    peer_ = std::make_unique<MpaSender>(config_.stream, peer_buffer_);
  }

  void Run() {
    while (!input_.empty()) {
      OneStep();
      AfterStep();
    }
    qp_->BecomeFailed();
    RunQp();
    AfterStep();
    CHECK(sends_.begin() == sends_.end() && receives_.begin() == receives_.end());
    CHECK(core_.one_touch.remembered_count() == 0);
    CHECK(core_.windows.Deallocate(window_).has_value());
    CHECK(core_.regions.Deregister(keys_.local).has_value());
    CHECK(core_.IsConsistent());
  }

 private:
  std::span<std::byte> memory() { return {memory_->data() + Skip(), (kPages)*kPage}; }
  size_t Skip() const {
    const auto at = reinterpret_cast<uintptr_t>(memory_->data());
    return static_cast<size_t>((at + kPage - 1) / kPage * kPage - at);
  }
  Step MakeStep() { return {.now = now_, .memory = core_, .outbox = outbox_}; }

  void AfterStep() {
    for (const PageRequest& request : outbox_.page_requests()) requests_.push_back(request);
    outbox_.Clear();
    CHECK(qp_->IsConsistent());
    const auto is_guard = [](std::byte byte) { return byte == kGuard; };
    CHECK(std::ranges::all_of(memory().first(kPage), is_guard));
    CHECK(std::ranges::all_of(memory().last(kPage), is_guard));
    std::array<Completion, 16> completions;
    while (cq_.Poll(completions).value_or(0) > 0) {
    }
  }

  void RunQp() {
    Step step = MakeStep();
    CHECK(!qp_->Run(step));
    if (input_.Byte() % 4 != 0) buffer_.Clear();
  }

  // What the peer has sent, and the queue pair has not taken.
  void Deliver() {
    Step step = MakeStep();
    const size_t taken = qp_->OnBytes(taken_, stream_, step);
    CHECK(taken <= stream_.size());
    stream_.erase(stream_.begin(), stream_.begin() + static_cast<ptrdiff_t>(taken));
    taken_ = config_.stream.framing == StreamFraming::kRecords ? qp_->next_byte() : taken_ + taken;
    if (stream_.size() > 200'000) stream_.clear();
  }
  void TakeFrames() {
    for (const auto piece : peer_buffer_.bytes()) {
      stream_.insert(stream_.end(), piece.begin(), piece.end());
    }
    peer_buffer_.Clear();
  }
  void ShowEarly() {
    const size_t from = 1 + input_.Byte() * 16U;
    if (from >= stream_.size()) return;
    std::vector<std::byte> bytes(stream_.begin() + static_cast<ptrdiff_t>(from), stream_.end());
    Step step = MakeStep();
    // A queue pair that has ended may take anything.
    static_cast<void>(qp_->OnBytes(taken_ + from, bytes, step));
  }

  Key SomeKey() {
    switch (input_.Byte() % 4) {
      case 0:
        return keys_.local;
      case 1:
        return window_;
      case 2:
        return Key(input_.Byte());
      default:
        return keys_.remote;
    }
  }
  KeyAddress SomeAddress() {
    const uint8_t byte = input_.Byte();
    if (byte == 255) return KeyAddress(UINT64_MAX - input_.Byte());
    return KeyAddress(kBase - 8 + byte * 40U);
  }
  wire::DdpControl SomeControl(bool tagged) {
    const uint8_t byte = input_.Byte();
    return {.tagged = tagged,
            .last = (byte & 1) != 0,
            .ddp_version = static_cast<uint8_t>(byte >> 5 == 7 ? 2 : 1),
            .rdmap_version = static_cast<uint8_t>(byte >> 5 == 6 ? 0 : 1),
            .opcode = static_cast<wire::RdmapOpcode>(byte >> 1 & 15)};
  }

  void SendFrame() {
    const bool tagged = input_.Byte() % 2 == 0;
    const size_t header = tagged ? DdpTagged::kSize : DdpUntagged::kSize;
    const size_t payload = input_.Byte() * (input_.Byte() % 4U);
    if (!peer_->Begin(header + payload)) return peer_buffer_.Clear();
    const auto ulpdu = peer_->ulpdu();
    std::ranges::fill(ulpdu, std::byte{0x11});
    if (tagged) {
      DdpTagged{.control = SomeControl(true), .stag = SomeKey(), .offset = SomeAddress()}.Serialize(
          ulpdu);
    } else {
      DdpUntagged{.control = SomeControl(false),
                  .invalidate = SomeKey(),
                  .queue = static_cast<wire::DdpQueue>(input_.Byte() % 5),
                  .msn = wire::DdpMsn(input_.Byte() % 8U),
                  .offset = wire::MessageOffset(input_.Byte() % 3U * 100)}
          .Serialize(ulpdu);
      FillBody(ulpdu.subspan(header));
    }
    peer_->End();
    TakeFrames();
  }
  void FillBody(std::span<std::byte> body) {
    if (body.size() >= wire::RdmapAtomicRequest::kSize && input_.Byte() % 2 == 0) {
      wire::RdmapAtomicRequest{.opcode = static_cast<wire::RdmapAtomicOpcode>(input_.Byte() % 4),
                               .stag = SomeKey(),
                               .offset = SomeAddress(),
                               .add_or_swap_mask = input_.Byte() % 2U,
                               .compare_mask = UINT64_MAX}
          .Serialize(body);
    } else if (body.size() >= wire::RdmapReadRequest::kSize) {
      wire::RdmapReadRequest{
          .size = input_.Byte() * 40U, .source_stag = SomeKey(), .source_offset = SomeAddress()}
          .Serialize(body);
    }
  }

  void PostSend() {
    queue::SendWqe wqe;
    wqe.flags.signaled = true;
    const uint8_t byte = input_.Byte();
    const RemoteAddress remote{kBase, keys_.remote};
    if (byte % 3 == 0) {
      wqe.opcode = queue::SendOpcode::kRead;
      wqe.operand = remote;
    } else if (byte % 3 == 1) {
      wqe.opcode = queue::SendOpcode::kFetchAndAdd;
      wqe.operand = queue::Atomic{.remote = remote};
    }
    const std::array sges = {Sge{
        kBase + byte, wqe.opcode == queue::SendOpcode::kFetchAndAdd ? 8U : byte * 9U, keys_.local}};
    static_cast<void>(sends_.Post({.wqe = wqe, .sges = sges}));
  }
  void Bind() {
    const auto bound = core_.windows.Bind(window_,
                                          {.region = keys_.local,
                                           .start = KeyAddress(kBase),
                                           .length = 2000,
                                           .rights = Access::kRemoteRead | Access::kRemoteWrite,
                                           .one_touch = true,
                                           .by_index = true},
                                          config_.who);
    if (bound) window_ = *bound;
  }
  void AnswerPages() {
    if (requests_.empty()) return;
    const PageRequest request = requests_.front();
    requests_.pop_front();
    const bool available = input_.Byte() % 8 != 0;
    if (available) {
      CHECK(core_.regions
                .MapPages(request.fault.region, request.fault.first_page, request.fault.page_count,
                          {}, true)
                .has_value());
    }
    Step step = MakeStep();
    qp_->OnPagesReady(request.ticket, available, step);
  }
  void Evict() {
    const auto at = reinterpret_cast<uintptr_t>(memory().data() + kPage * (1 + input_.Byte() % 2U));
    core_.InvalidateMachine(memory::MachineAddress(at), memory::MachineAddress(at + kPage - 1));
  }

  void OneStep() {
    switch (input_.Byte() % 12) {
      case 0:
        for (uint8_t i = input_.Byte(); i > 0; --i) {
          stream_.push_back(static_cast<std::byte>(input_.Byte()));
        }
        return;
      case 1:
        return PostSend();
      case 2: {
        const std::array sges = {Sge{kBase + input_.Byte(), 1500, keys_.local}};
        return static_cast<void>(receives_.Post({.wqe = {}, .sges = sges}));
      }
      case 3:
        return ShowEarly();
      case 4:
        return AnswerPages();
      case 5:
        return Evict();
      case 6:
        return Bind();
      case 7:
        return RunQp();
      case 8:
        return Deliver();
      default:
        return SendFrame();
    }
  }

  Input input_;
  std::unique_ptr<std::array<std::byte, (kPages + 1)* kPage>> memory_ =
      std::make_unique<std::array<std::byte, (kPages + 1) * kPage>>();
  memory::MemoryCore core_;
  memory::PdId pd_;
  memory::RegionKeys keys_;
  Key window_;
  IwarpConfig config_;
  queue::SendQueue sends_{{.capacity = 8, .sges_max = 2}};
  queue::ReceiveQueue receives_{{.capacity = 8, .sges_max = 2}};
  queue::CompletionQueue cq_{64};
  SendBuffer buffer_{4096};
  SendBuffer peer_buffer_{4096};
  std::unique_ptr<IwarpQp> qp_;
  std::unique_ptr<MpaSender> peer_;
  std::vector<std::byte> stream_;
  StreamOffset taken_;
  std::deque<PageRequest> requests_;
  Outbox outbox_{16};
  Time now_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool installed = (memory::SignalGuard::Install(), true);
  static_cast<void>(installed);
  World(Input({data, size})).Run();
  return 0;
}
