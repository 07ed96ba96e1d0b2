#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "adapter/objects/xrc_domain.h"
#include "fuzz/queue_pair/peer.h"
#include "sim/endnode.h"
#include "sim/findings.h"
#include "sim/guarded_memory.h"
#include "sim/network.h"
#include "sim/oracle/completions.h"

namespace verbena::fuzz {

// A queue pair of a real engine in a random initial state: service, path MTU, PSNs, memory with
// absent pages, windows, posted requests. The choices drive its peer, network, clock, page service
// and program.
//
// After every event it checks that all objects are consistent; that only bytes have changed which a
// key, receive or read allows to change and which a packet has named; that only bytes were sent
// which a key allows to read; that each request completed at most once and in order; and that the
// engine becomes idle.
//
// One thread.
class LiveQp {
 public:
  // `prints`: prints each event to stderr.
  LiveQp(Choices& choices, bool prints);
  LiveQp(const LiveQp&) = delete;
  LiveQp& operator=(const LiveQp&) = delete;

  // Runs one event, its consequences, and the checks.
  void Step();
  // Destroys everything, and checks that nothing is left.
  void Close();

  // Failed checks.
  [[nodiscard]] const sim::Findings& findings() const { return findings_; }

 private:
  static constexpr uint32_t kSges = 3;
  static constexpr uint64_t kGuardedBytes = 2 * sim::kPage;

  // Bytes of a guarded memory that may change until a request completes or a key is invalidated.
  struct Piece {
    sim::GuardedMemory* guarded;
    uint64_t id;  // in the shadow of the guarded memory
  };
  struct Receive {
    uint64_t id;
    std::vector<Piece> pieces;
  };
  struct Binding {
    Key key;
    uint64_t offset = 0;
    uint64_t length = 0;
    Access rights = {};
    uint64_t grant = 0;  // id in the shadow; 0 for none
  };
  struct Window {
    WindowType type;
    Binding now;
    std::vector<Key> others = {};  // keys that it may have instead
  };
  struct Range {  // in the exposed guarded memory
    uint64_t offset;
    uint64_t length;
  };
  struct KeyWork {  // a posted bind or invalidation
    size_t window;
    Binding next;
  };

  // --- Initial state. ---
  void MakeMemory();
  void MakeQp();
  void Connect();

  // --- Events. ---
  void ReceivePacket();
  void ReceiveMessage();
  void ReceiveAnswer();
  void ReceiveNoise();
  void RepeatPacket();
  void AdvanceTime();
  void AnswerPages();
  void TakePage();
  void PostSend();
  void PostReceive();
  void Modify();
  void Replace();
  void ChangeWindow();
  void Deregister();

  // --- Parts of events. ---
  void Deliver(Bytes packet);
  void DeliverAll(std::vector<Bytes> packets);
  void OnArrived(const sim::Event& arrival);
  void Name(uint64_t address, uint64_t length);
  void CheckNamed();
  void OnSent(std::span<const std::byte> bytes);
  void Print(const char* what) const;

  [[nodiscard]] std::vector<Sge> ChooseSges(uint32_t most, uint64_t id,
                                            std::vector<Piece>* written);
  void ChooseOperand(queue::SendWqe& wqe);
  void DraftBind(queue::SendWqe& wqe);
  void DraftInvalidate(queue::SendWqe& wqe);
  [[nodiscard]] Binding ChooseBinding(const Window& window);
  [[nodiscard]] RemoteAddress ChooseRemote();
  void Grant(Binding& binding);
  void End(Binding& binding);
  static void End(std::vector<Piece>& pieces, sim::Findings& findings);

  void PollAll();
  void OnSendDone(const Completion& completion);
  void OnKeyWorkDone(const sim::Operation& operation, const Completion& completion);
  void OnReceiveDone(const Completion& completion);
  void ClearWork();

  void RunUntilIdle();
  void Check();
  [[nodiscard]] memory::Accessor who() const { return {node_.pd, qp_->number()}; }

  Choices& choices_;
  const bool prints_;
  const QpType type_;
  const bool polls_;  // whether passes are those of a poller
  const sim::Swarm swarm_;
  Random random_{1};
  sim::VirtualClock clock_;
  sim::Network network_;
  sim::Endnode node_;
  sim::Findings findings_;
  Peer peer_;

  std::unique_ptr<sim::GuardedMemory> local_;    // for work requests
  std::unique_ptr<sim::GuardedMemory> exposed_;  // for the peer
  uint64_t region_grant_ = 0;
  std::vector<Window> windows_;
  adapter::Cq send_cq_{256, nullptr};
  adapter::Cq receive_cq_{256, nullptr};
  adapter::XrcDomain domain_;
  std::unique_ptr<adapter::Srq> srq_;
  adapter::QueuePair* qp_ = nullptr;
  Psn first_psn_;  // of the queue pair
  Psn peer_psn_;   // of its peer

  uint64_t next_id_ = 1;
  sim::CompletionsOracle sends_;
  std::map<uint64_t, std::vector<Piece>> written_;  // by the id of a send request
  std::map<uint64_t, KeyWork> key_work_;
  std::deque<Receive> receives_;
  std::vector<Range> named_;        // by a packet or an SGE so far
  std::vector<odp::PageJob> jobs_;  // not answered yet
  Bytes last_packet_;
  uint64_t checks_ = 0;
};

}  // namespace verbena::fuzz
