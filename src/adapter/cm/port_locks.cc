#include "adapter/cm/port_locks.h"

#include <cerrno>
#include <utility>

#include "base/check.h"

namespace verbena::adapter {
namespace {

// One lock, and the names of its exclusive and intent holders, for error texts.
struct LockStep {
  std::string name;
  LockMode mode{};
  std::string holder;
  std::string part_holder;
};

LockStep BlockStep(const PortNames& names, const PortRequest& request) {
  const uint16_t first = FirstOfBlock(request.port);
  return {.name = names.OfBlock(request.service()),
          .mode = LockMode::kIntentExclusive,
          .holder = "a process that has the block of ephemeral ports " + std::to_string(first) +
                    " to " + std::to_string(first + kBlockPorts - 1),
          .part_holder = "binds to other ports of its block"};
}

LockMode FamilyMode(const PortRequest& request) {
  if (request.is_wildcard())
    return request.reuse_address ? LockMode::kShared : LockMode::kExclusive;
  return request.reuse_address ? LockMode::kIntentShared : LockMode::kIntentExclusive;
}

std::vector<LockStep> StepsOf(const PortNames& names, const PortRequest& request) {
  std::vector<LockStep> steps;
  if (IsEphemeral(request.port)) steps.push_back(BlockStep(names, request));
  const LockMode mode = FamilyMode(request);
  if (request.covers_ipv4()) {
    steps.push_back({.name = names.OfIpv4(request.service()),
                     .mode = mode,
                     .holder = "a bind to all IPv4 addresses",
                     .part_holder = "a bind to an IPv4 address"});
  }
  if (request.covers_ipv6()) {
    steps.push_back({.name = names.OfIpv6(request.service()),
                     .mode = mode,
                     .holder = "a bind to all IPv6 addresses",
                     .part_holder = "a bind to an IPv6 address"});
  }
  if (!request.is_wildcard()) {
    steps.push_back({.name = names.OfAddress(request.service(), request.address),
                     .mode = request.reuse_address ? LockMode::kShared : LockMode::kExclusive,
                     .holder = "a bind to " + ToString(request.address),
                     .part_holder = {}});
  }
  return steps;
}

std::string HolderOf(const LockStep& step, LockMode held) {
  if (AreCompatible(step.mode, held)) {
    return std::to_string(NameLock::kSharersMax) + " binds, which is as many as can share it";
  }
  switch (held) {
    case LockMode::kIntentShared:
      return step.part_holder + " that allows reuse";
    case LockMode::kIntentExclusive:
      return step.part_holder;
    case LockMode::kShared:
      return step.holder + " that allows reuse";
    case LockMode::kExclusive:
      return step.holder;
  }
  UNREACHABLE();
}

}  // namespace

Error PortInUse(const PortRequest& request, const std::string& by) {
  return SystemError(EADDRINUSE, ToString(request) + " is in use by " + by);
}

ErrorOr<std::vector<NameLock>> LockPort(const PortNames& names, const PortRequest& request,
                                        Random& random, std::span<const NameLock> own) {
  const std::vector<LockStep> steps = StepsOf(names, request);
  CHECK(own.empty() || own.size() == steps.size());
  std::vector<NameLock> locks;
  locks.reserve(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const LockStep& step = steps[i];
    auto lock = NameLock::Acquire(step.name, step.mode, random, NameLock::kTries,
                                  own.empty() ? nullptr : &own[i]);
    if (!lock) {
      LockFailure& failure = lock.error();
      if (!failure.held) return Fail(std::move(failure.error));
      return Fail(PortInUse(request, HolderOf(step, *failure.held)));
    }
    locks.push_back(std::move(*lock));
  }
  return locks;
}

}  // namespace verbena::adapter
