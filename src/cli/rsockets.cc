#include "cli/rsockets.h"

#include <optional>
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "cli/preload.h"

namespace verbena::cli {
namespace {

namespace fs = std::filesystem;

// Where distributions put librspreload.so of rdma-core.
std::optional<fs::path> FindSocketCalls() {
  for (const char* const folder : {"/usr/lib/" VERBENA_MULTIARCH "/rsocket", "/usr/lib64/rsocket",
                                   "/usr/lib/rsocket", "/usr/local/lib/rsocket"}) {
    fs::path library = fs::path(folder) / "librspreload.so";
    std::error_code ignored;
    if (fs::exists(library, ignored)) return library;
  }
  return std::nullopt;
}

}  // namespace

ErrorOr<void> UseRsockets(const fs::path& libraries) {
  const fs::path accept4 = libraries / "libverbena-sockets.so";
  if (!fs::exists(accept4)) {
    return Fail(
        SystemError(0, "there is no " + accept4.string() +
                           "; in a source tree, build it by make build, else install the package "
                           "again"));
  }
  const auto socket_calls = FindSocketCalls();
  if (!socket_calls) {
    return Fail(SystemError(0,
                            "--rsockets needs librspreload.so of rdma-core, which is not "
                            "installed: on Debian, install the package librdmacm1"));
  }
  Preload(accept4);
  Preload(*socket_calls);
  return {};
}

}  // namespace verbena::cli
