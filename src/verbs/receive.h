#pragma once

#include <span>

#include "verbena/shared_receive_queue.h"
#include "verbs/objects.h"
#include "verbs/send_translation.h"

namespace verbena::verbs {

// Posts to the queue of a QpObject or SrqObject.
template <class Object>
[[nodiscard]] PostResult PostReceive(const Object* object, const Receive& request) {
  if (object == nullptr) return Fail(PostError{PostReason::kNoHandle});
  return object->device.PostReceive(
      *object->thing,
      queue::ReceiveWorkRequest{.wqe = {request.id, request.fills}, .sges = request.data});
}

// One by one: receives send no packets, so posting them together saves nothing.
template <class Object>
[[nodiscard]] ChainResult PostReceives(const Object* object, std::span<const Receive> requests) {
  ChainResult chain;
  for (const Receive& request : requests) {
    chain.result = PostReceive(object, request);
    if (!chain.result) break;
    ++chain.posted;
  }
  return chain;
}

}  // namespace verbena::verbs
