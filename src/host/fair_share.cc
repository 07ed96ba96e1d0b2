#include "host/fair_share.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace verbena::host {

void DivideFairly(uint64_t budget, std::span<Claim> claims) {
  uint64_t left = budget;
  double weights = 0;
  for (Claim& claim : claims) {
    CHECK(claim.min <= left && claim.min <= claim.demand && claim.weight > 0);
    claim.share = claim.min;
    left -= claim.min;
    weights += claim.weight;
  }
  // The level of water at which a claim is full: those that are full first leave the most to the
  // others, so in this order one pass is enough.
  const auto level = [&](size_t i) {
    return static_cast<double>(claims[i].demand - claims[i].min) / claims[i].weight;
  };
  std::vector<size_t> order(claims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, level);
  for (const size_t i : order) {
    Claim& claim = claims[i];
    const double part = static_cast<double>(left) * std::min(1.0, claim.weight / weights);
    const uint64_t more = std::min({claim.demand - claim.min, static_cast<uint64_t>(part), left});
    claim.share += more;
    left -= more;
    weights -= claim.weight;
  }
}

}  // namespace verbena::host
