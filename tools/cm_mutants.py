"""Mutants of src/transport/cm: the rules of the connection manager."""

from mutant import Detector, Mutant, Simulator, Tests

CONNECTION, CALLS = "cm_connection.cc", "cm_connection_calls.cc"
MESSAGES, MANAGER = "cm_connection_messages.cc", "cm_manager.cc"
ARRIVALS = "cm_manager_messages.cc"


def _mutant(rule: str, file: str, old: str, new: str,
            detector: Detector = Simulator(options=("--cm",))) -> Mutant:
    return Mutant(rule, "transport/cm/" + file, old, new, detector)


def _unit(test: str) -> Tests:
    return Tests("transport_test", test)


MUTANTS = [
    _mutant("a duplicate REQ raises a second event", ARRIVALS,
            "    connection.OnDuplicateReq(step);\n",
            "    connection.OnDuplicateReq(step);\n"
            "    step.outbox.events.push_back({.type = CmEventType::kConnectRequest,\n"
            "                                  .connection = id,\n"
            "                                  .peer = connection.peer(),\n"
            "                                  .message = req});\n"),
    _mutant("connections have no timewait", CONNECTION,
            "  deadline_ = std::max(step.now + options_->time_wait, at_least_until);\n",
            "  deadline_ = std::min(step.now, at_least_until);\n"),
    _mutant("the QP of a refused REQ is free at once", MESSAGES,
            "    case CmState::kReqSent:\n    case CmState::kMraReqReceived:\n"
            "    case CmState::kRepReceived:\n",
            "    case CmState::kReqSent:\n    case CmState::kMraReqReceived:\n"
            "      Raise(CmEventType::kRejected, rej, step);\n"
            "      Close();\n"
            "      break;\n"
            "    case CmState::kRepReceived:\n",
            _unit("CmManagerMessagesTest.TheQpOfARefusedRequestIsNotFreeAtOnce")),
    _mutant("a REJ is dropped before the peer stops retransmitting", CALLS,
            "  EnterTimeWait(request_end_, step);\n", "  EnterTimeWait(step.now, step);\n"),
    _mutant("a stale REP leaves its connection retransmitting the REQ", ARRIVALS,
            "    connection.OnStaleRep(rep, step);\n", "    (void)connection;\n"),
    _mutant("messages from other addresses are accepted", "cm_connection.h",
            "peer_ == from && *remote_id_ == their_id : peer_.IsAnsweredBy(from);\n",
            "*remote_id_ == their_id : true;\n"),
    _mutant("a REQ for a QP that is already connected is accepted", ARRIVALS,
            "  if (directory_.FindRemoteQp(from, req.local_ca_guid, req.local_qp)) {\n",
            "  if (directory_.FindRemoteQp(from, req.local_ca_guid, req.local_qp) && from == "
            "CmPeer()) {\n"),
    _mutant("established connections count as half-open", MANAGER,
            "  if (IsHalfOpen(before) && !IsHalfOpen(after)) half_open_.Remove(id);\n",
            "  if (IsHalfOpen(before) && after == before) half_open_.Remove(id);\n"),
    _mutant("a destroyed connection raises events", CONNECTION,
            "  if (is_destroyed_) return;\n  step.outbox.events", "  step.outbox.events"),
    _mutant("a duplicate SIDR_REQ raises a second event", "sidr_exchanges.cc",
            "  if (const auto known = requests_.find(key); known != requests_.end()) {\n",
            "  if (const auto known = requests_.find(key);\n"
            "      known != requests_.end() && step.now < Time()) {\n"),
    _mutant("no RTU for a duplicate REP", MESSAGES,
            "  if (state_ == CmState::kMraRepSent || is_ready || is_rejected) SendAgain(step);\n",
            "  if (state_ == CmState::kMraRepSent || (is_ready && is_rejected)) SendAgain(step);\n",
            _unit("CmConnectionMessagesTest.ALostRtuIsRetransmittedForEachRep")),
    _mutant("a message is retransmitted once more than the REQ allows", CONNECTION,
            "  retries_left_ = timing_.retries;\n",
            "  retries_left_ = static_cast<uint8_t>(timing_.retries + 1);\n",
            _unit("CmConnectionTest.AReqIsRetransmittedAtItsTimeoutUpToItsRetries")),
    _mutant("a side that times out sends no message", CONNECTION,
            "  SendRejTimeout(step);\n  Raise(", "  Raise(",
            _unit("CmConnectionTest.APassiveSideWithoutRtuGivesUpAndNotifiesThePeer")),
    _mutant("a late REJ of the REQ ends an established connection", MESSAGES,
            "      if (rej.rejected == CmSubject::kReq) return;\n", "",
            _unit("CmConnectionMessagesTest.ARejectionOfTheReqDoesNotEndAnEstablishedConnection")),
    _mutant("crossing DREQs wait for their consumers", MESSAGES,
            "  if (is_crossing || is_destroyed_) CHECK(",
            "  if (is_crossing && is_destroyed_) CHECK(",
            _unit("CmConnectionCallsTest.CrossingDisconnectsEndBothSidesOnce")),
    _mutant("the QP of a connection in timewait is reused", MANAGER,
            "  if (!IsQpFree(rep.local_qp)) return Fail(CmError::kQpInUse);\n", "",
            _unit("CmManagerTest.AQpHasOneConnectionUntilItsTimewaitIsOver")),
    _mutant("no request of the busiest peer is dropped at the limit", ARRIVALS,
            "  if (!victim) return false;\n", "  return false;\n",
            _unit("CmManagerLimitsTest.TheBusiestPeerGivesWayToAnother")),
    _mutant("an MRA does not extend the timer", MESSAGES,
            "  deadline_ = step.now + std::min(timing_.AnswerAfter(mra.service_timeout), "
            "options_->patience_max);\n", "",
            _unit("CmConnectionTest.AServiceTimeoutExtendsTheTimer")),
    _mutant("the backlog is unbounded", ARRIVALS,
            "  if (listeners_.IsFull(req.service_id, from.local)) {\n",
            "  if (listeners_.IsFull(req.service_id, from.local) && from == CmPeer()) {\n",
            _unit("CmManagerTest.TheBacklogBoundsTheRequestsOfAListener")),
]
