#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "verbena/access.h"
#include "verbena/error.h"
#include "verbena/numbers.h"
#include "verbena/registration_cache.h"
#include "verbena/work_request.h"

namespace verbena {

namespace cache {
class PeerTable;
}

// The list of a client's registered buffers, kept by the server that it does I/O with. The client
// sends a notice when its cache registers a buffer and when the registration ends; its requests
// then name addresses alone, and the server knows the R_Keys.
//
//   client   RegistrationCache over an AnnouncingBackend, which sends notices
//   server   a PeerBuffers for each connection, which reads them

// What a client says of one registration. The number is the client's; the same number is not used
// again on the same connection.
struct BufferNotice {
  enum class Kind : uint8_t { kRegistered, kEnded };

  Kind kind = Kind::kRegistered;
  uint32_t number = 0;
  // Of kRegistered.
  MemoryRange range = {};
  Access access = {};
  Key r_key = {};

  friend bool operator==(const BufferNotice&, const BufferNotice&) = default;
};

// A notice in a message, big-endian:
//
//    0    1    2      3        4        8         16       24      28
//   +----+----+------+--------+--------+---------+--------+-------+
//   | 'V'| 'B'| kind | access | number | address | length | R_Key |
//   +----+----+------+--------+--------+---------+--------+-------+
inline constexpr size_t kBufferNoticeBytes = 28;
[[nodiscard]] std::array<std::byte, kBufferNoticeBytes> ToBytes(const BufferNotice& notice);
// nullopt if the bytes are not exactly one notice.
[[nodiscard]] std::optional<BufferNotice> ParseBufferNotice(std::span<const std::byte> bytes);

// At the server: the buffers of one client, for as long as its connection lasts. Keep it beside the
// queue pair: a number, and an address, mean something on their connection only.
//
// Thread rule: one thread at a time.
class PeerBuffers {
 public:
  // Fails with kLimit beyond `buffers_max`, so that a client cannot fill the server's memory.
  [[nodiscard]] static ErrorOr<PeerBuffers> Create(uint32_t buffers_max = 4'096);
  PeerBuffers() = default;
  PeerBuffers(PeerBuffers&&) noexcept;
  PeerBuffers& operator=(PeerBuffers&&) noexcept;
  ~PeerBuffers();

  // Refuses a notice that no honest client sends: a number twice, or the end of what is not there.
  [[nodiscard]] ErrorOr<void> Apply(const BufferNotice& notice);

  // For a work request of the server that reads from or writes to these bytes of the client;
  // nullopt if the client has not registered them for it.
  [[nodiscard]] std::optional<RemoteAddress> Find(uint64_t address, uint64_t length,
                                                  Access access) const;

  [[nodiscard]] size_t size() const;
  // In the order of their numbers.
  [[nodiscard]] ErrorOr<std::vector<BufferNotice>> List() const;

 private:
  explicit PeerBuffers(std::unique_ptr<cache::PeerTable> table);

  std::unique_ptr<cache::PeerTable> table_;
};

// At the client: a backend of a RegistrationCache that announces what has remote rights. With
// ReleasedRemoteKey::kKept a buffer is announced once, and stays so until it is collected or its
// memory is given up; a hit sends nothing.
//
// `announce` sends the notice to the server, on the connection of the requests that name the
// buffer, and so ahead of them; false if it cannot. It is called under no lock, by several threads
// at a time, and must not call the cache. A registration that cannot be announced fails; the end of
// one that cannot be announced ends all the same: the server's next use is refused.
class AnnouncingBackend final : public RegistrationBackend {
 public:
  using Announce = std::function<bool(const BufferNotice&)>;

  // Throws std::bad_alloc.
  AnnouncingBackend(std::unique_ptr<RegistrationBackend> below, Announce announce);
  AnnouncingBackend(const AnnouncingBackend&) = delete;
  AnnouncingBackend& operator=(const AnnouncingBackend&) = delete;
  ~AnnouncingBackend() override;

  [[nodiscard]] bool follows_mappings() const override;
  [[nodiscard]] MemoryEvents* events() override;
  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange range, Access access) override;
  void Deregister(const CachedKeys& keys) override;
  [[nodiscard]] ErrorOr<CachedKeys> Rekey(const CachedKeys& keys, Access access) override;

 private:
  struct State;

  const std::unique_ptr<State> state_;
};

}  // namespace verbena
