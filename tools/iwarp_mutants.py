"""Mutants of src/transport/iwarp: the rules of the byte stream."""

from mutant import Judge, Mutant, Simulator, Tests

REQUESTER = "iwarp_requester.cc"
RESPONDER, REPLIES = "iwarp_responder.cc", "iwarp_responder_send.cc"
ARRIVALS = "iwarp_qp_receive.cc"


def _mutant(rule: str, file: str, old: str, new: str,
            judge: Judge = Simulator(options=("--iwarp",))) -> Mutant:
    return Mutant(rule, "transport/iwarp/" + file, old, new, judge)


def _unit(test: str) -> Tests:
    return Tests("transport_test", test)


MUTANTS = [
    _mutant("the CRC is not checked", "mpa_receiver.cc",
            "    if (config_.crc && !wire::HasGoodCrc(content)) return {Outcome::kBadCrc};\n", ""),
    _mutant("a one-touch key ends with the first segment", RESPONDER,
            "  if (!header.control.last) return std::nullopt;\n"
            "  last_write_bytes_ = std::exchange(write_bytes_, 0);\n",
            "  if (header.control.last) last_write_bytes_ = std::exchange(write_bytes_, 0);\n"),
    _mutant("a one-touch key does not end with its message", RESPONDER,
            "  if (use == KeyUse::kMany) return std::nullopt;\n", "  return std::nullopt;\n"),
    _mutant("a key whose last segment was placed early lives on", "iwarp_responder.h",
            "    if (has_early_touch_) [[unlikely]] {\n",
            "    if (has_early_touch_ && next == memory::StreamNumber(0)) {\n"),
    _mutant("segments of a touched key are refused", RESPONDER,
            "  return is_part ? SpentKey::kAllowed : SpentKey::kRefused;\n",
            "  return is_part ? SpentKey::kRefused : SpentKey::kRefused;\n"),
    _mutant("segments beyond the window are placed", ARRIVALS,
            "  const uint64_t inside = ahead < window ? std::min<uint64_t>(window - ahead, "
            "bytes.size()) : 0;\n",
            "  const uint64_t inside = ahead < 4 * window ? bytes.size() : 0;\n",
            _unit("IwarpOneTouchTest.AnEarlySegmentOutsideOfTheWindowIsDropped")),
    _mutant("message sequence numbers are not checked", RESPONDER,
            "  if (header.msn != next_send_) return StreamError::kMsnRange;\n", "",
            _unit("IwarpErrorsTest.MessageSequenceNumbersHaveNoGap")),
    _mutant("message offsets are not checked", RESPONDER,
            "  if (header.offset.value() != (send_.is_open ? send_.received : 0)) {\n"
            "    return StreamError::kMessageOffset;\n  }\n", "",
            _unit("IwarpErrorsTest.SegmentsOfASendFollowEachOther")),
    _mutant("a refused read is told by the wrong layer", "terminate_reason.cc",
            "  const bool tagged = segment == SegmentKind::kTagged;\n",
            "  const bool tagged = segment != SegmentKind::kUntagged;\n"),
    _mutant("a frame is delivered although its pages are absent", ARRIVALS,
            "  if (IsWait(outcome)) return false;\n",
            "  if (IsWait(outcome)) in_->Deliver(frame);\n  if (IsWait(outcome)) return true;\n"),
    _mutant("a read is complete when it is framed", REQUESTER,
            "  ++next_read_;\n  position_ =",
            "  ++next_read_;\n  outstanding_.At(position_.wqe).is_done = true;\n  position_ ="),
    _mutant("a one-touch key that is read lives on", REPLIES,
            "  if (read.holds_key) step.memory.one_touch.Release(read.read.source_stag);\n",
            "  static_cast<void>(read);\n  static_cast<void>(step);\n"),
]
