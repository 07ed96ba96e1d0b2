// Opening and closing the device.

#include <infiniband/verbs.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "ibverbs/control_ops.h"
#include "ibverbs/data_ops.h"
#include "ibverbs/device.h"
#include "ibverbs/failure.h"
#include "ibverbs/log.h"
#include "ibverbs/notes.h"
#include "ibverbs/objects.h"
#include "ibverbs/open_contexts.h"

namespace verbena::ibverbs {
namespace {

// Ethernet cards have an interrupt for each processor; there is none here to choose among.
constexpr int kCompletionVectors = 1;

void FillStructure(Context& context) {
  context.sz = sizeof(verbs_context);
  ibv_context& shown = context.context;
  shown.device = &TheDevice();
  shown.abi_compat = __VERBS_ABI_IS_EXTENDED;
  shown.num_comp_vectors = kCompletionVectors;
  shown.async_fd = context.handle.events_fd();
  // A file of our own, for nothing but to be recognised when the context is imported.
  shown.cmd_fd = memfd_create("verbena", MFD_CLOEXEC);
  pthread_mutex_init(&shown.mutex, nullptr);
  FillControlOps(context);
  FillDataOps(context);
}

void ClaimBudget(Settings& settings) {
  if (settings.memory_budget == 0 || OpenContexts::ClaimBudget()) return;
  LogOnce("the memory budget is for the first device that is open; another one does without");
  settings.memory_budget = 0;
}

void ReturnBudget(const Settings& settings) {
  if (settings.memory_budget > 0) OpenContexts::ReturnBudget();
}

}  // namespace
}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): C has no other

ibv_context* ibv_open_device(ibv_device* /*device*/) {
  auto context = std::make_unique<Context>();
  context->settings = Settings::FromEnvironment();
  ClaimBudget(context->settings);
  auto opened = verbena::Context::Open(context->settings.ToOptions());
  if (!opened) {
    ReturnBudget(context->settings);
    return Null("ibv_open_device", opened.error());
  }
  context->handle = std::move(*opened);
  FillStructure(*context);
  TellNotes(*context, LogLevel::kInfo);
  OpenContexts::Add(*context);
  return &context.release()->context;
}

int ibv_close_device(ibv_context* context) {
  Context& own = Own(context);
  if (!OpenContexts::Release(own)) return 0;
  close(context->cmd_fd);
  pthread_mutex_destroy(&context->mutex);
  const Settings settings = own.settings;
  delete &own;
  ReturnBudget(settings);
  return 0;
}
