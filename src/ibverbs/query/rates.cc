// Conversions of rates: ibv_rate, multiples of 2.5 Gbit/s, Mbit/s.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>

namespace verbena::ibverbs {
namespace {

struct Rate {
  ibv_rate code;
  int mbps;      // as signalled: from FDR (14 Gbit/s) on, more than the name says
  int multiple;  // of 2.5 Gbit/s, according to the name
};

constexpr std::array kRates = {
    Rate{IBV_RATE_2_5_GBPS, 2'500, 1},        Rate{IBV_RATE_5_GBPS, 5'000, 2},
    Rate{IBV_RATE_10_GBPS, 10'000, 4},        Rate{IBV_RATE_20_GBPS, 20'000, 8},
    Rate{IBV_RATE_30_GBPS, 30'000, 12},       Rate{IBV_RATE_40_GBPS, 40'000, 16},
    Rate{IBV_RATE_60_GBPS, 60'000, 24},       Rate{IBV_RATE_80_GBPS, 80'000, 32},
    Rate{IBV_RATE_120_GBPS, 120'000, 48},     Rate{IBV_RATE_14_GBPS, 14'062, 6},
    Rate{IBV_RATE_56_GBPS, 56'250, 22},       Rate{IBV_RATE_112_GBPS, 112'500, 45},
    Rate{IBV_RATE_168_GBPS, 168'750, 67},     Rate{IBV_RATE_25_GBPS, 25'781, 10},
    Rate{IBV_RATE_100_GBPS, 103'125, 40},     Rate{IBV_RATE_200_GBPS, 206'250, 80},
    Rate{IBV_RATE_300_GBPS, 309'375, 120},    Rate{IBV_RATE_28_GBPS, 28'125, 11},
    Rate{IBV_RATE_50_GBPS, 53'125, 20},       Rate{IBV_RATE_400_GBPS, 425'000, 160},
    Rate{IBV_RATE_600_GBPS, 637'500, 240},    Rate{IBV_RATE_800_GBPS, 850'000, 320},
    Rate{IBV_RATE_1200_GBPS, 1'275'000, 480},
};

constexpr Rate kNone = {IBV_RATE_MAX, -1, -1};

template <class Value>
const Rate& Find(Value Rate::*field, Value value) {
  const auto* found = std::ranges::find(kRates, value, field);
  return found != kRates.end() ? *found : kNone;
}

}  // namespace
}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

int ibv_rate_to_mult(ibv_rate rate) { return Find(&Rate::code, rate).multiple; }

ibv_rate mult_to_ibv_rate(int multiple) { return Find(&Rate::multiple, multiple).code; }

int ibv_rate_to_mbps(ibv_rate rate) { return Find(&Rate::code, rate).mbps; }

ibv_rate mbps_to_ibv_rate(int mbps) { return Find(&Rate::mbps, mbps).code; }
