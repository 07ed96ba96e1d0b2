#pragma once

// Includes <infiniband/verbs.h>, which libibverbs-dev has; verbena.h does not include this header.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "verbena/registration_cache.h"

namespace verbena {

// Registers with any libibverbs: of a real adapter, of the kernel's Soft-RoCE, or Verbena's own.
//
// Drivers keep the R_Key in ibv_rereg_mr, so there is no rekey: a registration with remote rights
// ends when it is released, unless CacheOptions::released_remote_key is kKept. REQUIRES: the domain
// outlives the cache and its handles.
class IbverbsBackend final : public RegistrationBackend {
 public:
  // kOnDemand for devices with on-demand paging (IBV_ODP_SUPPORT), whose keys follow the mappings.
  enum class Paging : uint8_t { kPinned, kOnDemand };

  explicit IbverbsBackend(ibv_pd* pd, Paging paging = Paging::kPinned) : pd_(pd), paging_(paging) {}

  [[nodiscard]] bool follows_mappings() const override { return paging_ == Paging::kOnDemand; }

  [[nodiscard]] ErrorOr<CachedKeys> Register(MemoryRange range, Access access) override {
    ibv_mr* const mr =
        ibv_reg_mr(pd_, reinterpret_cast<void*>(range.address), range.length, FlagsOf(access));
    if (mr == nullptr) {
      const int error = errno;
      return tl::unexpected(Error{.code = ErrorCode::kSystem,
                                  .text = std::string("ibv_reg_mr: ") + std::strerror(error),
                                  .os_error = error});
    }
    return CachedKeys{.object = mr, .l_key = Key(mr->lkey), .r_key = Key(mr->rkey)};
  }
  void Deregister(const CachedKeys& keys) override {
    ibv_dereg_mr(static_cast<ibv_mr*>(keys.object));
  }

 private:
  [[nodiscard]] int FlagsOf(Access access) const {
    int flags = paging_ == Paging::kOnDemand ? IBV_ACCESS_ON_DEMAND : 0;
    if (access.Has(Access::kLocalWrite)) flags |= IBV_ACCESS_LOCAL_WRITE;
    if (access.Has(Access::kRemoteRead)) flags |= IBV_ACCESS_REMOTE_READ;
    if (access.Has(Access::kRemoteWrite)) flags |= IBV_ACCESS_REMOTE_WRITE;
    if (access.Has(Access::kRemoteAtomic)) flags |= IBV_ACCESS_REMOTE_ATOMIC;
    if (access.Has(Access::kWindowBind)) flags |= IBV_ACCESS_MW_BIND;
    return flags;
  }

  ibv_pd* const pd_;
  const Paging paging_;
};

}  // namespace verbena
