#pragma once

#include <cstdint>

#include "base/check.h"

// Each data message needs a credit: room for a message at the receiver. Both sides count messages
// since the start of the connection, in 16 bits that wrap; a credit message carries the number up
// to which the sender may send.
namespace verbena::rsockets {

// The sender's half. One thread at a time.
class SendCredits {
 public:
  explicit SendCredits(uint16_t initial) : limit_(initial) {}

  [[nodiscard]] bool available() const { return sent_ != limit_; }
  // REQUIRES: available().
  void Take() {
    CHECK(available());
    ++sent_;
  }
  // The value of a credit message.
  void Grant(uint32_t value) { limit_ = static_cast<uint16_t>(value); }

 private:
  uint16_t sent_ = 0;
  uint16_t limit_;
};

// The receiver's half: counts the messages that the program has consumed, and decides when to send
// credits. One thread at a time.
class ReceiveCredits {
 public:
  explicit ReceiveCredits(uint16_t room) : room_(room), due_at_(static_cast<uint16_t>(room / 2)) {}

  [[nodiscard]] uint16_t room() const { return room_; }
  void Consume() { ++consumed_; }
  // Half of the room was used since the last credit message: the next one is due.
  [[nodiscard]] bool due() const { return static_cast<int16_t>(consumed_ - due_at_) >= 0; }
  // The value for a credit message that is sent now.
  [[nodiscard]] uint16_t Grant() {
    due_at_ = static_cast<uint16_t>(consumed_ + room_ / 2);
    return static_cast<uint16_t>(consumed_ + room_);
  }

 private:
  const uint16_t room_;
  uint16_t consumed_ = 0;
  uint16_t due_at_;
};

}  // namespace verbena::rsockets
