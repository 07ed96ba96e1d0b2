// The cost of the payload of a 4 KiB packet: the copy from the program's memory and the ICRC, each
// alone and both as a sender does them, and memcpy and CRC alone, which bound them. All memory is
// cached. tools/bench.py prints the rates and the ratios.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <benchmark/benchmark.h>
#include <isa-l/crc.h>

#include "adapter/loop/flow_cache.h"
#include "base/check.h"
#include "memory/copy/guarded_copy.h"
#include "memory/copy/signal_guard.h"
#include "wire/roce/bth.h"
#include "wire/roce/icrc.h"
#include "wire/roce/reth.h"
#include "wire/udp_flow.h"

namespace verbena::bench {
namespace {

// A write of one packet, and its source in the program's memory.
class WirePacket {
 public:
  static constexpr size_t kPayload = 4096;
  static constexpr size_t kHeader = wire::Bth::kSize + wire::Reth::kSize;

  WirePacket() {
    memory::SignalGuard::Install();
    for (size_t i = 0; i < kPayload; ++i) memory_[i] = static_cast<std::byte>(i * 7);
    std::memcpy(payload().data(), memory_.data(), kPayload);
  }

  const std::byte* memory() const { return memory_.data(); }
  std::span<std::byte> bytes() { return bytes_; }
  std::span<std::byte> payload() { return bytes().subspan(kHeader, kPayload); }
  // The bytes that the ICRC covers, and its position.
  std::span<std::byte> covered() { return bytes().first(kHeader + kPayload); }
  std::span<std::byte> icrc() { return bytes().last(wire::kIcrcSize); }

 private:
  alignas(4096) std::array<std::byte, kPayload> memory_;
  alignas(64) std::array<std::byte, kHeader + kPayload + wire::kIcrcSize> bytes_{};
};

constexpr wire::UdpFlow kFlow{.source = IpAddress::FromIpv4(Ipv4Address(0x0A000001)),
                              .destination = IpAddress::FromIpv4(Ipv4Address(0x0A000002)),
                              .source_port = 49152,
                              .destination_port = 4791};

// Runs `work` on a packet and counts its payload. The size is hidden from the compiler, which would
// otherwise inline the copy instead of calling memcpy.
template <class Work>
void Measure(benchmark::State& state, Work work) {
  WirePacket packet;
  size_t size = WirePacket::kPayload;
  for (auto _ : state) {
    benchmark::DoNotOptimize(size);
    work(packet, size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(WirePacket::kPayload));
}

void Memcpy(benchmark::State& state) {
  Measure(state, [](WirePacket& packet, size_t size) {
    std::memcpy(packet.payload().data(), packet.memory(), size);
  });
}
BENCHMARK(Memcpy);

// memcpy to an aligned address, where it is fastest. The payload in a packet is not aligned.
void MemcpyAligned(benchmark::State& state) {
  Measure(state, [](WirePacket& packet, size_t size) {
    std::memcpy(packet.bytes().data(), packet.memory(), size);
  });
}
BENCHMARK(MemcpyAligned);

void GuardedCopy(benchmark::State& state) {
  Measure(state, [](WirePacket& packet, size_t size) {
    CHECK(memory::GuardedCopy(packet.payload().data(), packet.memory(), size).copied == size);
  });
}
BENCHMARK(GuardedCopy);

// The CRC of ISA-L alone.
void Crc(benchmark::State& state) {
  Measure(state, [](WirePacket& packet, size_t size) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(packet.payload().data());
    benchmark::DoNotOptimize(crc32_gzip_refl(0, bytes, size));
  });
}
BENCHMARK(Crc);

void Icrc(benchmark::State& state) {
  const auto headers = kFlow.HeadersFor(WirePacket().bytes().size());
  Measure(state, [&](WirePacket& packet, size_t size) {
    const auto covered = packet.covered().first(WirePacket::kHeader + size);
    benchmark::DoNotOptimize(wire::IcrcOf(headers.bytes(), covered));
  });
}
BENCHMARK(Icrc);

void CopyAndIcrc(benchmark::State& state) {
  adapter::FlowCache flows;
  uint16_t identification = 0;
  Measure(state, [&](WirePacket& packet, size_t size) {
    CHECK(memory::GuardedCopy(packet.payload().data(), packet.memory(), size).copied == size);
    const auto covered = std::span<const std::byte>(packet.covered());
    wire::IcrcSum sum(flows.Find(kFlow, packet.bytes().size(), ++identification).header,
                      covered.first<wire::Bth::kSize>());
    sum.Update(covered.subspan(wire::Bth::kSize));
    wire::StoreIcrc(sum.Finish(), packet.icrc());
  });
}
BENCHMARK(CopyAndIcrc);

}  // namespace
}  // namespace verbena::bench
