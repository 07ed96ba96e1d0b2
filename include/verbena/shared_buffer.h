#pragma once

#include <cstdint>
#include <string>

#include "verbena/access.h"
#include "verbena/numbers.h"
#include "verbena/strong_id.h"
#include "verbena/work_request.h"

namespace verbena {

// A buffer in the list of a broker. Never used again by the same broker.
using BufferNumber = StrongId<struct BufferNumberTag, uint64_t>;

// The processes that find a buffer by its name. Those that have its file open find it in any case.
enum class BufferAudience : uint8_t {
  kOwnUser,   // processes of the owner's user, and root
  kAllUsers,  // all that the broker serves: verbena broker --allow-user
};

// A buffer in shared memory that its owner has registered for peers.
struct SharedBuffer {
  std::string name = {};  // 1 to 63 letters, digits, '.', '_' and '-'
  uint64_t offset = 0;    // of its first byte in the file
  uint64_t length = 0;
  RemoteAddress remote = {};  // its first byte, for peers of the owner
  Access access = {};         // what the R_Key allows: remote rights
  // Where peers reach the owner, in words that owner and peers agree on: "10.0.0.7:18515". Up to
  // 63 printable characters, or none.
  std::string contact = {};
  BufferAudience audience = BufferAudience::kOwnUser;

  friend bool operator==(const SharedBuffer&, const SharedBuffer&) = default;
};

// The process that has published a buffer, as the kernel knows it.
struct BufferOwner {
  uint32_t pid = 0;
  uint32_t uid = 0;

  friend bool operator==(const BufferOwner&, const BufferOwner&) = default;
};

// A line of the list.
struct SharedBufferEntry {
  BufferNumber number = {};
  SharedBuffer buffer = {};
  BufferOwner owner = {};
  uint32_t users = 0;  // handles of processes that have found it

  friend bool operator==(const SharedBufferEntry&, const SharedBufferEntry&) = default;
};
// "17  frames  4711 (user 1000)  0+65536  0x7f0012340000  rkey 0x1234  remote read  1 user"
std::string ToString(const SharedBufferEntry& entry);

}  // namespace verbena
