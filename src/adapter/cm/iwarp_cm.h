#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "adapter/cm/iwarp_end.h"
#include "adapter/iwarp_options.h"
#include "adapter/objects/iwarp_stream.h"
#include "adapter/objects/qp_table.h"
#include "adapter/objects/queue_pair.h"
#include "adapter/objects/stream_files.h"
#include "adapter/ready_list.h"
#include "base/error.h"
#include "base/time.h"
#include "transport/iwarp/mpa_handshake.h"
#include "verbena/cm_event.h"
#include "verbena/counters.h"

namespace verbena::adapter {

// The streams of an iWARP adapter, and the connection manager that sets them up: TCP, then a
// request and a reply of MPA. docs/iwarp.md has the phases of a stream.
//
// Peers that have not sent a whole request are bounded in number and in time. A request that is
// whole waits for the program, within the backlog of its listener.
//
// Owned by the engine; under its lock.
class IwarpCm {
 public:
  using OnWarning = std::function<void(const std::string& warning)>;

  IwarpCm(const IwarpOptions& options, StreamFiles files, QpTable<QueuePair>& qps,
          RunQueue<QueuePair>& run_queue, OnWarning on_warning)
      : options_(options),
        files_(std::move(files)),
        qps_(qps),
        run_queue_(run_queue),
        on_warning_(std::move(on_warning)) {}
  IwarpCm(const IwarpCm&) = delete;
  IwarpCm& operator=(const IwarpCm&) = delete;
  ~IwarpCm();

  // --- Inputs. ---

  // Readable while there is work for Look.
  [[nodiscard]] int fd() const { return files_.fd(); }
  // Serves the files that are ready. Calls deliver(stream, bytes) for each stream of a queue pair
  // that has received so many bytes, or its end. True if a file was ready.
  template <class Fn>
  bool Look(Time now, Fn deliver) {
    if (IwarpStream* const stream = TakeHotPass()) {
      const size_t bytes = ReadFor(*stream);
      if (bytes == 0 && !stream->peer_has_closed()) return false;
      hot_passes_ = kHotPasses;
      deliver(*stream, bytes);
      return true;
    }
    fabric::ReadySet::Ready room;
    const auto ready = files_.Look(room, now);
    if (is_tcp() && !ready.empty()) SetHot(ready);
    for (const StreamId id : ready) {
      // An earlier one may have ended it.
      IwarpStream* const stream = Find(id);
      if (stream == nullptr) {
        AcceptFrom(id, now);
      } else if (stream->phase != StreamPhase::kOpen) {
        OnReady(*stream, now);
      } else {
        deliver(*stream, ReadFor(*stream));
      }
    }
    return !ready.empty();
  }
  void OnTime(Time now);
  [[nodiscard]] Time next_time() const {
    const Time timers = std::min(accept_again_, files_.next_time());
    return deadlines_.empty() ? timers : std::min(timers, deadlines_.begin()->first);
  }

  // `qp` has run: sends what it has framed, and closes its stream if it wishes so. Returns the
  // number of bytes that were sent.
  size_t OnRan(QueuePair& qp, Time now);
  // What a stream has received was taken, or waits for pages.
  void OnDelivered(IwarpStream& stream);
  // `qp` is about to be reset or destroyed, and has flushed.
  void Detach(QueuePair& qp, Time now);

  // The adapter goes: ends the streams whose end the system does not see to.
  void EndStreams();
  // Bytes wait to be sent.
  [[nodiscard]] bool has_unsent() const;
  [[nodiscard]] const CmUseCounters& counters() const { return counters_; }

  // --- Calls of the program; see verbena::CmId. ---

  [[nodiscard]] ErrorOr<CmEnd*> Create(CmEventQueue& queue, PortSpace space, void* user);
  [[nodiscard]] ErrorOr<CmEnd*> Take(const CmEvent& event, CmEventQueue& queue, void* user);
  void Destroy(CmEnd& end, Time now);
  [[nodiscard]] ErrorOr<void> Bind(CmEnd& end, const CmAddress& address, bool reuse_address,
                                   bool own_family_only);
  [[nodiscard]] ErrorOr<void> Listen(CmEnd& end, uint32_t backlog, const StreamsServed& serves,
                                     Time now);
  [[nodiscard]] ErrorOr<void> Connect(CmEnd& end, const IpAddress& from, const CmAddress& to,
                                      const ConnectionParameters& parameters, Time now);
  [[nodiscard]] ErrorOr<void> Accept(CmEnd& end, const ConnectionParameters& parameters, Time now);
  // A rejection of MPA has no reason.
  [[nodiscard]] ErrorOr<void> Reject(CmEnd& end, const CmPrivateData& data, uint16_t reason,
                                     Time now);
  [[nodiscard]] ErrorOr<void> Establish(CmEnd& end, Time now);
  // Data never arrives before the connection is established.
  [[nodiscard]] static ErrorOr<void> NotifyEstablished(CmEnd& end, Time now);
  // The end of a stream carries no private data.
  [[nodiscard]] ErrorOr<void> Disconnect(CmEnd& end, const CmPrivateData& data, Time now);
  static void Migrate(CmEnd& end, CmEventQueue& queue);

  [[nodiscard]] bool IsConsistent() const;

 private:
  [[nodiscard]] bool is_tcp() const { return files_.wire() == StreamWire::kTcp; }
  [[nodiscard]] IwarpStream* Find(StreamId id) const;
  IwarpStream& AddStream(IwarpSocket socket, StreamPhase phase);
  void SetDeadline(IwarpStream& stream, Time deadline);
  void UpdateInterest(IwarpStream& stream);

  // The stream that alone was ready last is read without asking the system which ones are ready,
  // which would be a second system call for each small message. Every few passes, and once nothing
  // has arrived for a while, the system is asked.
  static constexpr uint8_t kHotPasses = 64;
  static constexpr uint8_t kPassesPerLook = 4;
  void SetHot(std::span<const StreamId> ready);
  // nullptr: this pass asks the system.
  IwarpStream* TakeHotPass();

  void AcceptFrom(StreamId listener, Time now);
  // There is no file descriptor for a connection: the listener is not watched until accept_again_,
  // because it stays ready.
  void Pause(IwarpEnd& listener, const Error& why, Time now);
  void ResumeListeners(Time now);
  void MakeRoomForHandshake();
  void OnReady(IwarpStream& stream, Time now);
  void OnConnected(IwarpStream& stream, Time now);
  void OnRequestBytes(IwarpStream& stream, Time now);
  void OnRequest(IwarpStream& stream, Time now);
  void RaiseRequest(IwarpStream& stream, const CmEvent& event);
  void OnPlainConnected(IwarpStream& stream);
  void OnFirstBytes(IwarpStream& stream, Time now);
  void Decide(IwarpStream& stream, StreamKind kind, Time now);
  void OnUndecided(IwarpStream& stream, Time now);
  void OnPlainRequest(IwarpStream& stream, Time now);
  void RefuseWithoutMpa(IwarpStream& stream, transport::IscsiStatus why, Time now);
  void OnRefusedBytes(IwarpStream& stream, Time now);
  void OnReplyBytes(IwarpStream& stream, Time now);
  void OnReply(IwarpStream& stream, Time now);
  void OnClosing(IwarpStream& stream);
  size_t ReadFor(IwarpStream& stream);

  void OnSilence(IwarpStream& stream, Time now);
  // The stream serves `qp` from now on.
  void Open(IwarpStream& stream, QueuePair& qp);
  // The queue pair of a plain stream has run, and the system has taken `sent` bytes.
  void OnPlainRan(IwarpStream& stream, size_t sent);
  // Sends what is left and closes the stream. Its queue pair, if it has one, fails.
  void Close(IwarpStream& stream, Time now);
  // Ends the stream at once.
  void Erase(IwarpStream& stream);
  // The attempt to connect has failed.
  void FailConnect(IwarpStream& stream, CmEventType type, uint16_t reason);

  [[nodiscard]] transport::MpaTerms TermsOf(const ConnectionParameters& parameters) const;
  [[nodiscard]] ErrorOr<QueuePair*> FreeQp(QpNumber number, StreamKind kind) const;
  [[nodiscard]] ErrorOr<IwarpStream*> StreamOf(const IwarpEnd& end, StreamPhase phase) const;

  const IwarpOptions options_;
  const StreamFiles files_;
  QpTable<QueuePair>& qps_;
  RunQueue<QueuePair>& run_queue_;
  const OnWarning on_warning_;
  CmUseCounters counters_;
  uint64_t last_id_ = 0;
  Time accept_again_ = Time::Never();
  StreamId hot_ = {};
  uint8_t hot_passes_ = 0;  // that are left
  uint8_t passes_ = 0;      // of hot streams, modulo 256

  std::unordered_map<const CmEnd*, std::unique_ptr<IwarpEnd>> ends_;
  std::unordered_map<StreamId, IwarpEnd*> listeners_;
  std::unordered_map<StreamId, std::unique_ptr<IwarpStream>> streams_;
  std::set<std::pair<Time, StreamId>> deadlines_;  // of streams that have one
  std::set<StreamId> handshakes_;                  // that have not sent a whole request
};

}  // namespace verbena::adapter
