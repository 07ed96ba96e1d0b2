// Completion channels and their events.

#include <cxxabi.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "ibverbs/failure.h"
#include "ibverbs/objects/event_acks.h"
#include "ibverbs/objects/fork.h"
#include "ibverbs/objects/objects.h"

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) try {
  auto made = verbena::CompletionChannel::Create(Cast(context).handle);
  if (!made) return Null("ibv_create_comp_channel", made.error());
  auto channel = std::make_unique<Channel>();
  channel->context = context;
  channel->fd = made->fd();
  channel->handle = std::move(*made);
  return channel.release();
} catch (...) {
  return ThrownNull("ibv_create_comp_channel");
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) try {
  Channel& own = Cast(channel);
  if (const auto ok = own.handle.Destroy(); !ok) {
    return Failed("ibv_destroy_comp_channel", ok.error());
  }
  delete &own;
  return 0;
} catch (...) {
  return Thrown("ibv_destroy_comp_channel");
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) try {
  Channel& own = Cast(channel);
  Context& context = Cast(channel->context);
  while (true) {
    // Without an event, Wait leaves the reason in errno. An event whose CQ was destroyed leaves
    // errno 0 and is skipped; so does a forked child, which IsForked finds out.
    errno = 0;
    const auto id = own.handle.Wait();
    if (!id && errno != 0) return -1;
    if (!id && IsForked(context, "ibv_get_cq_event")) return -1;
    const auto give = [&](Cq& which) {
      which.completion_events.fetch_add(1, std::memory_order_release);
      *cq = ibv_cq_ex_to_cq(&which);
      *cq_context = which.cq_context;
    };
    if (id && context.id_map.With(*id, give)) return 0;
  }
} catch (abi::__forced_unwind&) {
  throw;  // pthread_cancel while the thread waits
} catch (...) {
  return MinusOne(Thrown("ibv_get_cq_event"));
}

void ibv_ack_cq_events(ibv_cq* cq, unsigned int count) {
  AcksOf(*cq, cq->comp_events_completed).Acknowledge(count);
}
