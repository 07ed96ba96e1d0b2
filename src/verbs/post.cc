// The path of a work request from the program to its queue: start reading here.

#include <optional>
#include <variant>

#include "verbena/queue_pair.h"
#include "verbs/objects.h"
#include "verbs/receive.h"
#include "verbs/send_translation.h"

namespace verbena {
namespace {

using verbs::QpObject;
using verbs::SendTranslation;

// Checks the arguments that the queue does not check; the reason if one is invalid.
template <class Request>
std::optional<PostReason> Refuses(const QpObject& /*qp*/, const Request& /*request*/) {
  return std::nullopt;
}
std::optional<PostReason> Refuses(const QpObject& qp, const Send& send) {
  const bool is_datagram = qp.thing->spec().type == QpType::kUd;
  if (send.to.has_value() != is_datagram) {
    return is_datagram ? PostReason::kNoDestination : PostReason::kDestinationNotAllowed;
  }
  if (!send.invalidate) return std::nullopt;
  if (send.immediate) return PostReason::kInvalidateWithImmediate;
  if (is_datagram) return PostReason::kInvalidateInDatagram;
  return std::nullopt;
}
std::optional<PostReason> Refuses(const QpObject& /*qp*/, const Bind& bind) {
  if (bind.window.index() != bind.r_key.index()) return PostReason::kKeyOfOtherWindow;
  return std::nullopt;
}
std::optional<PostReason> Refuses(const QpObject& /*qp*/, const Delay& delay) {
  if (delay.duration.count() < 0) return PostReason::kNegativeDuration;
  return std::nullopt;
}

// Called after the post and without the lock of the queue: the bind registry holds its lock during
// calls of the engine, which may take the lock of a queue.
template <class Request>
void Note(const QpObject& /*qp*/, const Request& /*request*/) {}
void Note(const QpObject& qp, const Bind& bind) {
  qp.base->windows.NoteBind(bind.window, bind.region);
}

template <class Request>
PostResult PostOne(const QpObject* qp, const Request& request) {
  if (qp == nullptr) return Fail(PostError{PostReason::kNoHandle});
  if (const auto reason = Refuses(*qp, request)) return Fail(PostError{*reason});
  SendTranslation translation;
  translation.Set(request);
  const PostResult posted = qp->device.PostSend(*qp->thing, translation.request());
  if (posted) Note(*qp, request);
  return posted;
}

template <class Request>
PostResult AddTo(queue::SendQueue::Posting& posting, const QpObject& qp, const Request& request) {
  if (const auto reason = Refuses(qp, request)) return Fail(PostError{*reason});
  SendTranslation translation;
  translation.Set(request);
  const auto added = posting.Add(translation.request());
  if (!added) return Fail(added.error());
  return {};
}

}  // namespace

PostResult QueuePair::Post(const Send& request) const { return PostOne(object().get(), request); }
PostResult QueuePair::Post(const Write& request) const { return PostOne(object().get(), request); }
PostResult QueuePair::Post(const Read& request) const { return PostOne(object().get(), request); }
PostResult QueuePair::Post(const CompareSwap& request) const {
  return PostOne(object().get(), request);
}
PostResult QueuePair::Post(const FetchAdd& request) const {
  return PostOne(object().get(), request);
}
PostResult QueuePair::Post(const AtomicWrite& request) const {
  return PostOne(object().get(), request);
}
PostResult QueuePair::Post(const Flush& request) const { return PostOne(object().get(), request); }
PostResult QueuePair::Post(const Bind& request) const { return PostOne(object().get(), request); }
PostResult QueuePair::Post(const Invalidate& request) const {
  return PostOne(object().get(), request);
}
PostResult QueuePair::Post(const Register& request) const {
  return PostOne(object().get(), request);
}
PostResult QueuePair::Post(const RegisterAndSend& request) const {
  return PostOne(object().get(), request);
}
PostResult QueuePair::Post(const Delay& request) const { return PostOne(object().get(), request); }

PostResult QueuePair::Post(const Receive& request) const {
  return verbs::PostReceive(object().get(), request);
}

ChainResult QueuePair::PostChain(std::span<const SendRequest> requests, Chain how) const {
  if (!object()) return {.result = Fail(PostError{PostReason::kNoHandle})};
  const QpObject& qp = *object();
  if (qp.device.is_forked()) return {.result = Fail(PostError{PostReason::kForked})};
  if (const auto refused = qp.thing->RefusesSends()) return {.result = Fail(*refused)};
  ChainResult chain;
  {
    queue::SendQueue::Posting posting(qp.thing->send_queue());
    for (const SendRequest& request : requests) {
      chain.result =
          std::visit([&](const auto& typed) { return AddTo(posting, qp, typed); }, request);
      if (!chain.result) break;
      ++chain.posted;
    }
    if (!chain.result && how == Chain::kAllOrNone) {
      posting.Abort();
      chain.posted = 0;
    }
  }
  for (const SendRequest& request : requests.first(chain.posted)) {
    std::visit([&](const auto& typed) { Note(qp, typed); }, request);
  }
  if (chain.posted > 0) qp.device.Kick(*qp.thing);
  return chain;
}

ChainResult QueuePair::PostChain(std::span<const Receive> requests) const {
  return verbs::PostReceives(object().get(), requests);
}

}  // namespace verbena
