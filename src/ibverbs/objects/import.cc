// Importing contexts, domains and regions that another part of this process has made. Objects of
// another process cannot be imported: it has a device of its own.

#include <infiniband/verbs.h>
#include <unistd.h>

#include <memory>

#include "ibverbs/failure.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/open_contexts.h"

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_context* ibv_import_device(int cmd_fd) try {
  Context* context = OpenContexts::Import(cmd_fd);
  if (context == nullptr) {
    return Null("ibv_import_device",
                {verbena::ErrorCode::kNotSupported,
                 "the descriptor does not belong to a context of this process"});
  }
  // The call takes over the descriptor, which only serves to find the context.
  close(cmd_fd);
  return &context->context;
} catch (...) {
  return ThrownNull("ibv_import_device");
}

ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) try {
  const auto pd = std::make_shared<Pd>();
  pd->context = context;
  pd->ibv_pd::handle = handle;
  const bool found = Cast(context).pds.With(handle, [&](Pd& original) {
    pd->parent = &original;
    pd->parent_refcount = Refcount(original.users);
  });
  if (!found) return Null("ibv_import_pd", Invalid("no protection domain has this handle"));
  pd->users.self = pd;
  return pd.get();
} catch (...) {
  return ThrownNull("ibv_import_pd");
}

// Regions in an imported domain keep it alive, because ibv_advise_mr compares their domains.
void ibv_unimport_pd(ibv_pd* pd) { Release(Cast(pd)); }

ibv_mr* ibv_import_mr(ibv_pd* pd, uint32_t handle) try {
  auto mr = std::make_unique<Mr>();
  const bool found = Cast(pd->context).mrs.With(handle, [&](const Mr& original) {
    static_cast<ibv_mr&>(*mr) = original;
    mr->access = original.access;
  });
  if (!found) return Null("ibv_import_mr", Invalid("no memory region has this handle"));
  mr->pd = pd;
  mr->addr = nullptr;  // an import does not provide the address; the importer knows it
  mr->pd_refcount = Refcount(Cast(pd).users);
  return mr.release();
} catch (...) {
  return ThrownNull("ibv_import_mr");
}

void ibv_unimport_mr(ibv_mr* mr) { delete &Cast(mr); }
