#include <pwd.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_count.h"
#include "base/log.h"
#include "cli/broker_status.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/text.h"
#include "host/broker.h"
#include "host/broker_path.h"
#include "host/operator_client.h"
#include "host/protocol.h"

namespace verbena::cli {
namespace {

constexpr uint64_t kBudgetMin = uint64_t{1} << 20;

struct BrokerChoices {
  std::string socket = host::DefaultBrokerSocket();
  std::string budget = {};
  std::vector<std::string> limits = {};
  std::vector<std::string> users = {};
  double idle_quiesce = 30;
  double release_time = 5;
  bool ran = false;  // a subcommand did the work
};

std::string CheckBudget(const std::string& text) {
  const auto bytes = ParseByteCount(text);
  if (!bytes) return "'" + text + "' is not a size: write 256M or 4G, for example";
  return *bytes < kBudgetMin ? "the budget of a broker is at least 1M" : "";
}

// "NAME:min=4M,max=64M,weight=200", each part but the name optional.
std::optional<std::pair<std::string, host::GuestLimits>> ParseLimit(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string name(text.substr(0, colon));
  if (colon == std::string_view::npos || !host::IsGuestName(name)) return std::nullopt;
  host::GuestLimits limits;
  for (text.remove_prefix(colon + 1); !text.empty();) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = part.substr(0, equals), value = part.substr(equals + 1);
    if (key == "weight") {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), limits.weight);
      const bool is_whole = error == std::errc() && end == value.data() + value.size();
      if (!is_whole || limits.weight == 0 || limits.weight > host::kWeightMax) return std::nullopt;
      continue;
    }
    const auto bytes = ParseByteCount(value);
    if (!bytes || (key != "min" && key != "max")) return std::nullopt;
    (key == "min" ? limits.min : limits.max) = *bytes;
  }
  if (limits.min < host::kGuestMinimum || limits.min > limits.max) return std::nullopt;
  return std::pair(name, limits);
}

std::string CheckLimit(const std::string& text) {
  if (ParseLimit(text)) return "";
  return "'" + text +
         "' is no limit: write NAME:min=4M,max=64M,weight=200; the minimum is at least 64K, and "
         "the weight 1 to 1000000";
}

std::string CheckPart(const std::string& text) {
  return ParsePart(text) ? ""
                         : "'" + text + "' is no part: write OFFSET:LENGTH, 1M:256K for example";
}

std::optional<uid_t> ParseUser(const std::string& text) {
  uid_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size()) return id;
  const passwd* const user = getpwnam(text.c_str());
  return user != nullptr ? std::optional(user->pw_uid) : std::nullopt;
}

std::string CheckUser(const std::string& text) {
  return ParseUser(text) ? "" : "there is no user '" + text + "'";
}

host::BrokerOptions ToOptions(const BrokerChoices& choices) {
  host::BrokerOptions options;
  options.socket = choices.socket;
  if (!choices.budget.empty()) options.arbiter.budget = ParseByteCount(choices.budget).value();
  options.arbiter.idle_quiesce =
      choices.idle_quiesce == 0 ? Duration::Max()
                                : Milliseconds(static_cast<int64_t>(choices.idle_quiesce * 1'000));
  options.arbiter.release_time = Milliseconds(static_cast<int64_t>(choices.release_time * 1'000));
  // The largest minimum that a guest may ask for: four such guests fit into the budget.
  options.asked_min_max = options.arbiter.budget / 4;
  for (const std::string& limit : choices.limits) options.limits.insert(ParseLimit(limit).value());
  for (const std::string& user : choices.users) {
    options.allowed_users.push_back(ParseUser(user).value());
  }
  return options;
}

// Raises the limit of open files: a guest takes one for its socket, one for its process, and one
// for each piece of its memory.
void AllowManyFiles() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

Outcome Serve(const BrokerChoices& choices) {
  AllowManyFiles();
  const host::BrokerOptions options = ToOptions(choices);
  for (const auto& [name, limits] : options.limits) {
    if (choices.budget.empty() || limits.min <= options.arbiter.budget) continue;
    return Misuse("--limit: the minimum of guest " + name + " is more than --budget " +
                  choices.budget);
  }
  const auto broker = host::Broker::Open(options);
  if (!broker) return tl::unexpected(broker.error());
  if (choices.budget.empty()) {
    std::cerr << "verbena: the broker lists shared buffers at " << choices.socket
              << "; without --budget there are no guests\n";
  } else {
    std::cerr << "verbena: the broker divides " << choices.budget << " among guests at "
              << choices.socket << '\n';
  }
  while (!Interrupted()) (*broker)->Step(Milliseconds(200));
  return {};
}

void AddSocket(Command command, BrokerChoices& choices) {
  command.AddOption("--socket", choices.socket, "the Unix socket at which broker and guests meet")
      .Type("PATH")
      .ShowDefault();
}

Outcome PrintStatus(const std::string& socket, bool json) {
  const auto status = host::QueryStatus(socket);
  if (!status) return tl::unexpected(status.error());
  std::fputs((json ? ToJsonText(*status) : ToTable(*status)).c_str(), stdout);
  return {};
}

Outcome Operate(const std::string& socket, host::OperateMessage message,
                const std::string& region) {
  if (!region.empty()) {
    const auto number = ParseRegion(region);
    if (!number) return Misuse("'" + region + "' is no L_Key of a region");
    message.all_regions = false;
    message.region = *number;
  }
  const auto done = host::Operate(socket, message);
  if (!done) return tl::unexpected(done.error());
  std::printf("%llu region%s\n", static_cast<unsigned long long>(*done), *done == 1 ? "" : "s");
  return {};
}

void AddStatus(Command broker, const std::shared_ptr<BrokerChoices>& choices, Outcome& outcome) {
  const auto json = std::make_shared<bool>(false);
  Command command = broker.AddCommand("status", "print what each guest has");
  AddSocket(command, *choices);
  command.AddFlag("--json", *json, "print JSON");
  command.SetWork([choices, json, &outcome] {
    choices->ran = true;
    outcome = PrintStatus(choices->socket, *json);
  });
}

// quiesce and resume.
void AddOperation(Command broker, host::OperateMessage::Kind kind,
                  const std::shared_ptr<BrokerChoices>& choices, Outcome& outcome) {
  struct State {
    std::string guest, region, part;
    bool hold = false;
  };
  const auto state = std::make_shared<State>();
  const bool is_quiesce = kind == host::OperateMessage::Kind::kQuiesce;
  Command command = broker.AddCommand(
      is_quiesce ? "quiesce" : "resume",
      is_quiesce ? "swap out regions of a guest, until it needs them" : "put regions back");
  AddSocket(command, *choices);
  command.AddOption("guest", state->guest, "the name of the guest").Require();
  command.AddOption("region", state->region,
                    "the L_Key of one region, 0x1234 for example; without it, all of them");
  if (is_quiesce) {
    command.AddFlag("--hold", state->hold, "keep them out until verbena broker resume");
    command
        .AddOption(
            "--part", state->part,
            "a part of the region, by offset and length, 1M:256K for example; its whole pages "
            "are swapped out, and the rest stays in use")
        .Check("OFFSET:LENGTH", CheckPart);
  }
  command.SetWork([=, &outcome] {
    choices->ran = true;
    if (!state->part.empty() && state->region.empty()) {
      outcome = Misuse("--part needs a region: verbena broker quiesce GUEST REGION --part 0:1M");
      return;
    }
    const host::OperateMessage message{.kind = kind,
                                       .guest = state->guest,
                                       .part = ParsePart(state->part).value_or(host::RegionPart()),
                                       .hold = state->hold};
    outcome = Operate(choices->socket, message, state->region);
  });
}

constexpr const char* kExamples =
    "Guests are programs under verbena run --guest NAME, or on the C++ API with Options::guest.\n"
    "SIGTERM ends the broker; guests keep what they have, and find the next one.\n"
    "verbena cache --shared lists the registered buffers that programs share.\n\n"
    "Examples:\n"
    "  verbena broker --budget 256M\n"
    "  verbena broker --budget 4G --limit web:min=64M,weight=300 --limit batch:max=1G\n"
    "  verbena run --guest web -- ib_write_bw\n"
    "  verbena broker status\n"
    "  verbena broker quiesce batch --hold\n"
    "  verbena broker quiesce batch 0x1234 --part 1M:256K\n";

}  // namespace

void AddBrokerCommand(Command root, Outcome& outcome) {
  const auto choices = std::make_shared<BrokerChoices>();
  Command command = root.AddCommand(
      "broker", "divide memory among guests: programs whose registered memory may be swapped out");
  command
      .AddOption("--budget", choices->budget,
                 "memory that all guests have together, 256M or 4G for example; without it there "
                 "are no guests")
      .Check("SIZE", CheckBudget);
  AddSocket(command, *choices);
  command
      .AddList("--limit", choices->limits,
               "minimum, maximum and weight of the guest of this name, in place of what it asks "
               "for; can be given several times")
      .Check("NAME:min=SIZE,max=SIZE,weight=N", CheckLimit);
  command
      .AddList("--allow-user", choices->users,
               "a user besides this one, and root, whose programs may be guests and share buffers; "
               "can be given several times")
      .Check("USER", CheckUser);
  command
      .AddOption("--idle-quiesce", choices->idle_quiesce,
                 "seconds after which the regions of an idle guest are swapped out while others "
                 "are short of memory; 0: never")
      .WithinReal(0, 1e6)
      .ShowDefault();
  command
      .AddOption("--release-time", choices->release_time,
                 "seconds that a guest may take to give up memory; afterwards it loses what it was "
                 "to give up: raise it if swap files are on a slow disk")
      .WithinReal(0.1, 3'600)
      .ShowDefault();
  AddStatus(command, choices, outcome);
  AddOperation(command, host::OperateMessage::Kind::kQuiesce, choices, outcome);
  AddOperation(command, host::OperateMessage::Kind::kResume, choices, outcome);
  command.SetExamples(kExamples);
  command.SetWork([choices, &outcome] {
    if (!choices->ran) outcome = Serve(*choices);
  });
}

}  // namespace verbena::cli
