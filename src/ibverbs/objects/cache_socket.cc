#include "ibverbs/objects/cache_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_descriptor.h"
#include "base/log.h"
#include "base/quiet_thread.h"
#include "base/when_memory.h"
#include "ibverbs/objects/mr_cache.h"

namespace verbena::ibverbs {
namespace {

// A client that does not read is left after this time.
constexpr timeval kPatience{.tv_sec = 1, .tv_usec = 0};

FileDescriptor Listen() {
  const std::string name = "verbena-cache-" + std::to_string(getpid());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // after a zero: no file
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  FileDescriptor file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file.is_open() ||
      bind(file.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(file.get(), 4) != 0) {
    return {};
  }
  return file;
}

bool IsAllowed(int client) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == 0 || peer.uid == geteuid();
}

void Answer(int client) {
  if (!IsAllowed(client)) return;
  setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  const std::string report = CacheReport(true);
  std::string_view rest = report;
  while (!rest.empty()) {
    const ssize_t sent = send(client, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    rest.remove_prefix(static_cast<size_t>(sent));
  }
}

// Runs until the process ends.
void Serve(const FileDescriptor& file) {
  while (true) {
    const FileDescriptor client(accept4(file.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client.is_open() && errno != EINTR && errno != ECONNABORTED) return;
    if (client.is_open()) static_cast<void>(WhenMemory([&] { Answer(client.get()); }));
  }
}

}  // namespace

void ServeCacheReports() noexcept try {
  static std::atomic<bool> serves = false;
  if (serves.exchange(true)) return;
  auto* const file = new FileDescriptor(Listen());  // for as long as the process lives
  if (!file->is_open()) return LogOnce("verbena cache does not find this program: no socket");
  StartQuietThread("verbena-cache", [file] { Serve(*file); }).detach();
} catch (const std::exception&) {
  LogOnce("verbena cache does not find this program: no memory, or no thread");
}

}  // namespace verbena::ibverbs
