"""Mutants of src/queue and src/adapter: queues and the engine."""

from mutant import Detector, Mutant, Simulator, Tests

CQ, ENGINE = "queue/completion_queue.cc", "adapter/loop/engine.cc"
TAGS, TAGS_H = "queue/tag_matcher.cc", "queue/tag_matcher.h"


def _mutant(rule: str, file: str, old: str, new: str, detector: Detector = Simulator()) -> Mutant:
    return Mutant(rule, file, old, new, detector)


def _queue(test: str) -> Tests:
    return Tests("queue_test", test)


def _unit(test: str) -> Tests:
    return Tests("adapter_test", test)


OF_QUEUES = [
    _mutant("CQ: a completion is published with release instead of seq_cst order", CQ,
            "tail_.store(tail + 1);  // P1", "tail_.store(tail + 1, std::memory_order_release);",
            Tests("scenario_test", "LostWakeUpTest.ACompletionIsPolledOrRaisesItsEvent")),
    _mutant("CQ: an error does not count as solicited", CQ,
            "solicited || completion.status != CompletionStatus::kSuccess;",
            "solicited && completion.status == CompletionStatus::kSuccess;",
            _queue("CompletionQueueEventTest.SolicitedOnly")),
    _mutant("CQ: an event does not disarm", CQ, "  arm_.store(0);\n", "",
            _queue("CompletionQueueEventTest.OneEventPerArm")),
    _mutant("CQ: completions of a destroyed queue pair stay", CQ,
            "if (completion.qp != qp) slots_[held_end++ & mask_] = completion;",
            "if (completion.qp != qp || held_end < tail) slots_[held_end++ & mask_] = completion;",
            _queue("CompletionQueueTest.RemovesTheEntriesOfOneQp")),
    _mutant("CQ: one entry more than its capacity is accepted", CQ,
            "if (tail - head_.load(std::memory_order_acquire) > mask_) {",
            "if (tail - head_.load(std::memory_order_acquire) > mask_ + 1) {",
            _queue("CompletionQueueTest.OverflowIsPermanent")),
    _mutant("SRQ: the limit is reported one receive request early", "queue/shared_receive_queue.cc",
            "posted_->size() < armed &&", "posted_->size() <= armed &&",
            _queue("SharedReceiveQueueTest.LimitIsReportedOnce")),
]

OF_GROUPS = [
    _mutant("multicast: only the first member of a process gets a datagram",
            "adapter/loop/dispatcher.cc",
            "if (QueuePair* const qp = qps_.Find(member)) Deliver(*qp, datagram, packet, step);",
            "if (QueuePair* const qp = qps_.Find(member)) {\n"
            "      return Deliver(*qp, datagram, packet, step);\n    }"),
    _mutant("multicast: a detached queue pair stays a member",
            "transport/ud/multicast_groups.cc", "std::erase(found->second, qp) == 0",
            "std::ranges::count(found->second, qp) == 0"),
    _mutant("multicast: a queue pair that attaches twice gets datagrams twice",
            "transport/ud/multicast_groups.cc",
            "  if (std::ranges::find(members, qp) != members.end()) return {};\n", ""),
    _mutant("multicast: a datagram is sent to the first two processes of a machine only",
            "adapter/loop/transmitter.cc", "number < ports_.multicast_endpoints; ++number",
            "number < 2; ++number"),
]

OF_TAGS = [
    _mutant("tags: a message matches the newest receive of its tag", TAGS,
            "for (size_t place = 0; place < active_; ++place) {",
            "for (size_t place = active_; place-- > 0;) {"),
    _mutant("tags: a receive that is added out of sync is not held back", TAGS_H,
            "if (is_in_step()) active_ = list_.size();", "active_ = list_.size();"),
    _mutant("tags: an unexpected message is not counted", "transport/common/receive_slot.cc",
            "  if (message.has_tag()) source_.tags()->CountUnexpected();\n", ""),
    _mutant("tags: a failed unexpected message stays counted", TAGS,
            "  --unexpected_;\n", ""),
    _mutant("rendezvous: the sender is notified before the bytes are read",
            "transport/common/rendezvous.cc", ".fence = true, ", ""),
]

OF_ENGINE = [
    _mutant("events of a destroyed queue pair stay", "adapter/control/adapter_qps.cc",
            "return event.qp == number && event.cq == nullptr && event.srq == nullptr;",
            "return event.qp == number && event.cq != nullptr;",
            _unit("AdapterEventsTest.DestroyingAQueuePairDropsItsEvents")),
    _mutant("timers run before packets that have arrived", ENGINE,
            "const bool timers = !(packets && TimersWait()) && RunTimers();",
            "const bool timers = RunTimers();",
            _unit("EngineBatchTest.TimersRunAfterPacketsThatHaveArrived")),
    _mutant("a timer with an earlier deadline is not moved forward", "adapter/timer_heap.h",
            "    if (at >= hook.looked_at) return;\n",
            "    if (at >= hook.looked_at || hook.heap_index != TimerHook::kNowhere) return;\n",
            _unit("TimerHeap.AnEarlierDeadlineTakesEffectAtOnce")),
    _mutant("the deadline of a queue pair is not recorded after it ran", ENGINE,
            "  timers_.Set(qp, qp.next_time());\n}", "}"),
    _mutant("a queue pair that has more to send is not run again", ENGINE,
            "  if (has_more || outbox_.room() == 0) run_queue_.Push(qp);\n",
            "  static_cast<void>(has_more);\n",
            _unit("AdapterMemoryTest.FreshMemoryOf64MiBIsWrittenAndRead")),
    _mutant("loopback packets wait for other work", ENGINE,
            "    if (run_queue_.empty() && !DeliverLoopback()) break;\n",
            "    if (run_queue_.empty()) break;\n",
            _unit("EngineTest.AKickMakesThePass")),
    _mutant("requests posted while the lock is held are not picked up", ENGINE,
            "  EndStep();\n  Leave();\n  DrainReadyList();\n", "  EndStep();\n  Leave();\n",
            _unit("EngineTest.AKickWhileTheLockIsHeldRunsAtItsRelease")),
    _mutant("the pager's answer reaches a destroyed queue pair", ENGINE,
            "  if (qp == nullptr) return;\n  qp->OnPagesReady", "  qp->OnPagesReady",
            _unit("EnginePagesTest.APageMayArriveAfterItsQueuePairIsDestroyed")),
    _mutant("a moderated event is not raised when its period ends", ENGINE,
            "    if (cq->OnTime(now_)) RaiseCompletionEvent(*cq);\n  }\n  DrainOutbox();",
            "    static_cast<void>(cq);\n  }\n  DrainOutbox();",
            _unit("AdapterQueuesTest.ModeratedEventsComeTogether")),
    _mutant("a completion event between two passes is not written to the eventfd",
            "adapter/objects/expected_event.h",
            "    expects_ = false;\n    return std::exchange(raised_, false)",
            "    return std::exchange(raised_, false)",
            _unit("CompletionChannelTest.AnEventThatWasExpectedInVainNeedsTheFile")),
    _mutant("a thread that waits for an event holds the lock while packets arrive",
            "adapter/loop/event_wait.cc",
            "    is_busy_ = engine_.PassFor(channel_);\n",
            "    do {\n      is_busy_ = engine_.PassFor(channel_);\n"
            "    } while (is_busy_ && !channel_.has_expected());\n",
            _unit("EventWaitFloodThreads.OtherThreadsGetTheEngine")),
    _mutant("a thread that waits for an event misses events of other threads while packets arrive",
            "adapter/loop/event_wait.cc",
            "      if (auto event = channel.TryWait()) return event;\n    }\n", "    }\n",
            _unit("EventWaitFloodThreads.AnEventThatAnotherThreadRaisesIsTaken")),
    _mutant("a poller sleeps on the lock during a hold of one pass", "adapter/loop/poll_backoff.h",
            "    return now - hold_seen_ >= kHeld;\n", "    return now >= hold_seen_;\n",
            _unit("PollBackoffTest.SleepsOnALockThatOneHoldKeeps")),
    _mutant("the handlers of guarded copies are checked once only",
            "adapter/loop/progress_thread.cc",
            "  guarded_until_ = now + kGuarded;\n", "  guarded_until_ = Time::Never();\n",
            _unit("ProgressThreadThreads.PutsTheHandlersOfGuardedCopiesBack")),
    _mutant("a progress thread that does not spin makes a second pass for each packet",
            "adapter/loop/progress_thread.cc",
            "constexpr bool kSleepsAtOnce = true;", "constexpr bool kSleepsAtOnce = false;",
            _unit("ProgressThreadNoSpinThreads.APacketThatComesAloneTakesOnePass")),
]

OF_PATHS = [
    _mutant("the ICRC is not checked", "adapter/loop/dispatcher.cc",
            "  if (is_sealed && !IcrcIsRight(datagram, port, *packet)) "
            "return Count(Drop::kBadIcrc);\n", ""),
    _mutant("the service, partition and peer of a packet are not checked",
            "adapter/loop/dispatcher.cc",
            "  if (const auto drop = qp.Refuses(packet, origin)) "
            "return Refuse(*drop, qp, datagram);\n", ""),
    _mutant("the source port of the peer is not checked", "adapter/objects/queue_pair.cc",
            "return CheckPeer({path_->destination, path_->source, peer_port_}, origin);",
            "return CheckPeer({path_->destination, path_->source, 0}, origin);",
            _unit("DispatcherTest.AConnectedQueuePairAcceptsThePortOfItsPeersEndpointOnly")),
    _mutant("packets are sent to the port of another endpoint", "adapter/objects/path_table.cc",
            ".port = ports.PortOf(qp)}",
            ".port = static_cast<uint16_t>(ports.PortOf(qp) + 1)}"),
    _mutant("two flows with the same hash slot are mixed up", "adapter/loop/flow_cache.h",
            "if (!entry || entry->flow != flow) entry.emplace(flow);",
            "if (!entry) entry.emplace(flow);",
            _unit("FlowCache.NeverTakesOneFlowForAnother")),
]

OF_PORTS = [
    _mutant("ports: a lock ignores locks of weaker modes", "adapter/cm/name_lock.cc",
            "if (AreCompatible(mode, held)) continue;",
            "if (AreCompatible(mode, held) || held < mode) continue;",
            _unit("PortLocksTest.LocksExcludeEachOtherIfTheBindsConflict")),
    _mutant("ports: a port in another process's block may be bound",
            "adapter/cm/port_locks.cc",
            "  if (IsEphemeral(request.port)) steps.push_back(BlockStep(names, request));\n", "",
            _unit("PortLocksTest.APortInABlockOfAnotherProcessIsInUse")),
    _mutant("ports: a mailbox accepts datagrams for any port", "adapter/cm/mad_mailbox.cc",
            "!ports.Has(mad->service)", "!ports.Has({ports.protocol, ports.first})",
            _unit("MadMailboxTest.MalformedDatagramsAreCountedAndDropped")),
    _mutant("ports: a socket on one address counts as the owner of the RoCEv2 port",
            "adapter/cm/trusted_senders.cc",
            "  if (local.find_first_not_of('0') != colon) return false;\n", "",
            _unit("TrustedSenders.FindsTheOwnersInTheKernelTable")),
]

MUTANTS = OF_QUEUES + OF_TAGS + OF_GROUPS + OF_ENGINE + OF_PATHS + OF_PORTS
