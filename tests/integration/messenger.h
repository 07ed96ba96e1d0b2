#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/completions.h"
#include "cli/payload.h"
#include "cli/poller.h"

namespace verbena::integration {

// Sends messages on an unreliable service to a server that echoes them. A message contains its
// number and bytes derived from it; on UC every second one is a write with immediate data. A
// message may be lost, but one that is echoed must be complete. One thread.
class Messenger {
 public:
  struct Result {
    uint64_t sent = 0;
    uint64_t echoed = 0;
  };

  static constexpr uint32_t kReceives = 16;

  // A datagram has at most one packet.
  static cli::ServerRequest RequestFor(QpType type) {
    const uint32_t size = type == QpType::kUd ? 1'000 : 5'000;
    return {.type = type, .receives = kReceives, .window = size, .message = size, .echo = true};
  }

  Messenger(cli::Endpoint& endpoint, uint32_t size)
      : endpoint_(endpoint), size_(size), landing_(kReceives * slot_bytes()) {}

  ErrorOr<Result> Run(uint64_t count) {
    auto region = MemoryRegion::Register(endpoint_.domain(), landing_, Access::kAll);
    if (!region) return tl::unexpected(std::move(region.error()));
    region_ = std::move(*region);
    for (size_t slot = 0; slot < kReceives; ++slot) {
      if (auto done = PostReceive(slot); !done) return tl::unexpected(std::move(done.error()));
    }
    for (uint64_t i = 0; i < kUncounted + count; ++i) {
      auto done = SendOne(i);
      if (done) done = WaitFor(i, std::chrono::milliseconds(100));
      if (!done) return tl::unexpected(std::move(done.error()));
    }
    const uint64_t never = kUncounted + count;
    auto done = WaitFor(never, std::chrono::milliseconds(300));  // for late messages
    if (!done) return tl::unexpected(std::move(done.error()));
    return Result{.sent = count, .echoed = Counted()};
  }

 private:
  // The adapter pages in the target of a write at the first access, and an unreliable service drops
  // that message. The first messages do not count.
  static constexpr uint64_t kUncounted = 2;

  using Clock = std::chrono::steady_clock;

  [[nodiscard]] size_t slot_bytes() const { return size_ + cli::kGrhBytes; }

  [[nodiscard]] uint64_t Counted() const {
    return static_cast<uint64_t>(std::distance(seen_.lower_bound(kUncounted), seen_.end()));
  }

  ErrorOr<void> PostReceive(size_t slot) {
    return cli::InWords(endpoint_.qps()[0].Post(
        Receive{.id = WrId{cli::kReceiveFlag | slot},
                .data = region_.Local(slot * slot_bytes(), static_cast<uint32_t>(slot_bytes()))}));
  }

  ErrorOr<void> SendOne(uint64_t i) {
    const auto bytes = endpoint_.memory().first(size_);
    // Inverted, because Wireshark takes payload that begins with a small number for an encapsulated
    // protocol.
    const uint64_t number = ~i;
    std::memcpy(bytes.data(), &number, sizeof(number));
    cli::FillPayload(bytes.subspan(sizeof(i)), i);
    const QueuePair& qp = endpoint_.qps()[0];
    const Sge from = endpoint_.region().Local(0, size_);
    if (endpoint_.spec().type == QpType::kUc && i % 2 == 1) {
      return cli::InWords(
          qp.Post(Write{.data = from, .remote = endpoint_.remote(0), .immediate = Immediate{0}}));
    }
    return cli::InWords(
        qp.Post(Send{.data = from, .to = endpoint_.to(endpoint_.peer().qps[0].qp)}));
  }

  ErrorOr<void> WaitFor(uint64_t i, std::chrono::milliseconds time) {
    for (const auto end = Clock::now() + time; Clock::now() < end && !seen_.contains(i);) {
      const auto count = poller_.Poll(endpoint_.cq(), completions_);
      if (!count) return tl::unexpected(cli::InWords(count.error()));
      for (const Completion& one : std::span(completions_).first(*count)) {
        if (!one.ok()) return tl::unexpected(cli::InWords(one));
        if ((one.id.value() & cli::kReceiveFlag) == 0) continue;
        if (auto done = OnMessage(one); !done) return done;
      }
    }
    return {};
  }

  ErrorOr<void> OnMessage(const Completion& one) {
    const size_t slot = one.id.value() & ~cli::kReceiveFlag;
    const auto bytes =
        std::span(landing_).subspan(slot * slot_bytes() + endpoint_.header_bytes(), size_);
    uint64_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof(number));
    const uint64_t i = ~number;
    if (one.byte_count != size_ + endpoint_.header_bytes() ||
        cli::FindWrongByte(bytes.subspan(sizeof(i)), i)) {
      return tl::unexpected(Error{.text = "an echoed message has other bytes"});
    }
    seen_.insert(i);
    return PostReceive(slot);
  }

  cli::Endpoint& endpoint_;
  uint32_t size_;
  std::vector<std::byte> landing_;
  MemoryRegion region_;
  std::set<uint64_t> seen_;
  cli::Poller poller_;
  std::array<Completion, 16> completions_{};
};

}  // namespace verbena::integration
