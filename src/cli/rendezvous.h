#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "verbena/error.h"
#include "verbena/gid.h"

namespace verbena::cli {

// The default TCP port on which the two ends meet before they are connected.
inline constexpr uint16_t kMeetingPort = 18'515;

// Owns a file descriptor and closes it.
class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  File(File&& other) noexcept : fd_(other.Release()) {}
  File& operator=(File&& other) noexcept;
  ~File();

  [[nodiscard]] int get() const { return fd_; }

 private:
  int Release();

  int fd_;
};

// A TCP connection on which the ends exchange, as lines of JSON, what they need to connect. The
// queue pairs use the same two addresses, so their packets take the same route.
//
// One thread.
class JsonRendezvous {
 public:
  explicit JsonRendezvous(File file) : file_(std::move(file)) {}
  // `host` is a name or an address.
  [[nodiscard]] static ErrorOr<JsonRendezvous> Meet(const std::string& host, uint16_t port);

  [[nodiscard]] ErrorOr<void> Tell(const nlohmann::json& message);
  // Waits for a message. Fails when the other end is gone, or at Ctrl-C.
  [[nodiscard]] ErrorOr<nlohmann::json> Hear();
  // Whether the other end has sent more, or is gone. Does not wait.
  [[nodiscard]] bool HasNews() const;
  // Waits until HasNews, or for Ctrl-C.
  void WaitForNews() const;

  [[nodiscard]] Gid own_gid() const;
  [[nodiscard]] Gid peer_gid() const;
  [[nodiscard]] uint32_t interface() const;  // of a link-local address, otherwise 0

 private:
  File file_;
  std::string heard_;
};

// A TCP socket on which servers wait for clients, on all addresses of this machine.
class Listener {
 public:
  // Port 0: any free port.
  [[nodiscard]] static ErrorOr<Listener> Open(uint16_t port);

  [[nodiscard]] uint16_t port() const { return port_; }
  // nullopt at Ctrl-C, or after `seconds`.
  [[nodiscard]] std::optional<JsonRendezvous> Accept(std::optional<double> seconds = {}) const;

 private:
  Listener(File file, uint16_t port) : file_(std::move(file)), port_(port) {}

  File file_;
  uint16_t port_;
};

}  // namespace verbena::cli
