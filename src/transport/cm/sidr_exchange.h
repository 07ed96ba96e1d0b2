#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/cm/cm_step.h"
#include "wire/mad/cm_mad.h"

namespace verbena::transport {

// One question for the queue pair behind a service of datagrams, and its answer (IBA 12.11). The
// side that asks sends again until the answer comes; the side that answers remembers the answer
// for as long as the question may come again. Owned by SidrExchanges; one thread at a time.
class SidrExchange {
 public:
  enum class State : uint8_t { kReqSent, kReqReceived, kAnswered, kClosed };

  struct Retry {
    Duration answer{};  // until the question is sent again
    uint8_t count = 0;
  };

  explicit SidrExchange(const CmPeer& peer) : peer_(peer) {}

  // The first input: one of these. `id` is ours; a peer that asks has one of its own.
  void Ask(wire::SidrRequestId id, wire::CmSidrReq req, const Retry& retry, CmStep& step);
  void OnRequest(wire::SidrRequestId id, const wire::CmSidrReq& req,
                 wire::TransactionId transaction, Duration patience, CmStep& step);

  // False unless the question waits for it.
  bool Answer(wire::CmSidrRep rep, CmStep& step);
  // The consumer is no longer interested.
  void Destroy(CmStep& step);

  void OnDuplicateReq(CmStep& step);
  void OnResponse(const wire::CmSidrRep& rep, CmStep& step);
  void OnTime(CmStep& step);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] Time deadline() const { return deadline_; }
  [[nodiscard]] const CmPeer& peer() const { return peer_; }
  [[nodiscard]] bool is_active() const { return is_active_; }
  // On the wire: the number of the side that asks.
  [[nodiscard]] wire::SidrRequestId request_id() const { return request_id_; }

 private:
  void Raise(CmEventType type, const std::optional<wire::CmMessage>& message, CmStep& step) const;
  void Close();

  wire::SidrRequestId id_{};
  CmPeer peer_;
  wire::SidrRequestId request_id_{};
  wire::ServiceId service_id_{};
  State state_ = State::kClosed;
  bool is_active_ = false;
  Retry retry_{};
  Time deadline_ = Time::Never();
  wire::CmMad last_{};  // sent
  wire::TransactionId transaction_{};
};

}  // namespace verbena::transport
