#include "memory/spaces/protection_domain.h"

#include "base/check.h"

namespace verbena::memory {

MemoryResult<PdId> ProtectionDomains::Allocate(ConsumerId owner) {
  Consumer* consumer = consumers_.Find(owner);
  if (consumer == nullptr) return Fail(MemoryError::kNoSuchConsumer);
  const auto pd = domains_.Insert({.owner = owner});
  if (!pd.has_value()) return Fail(MemoryError::kLimitReached);
  ++consumer->users;
  return *pd;
}

MemoryResult<void> ProtectionDomains::Deallocate(PdId pd) {
  const DomainRecord* domain = domains_.Find(pd);
  if (domain == nullptr) return Fail(MemoryError::kNoSuchDomain);
  if (domain->users > 0) return Fail(MemoryError::kInUse);
  Consumer* consumer = consumers_.Find(domain->owner);
  CHECK(consumer != nullptr && consumer->users > 0);
  --consumer->users;
  domains_.Erase(pd);
  return {};
}

const Consumer* ProtectionDomains::OwnerOf(PdId pd) const {
  const DomainRecord* domain = domains_.Find(pd);
  return domain == nullptr ? nullptr : consumers_.Find(domain->owner);
}

void ProtectionDomains::AddUser(PdId pd) {
  DomainRecord* domain = domains_.Find(pd);
  CHECK(domain != nullptr);
  ++domain->users;
}

void ProtectionDomains::DropUser(PdId pd) {
  DomainRecord* domain = domains_.Find(pd);
  CHECK(domain != nullptr && domain->users > 0);
  --domain->users;
}

}  // namespace verbena::memory
