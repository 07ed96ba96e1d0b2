#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/responder_fixture.h"

namespace verbena::transport {

// A responder whose memory has known contents, and checks of its read responses.
class ResponderReadFixture : public ResponderFixture {
 protected:
  ResponderReadFixture() { std::ranges::copy(Pattern(arena_.size()), arena_.data()); }

  Request ReadOf(uint64_t offset, uint32_t length) const {
    return {.operation = wire::Operation::kReadRequest, .reth = RethOf(offset, length)};
  }
  // Expects a sequence of read responses with the right positions and PSNs and these bytes.
  void ExpectRun(const std::vector<Answer>& answers, uint32_t first_psn, const Bytes& expected) {
    Bytes bytes;
    for (size_t i = 0; i < answers.size(); ++i) {
      const bool is_first = i == 0;
      const bool is_last = i + 1 == answers.size();
      const wire::Position position =
          is_first ? (is_last ? wire::Position::kOnly : wire::Position::kFirst)
                   : (is_last ? wire::Position::kLast : wire::Position::kMiddle);
      EXPECT_EQ(answers[i].operation, wire::Operation::kReadResponse);
      EXPECT_EQ(answers[i].position, position);
      EXPECT_EQ(answers[i].psn, (Psn(first_psn) + static_cast<uint32_t>(i)).value());
      bytes.insert(bytes.end(), answers[i].payload.begin(), answers[i].payload.end());
    }
    EXPECT_EQ(bytes, expected);
  }
};

}  // namespace verbena::transport
