#include "fabric/sctp/sctp_stack.h"

#include <sys/random.h>
#include <usrsctp.h>

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"
#include "base/check.h"
#include "fabric/sctp/sctp_checksum.h"

namespace verbena::fabric {
namespace {

// RFC 9260, 3.1: both ports, the verification tag, the checksum.
constexpr size_t kCommonHeader = 12;
constexpr size_t kChunkHeader = 4;
constexpr size_t kPacketMax = 65'535;

void* AddressOf(SctpLinkId id) { return reinterpret_cast<void*>(id.value()); }

// The finalizer of MurmurHash3, keyed: peers do not see its results.
uint64_t Mix(uint64_t state, uint64_t word, uint64_t secret) {
  uint64_t x = (state ^ word) + secret;
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCD;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53;
  return (x ^ (x >> 33)) + secret;
}

}  // namespace

SctpStack& SctpStack::Get() {
  // Threads may use it until the process ends.
  static SctpStack* const stack = new SctpStack();
  return *stack;
}

// What the library allows beyond what DDP needs is switched off: less for a peer to reach.
SctpStack::SctpStack() {
  CHECK(getrandom(secrets_, sizeof secrets_, 0) == sizeof secrets_);
  // It starts one thread all the same, which sleeps: for requests to all associations.
  usrsctp_init_nothreads(0, &OnPacket, nullptr);
  usrsctp_enable_crc32c_offload();
  usrsctp_sysctl_set_sctp_ecn_enable(0);
  usrsctp_sysctl_set_sctp_pr_enable(0);
  usrsctp_sysctl_set_sctp_auth_enable(0);
  usrsctp_sysctl_set_sctp_asconf_enable(0);
  usrsctp_sysctl_set_sctp_auto_asconf(0);
  usrsctp_sysctl_set_sctp_reconfig_enable(0);
  usrsctp_sysctl_set_sctp_nrsack_enable(0);
  usrsctp_sysctl_set_sctp_pktdrop_enable(0);
  usrsctp_sysctl_set_sctp_blackhole(0);
  usrsctp_sysctl_set_sctp_nr_outgoing_streams_default(1);
}

SctpLinkId SctpStack::IdOf(const SctpPort& port, const SctpPath& path) const {
  uint64_t words[4];
  std::memcpy(words, path.peer.ip.bytes.data(), 16);
  words[2] = uint64_t{path.peer.port} << 32 | path.interface;
  words[3] = static_cast<uint64_t>(port.fd());
  uint64_t id = secrets_[1];
  for (const uint64_t word : words) id = Mix(id, word, secrets_[0]);
  return SctpLinkId(id == 0 ? 1 : id);
}

bool SctpStack::AddLink(SctpLinkId id, std::shared_ptr<SctpPort> port, const SctpPath& path) {
  if (!links_.emplace(id, Link{std::move(port), path}).second) return false;
  usrsctp_register_address(AddressOf(id));
  return true;
}

void SctpStack::RemoveLink(SctpLinkId id) {
  usrsctp_deregister_address(AddressOf(id));
  links_.erase(id);
}

const SctpPath* SctpStack::PathOf(SctpLinkId id) const {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : &found->second.path;
}

bool SctpStack::IsForPort(std::span<const std::byte> packet, uint16_t number) {
  const auto header = ByteReader<kCommonHeader + kChunkHeader>::From(packet);
  return header && packet.size() <= kPacketMax && header->Load16<2>() == number;
}

bool SctpStack::BeginsAssociation(std::span<const std::byte> packet) {
  constexpr std::byte kCookieEcho{10};
  return packet.size() > kCommonHeader && packet[kCommonHeader] == kCookieEcho;
}

void SctpStack::Process(SctpLinkId id, std::span<const std::byte> packet) {
  // The receive buffer, whose bytes are not read again.
  const std::span<std::byte> bytes(const_cast<std::byte*>(packet.data()), packet.size());
  if (!OpenSctp(bytes)) return;
  usrsctp_conninput(AddressOf(id), bytes.data(), bytes.size(), 0);
}

// Called by the library, which every caller has entered with the stack held.
int SctpStack::OnPacket(void* link, void* packet, size_t size, uint8_t /*tos*/,
                        uint8_t /*set_df*/) VERBENA_NO_THREAD_SAFETY_ANALYSIS {
  SctpStack& stack = Get();
  const auto found = stack.links_.find(SctpLinkId(reinterpret_cast<uint64_t>(link)));
  if (found == stack.links_.end() || size < kCommonHeader) return 0;
  const std::span<std::byte> bytes(static_cast<std::byte*>(packet), size);
  SealSctp(bytes);
  found->second.port->Send(found->second.path, bytes);
  return 0;
}

void SctpStack::OnTime(Time now) {
  if (!last_tick_) last_tick_ = now;
  const Duration passed = now - *last_tick_;
  if (passed < kTick) return;
  const int64_t milliseconds = passed.nanoseconds() / 1'000'000;
  last_tick_ = *last_tick_ + Milliseconds(milliseconds);
  usrsctp_handle_timers(static_cast<uint32_t>(std::min<int64_t>(milliseconds, 60'000)));
}

}  // namespace verbena::fabric
