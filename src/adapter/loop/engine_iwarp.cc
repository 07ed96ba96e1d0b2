// The part of Engine for iWARP: bytes between streams and queue pairs.

#include <poll.h>

#include <utility>

#include "adapter/loop/engine.h"

namespace verbena::adapter {

void Engine::StartIwarp(StreamFiles files) {
  iwarp = std::make_unique<IwarpCm>(IwarpOptionsOf(options_), std::move(files), qps, run_queue_,
                                    [this](const std::string& warning) {
                                      AssertHeld();
                                      Warn(warning);
                                    });
  sockets_.store(iwarp->fd(), std::memory_order_relaxed);
}

void Engine::FlushStreams() {
  if (iwarp == nullptr) return;
  WaitForStreams();
  iwarp->EndStreams();
  WaitForStreams();
}

void Engine::WaitForStreams() {
  constexpr Duration kPatience = Seconds(1);
  constexpr int kStepMs = 10;
  const Time end = clock_.Now() + kPatience;
  while (iwarp->has_unsent() && clock_.Now() < end) {
    pollfd file{.fd = iwarp->fd(), .events = POLLIN, .revents = 0};
    poll(&file, 1, kStepMs);
    Pass();
  }
}

bool Engine::ReceiveStreams() {
  return iwarp->Look(now_, [this](IwarpStream& stream, size_t bytes) {
    AssertHeld();
    counters_.bytes_received += bytes;
    Deliver(stream);
  });
}

// Gives the queue pair what its stream has received. Bytes that wait for pages stay in the stream,
// whose window closes when its buffer is full.
void Engine::Deliver(IwarpStream& stream) {
  QueuePair& qp = *stream.qp;
  transport::Step step = MakeStep();
  bool goes_on = true;
  while (goes_on && !stream.received().empty()) {
    stream.Take(qp.OnBytes(qp.next_byte(), stream.received(), step));
    const bool waited = qp.is_waiting();
    DrainOutbox();  // answers requests for pages that are in memory
    goes_on = waited && qp.may_resume();
  }
  // Row B9: SCTP delivers messages in any order.
  if (SctpStream* const sctp = stream.socket().sctp()) {
    sctp->ShowEarly([&](wire::StreamOffset at, std::span<std::byte> record) {
      static_cast<void>(qp.OnBytes(at, record, step));
    });
    DrainOutbox();
  }
  stream.is_stalled = qp.is_waiting();
  // The end of the stream is behind its bytes. Those of a plain stream may wait for the program, so
  // a reset does not wait for them.
  const bool is_reset = stream.is_broken() && qp.is_plain_stream();
  if (stream.peer_has_closed() && (!stream.is_stalled || is_reset)) {
    qp.OnPeerEnd(stream.is_broken());
  }
  iwarp->OnDelivered(stream);
  run_queue_.Push(qp);
}

// The pages or the receive request that received bytes waited for may have come.
void Engine::ResumeStream(QueuePair& qp) {
  IwarpStream& stream = *qp.stream();
  if (stream.is_stalled && qp.may_resume()) Deliver(stream);
}

}  // namespace verbena::adapter
