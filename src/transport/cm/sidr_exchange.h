#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "transport/cm/cm_step.h"
#include "wire/mad/cm_mad.h"

namespace verbena::transport {

// One SIDR exchange: a request for the queue pair of a datagram service, and its response (IBA
// 12.11). The requester retransmits until the response arrives; the responder keeps the response
// for as long as the request may be retransmitted. Owned by SidrExchanges; one thread at a time.
class SidrExchange {
 public:
  enum class State : uint8_t { kReqSent, kReqReceived, kAnswered, kClosed };

  struct Retry {
    Duration answer{};  // until the request is retransmitted
    uint8_t count = 0;
  };

  explicit SidrExchange(const CmPeer& peer) : peer_(peer) {}

  // The first input is one of these. `id` is ours; a requesting peer has its own.
  void Ask(wire::SidrRequestId id, wire::CmSidrReq req, const Retry& retry, CmStep& step);
  void OnRequest(wire::SidrRequestId id, const wire::CmSidrReq& req,
                 wire::TransactionId transaction, Duration patience, CmStep& step);

  // False unless the request waits for it.
  bool Answer(wire::CmSidrRep rep, CmStep& step);
  // The consumer drops the exchange.
  void Destroy(CmStep& step);

  void OnDuplicateReq(CmStep& step);
  void OnResponse(const wire::CmSidrRep& rep, CmStep& step);
  void OnTime(CmStep& step);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] Time deadline() const { return deadline_; }
  [[nodiscard]] const CmPeer& peer() const { return peer_; }
  [[nodiscard]] bool is_active() const { return is_active_; }
  // On the wire: the id of the requester.
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
