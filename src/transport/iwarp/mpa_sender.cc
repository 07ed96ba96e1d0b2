#include "transport/iwarp/mpa_sender.h"

#include <algorithm>

#include "base/check.h"
#include "wire/iwarp/mpa_fpdu.h"
#include "wire/iwarp/rdmap_terminate.h"

namespace verbena::transport {
namespace {

using wire::FpduHeader;

// With all markers that so few bytes can have.
constexpr size_t kLastFrameMax =
    wire::FpduContentSize(MpaSender::kUlpduReserved) + wire::MpaMarker::kSize;
static_assert(kLastFrameMax <= MpaSender::kReserve);
static_assert(wire::DdpUntagged::kSize + wire::RdmapTerminate::kSizeMax <=
              MpaSender::kUlpduReserved);

}  // namespace

MpaSender::MpaSender(const StreamConfig& config, SendBuffer& out) : config_(config), out_(out) {
  CHECK(config.ulpdu_max >= kUlpduMin && config.ulpdu_max <= wire::kUlpduMax);
}

size_t MpaSender::FrameSize(size_t ulpdu_size) const {
  if (config_.framing == StreamFraming::kRecords) return FpduHeader::kSize + ulpdu_size;
  return config_.send_markers ? wire::FpduSizeWithMarkers(ulpdu_size, offset_)
                              : wire::FpduContentSize(ulpdu_size);
}

bool MpaSender::Begin(size_t size, size_t reserve) {
  const size_t frame_size = FrameSize(size);
  const std::span<std::byte> room = out_.Reserve(frame_size + reserve);
  if (room.empty()) return false;
  frame_ = room.first(frame_size);
  ulpdu_ = frame_.subspan(FpduHeader::kSize, size);
  return true;
}

void MpaSender::BeginLast(size_t size) {
  CHECK(size <= kUlpduReserved);
  CHECK(Begin(size, 0));
}

void MpaSender::End() {
  FpduHeader{.ulpdu_length = static_cast<uint16_t>(ulpdu_.size())}.Serialize(frame_);
  if (config_.framing == StreamFraming::kMpa) {
    const size_t content = wire::FpduContentSize(ulpdu_.size());
    std::ranges::fill(frame_.first(content).subspan(FpduHeader::kSize + ulpdu_.size()),
                      std::byte{0});
    if (config_.send_markers) wire::InsertMarkers(frame_, offset_);
    wire::SealFpdu(frame_, config_.crc);
  }
  out_.Commit(frame_.size());
  offset_ = offset_ + (config_.framing == StreamFraming::kRecords ? 1 : frame_.size());
  frame_ = ulpdu_ = {};
}

bool MpaSender::SendEmpty() {
  if (!Begin(0, kReserve)) return false;
  End();
  return true;
}

}  // namespace verbena::transport
