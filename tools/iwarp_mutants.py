"""Mutants of iWARP: the rules of the byte stream, and of sessions on SCTP."""

from mutant import Detector, Mutant, Simulator, Tests

REQUESTER = "iwarp_requester.cc"
RESPONDER, REPLIES = "iwarp_responder.cc", "iwarp_responder_send.cc"
ARRIVALS = "iwarp_qp_receive.cc"


def _mutant(rule: str, file: str, old: str, new: str,
            detector: Detector = Simulator(options=("--iwarp",))) -> Mutant:
    return Mutant(rule, "transport/iwarp/" + file, old, new, detector)


def _unit(test: str) -> Tests:
    return Tests("transport_test", test)


def _session(rule: str, file: str, old: str, new: str, test: str) -> Mutant:
    return _mutant(rule, file, old, new, _unit(test))


def _sctp(rule: str, file: str, old: str, new: str, test: str) -> Mutant:
    return Mutant(rule, "fabric/sctp/" + file, old, new, Tests("fabric_test", test))


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
    # Sessions on SCTP.
    _session("the function of a session message is not checked", "ddp_session.cc",
             "  if (!frame || !IsSetupOf(sender, control->function)) return std::nullopt;\n",
             "  if (!frame || sender == role_) return std::nullopt;\n",
             "DdpSessionSetUpTest.OnlyTheOtherRoleBeginsASession"),
    _mutant("records are delivered as they arrive", "ddp_session.cc",
            "  if (peer_has_ended_ || held_.empty() || held_.begin()->first != next_) "
            "return nullptr;\n",
            "  if (peer_has_ended_ || held_.empty()) return nullptr;\n"),
    _session("a message of another protocol may end a session", "ddp_session.cc",
             "  if (!is_known || !sequence || peer_has_ended_) return false;\n",
             "  if ((!is_known && protocol == 0) || !sequence || peer_has_ended_) return false;\n",
             "DdpSessionTest.RefusesWhatNoPeerSends"),
    _session("a number may come twice", "ddp_session.cc",
             "  if (!held_.emplace(number, Held{.inbound = std::move(*inbound)}).second) "
             "return false;\n",
             "  held_.emplace(number, Held{.inbound = std::move(*inbound)});\n",
             "DdpSessionTest.RefusesWhatNoPeerSends"),
    _session("an initiator may send before its reply", "ddp_session.cc",
             "  if (ahead > 0 && next_ == 0 && role_ == DdpRole::kResponder) return false;\n", "",
             "DdpSessionSetUpTest.SegmentsMayArriveAheadOfAReplyButNotOfARequest"),
    _session("what a session holds has no bound", "ddp_session.cc",
             "  if (held_.size() >= kHeldMax || held_bytes_ + message.size() > kHeldBytesMax) "
             "return false;\n",
             "  if (held_.size() >= kHeldMax) return false;\n",
             "DdpSessionTest.HoldsNoMoreThanItsBounds"),
    _session("private data of 512 bytes is too long", "session_control.cc",
             "data.size() > MpaRequest::kPrivateDataMax) return",
             "data.size() >= MpaRequest::kPrivateDataMax) return",
             "SessionControlTest.*"),
    _session("a record ahead of a gap is shown as the next one", "ddp_session.h",
             "      fn(wire::StreamOffset(number - 1), ",
             "      fn(wire::StreamOffset(in_order - 1), ",
             "DdpSessionTest.WhatIsAheadOfAGapIsShownOnce"),
    _mutant("a record ahead of a gap spends a one-touch key when the next message arrives",
            "mpa_receiver.cc", "                      .end = start + 1,\n",
            "                      .end = start + size,\n",
            _unit("IwarpOneTouchRecordsTest.*")),
    _sctp("any adaptation layer indication will do", "sctp_socket.cc",
          "                               event->sai_adaptation_ind == state_->adaptation;\n",
          "                               event->sai_adaptation_ind != 0;\n",
          "SctpSocketTest.APeerWithoutTheIndicationIsRefused"),
    _sctp("the checksum of SCTP is not checked", "sctp_stack.cc",
          "  if (!OpenSctp(bytes)) return;\n", "  static_cast<void>(OpenSctp(bytes));\n",
          "SctpSocketTest.APacketWithAWrongChecksumIsDropped"),
    _sctp("a part of a message is a message", "sctp_socket.cc",
          "(flags & MSG_EOR) != 0 && state_->has_adaptation;\n", "state_->has_adaptation;\n",
          "SctpSocketTest.AMessageThatIsTooLongBreaksTheAssociation"),
]
