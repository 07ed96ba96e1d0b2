#include "host/protocol.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/byte_reader.h"
#include "base/check.h"

namespace verbena::host {
namespace {

constexpr std::array<char, 4> kMagic = {'V', 'B', 'R', 'K'};

class Writer {
 public:
  template <class... Values>
  void operator()(const Values&... values) {
    (Put(values), ...);
  }
  [[nodiscard]] std::vector<std::byte> Take() { return std::move(bytes_); }

  template <std::unsigned_integral T>
  void Put(T value) {
    const T big_endian = BigEndian(value);
    for (const std::byte byte : std::as_bytes(std::span(&big_endian, 1))) bytes_.push_back(byte);
  }
  void Put(bool value) { Put(static_cast<uint8_t>(value)); }
  template <class E>
  requires std::is_enum_v<E>
  void Put(E value) { Put(static_cast<std::underlying_type_t<E>>(value)); }
  template <class Tag, class T>
  void Put(StrongId<Tag, T> id) {
    Put(id.value());
  }
  void Put(Key key) { Put(key.value()); }
  void Put(Access access) { Put(access.bits()); }
  void Put(const std::string& text) {
    const std::string_view cut = std::string_view(text).substr(0, kTextMax);
    Put(static_cast<uint8_t>(cut.size()));
    const auto* const first = reinterpret_cast<const std::byte*>(cut.data());
    bytes_.insert(bytes_.end(), first, first + cut.size());
  }

 private:
  std::vector<std::byte> bytes_;
};

// Once something is wrong, nothing more is read.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class... Values>
  void operator()(Values&... values) {
    (Take(values), ...);
  }
  [[nodiscard]] bool is_done() const { return is_good_ && bytes_.empty(); }

  template <std::unsigned_integral T>
  void Take(T& value) {
    if (!Has(sizeof(T))) return;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    value = BigEndian(value);
    bytes_ = bytes_.subspan(sizeof(T));
  }
  void Take(bool& value) {
    uint8_t number = 0;
    Take(number);
    is_good_ &= number <= 1;
    value = number == 1;
  }
  // Most enumerations on the socket are a Kind of their message, which names the last one.
  template <class E>
  requires std::is_enum_v<E>
  void TakeKind(E& value, E last) {
    std::underlying_type_t<E> number = 0;
    Take(number);
    is_good_ &= number <= static_cast<std::underlying_type_t<E>>(last);
    if (is_good_) value = static_cast<E>(number);
  }
  void Take(RegionEventMessage::Kind& kind) { TakeKind(kind, RegionEventMessage::kLastKind); }
  void Take(RegionRequestMessage::Kind& kind) { TakeKind(kind, RegionRequestMessage::kLastKind); }
  void Take(OperateMessage::Kind& kind) { TakeKind(kind, OperateMessage::kLastKind); }
  void Take(BufferAudience& audience) { TakeKind(audience, BufferAudience::kAllUsers); }
  void Take(ErrorCode& code) { TakeKind(code, ErrorCode::kOverflow); }
  void Take(Key& key) {
    uint32_t value = 0;
    Take(value);
    key = Key(value);
  }
  void Take(Access& access) {
    uint8_t bits = 0;
    Take(bits);
    access = Access::FromBits(bits);
    is_good_ &= Access::kAll.Has(access);
  }
  template <class Tag, class T>
  void Take(StrongId<Tag, T>& id) {
    T value{};
    Take(value);
    id = StrongId<Tag, T>(value);
  }
  void Take(std::string& text) {
    uint8_t length = 0;
    Take(length);
    if (!Has(length)) return;
    text.assign(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
  }

 private:
  [[nodiscard]] bool Has(size_t count) { return is_good_ = is_good_ && bytes_.size() >= count; }

  std::span<const std::byte> bytes_;
  bool is_good_ = true;
};

template <size_t kNumber = 0>
std::optional<BrokerMessage> ParseNumber(size_t number, Reader& reader) {
  if constexpr (kNumber == std::variant_size_v<BrokerMessage>) {
    return std::nullopt;
  } else {
    if (number != kNumber) return ParseNumber<kNumber + 1>(number, reader);
    std::variant_alternative_t<kNumber, BrokerMessage> message;
    message.Fields(reader);
    if (!reader.is_done()) return std::nullopt;
    return BrokerMessage(std::in_place_index<kNumber>, std::move(message));
  }
}

}  // namespace

std::vector<std::byte> ToPacket(const BrokerMessage& message) {
  Writer writer;
  for (const char letter : kMagic) writer.Put(static_cast<uint8_t>(letter));
  writer.Put(static_cast<uint8_t>(message.index()));
  std::visit([&](auto copy) { copy.Fields(writer); }, message);
  std::vector<std::byte> bytes = writer.Take();
  CHECK(bytes.size() <= kPacketMax);
  return bytes;
}

std::optional<BrokerMessage> ParsePacket(std::span<const std::byte> bytes) {
  if (bytes.size() < kMagic.size() + 1) return std::nullopt;
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  Reader reader(bytes.subspan(kMagic.size() + 1));
  return ParseNumber(std::to_integer<size_t>(bytes[kMagic.size()]), reader);
}

bool IsGuestName(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kGuestNameMax && std::ranges::all_of(name, is_good);
}

}  // namespace verbena::host
