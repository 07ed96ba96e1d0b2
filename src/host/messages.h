#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "host/arbiter_options.h"
#include "host/buffer_messages.h"
#include "host/guest_account.h"
#include "host/ids.h"

namespace verbena::host {

// The messages between a broker and its guests, and between a broker and an operator's command.
// protocol.h says how they are written. Each lists its fields once, for both directions.

// --- From a guest. ---

// The first. `held`: what it was granted by an earlier broker, or 0.
struct HelloMessage {
  uint16_t version = kProtocolVersion;
  std::string name = {};
  GuestLimits limits = {};
  uint64_t held = 0;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(version, name, limits.min, limits.max, limits.weight, held);
  }
  friend bool operator==(const HelloMessage&, const HelloMessage&) = default;
};

// A piece of its managed memory, whose file comes with it.
struct MemoryMessage {
  uint32_t number = 0;
  uint64_t bytes = 0;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(number, bytes);
  }
  friend bool operator==(const MemoryMessage&, const MemoryMessage&) = default;
};

struct MemoryEndedMessage {
  uint32_t number = 0;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(number);
  }
  friend bool operator==(const MemoryEndedMessage&, const MemoryEndedMessage&) = default;
};

// `out`: bytes of it that are out. `word`: the place of its current-I/O word in the guest's page of
// words, counted from 1; 0: it has none.
struct RegionMessage {
  RegionNumber region = {};
  uint64_t bytes = 0;
  uint64_t out = 0;
  uint32_t word = 0;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(region, bytes, out, word);
  }
  friend bool operator==(const RegionMessage&, const RegionMessage&) = default;
};

// What happened to a region.
struct RegionEventMessage {
  enum class Kind : uint8_t { kQuiesced, kResumed, kInterest, kEnded };
  static constexpr Kind kLastKind = Kind::kEnded;

  RegionNumber region = {};
  Kind kind = Kind::kQuiesced;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(region, kind);
  }
  friend bool operator==(const RegionEventMessage&, const RegionEventMessage&) = default;
};

struct UseMessage {
  GuestUse use = {};
  // For the operator.
  uint64_t swapped = 0;  // bytes
  StageCounts faults = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(use.faults, use.activity, use.is_waiting, swapped, faults.first, faults.second);
  }
  friend bool operator==(const UseMessage&, const UseMessage&) = default;
};

// It has obeyed this grant.
struct ObeyedMessage {
  uint64_t sequence = 0;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(sequence);
  }
  friend bool operator==(const ObeyedMessage&, const ObeyedMessage&) = default;
};

// It ends, or needs no memory any more.
struct GoodbyeMessage {
  template <class Codec>
  void Fields(Codec& codec) {
    codec();
  }
  friend bool operator==(const GoodbyeMessage&, const GoodbyeMessage&) = default;
};

// --- To a guest. ---

struct WelcomeMessage {
  uint16_t version = kProtocolVersion;
  GuestId guest = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(version, guest);
  }
  friend bool operator==(const WelcomeMessage&, const WelcomeMessage&) = default;
};

// The connection ends with it.
struct RefusedMessage {
  std::string why = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(why);
  }
  friend bool operator==(const RefusedMessage&, const RefusedMessage&) = default;
};

struct GrantMessage {
  uint64_t bytes = 0;
  uint64_t sequence = 0;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(bytes, sequence);
  }
  friend bool operator==(const GrantMessage&, const GrantMessage&) = default;
};

struct RegionRequestMessage {
  enum class Kind : uint8_t { kQuiesce, kForce, kResume };
  static constexpr Kind kLastKind = Kind::kResume;

  RegionNumber region = {};
  Kind kind = Kind::kQuiesce;
  RegionPart part = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(region, kind, part.offset, part.length);
  }
  friend bool operator==(const RegionRequestMessage&, const RegionRequestMessage&) = default;
};

// So many bytes were taken that it had not given up: they are lost.
struct PunchedMessage {
  uint64_t bytes = 0;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(bytes);
  }
  friend bool operator==(const PunchedMessage&, const PunchedMessage&) = default;
};

// --- Between the broker and an operator. ---

struct StatusRequestMessage {
  uint16_t version = kProtocolVersion;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(version);
  }
  friend bool operator==(const StatusRequestMessage&, const StatusRequestMessage&) = default;
};

// One for each guest.
struct StatusRowMessage {
  std::string name = {};
  uint32_t pid = 0;
  GuestLimits limits = {};
  uint64_t registered = 0, resident = 0, swapped = 0, grant = 0, committed = 0, faults = 0;
  StageCounts stage_faults = {};
  uint64_t quiesced = 0, waiting = 0;  // regions
  uint64_t operations = 0;             // outstanding, as the words of its regions count them
  uint64_t punched = 0;                // bytes
  bool is_rogue = false, is_absent = false;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(name, pid, limits.min, limits.max, limits.weight, registered, resident, swapped, grant,
          committed, faults, stage_faults.first, stage_faults.second, quiesced, waiting, operations,
          punched, is_rogue, is_absent);
  }
  friend bool operator==(const StatusRowMessage&, const StatusRowMessage&) = default;
};

// After the last row.
struct StatusEndMessage {
  uint64_t budget = 0, committed = 0;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(budget, committed);
  }
  friend bool operator==(const StatusEndMessage&, const StatusEndMessage&) = default;
};

struct OperateMessage {
  enum class Kind : uint8_t { kQuiesce, kResume };
  static constexpr Kind kLastKind = Kind::kResume;

  uint16_t version = kProtocolVersion;
  Kind kind = Kind::kQuiesce;
  std::string guest = {};
  bool all_regions = true;
  RegionNumber region = {};
  RegionPart part = {};  // of one region
  bool hold = false;

  template <class Codec>
  void Fields(Codec& codec) {
    codec(version, kind, guest, all_regions, region, part.offset, part.length, hold);
  }
  friend bool operator==(const OperateMessage&, const OperateMessage&) = default;
};

// `done`: regions that were asked to change. An error has a text.
struct OperatedMessage {
  uint64_t done = 0;
  std::string error = {};

  template <class Codec>
  void Fields(Codec& codec) {
    codec(done, error);
  }
  friend bool operator==(const OperatedMessage&, const OperatedMessage&) = default;
};

// From a guest: the page of its current-I/O words, whose file comes with it.
struct WordsMessage {
  template <class Codec>
  void Fields(Codec& codec) {
    codec();
  }
  friend bool operator==(const WordsMessage&, const WordsMessage&) = default;
};

// The order gives each its number on the socket: new ones go to the end.
using BrokerMessage =
    std::variant<HelloMessage, MemoryMessage, MemoryEndedMessage, RegionMessage, RegionEventMessage,
                 UseMessage, ObeyedMessage, GoodbyeMessage, WelcomeMessage, RefusedMessage,
                 GrantMessage, RegionRequestMessage, PunchedMessage, StatusRequestMessage,
                 StatusRowMessage, StatusEndMessage, OperateMessage, OperatedMessage,
                 BufferHelloMessage, BufferPublishMessage, BufferWithdrawMessage, BufferFindMessage,
                 BufferReleaseMessage, BufferListMessage, BufferWelcomeMessage,
                 BufferPublishedMessage, BufferFoundMessage, BufferFailedMessage,
                 BufferEndedMessage, BufferRowMessage, BufferRowsMessage, WordsMessage>;

}  // namespace verbena::host
