#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace verbena::adapter {

// The address of a Unix socket with an abstract name: it begins with a zero byte, belongs to the
// network namespace, is not in the file system and needs no rights. A value type.
class AbstractName {
 public:
  // REQUIRES: at most 107 bytes.
  explicit AbstractName(std::string_view name)
      : size_(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) {
    CHECK(name.size() < sizeof address_.sun_path);
    std::memcpy(address_.sun_path + 1, name.data(), name.size());
  }

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  [[nodiscard]] socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size_;
};

}  // namespace verbena::adapter
