#include "verbena/peer_buffers.h"

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/error.h"
#include "base/result.h"
#include "base/when_memory.h"
#include "cache/overlaps.h"

namespace verbena {

std::array<std::byte, kBufferNoticeBytes> ToBytes(const BufferNotice& notice) {
  std::array<std::byte, kBufferNoticeBytes> bytes{};
  ByteWriter<kBufferNoticeBytes> writer(bytes);
  writer.Store8<0>('V');
  writer.Store8<1>('B');
  writer.Store8<2>(static_cast<uint8_t>(notice.kind));
  writer.Store8<3>(notice.access.bits());
  writer.Store32<4>(notice.number);
  writer.Store64<8>(notice.range.address);
  writer.Store64<16>(notice.range.length);
  writer.Store32<24>(notice.r_key.value());
  return bytes;
}

std::optional<BufferNotice> ParseBufferNotice(std::span<const std::byte> bytes) {
  const auto reader = ByteReader<kBufferNoticeBytes>::From(bytes);
  if (!reader || bytes.size() != kBufferNoticeBytes) return std::nullopt;
  const uint8_t kind = reader->Load8<2>();
  const Access access = Access::FromBits(reader->Load8<3>());
  if (reader->Load8<0>() != 'V' || reader->Load8<1>() != 'B' || kind > 1 ||
      !Access::kAll.Has(access)) {
    return std::nullopt;
  }
  return BufferNotice{.kind = static_cast<BufferNotice::Kind>(kind),
                      .number = reader->Load32<4>(),
                      .range = {reader->Load64<8>(), reader->Load64<16>()},
                      .access = access,
                      .r_key = Key(reader->Load32<24>())};
}

namespace cache {
namespace {

// None if there are no bytes, or they go beyond the last address.
std::optional<Interval> IntervalOf(uint64_t address, uint64_t length) {
  if (length == 0 || address + (length - 1) < address) return std::nullopt;
  return Interval{address, address + (length - 1)};
}

}  // namespace

// Notices by their number, and by their bytes, which may overlap.
class PeerTable {
 public:
  explicit PeerTable(uint32_t buffers_max) : buffers_max_(buffers_max) {}

  ErrorOr<void> Apply(const BufferNotice& notice) {
    if (notice.kind == BufferNotice::Kind::kEnded) return Remove(notice.number);
    const auto bytes = IntervalOf(notice.range.address, notice.range.length);
    if (!bytes) return Fail(InvalidError("a notice of no bytes"));
    if (!notice.access.HasAny(Access::kRemote)) {
      return Fail(InvalidError("a notice of a buffer without remote rights"));
    }
    if (notices_.contains(notice.number)) return Fail(InvalidError("a number twice"));
    if (notices_.size() >= buffers_max_) {
      return Fail(LimitError(buffers_max_, "buffers of a client", "PeerBuffers::Create"));
    }
    const auto place = notices_.emplace(notice.number, notice).first;
    if (!WhenMemory([&] { overlaps_.Insert(notice.number, *bytes); })) {
      notices_.erase(place);
      throw std::bad_alloc();
    }
    return {};
  }

  [[nodiscard]] std::optional<RemoteAddress> Find(uint64_t address, uint64_t length,
                                                  Access access) {
    const auto wanted = IntervalOf(address, length);
    std::optional<RemoteAddress> found;
    if (!wanted) return found;
    overlaps_.ForEach(*wanted, [&](EntryNumber number, Interval bytes) {
      const BufferNotice& notice = notices_.at(number);
      const bool covers = bytes.Contains(wanted->first) && bytes.Contains(wanted->last);
      if (covers && notice.access.Has(access)) found = RemoteAddress{address, notice.r_key};
    });
    return found;
  }

  [[nodiscard]] const std::map<uint32_t, BufferNotice>& notices() const { return notices_; }

 private:
  ErrorOr<void> Remove(uint32_t number) {
    const auto found = notices_.find(number);
    if (found == notices_.end()) return Fail(InvalidError("the end of a buffer that is not there"));
    overlaps_.Erase(number, *IntervalOf(found->second.range.address, found->second.range.length));
    notices_.erase(found);
    return {};
  }

  const uint32_t buffers_max_;
  std::map<uint32_t, BufferNotice> notices_;
  Overlaps overlaps_;
};

}  // namespace cache

namespace {

Error NoMemoryError() { return {.code = ErrorCode::kLimit, .text = "out of memory"}; }

}  // namespace

ErrorOr<PeerBuffers> PeerBuffers::Create(uint32_t buffers_max) try {
  return PeerBuffers(std::make_unique<cache::PeerTable>(buffers_max));
} catch (const std::bad_alloc&) {
  return Fail(NoMemoryError());
}

PeerBuffers::PeerBuffers(std::unique_ptr<cache::PeerTable> table) : table_(std::move(table)) {}
PeerBuffers::PeerBuffers(PeerBuffers&&) noexcept = default;
PeerBuffers& PeerBuffers::operator=(PeerBuffers&&) noexcept = default;
PeerBuffers::~PeerBuffers() = default;

ErrorOr<void> PeerBuffers::Apply(const BufferNotice& notice) try {
  if (table_ == nullptr) return Fail(InvalidError("the list is empty"));
  return table_->Apply(notice);
} catch (const std::bad_alloc&) {
  return Fail(NoMemoryError());
}

std::optional<RemoteAddress> PeerBuffers::Find(uint64_t address, uint64_t length,
                                               Access access) const {
  return table_ != nullptr ? table_->Find(address, length, access) : std::nullopt;
}

size_t PeerBuffers::size() const { return table_ != nullptr ? table_->notices().size() : 0; }

ErrorOr<std::vector<BufferNotice>> PeerBuffers::List() const try {
  std::vector<BufferNotice> list;
  if (table_ == nullptr) return list;
  list.reserve(size());
  for (const auto& [number, notice] : table_->notices()) list.push_back(notice);
  return list;
} catch (const std::bad_alloc&) {
  return Fail(NoMemoryError());
}

}  // namespace verbena
