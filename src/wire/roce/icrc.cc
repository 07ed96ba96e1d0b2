#include "wire/roce/icrc.h"

#include <array>
#include <bit>
#include <cstring>

#include <isa-l/crc.h>

#include "base/byte_reader.h"
#include "base/check.h"
#include "wire/ipv4_header.h"
#include "wire/ipv6_header.h"
#include "wire/udp_header.h"

namespace verbena::wire {
namespace {

constexpr std::size_t kIpv4AndUdp = Ipv4Header::kSize + UdpHeader::kSize;
constexpr std::size_t kIpv6AndUdp = Ipv6Header::kSize + UdpHeader::kSize;

uint32_t Crc32(uint32_t crc, std::span<const std::byte> bytes) {
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

// Sets the fields that routers may change to ones.
void MaskIpv4(std::byte* ip) {
  constexpr std::byte kOnes{0xFF};
  ip[1] = kOnes;            // type of service
  ip[8] = kOnes;            // time to live
  ip[10] = ip[11] = kOnes;  // header checksum
}

void MaskIpv6(std::byte* ip) {
  constexpr std::byte kOnes{0xFF};
  ip[0] |= std::byte{0x0F};  // traffic class, its upper half
  ip[1] = kOnes;             // the lower half, and flow label
  ip[2] = ip[3] = kOnes;     // flow label
  ip[7] = kOnes;             // hop limit
}

// Polynomials over GF(2) modulo the CRC polynomial, in reflected form: the highest bit is x^0.
constexpr uint32_t kPolynomial = 0xEDB88320;
constexpr uint32_t kOne = 0x80000000;

constexpr uint32_t TimesX(uint32_t a) { return a >> 1 ^ ((a & 1) != 0 ? kPolynomial : 0); }

// x has an inverse because the polynomial has the term x^0.
constexpr uint32_t OverX(uint32_t a) {
  return (a & kOne) != 0 ? (a ^ kPolynomial) << 1 | 1 : a << 1;
}
static_assert(OverX(TimesX(0x12345679)) == 0x12345679);

constexpr uint32_t Multiply(uint32_t a, uint32_t b) {
  uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    product ^= (a & kOne) != 0 ? b : 0;
    b = TimesX(b);
  }
  return product;
}

// Powers of x^32 or x^-32, a shift by one 32-bit word, up to the length of any datagram, as
// products of two table entries.
class WordPowers {
 public:
  explicit constexpr WordPowers(uint32_t (*step_over_bit)(uint32_t)) {
    uint32_t word = kOne;
    for (int bit = 0; bit < 32; ++bit) word = step_over_bit(word);
    Fill(low_, word);
    Fill(high_, Multiply(low_.back(), word));
  }

  [[nodiscard]] constexpr uint32_t Power(std::size_t words) const {
    return Multiply(low_[words % kLow], high_[words / kLow]);
  }

 private:
  static constexpr std::size_t kLow = 128;
  static constexpr std::size_t kHigh = (std::size_t{1} << 16) / sizeof(uint32_t) / kLow;

  static constexpr void Fill(std::array<uint32_t, kLow>& powers, uint32_t base) {
    uint32_t power = kOne;
    for (uint32_t& entry : powers) {
      entry = power;
      power = Multiply(power, base);
    }
  }
  static_assert(kLow == kHigh);

  std::array<uint32_t, kLow> low_{};
  std::array<uint32_t, kHigh> high_{};
};

constexpr WordPowers kForward(TimesX);
constexpr WordPowers kBackward(OverX);
static_assert(Multiply(kForward.Power(1234), kBackward.Power(1234)) == kOne);

// The number of words from the identification to the end of the bytes that the ICRC covers.
std::size_t WordsFromIdentification(std::size_t packet_size) {
  constexpr std::size_t kIdentificationAt = 4;
  CHECK(packet_size % 4 == 0 && packet_size >= Bth::kSize + kIcrcSize);
  CHECK(packet_size <= UINT16_MAX - kIpv4AndUdp);
  return (kIpv4AndUdp - kIdentificationAt + packet_size - kIcrcSize) / sizeof(uint32_t);
}

// The CRC takes the first byte, the upper one of the identification, in its lowest bits.
constexpr uint32_t AsRegister(uint16_t identification) { return __builtin_bswap16(identification); }

}  // namespace

Icrc LoadIcrc(std::span<const std::byte> bytes) {
  CHECK(bytes.size() >= kIcrcSize);
  uint32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap32(value);
  return Icrc(value);
}

void StoreIcrc(Icrc icrc, std::span<std::byte> bytes) {
  CHECK(bytes.size() >= kIcrcSize);
  uint32_t value = icrc.value();
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap32(value);
  std::memcpy(bytes.data(), &value, sizeof(value));
}

PseudoHeader::PseudoHeader(std::span<const std::byte> ip_and_udp)
    : size_(kRouteHeaderSize + ip_and_udp.size()) {
  CHECK(ip_and_udp.size() == kIpv4AndUdp || ip_and_udp.size() == kIpv6AndUdp);
  std::memset(bytes_.data(), 0xFF, kRouteHeaderSize);
  std::byte* const ip = bytes_.data() + kRouteHeaderSize;
  std::memcpy(ip, ip_and_udp.data(), ip_and_udp.size());
  ip_and_udp.size() == kIpv4AndUdp ? MaskIpv4(ip) : MaskIpv6(ip);
  bytes_[size_ - 2] = bytes_[size_ - 1] = std::byte{0xFF};  // UDP checksum
}

void PseudoHeader::set_packet_size(std::size_t packet_size) {
  CHECK(packet_size <= UINT16_MAX - kIpv4AndUdp);
  const auto store = [this](std::size_t at, std::size_t length) {
    const uint16_t big_endian = BigEndian(static_cast<uint16_t>(length));
    std::memcpy(&bytes_[at], &big_endian, sizeof(big_endian));
  };
  const bool is_ipv4 = size_ == kRouteHeaderSize + kIpv4AndUdp;
  const std::size_t udp_length = UdpHeader::kSize + packet_size;
  if (is_ipv4) {
    store(kRouteHeaderSize + 2, Ipv4Header::kSize + udp_length);  // total length
  } else {
    store(kRouteHeaderSize + 4, udp_length);  // payload length
  }
  store(size_ - 4, udp_length);
}

void PseudoHeader::set_identification(uint16_t identification) {
  constexpr std::size_t kIdentificationAt = kRouteHeaderSize + 4;
  if (size_ != kRouteHeaderSize + kIpv4AndUdp) return;
  const uint16_t big_endian = BigEndian(identification);
  std::memcpy(&bytes_[kIdentificationAt], &big_endian, sizeof(big_endian));
}

IcrcSum::IcrcSum(const PseudoHeader& pseudo_header, std::span<const std::byte, Bth::kSize> bth) {
  // One CRC call over both arrays is cheaper than two. The first array is copied as a whole,
  // because with a constant size the copy is a few moves.
  std::array<std::byte, PseudoHeader::kMaxSize + Bth::kSize> covered;
  std::memcpy(covered.data(), pseudo_header.bytes_.data(), PseudoHeader::kMaxSize);
  std::byte* const end = covered.data() + pseudo_header.size_;
  std::memcpy(end, bth.data(), Bth::kSize);
  end[Bth::kVariantByte] = std::byte{0xFF};
  crc_ = Crc32(0, std::span(covered).first(pseudo_header.size_ + Bth::kSize));
}

void IcrcSum::Update(std::span<const std::byte> bytes) { crc_ = Crc32(crc_, bytes); }

Icrc IcrcOf(std::span<const std::byte> ip_and_udp, std::span<const std::byte> packet) {
  CHECK(packet.size() >= Bth::kSize);
  IcrcSum sum(PseudoHeader(ip_and_udp), packet.first<Bth::kSize>());
  sum.Update(packet.subspan(Bth::kSize));
  return sum.Finish();
}

Icrc IdentificationDelta(uint16_t identification, std::size_t packet_size) {
  const uint32_t forward = kForward.Power(WordsFromIdentification(packet_size));
  return Icrc(Multiply(AsRegister(identification), forward));
}

std::optional<uint16_t> ExplainIdentification(Icrc arrived, Icrc with_zero,
                                              std::size_t packet_size) {
  const uint32_t difference = arrived.value() ^ with_zero.value();
  if (difference == 0) return uint16_t{0};  // the usual value of senders with DF
  // Shifted back to the position of the identification, the difference is the identification
  // itself. If it has more than 16 bits, the packet is corrupt.
  const uint32_t backward = kBackward.Power(WordsFromIdentification(packet_size));
  const uint32_t there = Multiply(difference, backward);
  if (there >> 16 != 0) return std::nullopt;
  return __builtin_bswap16(static_cast<uint16_t>(there));
}

}  // namespace verbena::wire
