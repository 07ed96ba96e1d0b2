// Opening and closing the device.

#include <infiniband/verbs.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "base/file_descriptor.h"
#include "base/log.h"
#include "ibverbs/datapath/data_ops.h"
#include "ibverbs/failure.h"
#include "ibverbs/objects/control_ops.h"
#include "ibverbs/objects/objects.h"
#include "ibverbs/objects/open_contexts.h"
#include "ibverbs/objects/qp.h"
#include "ibverbs/query/device.h"
#include "ibverbs/warnings.h"

namespace verbena::ibverbs {
namespace {

// A card has one vector per interrupt. There are no interrupts here, so one vector is all.
constexpr int kCompletionVectors = 1;

void FillStructure(ibv_device* device, Context& context) {
  context.sz = sizeof(verbs_context);
  ibv_context& shown = context.context;
  shown.device = device;
  shown.abi_compat = __VERBS_ABI_IS_EXTENDED;
  shown.num_comp_vectors = kCompletionVectors;
  shown.async_fd = context.handle.events_fd();
  shown.cmd_fd = context.cmd_file.get();
  pthread_mutex_init(&shown.mutex, nullptr);
  FillControlOps(context);
  FillDataOps(context);
}

// Destroys in the adapter all objects that the program has not destroyed: after the close it cannot
// do so any more. The kernel does the same when the command file of a driver closes: no peer can
// reach the memory afterwards, which the program may reuse. The C structures leak, as they do with
// a driver.
void EndWhatIsLeft(Context& context) {
  // In a forked child, threads that do not exist there can hold the adapter's locks.
  if (!context.handle.Query()) return;
  const auto end = [](auto& object) { object.handle = {}; };
  context.id_map.ForEach(end);
  context.mrs.ForEach(end);
  context.pds.ForEach(end);
}

}  // namespace
}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_context* ibv_open_device(ibv_device* device) try {
  constexpr auto kCall = "ibv_open_device";
  auto context = std::make_unique<Context>();
  context->cmd_file = verbena::FileDescriptor(memfd_create("verbena", MFD_CLOEXEC));
  if (!context->cmd_file.is_open()) return Null(kCall, verbena::SystemError("memfd_create"));
  context->settings = Settings::FromEnvironment(TransportOf(*device));
  auto opened = verbena::Context::Open(context->settings.ToOptions());
  if (!opened) return Null(kCall, opened.error());
  context->handle = std::move(*opened);
  FillStructure(device, *context);
  OpenContexts::Add(*context);
  LogWarnings(*context, verbena::LogLevel::kInfo);
  return &context.release()->context;
} catch (...) {
  return ThrownNull("ibv_open_device");
}

int ibv_close_device(ibv_context* context) try {
  Context& own = Cast(context);
  if (!OpenContexts::Release(own)) return 0;
  EndWhatIsLeft(own);
  pthread_mutex_destroy(&context->mutex);
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_close_device");
}
