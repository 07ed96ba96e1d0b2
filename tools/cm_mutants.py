"""Mutants of src/transport/cm: the rules of the connection manager."""

from mutant import Judge, Mutant, Simulator, Tests

CONNECTION, CALLS = "cm_connection.cc", "cm_connection_calls.cc"
MESSAGES, MANAGER = "cm_connection_messages.cc", "cm_manager.cc"
ARRIVALS = "cm_manager_messages.cc"


def _mutant(rule: str, file: str, old: str, new: str,
            judge: Judge = Simulator(options=("--cm",))) -> Mutant:
    return Mutant(rule, "transport/cm/" + file, old, new, judge)


def _unit(test: str) -> Tests:
    return Tests("transport_test", test)


MUTANTS = [
    _mutant("a REQ that comes again is told again", ARRIVALS,
            "    connection.OnDuplicateReq(step);\n",
            "    connection.OnDuplicateReq(step);\n"
            "    step.outbox.events.push_back({.type = CmEventType::kConnectRequest,\n"
            "                                  .connection = id,\n"
            "                                  .peer = connection.peer(),\n"
            "                                  .message = req});\n"),
    _mutant("connections have no timewait", CONNECTION,
            "  deadline_ = std::max(step.now + options_->time_wait, at_least_until);\n",
            "  deadline_ = std::min(step.now, at_least_until);\n"),
    _mutant("the QP of a request that was refused is free at once", MESSAGES,
            "    case CmState::kReqSent:\n    case CmState::kMraReqReceived:\n"
            "    case CmState::kRepReceived:\n",
            "    case CmState::kReqSent:\n    case CmState::kMraReqReceived:\n"
            "      Raise(CmEventType::kRejected, rej, step);\n"
            "      Close();\n"
            "      break;\n"
            "    case CmState::kRepReceived:\n",
            _unit("CmManagerMessagesTest.TheQpOfARefusedRequestIsNotFreeAtOnce")),
    _mutant("a rejection is forgotten before the peer stops asking", CALLS,
            "  EnterTimeWait(request_end_, step);\n", "  EnterTimeWait(step.now, step);\n"),
    _mutant("a REP that is stale leaves its connection asking", ARRIVALS,
            "    connection.OnStaleRep(rep, step);\n", "    (void)connection;\n"),
    _mutant("messages of other addresses count", "cm_connection.h",
            "peer_ == from && *remote_id_ == their_id : peer_.IsAnsweredBy(from);\n",
            "*remote_id_ == their_id : true;\n"),
    _mutant("a QP that another connection has is no reason to refuse", ARRIVALS,
            "  if (directory_.FindRemoteQp(from, req.local_ca_guid, req.local_qp)) {\n",
            "  if (directory_.FindRemoteQp(from, req.local_ca_guid, req.local_qp) && from == "
            "CmPeer()) {\n"),
    _mutant("connections that are no longer half-open count as such", MANAGER,
            "  if (IsHalfOpen(before) && !IsHalfOpen(after)) half_open_.Remove(id);\n",
            "  if (IsHalfOpen(before) && after == before) half_open_.Remove(id);\n"),
    _mutant("what is destroyed raises events", CONNECTION,
            "  if (is_destroyed_) return;\n  step.outbox.events", "  step.outbox.events"),
    _mutant("a SIDR_REQ that comes again is told again", "sidr_exchanges.cc",
            "  if (const auto known = requests_.find(key); known != requests_.end()) {\n",
            "  if (const auto known = requests_.find(key);\n"
            "      known != requests_.end() && step.now < Time()) {\n"),
    _mutant("no RTU for a REP that comes again", MESSAGES,
            "  if (state_ == CmState::kMraRepSent || is_ready || is_rejected) SendAgain(step);\n",
            "  if (state_ == CmState::kMraRepSent || (is_ready && is_rejected)) SendAgain(step);\n",
            _unit("CmConnectionMessagesTest.ALostRtuIsRetransmittedForEachRep")),
    _mutant("a message is sent once more than the REQ says", CONNECTION,
            "  retries_left_ = timing_.retries;\n",
            "  retries_left_ = static_cast<uint8_t>(timing_.retries + 1);\n",
            _unit("CmConnectionTest.AReqIsRetransmittedAtItsTimeoutUpToItsRetries")),
    _mutant("a side that gives up does not say so", CONNECTION,
            "  SendRejTimeout(step);\n  Raise(", "  Raise(",
            _unit("CmConnectionTest.APassiveSideWithoutRtuGivesUpAndNotifiesThePeer")),
    _mutant("a late rejection of the REQ ends the connection", MESSAGES,
            "      if (rej.rejected == CmSubject::kReq) return;\n", "",
            _unit("CmConnectionMessagesTest.ARejectionOfTheReqDoesNotEndAnEstablishedConnection")),
    _mutant("DREQs that cross wait for their consumers", MESSAGES,
            "  if (is_crossing || is_destroyed_) CHECK(",
            "  if (is_crossing && is_destroyed_) CHECK(",
            _unit("CmConnectionCallsTest.CrossingDisconnectsEndBothSidesOnce")),
    _mutant("the QP of a connection in timewait is given to another", MANAGER,
            "  if (!IsQpFree(rep.local_qp)) return Fail(CmError::kQpInUse);\n", "",
            _unit("CmManagerTest.AQpHasOneConnectionUntilItsTimewaitIsOver")),
    _mutant("the busiest peer does not give way", ARRIVALS,
            "  if (!victim) return false;\n", "  return false;\n",
            _unit("CmManagerLimitsTest.TheBusiestPeerGivesWayToAnother")),
    _mutant("an MRA does not put off the timer", MESSAGES,
            "  deadline_ = step.now + std::min(timing_.AnswerAfter(mra.service_timeout), "
            "options_->patience_max);\n", "",
            _unit("CmConnectionTest.AServiceTimeoutExtendsTheTimer")),
    _mutant("the backlog has no end", ARRIVALS,
            "  if (listeners_.IsFull(req.service_id, from.local)) {\n",
            "  if (listeners_.IsFull(req.service_id, from.local) && from == CmPeer()) {\n",
            _unit("CmManagerTest.TheBacklogBoundsTheRequestsOfAListener")),
]
