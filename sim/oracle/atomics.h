#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/findings.h"

namespace verbena::sim {

// The oracle of atomics: a counter starts at 0 and changes only by fetch-and-adds, each of which is
// executed at most once. The result of a fetch-and-add that succeeded is the value that it found.
// One that failed was executed or not; but those of a connection are executed in order, and none is
// executed after one that was not.
class AtomicsOracle {
 public:
  void Succeeded(uint64_t found, uint64_t addend) {
    if (!steps_.emplace(found, addend).second) doubles_.push_back(found);
  }
  void Failed(uint64_t connection, uint64_t addend) { unknown_[connection].push_back(addend); }

  // `final_value`: the counter at the end of the run.
  void Check(uint64_t final_value, Findings& findings) {
    if (!doubles_.empty()) {
      findings.Add("atomics", "two fetch-and-adds found the value " + std::to_string(doubles_[0]));
    }
    uint64_t budget = 100'000;
    if (!Reaches(0, final_value, 0, budget)) {
      findings.Add("atomics", "no order of fetch-and-adds, each once, leads to " +
                                  std::to_string(final_value));
    }
    *this = {};
  }

 private:
  bool Reaches(uint64_t value, uint64_t final_value, size_t taken, uint64_t& budget) {
    while (true) {
      const auto step = steps_.find(value);
      if (step == steps_.end()) break;
      value += step->second;
      ++taken;
    }
    if (taken == steps_.size() && value == final_value) return true;
    if (budget == 0) return true;  // too many failed ones to try all orders: undecided
    --budget;
    for (auto& [connection, addends] : unknown_) {
      size_t& used = used_[connection];
      if (used == addends.size()) continue;
      const uint64_t addend = addends[used++];
      if (Reaches(value + addend, final_value, taken, budget)) return true;
      --used;
    }
    return false;
  }

  std::map<uint64_t, uint64_t> steps_;  // addend by the value that was found
  std::vector<uint64_t> doubles_;
  std::map<uint64_t, std::vector<uint64_t>> unknown_;
  std::map<uint64_t, size_t> used_;
};

}  // namespace verbena::sim
