#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "cli/commands.h"
#include "host/broker_path.h"
#include "verbena/shared_buffers.h"

namespace verbena::cli {
namespace {

constexpr const char* kPrefix = "verbena-cache-";
constexpr const char* kExamples =
    "Each line of the table: number, address, bytes, keys, status, handles, rights.\n"
    "With --shared: number, name, owner, offset and bytes in its file, address, R_Key, rights,\n"
    "users, contact.\n\n"
    "Examples:\n"
    "  verbena run --cache -- my_program & verbena cache\n"
    "  verbena cache --pid 4711\n"
    "  verbena cache --shared\n";

struct CacheChoices {
  uint32_t pid = 0;
  bool is_shared = false;
  std::string socket = host::DefaultBrokerSocket();
};

// The programs of this machine, as far as this network namespace shows them, that run with --cache.
std::vector<uint32_t> FindPrograms() {
  std::vector<uint32_t> found;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const std::string name = std::string("@") + kPrefix;
    const size_t at = line.find(name);
    if (at == std::string::npos) continue;
    const uint64_t pid = std::strtoull(line.c_str() + at + name.size(), nullptr, 10);
    if (pid > 0 && pid <= UINT32_MAX) found.push_back(static_cast<uint32_t>(pid));
  }
  return found;
}

ErrorOr<std::string> ReadReport(uint32_t pid) {
  const std::string name = kPrefix + std::to_string(pid);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const FileDescriptor file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file.is_open()) return tl::unexpected(SystemError("socket"));
  if (connect(file.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return tl::unexpected(
        Error{.code = ErrorCode::kInvalid,
              .text = "process " + std::to_string(pid) + " does not run with --cache"});
  }
  std::string report;
  std::array<char, 4'096> part;
  while (true) {
    const ssize_t got = recv(file.get(), part.data(), part.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(SystemError("recv"));
    if (got == 0) return report;
    report.append(part.data(), static_cast<size_t>(got));
  }
}

Outcome Show(uint32_t pid) {
  const std::vector<uint32_t> programs = pid != 0 ? std::vector{pid} : FindPrograms();
  if (programs.empty()) std::puts("no program runs with --cache");
  for (const uint32_t program : programs) {
    auto report = ReadReport(program);
    if (!report && pid == 0) continue;  // it has just ended
    if (!report) return tl::unexpected(Failure(std::move(report.error())));
    if (pid == 0) std::printf("process %u\n", program);
    std::fputs(report->empty() ? "nothing of this process may be shown, or nothing was registered\n"
                               : report->c_str(),
               stdout);
  }
  return {};
}

Outcome ShowShared(const std::string& socket) {
  const auto buffers = SharedBuffers::Open(socket);
  if (!buffers) return tl::unexpected(Failure(buffers.error()));
  const auto list = buffers->List();
  if (!list) return tl::unexpected(Failure(list.error()));
  if (list->empty()) std::puts("no process shares a buffer");
  for (const SharedBufferEntry& entry : *list) std::puts(ToString(entry).c_str());
  return {};
}

}  // namespace

void AddCacheCommand(Command root, Outcome& outcome) {
  const auto choices = std::make_shared<CacheChoices>();
  Command command =
      root.AddCommand("cache", "show the registration caches of programs that run with --cache");
  const CommandOption pid =
      command.AddOption("--pid", choices->pid, "only the program with this process ID")
          .Within(1, UINT32_MAX);
  const CommandOption shared =
      command
          .AddFlag("--shared", choices->is_shared,
                   "the registered buffers that programs share through the broker")
          .Excludes(pid);
  command.AddOption("--socket", choices->socket, "the socket of the broker")
      .Type("PATH")
      .ShowDefault()
      .Needs(shared);
  command.SetExamples(kExamples);
  command.SetWork([choices, &outcome] {
    outcome = choices->is_shared ? ShowShared(choices->socket) : Show(choices->pid);
  });
}

}  // namespace verbena::cli
