// The way of a work request from the program to its queue: start reading here.

#include <variant>

#include "verbena/queue_pair.h"
#include "verbs/objects.h"
#include "verbs/receive.h"
#include "verbs/send_translation.h"

namespace verbena {
namespace {

using verbs::QpObject;
using verbs::SendTranslation;

// What only the queue pair's own kind can say about a request.
template <class Request>
bool Fits(const QpObject& /*qp*/, const Request& /*request*/) {
  return true;
}
bool Fits(const QpObject& qp, const Send& send) {
  return send.to.has_value() == (qp.thing->spec().type == QpType::kUd);
}

// Behind the post, and not under the queue's lock: the book of windows is locked around calls of
// the engine, which may want that of a queue.
template <class Request>
void Note(const QpObject& /*qp*/, const Request& /*request*/) {}
void Note(const QpObject& qp, const Bind& bind) {
  qp.base->windows.NoteBind(bind.window, bind.region);
}

template <class Request>
CodeOr<void> PostOne(const QpObject* qp, const Request& request) {
  if (qp == nullptr) return Fail(ErrorCode::kInvalid);
  SendTranslation translation;
  if (!Fits(*qp, request) || !translation.Set(request)) return Fail(ErrorCode::kInvalid);
  const auto posted = qp->device.PostSend(*qp->thing, translation.request());
  if (!posted) return Fail(posted.error());
  Note(*qp, request);
  return {};
}

ErrorCode CodeOf(queue::PostError error) {
  return error == queue::PostError::kFull ? ErrorCode::kLimit : ErrorCode::kInvalid;
}

template <class Request>
CodeOr<void> AddTo(queue::SendQueue::Posting& posting, const QpObject& qp, const Request& request) {
  SendTranslation translation;
  if (!Fits(qp, request) || !translation.Set(request)) return Fail(ErrorCode::kInvalid);
  const auto added = posting.Add(translation.request());
  if (!added) return Fail(CodeOf(added.error()));
  return {};
}

}  // namespace

CodeOr<void> QueuePair::Post(const Send& request) const { return PostOne(object().get(), request); }
CodeOr<void> QueuePair::Post(const Write& request) const {
  return PostOne(object().get(), request);
}
CodeOr<void> QueuePair::Post(const Read& request) const { return PostOne(object().get(), request); }
CodeOr<void> QueuePair::Post(const CompareSwap& request) const {
  return PostOne(object().get(), request);
}
CodeOr<void> QueuePair::Post(const FetchAdd& request) const {
  return PostOne(object().get(), request);
}
CodeOr<void> QueuePair::Post(const AtomicWrite& request) const {
  return PostOne(object().get(), request);
}
CodeOr<void> QueuePair::Post(const Flush& request) const {
  return PostOne(object().get(), request);
}
CodeOr<void> QueuePair::Post(const Bind& request) const { return PostOne(object().get(), request); }
CodeOr<void> QueuePair::Post(const Invalidate& request) const {
  return PostOne(object().get(), request);
}
CodeOr<void> QueuePair::Post(const Register& request) const {
  return PostOne(object().get(), request);
}
CodeOr<void> QueuePair::Post(const RegisterAndSend& request) const {
  return PostOne(object().get(), request);
}
CodeOr<void> QueuePair::Post(const Delay& request) const {
  return PostOne(object().get(), request);
}

CodeOr<void> QueuePair::Post(const Receive& request) const {
  return verbs::PostReceive(object().get(), request);
}

ChainResult QueuePair::PostChain(std::span<const SendRequest> requests, Chain how) const {
  if (!object()) return {.result = Fail(ErrorCode::kInvalid)};
  const QpObject& qp = *object();
  if (qp.device.is_forked()) return {.result = Fail(ErrorCode::kForked)};
  if (!qp.thing->may_post_sends()) return {.result = Fail(ErrorCode::kInvalid)};
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
