#include "adapter/cm/port_blocks.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "adapter/cm/port_locks.h"
#include "base/check.h"

namespace verbena::adapter {
namespace {

// No retries, because another block will do as well.
constexpr int kTries = 1;

// The offset after this one in a block, with wrap-around.
constexpr uint16_t After(uint16_t offset) {
  return static_cast<uint16_t>((offset + 1) % kBlockPorts);
}

// The first bind that conflicts with the request, except `own`.
const PortRequest* FindConflict(const std::vector<PortRequest>& binds, const PortRequest& request,
                                const PortRequest* own = nullptr) {
  for (const PortRequest& bind : binds) {
    if (&bind != own && AreInConflict(bind, request)) return &bind;
  }
  return nullptr;
}

Error InUseHere(const PortRequest& request, const PortRequest& by) {
  return PortInUse(request, "a bind of this process to " + ToString(by) +
                                (by.reuse_address ? " that allows reuse" : ""));
}

}  // namespace

PortBlocks::~PortBlocks() {
  for (const auto& [key, block] : blocks_) mailboxes_.Remove(block.lock.fd());
}

ErrorOr<uint16_t> PortBlocks::BindAny(const PortRequest& request) {
  uint16_t first = 0;
  Block* block = FindFree(request.protocol, first);
  if (block == nullptr) {
    const auto taken = TakeBlock(request.protocol);
    if (!taken) return Fail(taken.error());
    block = FindFree(request.protocol, first);
    CHECK(block != nullptr);
  }
  while (!block->binds[block->next].empty()) block->next = After(block->next);
  const uint16_t offset = block->next;
  PortRequest bind = request;
  bind.port = static_cast<uint16_t>(first + offset);
  block->binds[offset].push_back(bind);
  --block->ports_free;
  block->next = After(offset);
  return bind.port;
}

PortBlocks::Block* PortBlocks::FindFree(wire::IpCmProtocol protocol, uint16_t& first) {
  for (auto& [key, block] : blocks_) {
    if (key.first != protocol || block.ports_free == 0) continue;
    first = key.second;
    return &block;
  }
  return nullptr;
}

ErrorOr<uint16_t> PortBlocks::TakeBlock(wire::IpCmProtocol protocol) {
  const uint64_t start = random_.Below(kBlocks);
  for (uint64_t i = 0; i < kBlocks; ++i) {
    const auto first =
        static_cast<uint16_t>(kFirstEphemeralPort + (start + i) % kBlocks * kBlockPorts);
    if (blocks_.contains({protocol, first})) continue;
    auto lock =
        NameLock::Acquire(names_.OfBlock({protocol, first}), LockMode::kExclusive, random_, kTries);
    if (!lock) {
      if (lock.error().held) continue;
      return Fail(std::move(lock.error().error));
    }
    const auto [place, is_new] = blocks_.try_emplace({protocol, first}, Block{std::move(*lock)});
    CHECK(is_new);
    place->second.next = static_cast<uint16_t>(random_.Below(kBlockPorts));
    if (auto added = mailboxes_.Add(place->second.lock.fd(), {protocol, first, kBlockPorts});
        !added) {
      blocks_.erase(place);
      return Fail(std::move(added.error()));
    }
    return first;
  }
  return Fail(SystemError(
      EADDRNOTAVAIL, "no ephemeral " + NameOf(protocol) + " port is left: processes have all " +
                         std::to_string(kBlocks) + " blocks from " +
                         std::to_string(kFirstEphemeralPort) + " to " +
                         std::to_string(kLastEphemeralPort) + ", or bind to ports in them"));
}

bool PortBlocks::Has(const wire::IpCmService& service) const {
  return IsEphemeral(service.port) && blocks_.contains(KeyOf(service));
}

std::vector<PortRequest>& PortBlocks::BindsOf(const wire::IpCmService& service) {
  const auto found = blocks_.find(KeyOf(service));
  CHECK(found != blocks_.end());
  return found->second.binds[static_cast<size_t>(service.port - found->first.second)];
}

ErrorOr<void> PortBlocks::Bind(const PortRequest& request) {
  std::vector<PortRequest>& binds = BindsOf(request.service());
  if (const PortRequest* const other = FindConflict(binds, request)) {
    return Fail(InUseHere(request, *other));
  }
  if (binds.size() >= kBindsMax) {
    return Fail(PortInUse(request, std::to_string(kBindsMax) +
                                       " binds of this process, which is as many as can share it"));
  }
  binds.push_back(request);
  if (binds.size() == 1) --blocks_.at(KeyOf(request.service())).ports_free;
  return {};
}

ErrorOr<void> PortBlocks::MakeExclusive(const PortRequest& request) {
  std::vector<PortRequest>& binds = BindsOf(request.service());
  const auto own = std::ranges::find(binds, request);
  CHECK(own != binds.end());
  PortRequest exclusive = request;
  exclusive.reuse_address = false;
  if (const PortRequest* const other = FindConflict(binds, exclusive, &*own)) {
    return Fail(InUseHere(exclusive, *other));
  }
  *own = exclusive;
  return {};
}

void PortBlocks::Release(const PortRequest& request) {
  std::vector<PortRequest>& binds = BindsOf(request.service());
  const auto own = std::ranges::find(binds, request);
  CHECK(own != binds.end());
  binds.erase(own);
  if (!binds.empty()) return;
  const Key key = KeyOf(request.service());
  ++blocks_.at(key).ports_free;
  ReleaseIfSpare(key);
}

// Keeps one spare block per protocol, so that a program that binds one port after the other needs
// no lock for each.
void PortBlocks::ReleaseIfSpare(const Key& key) {
  const auto block = blocks_.find(key);
  if (block->second.ports_free < kBlockPorts) return;
  const bool is_spare = std::ranges::any_of(blocks_, [&](const auto& other) {
    return other.first != key && other.first.first == key.first && other.second.ports_free > 0;
  });
  if (!is_spare) return;
  mailboxes_.Remove(block->second.lock.fd());
  blocks_.erase(block);
}

}  // namespace verbena::adapter
