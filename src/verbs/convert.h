#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "adapter/control/adapter.h"
#include "base/result.h"
#include "base/time.h"
#include "verbena/access.h"
#include "verbena/completion.h"
#include "verbena/error.h"
#include "verbena/gid.h"
#include "verbena/numbers.h"
#include "verbena/qp_attributes.h"

// Between the words of users and those of the adapter. The enums have the same values, which is
// asserted where it could fail unnoticed.

namespace verbena::verbs {

// --- Errors. ---

[[nodiscard]] inline Error Invalid(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}
[[nodiscard]] inline Error Empty(const char* what) {
  return Invalid(std::string("this ") + what + " is empty: moved from, destroyed or never made");
}

// What each Destroy does before the handle is reset.
template <class Object>
[[nodiscard]] ErrorOr<void> EndNow(const std::shared_ptr<Object>& object, const char* what) {
  if (object == nullptr) return Fail(Empty(what));
  return object->End();
}

// --- Values. ---

[[nodiscard]] inline Duration ToAdapter(std::chrono::nanoseconds duration) {
  return Nanoseconds(duration.count());
}

static_assert(static_cast<uint8_t>(Access::kAll) == memory::Rights::kAll.bits());
static_assert(static_cast<uint8_t>(Access::kRemote) == memory::Rights::kRemote.bits());
static_assert(static_cast<uint8_t>(Access::kLocalWrite) == memory::Rights::kLocalWrite.bits());
static_assert(static_cast<uint8_t>(Access::kRemoteWrite) == memory::Rights::kRemoteWrite.bits());
static_assert(static_cast<uint8_t>(Access::kRemoteAtomic) == memory::Rights::kRemoteAtomic.bits());

[[nodiscard]] constexpr memory::Rights ToAdapter(Access access) {
  return memory::Rights::FromBits(static_cast<uint8_t>(access));
}
[[nodiscard]] constexpr Access FromAdapter(memory::Rights rights) {
  return static_cast<Access>(rights.bits());
}

[[nodiscard]] inline wire::IpAddress ToAdapter(const Gid& gid) { return {gid.bytes}; }
[[nodiscard]] inline Gid FromAdapter(const wire::IpAddress& address) { return {address.bytes}; }

[[nodiscard]] inline adapter::AddressVector ToAdapter(const AddressVector& way) {
  return {.source = ToAdapter(way.source),
          .destination = ToAdapter(way.destination),
          .interface = way.interface,
          .traffic_class = way.traffic_class,
          .hop_limit = way.hop_limit};
}
[[nodiscard]] inline AddressVector FromAdapter(const adapter::AddressVector& way) {
  return {.source = FromAdapter(way.source),
          .destination = FromAdapter(way.destination),
          .interface = way.interface,
          .traffic_class = way.traffic_class,
          .hop_limit = way.hop_limit};
}

static_assert(static_cast<int>(PathMtu::k4096) == static_cast<int>(transport::PathMtu::k4096));
static_assert(static_cast<int>(QpState::kErr) == static_cast<int>(transport::QpState::kErr));
static_assert(static_cast<int>(QpType::kXrcReceive) ==
              static_cast<int>(transport::QpType::kXrcReceive));

// --- Completions. ---

static_assert(static_cast<size_t>(CompletionStatus::kTagMatchingIncomplete) + 1 ==
              queue::kCompletionStatusCount);
static_assert(static_cast<int>(CompletionOpcode::kReceiveWithImmediate) ==
              static_cast<int>(queue::CompletionOpcode::kReceiveWithImmediate));
static_assert(static_cast<int>(CompletionOpcode::kNoTagReceive) ==
              static_cast<int>(queue::CompletionOpcode::kNoTagReceive));

[[nodiscard]] inline Completion FromAdapter(const queue::Completion& from) {
  return {.id = from.id,
          .timestamp_ns = from.timestamp.nanoseconds(),
          .qp = from.qp,
          .source_qp = from.source_qp,
          .byte_count = from.byte_count,
          .immediate = from.immediate,
          .invalidated = from.invalidated,
          .vendor_error = from.vendor_error,
          .tag_context = from.tag_context,
          .tag = from.tag,
          .p_key_index = from.p_key_index,
          .slid = from.slid,
          .sl = from.sl,
          .path_bits = from.path_bits,
          .status = static_cast<CompletionStatus>(from.status),
          .opcode = static_cast<CompletionOpcode>(from.opcode),
          .has_grh = from.flags.has_grh,
          .with_immediate = from.flags.with_immediate,
          .with_invalidate = from.flags.with_invalidate,
          .tag_wants_step = from.flags.tag_wants_step,
          .tag_matched = from.flags.tag_matched,
          .tag_data_valid = from.flags.tag_data_valid};
}

}  // namespace verbena::verbs
