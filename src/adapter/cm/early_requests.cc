#include "adapter/cm/early_requests.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace verbena::adapter {
namespace {

constexpr Duration kFirstDelay = Milliseconds(1);

}  // namespace

void EarlyRequests::NoteListener(uint16_t port, Time now) {
  std::erase_if(ports_, [&](const Port& known) { return known.number == port; });
  if (ports_.size() == kPortsMax) ports_.pop_front();
  ports_.push_back({port, now});
}

bool EarlyRequests::HadListener(uint16_t port, Time now) const {
  return std::ranges::any_of(ports_, [&](const Port& known) {
    return known.number == port && now - known.listened_on <= kMomentAgo;
  });
}

bool EarlyRequests::IsListenLikely(const Request& request, Time now) const {
  return request.is_forwarded || HadListener(request.service.port, now);
}

bool EarlyRequests::Hold(const Request& request, Time now) {
  if (waiting_.size() >= kMax) return false;
  const Duration most = IsListenLikely(request, now) ? kListenLikely : kListenSoon;
  waiting_.emplace(now + kFirstDelay,
                   Held{.request = request, .delay = kFirstDelay, .end = now + most});
  return true;
}

void EarlyRequests::OnListen(const wire::IpCmService& service, Time now) {
  std::vector<Held> due;
  std::erase_if(waiting_, [&](const auto& waiting) {
    if (waiting.second.request.service != service) return false;
    due.push_back(waiting.second);
    return true;
  });
  for (const Held& held : due) waiting_.emplace(now, held);
}

std::optional<EarlyRequests::Held> EarlyRequests::TakeDue(Time now) {
  if (next_time() > now) return std::nullopt;
  return std::move(waiting_.extract(waiting_.begin()).mapped());
}

bool EarlyRequests::HoldAgain(const Held& held, Time now) {
  if (held.end <= now) return false;
  const Duration delay = 2 * held.delay;
  waiting_.emplace(std::min(now + delay, held.end),
                   Held{.request = held.request, .delay = delay, .end = held.end});
  return true;
}

}  // namespace verbena::adapter
