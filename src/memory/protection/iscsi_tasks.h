#pragma once

#include <cstdint>

#include "base/result.h"
#include "memory/access.h"
#include "memory/memory_error.h"
#include "memory/protection/protection_table.h"
#include "memory/protection/regions.h"
#include "memory/refusal.h"
#include "memory/spaces/protection_domain.h"

namespace verbena::memory {

// The memory of one iSCSI command. The target addresses it from zero.
struct TaskSpec {
  PdId pd;
  uint64_t length = 0;
  Access rights = Access::kRemoteRead | Access::kRemoteWrite;  // of the target, in general
  bool reads = false;    // a disk read: the target delivers. Otherwise it fetches
  uint64_t command = 0;  // the consumer's name for the command, returned when the task ends
};

// The table half of rows B4 and B13: an entry of type task, whose key is the initiator task tag. It
// is made when the command is sent, and the response ends it.
//
// One thread at a time.
class IscsiTasks {
 public:
  IscsiTasks(ProtectionTable& table, ProtectionDomains& domains, TranslationStore& store)
      : table_(table), domains_(domains), store_(store) {}

  // A command without data has no pages.
  MemoryResult<Key> Begin(const TaskSpec& spec, const PageListBacking& backing);

  // The response has come: the key is gone, and this was the command.
  Result<uint64_t, Refusal> End(Key task, const Accessor& who);

 private:
  ProtectionTable& table_;
  ProtectionDomains& domains_;
  TranslationStore& store_;
};

}  // namespace verbena::memory
