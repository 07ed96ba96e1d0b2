#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "host/broker.h"

namespace verbena::host {

// A guest of a mebibyte without a process of its own, over the real protocol: obeys at once, and
// wants all of its memory. One thread.
struct SmallGuest {
  static constexpr uint64_t kBytes = uint64_t{1} << 20;
  static constexpr uint64_t kMinimum = uint64_t{64} << 10;

  // Attached soon, after the broker's next steps.
  [[nodiscard]] static ErrorOr<SmallGuest> Connect(const std::string& socket,
                                                   const std::string& name) {
    auto channel = BrokerChannel::Connect(socket);
    if (!channel) return Fail(channel.error());
    FileDescriptor memory(memfd_create("guest", MFD_CLOEXEC));
    if (ftruncate(memory.get(), kBytes) != 0) return Fail(SystemError("ftruncate"));
    SmallGuest guest{std::move(*channel), std::move(memory)};
    const HelloMessage hello{.name = name, .limits = {.min = kMinimum}};
    if (guest.channel.Send(hello) != BrokerChannel::Status::kDone) {
      return Fail(SystemError("the broker does not answer"));
    }
    return guest;
  }

  void Step() {
    while (auto received = channel.Receive()) {
      if (std::holds_alternative<WelcomeMessage>(received->message)) Declare();
      const auto* const given = std::get_if<GrantMessage>(&received->message);
      if (given == nullptr) continue;
      grant = given->bytes;
      const uint64_t held = std::min(grant, kBytes);
      if (held > 0) static_cast<void>(fallocate(memory.get(), 0, 0, static_cast<off_t>(held)));
      if (held < kBytes) {
        static_cast<void>(fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                    static_cast<off_t>(held), static_cast<off_t>(kBytes - held)));
      }
      static_cast<void>(channel.Send(ObeyedMessage{given->sequence}));
    }
  }
  void Declare() {
    static_cast<void>(channel.Send(MemoryMessage{.number = 1, .bytes = kBytes}, memory.get()));
    static_cast<void>(channel.Send(UseMessage{.use = {.faults = ++faults}}));
  }
  [[nodiscard]] bool has_minimum() const { return grant >= kMinimum; }
  [[nodiscard]] uint64_t resident() const {
    struct stat status {};
    fstat(memory.get(), &status);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }

  BrokerChannel channel;
  FileDescriptor memory;
  uint64_t grant = 0;
  uint64_t faults = 0;
};

}  // namespace verbena::host
