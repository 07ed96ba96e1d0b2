#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "tests/support/unreliable_fixture.h"
#include "transport/uc/uc_qp.h"

namespace verbena::transport {

// A UC queue pair that is connected to itself. The test delivers the packets.
class UcFixture : public UnreliableFixture {
 protected:
  static constexpr uint32_t kStart = wire::kMax24 - 1;  // the PSN wraps at the third packet

  UcFixture() { Begin(Access::kRemote); }

  void Begin(Access remote_rights, RegistrationMode registration = RegistrationMode::kDisabled) {
    const UcConfig config{.local_qp = QpNumber(1),
                          .remote_qp = QpNumber(0x123456),
                          .path = PathId(9),
                          .path_mtu = kMtu,
                          .who = me_,
                          .remote_rights = remote_rights,
                          .registration = registration};
    qp_.emplace(config, send_queue_, ReceiveSource(receive_queue_), send_cq_, receive_cq_);
    qp_->BecomeReadyToReceive(Psn(kStart));
    qp_->BecomeReadyToSend(Psn(kStart));
  }

  // Posts a send of the first `length` bytes of the first page.
  void Send(queue::SendOpcode opcode, uint32_t length) {
    queue::SendWqe wqe{.id = WrId(length), .opcode = opcode, .flags = {.signaled = true}};
    wqe.immediate = Immediate(42);
    PostSend(wqe, {SgeOf(0, length)});
    RunAll(*qp_);
  }
  // Posts a write of the same bytes to the second page.
  void Write(queue::SendOpcode opcode, uint32_t length, std::optional<Key> key = {}) {
    queue::SendWqe wqe{.id = WrId(length), .opcode = opcode, .flags = {.signaled = true}};
    wqe.immediate = Immediate(42);
    wqe.operand = RemoteAddress{AddressOf(memory::kPage), key.value_or(region_.remote)};
    PostSend(wqe, {SgeOf(0, length)});
    RunAll(*qp_);
  }
  void Deliver(size_t i) {
    Step step = MakeStep();
    qp_->OnPacket(PacketAt(i), step);
    EXPECT_TRUE(qp_->IsConsistent());
    Empty();
  }
  void DeliverAll() {
    for (size_t i = 0; i < packets_.size(); ++i) Deliver(i);
  }
  void PagesReady(FaultTicket ticket, bool available) {
    Step step = MakeStep();
    qp_->OnPagesReady(ticket, available, step);
    Empty();
  }
  Bytes Written(size_t length) const { return BytesAt(memory::kPage, length); }
  const UcResponder::Counters& counters() const { return qp_->responder_counters(); }

  std::optional<UcQp> qp_;
};

}  // namespace verbena::transport
