#pragma once

#include <cstdint>
#include <string>

#include "host/ids.h"
#include "verbena/error.h"
#include "verbena/shared_buffer.h"

namespace verbena::host {

// The messages between a broker and processes that share registered buffers: a part of
// messages.h. A request has a number, which its answer repeats.

// The fields of a buffer, for both directions.
template <class Codec>
void BufferFields(Codec& codec, SharedBuffer& buffer) {
  codec(buffer.name, buffer.offset, buffer.length, buffer.remote.address, buffer.remote.key,
        buffer.access, buffer.contact, buffer.audience);
}
template <class Codec>
void BufferFields(Codec& codec, SharedBufferEntry& entry) {
  codec(entry.number, entry.owner.pid, entry.owner.uid, entry.users);
  BufferFields(codec, entry.buffer);
}

// --- From a process. ---

// The first.
struct BufferHelloMessage {
  uint16_t version = kProtocolVersion;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(version);
  }
  friend bool operator==(const BufferHelloMessage&, const BufferHelloMessage&) = default;
};

// Its file comes with it.
struct BufferPublishMessage {
  uint64_t request = 0;
  SharedBuffer buffer = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(request);
    BufferFields(codec, buffer);
  }
  friend bool operator==(const BufferPublishMessage&, const BufferPublishMessage&) = default;
};

struct BufferWithdrawMessage {
  BufferNumber number = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(number);
  }
  friend bool operator==(const BufferWithdrawMessage&, const BufferWithdrawMessage&) = default;
};

// By its name, or, if that is empty, by the file that comes with it, in which the buffer covers
// these bytes. `access`: what the R_Key must allow.
struct BufferFindMessage {
  uint64_t request = 0;
  std::string name = {};
  uint64_t offset = 0, length = 0;
  Access access = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(request, name, offset, length, access);
  }
  friend bool operator==(const BufferFindMessage&, const BufferFindMessage&) = default;
};

// A buffer that was found is not used any more.
struct BufferReleaseMessage {
  BufferNumber number = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(number);
  }
  friend bool operator==(const BufferReleaseMessage&, const BufferReleaseMessage&) = default;
};

// The next lines of the list, after this number.
struct BufferListMessage {
  uint64_t request = 0;
  BufferNumber after = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(request, after);
  }
  friend bool operator==(const BufferListMessage&, const BufferListMessage&) = default;
};

// --- To a process. ---

struct BufferWelcomeMessage {
  uint16_t version = kProtocolVersion;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(version);
  }
  friend bool operator==(const BufferWelcomeMessage&, const BufferWelcomeMessage&) = default;
};

struct BufferPublishedMessage {
  uint64_t request = 0;
  BufferNumber number = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(request, number);
  }
  friend bool operator==(const BufferPublishedMessage&, const BufferPublishedMessage&) = default;
};

// Its file comes with it, if it was found by its name.
struct BufferFoundMessage {
  uint64_t request = 0;
  SharedBufferEntry entry = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(request);
    BufferFields(codec, entry);
  }
  friend bool operator==(const BufferFoundMessage&, const BufferFoundMessage&) = default;
};

// A request has failed; the connection goes on.
struct BufferFailedMessage {
  uint64_t request = 0;
  ErrorCode code = ErrorCode::kInvalid;
  uint32_t os_error = 0;
  std::string why = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(request, code, os_error, why);
  }
  friend bool operator==(const BufferFailedMessage&, const BufferFailedMessage&) = default;
};

// A buffer that was found has ended: it was withdrawn, or its owner has ended.
struct BufferEndedMessage {
  BufferNumber number = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(number);
  }
  friend bool operator==(const BufferEndedMessage&, const BufferEndedMessage&) = default;
};

// One for each buffer of the list.
struct BufferRowMessage {
  uint64_t request = 0;
  SharedBufferEntry entry = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(request);
    BufferFields(codec, entry);
  }
  friend bool operator==(const BufferRowMessage&, const BufferRowMessage&) = default;
};

// After the last row of an answer. `is_all`: there are no more.
struct BufferRowsMessage {
  uint64_t request = 0;
  bool is_all = true;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(request, is_all);
  }
  friend bool operator==(const BufferRowsMessage&, const BufferRowsMessage&) = default;
};

}  // namespace verbena::host
