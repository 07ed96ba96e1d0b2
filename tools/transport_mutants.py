"""Mutants of src/transport: rules of reliable connections, and some of the other services."""

from mutant import Detector, Mutant, Simulator, Tests

REQUESTER, ANSWERS = "rc/requester.cc", "rc/ack_handler.cc"
RESPONDER, EXECUTE = "rc/responder.cc", "rc/responder_execute.cc"
SEND, CHECKS = "rc/responder_send.cc", "common/responder_checks.cc"


def _mutant(rule: str, file: str, old: str, new: str, detector: Detector = Simulator()) -> Mutant:
    return Mutant(rule, "transport/" + file, old, new, detector)


def _unit(test: str) -> Tests:
    return Tests("transport_test", test)


OF_REQUESTER = [
    _mutant("an ACK of an unsent PSN is accepted", ANSWERS,
            "if (UnderWay(psn) >= UnderWay(sent_end_)) {",
            "if (UnderWay(psn) > UnderWay(sent_end_)) {"),
    _mutant("more than half of the PSN space is outstanding", REQUESTER,
            "  if (UnderWay(next_psn_ + psn_count) > kPsnHalf) return false;\n", "",
            _unit("RequesterTest.AtMostHalfOfThePsnCircleIsOutstanding")),
    _mutant("unsignaled requests are not flushed", ANSWERS,
            "    Complete(n, CompletionStatus::kFlushed, 0, step);\n",
            "    if (queue_.At(n).flags.signaled) {\n"
            "      Complete(n, CompletionStatus::kFlushed, 0, step);\n"
            "    } else {\n"
            "      queue_.Retire(n);\n"
            "    }\n"),
    _mutant("the retry counter is not restored by progress", ANSWERS,
            "  retry_.OnProgress();\n  retry_.StopWaiting();  // the peer has accepted a packet",
            "  retry_.StopWaiting();  // the peer has accepted a packet"),
    _mutant("an ACK does not restart the timer", ANSWERS,
            "  retry_.StopTimer();\n"
            "  if (sent_end_ != unacked_ && !is_stalled()) retry_.StartTimer(step.now);",
            "  if (sent_end_ == unacked_) retry_.StopTimer();",
            _unit("RequesterTest.AnAcknowledgementRestartsTheTimer")),
    _mutant("no retransmission timer runs for sent packets", REQUESTER,
            "if (!waits && !retry_.timer_runs() && sent_end_ != unacked_) "
            "retry_.StartTimer(step.now);", ""),
    _mutant("a retransmission costs two retries", ANSWERS,
            "if (!retry_.TakeRetry()) return",
            "if (!retry_.TakeRetry() || !retry_.TakeRetry()) return",
            _unit("RequesterTest.TimeoutsAreCountedAndThenFatal")),
    _mutant("a NAK costs two RNR retries", ANSWERS,
            "!retry_.TakeRnrRetry()) {", "(!retry_.TakeRnrRetry() || !retry_.TakeRnrRetry())) {"),
    _mutant("the delay of an RNR NAK is ignored", ANSWERS,
            "retry_.Wait(step.now + wire::DurationOf(syndrome.rnr_timer()));",
            "retry_.Wait(step.now);",
            _unit("RequesterTest.AnRnrNakWaitsAndCountsUnlessRetriesAreUnlimited")),
    _mutant("an ACK of a later request completes a read", ANSWERS,
            "    if (outstanding.needs_response) {\n      ++counters_.lost_responses;",
            "    if (outstanding.needs_response && outstanding.responses > 0) {\n"
            "      ++counters_.lost_responses;"),
    _mutant("a gap in read responses is ignored", ANSWERS,
            "  if (psn != expected) {\n",
            "  if (psn != expected && outstanding.responses == 0) {\n"),
    _mutant("retransmits from one packet too late", ANSWERS,
            "  probe_.OnNoticedLoss();\n  Rewind(psn);",
            "  probe_.OnNoticedLoss();\n  Rewind(psn + 1);"),
    _mutant("more reads outstanding than the peer has resources for", REQUESTER,
            "if (reads_under_way_ >= config_.max_rd_atomic &&",
            "if (reads_under_way_ > config_.max_rd_atomic &&"),
    _mutant("a fence does not wait for reads", REQUESTER,
            "  if (wqe.flags.fence && reads_under_way_ > 0) return false;\n", "",
            _unit("RequesterTest.OutstandingReadsAreLimitedAndFencesWait")),
    _mutant("a local invalidate does not wait for packets that may be retransmitted", REQUESTER,
            "return wqe.opcode != SendOpcode::kLocalInvalidate || unacked_ == next_psn_;",
            "return true;", _unit("RequesterTest.AnInvalidationWaitsForOutstandingRequests")),
    _mutant("the last packet of a message requests no ACK", REQUESTER,
            ".ack_request = asks,", ".ack_request = asks && !info.ends_message(),",
            _unit("RequesterTest.AWriteIsCutIntoPacketsAndCompletesWithItsAcknowledgement")),
]

OF_RESPONDER = [
    _mutant("a packet one PSN ahead is accepted as the expected one", CHECKS,
            "if (distance == 0) return PsnPlace::kExpected;",
            "if (distance == 0 || distance == 1) return PsnPlace::kExpected;"),
    _mutant("PSN comparison ignores wrap-around", CHECKS,
            "const int32_t distance = Distance(expected, psn);",
            "const auto distance = static_cast<int32_t>(psn.value()) -\n"
            "                        static_cast<int32_t>(expected.value());",
            _unit("ResponderChecksTest.HalfOfThePsnCircleIsDuplicates")),
    _mutant("an ACK covers one packet too many", SEND,
            "  SendAcknowledgement({.psn = expected_ - 1,",
            "  SendAcknowledgement({.psn = expected_,"),
    _mutant("a duplicate write is not acknowledged", RESPONDER,
            "if (info.operation == Operation::kSend || info.operation == Operation::kWrite) {\n"
            "    ack_is_due_ = ack_is_again_ = true;",
            "if (info.operation == Operation::kSend || info.operation == Operation::kWrite) {\n"
            "    ack_is_due_ = ack_is_again_ = info.operation == Operation::kSend;"),
    _mutant("a duplicate read is replayed from the start of the original request", RESPONDER,
            "reply.Answer(from, is_read", "reply.Answer(0, is_read"),
    _mutant("a duplicate atomic is executed again", RESPONDER,
            "  if (reply != nullptr && reply->kind == KindOf(info)) Replay(",
            "  if (reply != nullptr && info.is_atomic() && reply->kind == KindOf(info)) {\n"
            "    const wire::AtomicEth eth = *packet.Get<wire::AtomicEth>();\n"
            "    const AtomicResult result = ExecuteAtomic(\n"
            "        RangeOf(eth),\n"
            "        {.is_compare_swap = info.operation == Operation::kCompareSwap,\n"
            "         .compare = eth.compare,\n"
            "         .swap_or_add = eth.swap_or_add},\n"
            "        who_, step.memory);\n"
            "    if (const auto* const done = std::get_if<AtomicDone>(&result)) {\n"
            "      reply->original = done->original;\n"
            "    }\n"
            "  }\n"
            "  if (reply != nullptr && reply->kind == KindOf(info)) Replay("),
    _mutant("a gap gets two NAKs", RESPONDER,
            "if (nak_state_ == NakState::kNothing) Refuse(ResponderError::kSequenceGap",
            "if (nak_state_ == NakState::kNothing || nak_state_ == NakState::kSequenceError) "
            "Refuse(ResponderError::kSequenceGap",
            _unit("ResponderTest.AGapGetsOneNak")),
    _mutant("an RNR NAK carries another timer than the queue pair's", RESPONDER,
            "RnrNak(is_for_pages ? PagesTimer(step) : config_.min_rnr_timer)",
            "RnrNak(is_for_pages ? PagesTimer(step) : wire::RnrTimer(1))",
            _unit("ResponderTest.AMessageResumesAfterAReceiverNotReadyNak")),
    _mutant("only the first packet of a write is checked against its key", EXECUTE,
            "const bool is_whole = info.ends_message();  // then",
            "const bool is_whole = true;  // then",
            _unit("ResponderExecuteTest.AWriteIsAuthorisedAsAWholeAtItsFirstPacket")),
    _mutant("a write may end before the length in its RETH", CHECKS,
            "return size == message.remaining;", "return size <= message.remaining;",
            _unit("ResponderChecksTest.LengthsOfAWriteAddUp")),
    _mutant("packets of two messages may be interleaved", CHECKS,
            "message.is_open ? !starts && info.operation == message.operation : starts;",
            "!message.is_open ? starts : info.operation == message.operation;",
            _unit("ResponderChecksTest.OpcodesMustBeInSequence")),
    _mutant("an operation that is not enabled on the queue pair is accepted", CHECKS,
            "if (!remote_rights.Has(kRightsFor[static_cast<size_t>(info.operation)]))",
            "if (!remote_rights.Has(kRightsFor[static_cast<size_t>(info.operation)]) &&\n"
            "      !remote_rights.Has(Access::kNone))",
            _unit("ResponderChecksTest.EachOperationNeedsItsOwnRight")),
    _mutant("a message is not counted in the MSN", EXECUTE, "  ++msn_;\n  losses_ = 0;",
            "  losses_ = 0;",
            _unit("ResponderTest.OneAcknowledgementCoversABurst")),
    _mutant("an ACK overtakes a read response", SEND,
            "  if (Reply* const reply = replies_.FirstPending()) {\n    return IsHeld(*reply) ?",
            "  if (Reply* const reply = ack_is_due_ ? nullptr : replies_.FirstPending()) {\n"
            "    return IsHeld(*reply) ?",
            _unit("ResponderSendTest.RepliesAndAcknowledgementsKeepTheirOrder")),
    _mutant("a send does not invalidate the key that it names", EXECUTE,
            "    if (const auto ieth = packet.Get<wire::Ieth>()) {\n",
            "    if (const auto ieth = packet.Get<wire::Ieth>(); ieth && packet.size() == 0) {\n"),
    _mutant("no NAK is sent when absent pages become present", RESPONDER,
            "    nak_state_ = NakState::kSequenceError;\n  } else if (wait_.has_dropped()) {",
            "    nak_state_ = NakState::kSequenceError;\n    ack_is_due_ = false;\n"
            "  } else if (wait_.has_dropped()) {",
            _unit("ResponderTest.AWriteIntoAbsentPagesIsAcknowledgedWhenTheyArePresent")),
    _mutant("the pager's answer executes a held packet that was replaced", RESPONDER,
            "    if (nak_state_ != NakState::kPagesAbsent) {\n      wait_.End();",
            "    if (failure_) {\n      wait_.End();",
            _unit("ResponderTest.AHeldPacketIsReplacedByAnotherOfItsPsn")),
    _mutant("a one-touch key serves a second read after a part of the first", SEND,
            "if (!reply.is_pending() && ready.use == memory::KeyUse::kOnce) {",
            "if (reply.next == reply.packet_count && ready.use == memory::KeyUse::kOnce) {",
            _unit("ResponderOneTouchTest.ASecondReadIsRefusedAlsoAfterAPartOfTheFirst")),
    _mutant("a held one-touch key outlives its read", EXECUTE,
            "    step.memory.one_touch.Release(leaving->key);\n", "    // leaving\n",
            _unit("ResponderOneTouchTest.TheKeyIsInvalidatedWhenTheReadLeavesTheCache")),
]

OF_OTHERS = [
    _mutant("UC: a message continues after a gap", "uc/uc_responder.cc",
            "      is_in_order && message_.is_open &&",
            "      (is_in_order || packet.size() > 0) && message_.is_open &&"),
    _mutant("UC: an incomplete message keeps its receive request", "uc/uc_responder.cc",
            "  if (receive_.is_taken()) receive_.Rewind();\n", ""),
    _mutant("UD: the Q_Key is not checked", "ud/ud_qp.cc",
            "if (deth->q_key != config_.q_key) {",
            "if (deth->q_key != config_.q_key && packet.size() == 0) {"),
    _mutant("SRQ: the last-WQE-reached event is raised repeatedly", "common/receive_slot.cc",
            "    last_wqe_was_raised_ = true;\n", "",
            _unit("ResponderTest.AFlushKeepsTheRequestsOfASharedQueue")),
    _mutant("packets after one that could not be sent are sent", "common/send_in_order.h",
            "if (any_lost && has_lost[IsRequest(packet) ? 1 : 0] &&",
            "if (any_lost && has_lost[IsRequest(packet) ? 0 : 1] &&",
            _unit("SendInOrderTest.PacketsAfterALostOneAreTakenBack")),
    _mutant("an older response that is due again is not found", "rc/replay_cache.cc",
            "    not_pending_ = std::min(not_pending_, i);\n", "",
            _unit("ReplayCacheTest.AnOlderResponseThatIsDueAgainComesFirst")),
]

MUTANTS = OF_REQUESTER + OF_RESPONDER + OF_OTHERS
