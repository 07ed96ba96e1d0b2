#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_count.h"
#include "base/own_file.h"
#include "cli/commands.h"
#include "cli/device_files.h"
#include "cli/exec.h"
#include "cli/rsockets.h"
#include "host/arbiter_options.h"
#include "host/broker_path.h"
#include "host/channel.h"
#include "host/protocol.h"
#include "verbena/context.h"

namespace verbena::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libibverbs.so.1";

// The options that go to the library as environment variables, which the program's children
// inherit.
struct Choices {
  std::string link_layer = {};
  std::string transport = {};
  std::string mpa_revision = {};
  std::string mpa_crc = {};
  std::string trace = {};
  std::string log = {};
  bool stats = false;
  bool strict = false;
  bool pin = false;
  bool page_events = false;
  bool windows_only = false;
  bool one_touch_windows = false;
  std::string memory_budget = {};
  bool budget_strict = false;
  std::string swap = {};
  bool cache = false;
  std::string cache_bytes = {};
  std::string guest = {};
  std::string guest_min = {};
  std::string guest_max = {};
  uint32_t guest_weight = 0;  // 0: the default
  std::string broker = {};
  std::string device_files = {};
  bool rsockets = false;
};

// The directory of the library relative to the program: installed, one in which no other program
// finds the library by accident; in a build tree, the one beside the program.
std::optional<fs::path> LibraryFolder(const fs::path& program) {
  const fs::path above = program.parent_path().parent_path();
  for (const fs::path& folder : {above / VERBENA_PRIVATE_LIBRARIES, above / "lib"}) {
    if (fs::exists(folder / kLibrary)) return folder;
  }
  return std::nullopt;
}

void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

void SetUp(const Choices& choices) {
  if (!choices.link_layer.empty()) Set("VERBENA_LINK_LAYER", choices.link_layer);
  if (!choices.transport.empty()) Set("VERBENA_TRANSPORT", choices.transport);
  if (!choices.mpa_revision.empty()) Set("VERBENA_MPA_REVISION", choices.mpa_revision);
  if (!choices.mpa_crc.empty()) Set("VERBENA_MPA_CRC", choices.mpa_crc);
  // Absolute, because the program can change its directory before the library opens the file.
  if (!choices.trace.empty()) Set("VERBENA_TRACE", fs::absolute(choices.trace));
  if (!choices.log.empty()) Set("VERBENA_LOG", choices.log);
  if (choices.stats) Set("VERBENA_STATS", "1");
  if (choices.strict) Set("VERBENA_STRICT", "1");
  if (choices.pin) Set("VERBENA_PIN", "1");
  if (choices.page_events) Set("VERBENA_PAGE_EVENTS", "1");
  if (choices.windows_only) Set("VERBENA_WINDOWS_ONLY", "1");
  if (choices.one_touch_windows) Set("VERBENA_ONE_TOUCH_WINDOWS", "1");
  if (!choices.memory_budget.empty()) Set("VERBENA_MEMORY_BUDGET", choices.memory_budget);
  if (choices.budget_strict) Set("VERBENA_MEMORY_BUDGET_STRICT", "1");
  if (!choices.swap.empty()) Set("VERBENA_SWAP", fs::absolute(choices.swap));
  if (choices.cache) Set("VERBENA_CACHE", choices.cache_bytes.empty() ? "1" : choices.cache_bytes);
  if (!choices.guest.empty()) Set("VERBENA_GUEST", choices.guest);
  if (!choices.guest_min.empty()) Set("VERBENA_GUEST_MIN", choices.guest_min);
  if (!choices.guest_max.empty()) Set("VERBENA_GUEST_MAX", choices.guest_max);
  if (choices.guest_weight > 0) Set("VERBENA_GUEST_WEIGHT", std::to_string(choices.guest_weight));
  if (!choices.broker.empty()) Set("VERBENA_BROKER", fs::absolute(choices.broker));
}

// The option takes precedence over the variable.
bool WantsDeviceFiles(const Choices& choices) {
  if (!choices.device_files.empty()) return choices.device_files != "off";
  const char* const variable = std::getenv("VERBENA_DEVICE_FILES");
  const std::string_view choice = variable != nullptr ? variable : "";
  if (!choice.empty() && choice != "on" && choice != "off") {
    std::cerr << "verbena: VERBENA_DEVICE_FILES must be on or off, not '" << choice << "'\n";
  }
  return choice != "off";
}

// Most programs use none of these files, so the program starts even without them.
void ShowOrHideDeviceFiles(const Choices& choices, const fs::path& libraries) {
  if (!WantsDeviceFiles(choices)) {
    HideDeviceFiles();
  } else if (const auto shown = ShowDeviceFiles(libraries); !shown) {
    HideDeviceFiles();
    std::cerr << "verbena: the program finds no files about the device in /sys and /dev: "
              << shown.error().text << " (--device-files=off does without)\n";
  }
}

// Checked here, because otherwise the program finds a device that it cannot open, and no reason.
ErrorOr<void> CheckStrictBudget(const Choices& choices) {
  if (!choices.budget_strict) return {};
  Options options;
  options.memory_budget = ParseByteCount(choices.memory_budget).value();
  options.memory_budget_strict = true;
  if (!choices.swap.empty()) options.swap = choices.swap;
  const auto context = Context::Open(options);
  return context ? ErrorOr<void>() : tl::unexpected(context.error());
}

// For the same reason: without a broker the program finds a device that it cannot open.
ErrorOr<void> CheckBroker(const Choices& choices) {
  if (choices.guest.empty()) return {};
  const char* const variable = std::getenv("VERBENA_BROKER");
  const std::string given = variable != nullptr ? variable : "";
  const std::string socket = !choices.broker.empty() ? choices.broker
                             : !given.empty()        ? given
                                                     : host::DefaultBrokerSocket();
  const auto channel = host::BrokerChannel::Connect(socket);
  if (channel) return {};
  return tl::unexpected(
      Error{.code = ErrorCode::kSystem,
            .text = channel.error().text + "; start one by verbena broker --budget SIZE"});
}

Outcome Run(const fs::path& self, const Choices& choices, std::vector<std::string> program) {
  const auto folder = LibraryFolder(self);
  if (!folder) {
    return tl::unexpected(Error{
        .code = ErrorCode::kSystem,
        .text = "cannot find " + std::string(kLibrary) + " beside " + self.string() +
                "; in a source tree, build it by make build, else install the package again"});
  }
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  const bool has_others = before != nullptr && *before != '\0';
  Set("LD_LIBRARY_PATH", folder->string() + (has_others ? ":" + std::string(before) : ""));
  if (auto done = CheckStrictBudget(choices); !done) return ToOutcome(std::move(done));
  if (auto done = CheckBroker(choices); !done) return ToOutcome(std::move(done));
  SetUp(choices);
  ShowOrHideDeviceFiles(choices, *folder);
  if (choices.rsockets) {
    if (auto done = UseRsockets(*folder); !done) return ToOutcome(std::move(done));
  }
  return Exec(std::move(program), "is it installed, and in the PATH?");
}

constexpr const char* kExamples =
    "Output and exit code are the program's own. Its child processes run on Verbena, too.\n"
    "Each option but --rsockets sets an environment variable, which can be set instead:\n"
    "  VERBENA_LINK_LAYER=roce|ib  VERBENA_TRACE=FILE  VERBENA_LOG=error|warning|info|debug\n"
    "  VERBENA_STATS=1  VERBENA_STRICT=1  VERBENA_PIN=1  VERBENA_PAGE_EVENTS=1\n"
    "  VERBENA_WINDOWS_ONLY=1  VERBENA_ONE_TOUCH_WINDOWS=1\n"
    "  VERBENA_TRANSPORT=roce|iwarp|iwarp-sctp|roce,iwarp|...\n"
    "  VERBENA_MPA_REVISION=1|2  VERBENA_MPA_CRC=on|off\n"
    "  VERBENA_MEMORY_BUDGET=SIZE  VERBENA_MEMORY_BUDGET_STRICT=1\n"
    "  VERBENA_SWAP=DIRECTORY|FILE  VERBENA_CACHE=1|SIZE  VERBENA_DEVICE_FILES=on|off\n"
    "  VERBENA_GUEST=NAME  VERBENA_GUEST_MIN=SIZE  VERBENA_GUEST_MAX=SIZE\n"
    "  VERBENA_GUEST_WEIGHT=N  VERBENA_BROKER=SOCKET\n\n"
    "Examples:\n"
    "  verbena run -- ibv_devinfo\n"
    "  verbena run -- ib_write_bw & verbena run -- ib_write_bw 127.0.0.1\n"
    "  verbena run --link-layer=ib -- ibv_rc_pingpong\n"
    "  verbena run --transport=iwarp -- rping -s & verbena run --transport=iwarp -- rping -c -a "
    "127.0.0.1\n"
    "  verbena run -- ucx_info -d\n"
    "  verbena run --trace write.pcapng --stats -- ib_write_lat 127.0.0.1\n"
    "  verbena run --rsockets -- iperf3 -s & verbena run --rsockets -- iperf3 -c 127.0.0.1\n"
    "  verbena run --cache --pin --stats -- program_that_registers_each_buffer\n"
    "  verbena run --memory-budget 64M --swap /var/tmp --stats -- ib_read_bw -s 16777216 -q 16\n"
    "  verbena broker --budget 256M & verbena run --guest web -- ib_write_bw\n";

// An error text, empty if `text` is a budget.
std::string CheckBudget(const std::string& text) {
  constexpr uint64_t kBudgetMin = uint64_t{1} << 20;
  const auto bytes = ParseByteCount(text);
  if (!bytes) return "'" + text + "' is not a size: write 64M or 4G, for example";
  return *bytes < kBudgetMin ? "the memory budget must be at least 1M" : "";
}

std::string CheckGuestName(const std::string& text) {
  if (host::IsGuestName(text)) return "";
  return "'" + text + "' is not a name of a guest: write 1 to 31 letters, digits, '.', '_' and '-'";
}

std::string CheckGuestSize(const std::string& text) {
  const auto bytes = ParseByteCount(text);
  if (!bytes) return "'" + text + "' is not a size: write 64M or 4G, for example";
  return *bytes < host::kGuestMinimum ? "the memory of a guest must be at least 64K" : "";
}

// Checked here, because otherwise the program runs without a budget and the warning is late.
std::string CheckSwap(const std::string& path) {
  if (path.empty()) return "the path is empty: name a directory such as /var/tmp";
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return path + " does not exist: name a directory, or an existing file";
  }
  if (!fs::is_directory(path, ignored)) return WhyNoOwnFile(path);
  const bool is_good = access(path.c_str(), W_OK | X_OK) == 0;
  return is_good ? "" : "cannot write to " + path + ": " + std::strerror(errno);
}

// Checked here, because otherwise the program finds no device that it can open. %p becomes the id
// of this process, which the program keeps after exec.
std::string CheckTrace(std::string path) {
  if (path.empty()) return "the path is empty: name a file such as packets.pcapng";
  if (const size_t at = path.find("%p"); at != std::string::npos) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  return WhyNoOwnFile(path);
}

CommandOption AddCacheOptions(Command command, Choices& choices) {
  const CommandOption cache =
      command.AddFlag("--cache", choices.cache,
                      "keep memory registered after ibv_dereg_mr, for the next ibv_reg_mr of the "
                      "same bytes; saves time with --pin");
  command
      .AddOption("--cache-bytes", choices.cache_bytes,
                 "how much memory the cache keeps registered, 64M or 4G for example (4G)")
      .Check("SIZE",
             [](const std::string& text) {
               const auto bytes = ParseByteCount(text);
               return bytes && *bytes > 1 ? std::string()
                                          : "'" + text + "' is not a size: write 64M, for example";
             })
      .Needs(cache);
  return cache;
}

CommandOption AddGuestOptions(Command command, Choices& choices, const CommandOption& pin,
                              const CommandOption& cache) {
  const CommandOption guest =
      command
          .AddOption("--guest", choices.guest,
                     "run as a guest of this name: a broker (verbena broker) decides how much of "
                     "the registered memory is in memory; the rest is in a swap file")
          .Check("NAME", CheckGuestName)
          .Excludes(pin)
          .Excludes(cache);
  command
      .AddOption("--guest-min", choices.guest_min,
                 "memory that the guest can always have, at least 64K (4M)")
      .Check("SIZE", CheckGuestSize)
      .Needs(guest);
  command.AddOption("--guest-max", choices.guest_max, "memory that it never exceeds (no limit)")
      .Check("SIZE", CheckGuestSize)
      .Needs(guest);
  command
      .AddOption("--guest-weight", choices.guest_weight,
                 "its share of scarce memory, relative to the weights of other guests (100)")
      .Within(1, host::kWeightMax)
      .Needs(guest);
  command.AddOption("--broker", choices.broker, "the socket of the broker")
      .Type("SOCKET")
      .Needs(guest);
  return guest;
}

void AddBudgetOptions(Command command, Choices& choices, const CommandOption& pin,
                      const CommandOption& cache, const CommandOption& guest) {
  const CommandOption budget =
      command
          .AddOption("--memory-budget", choices.memory_budget,
                     "keep at most this much of the registered memory in memory at a time, 64M or "
                     "4G for example; the rest is in a swap file")
          .Check("SIZE", CheckBudget)
          .Excludes(pin)
          .Excludes(cache)
          .Excludes(guest);
  command
      .AddOption(
          "--swap", choices.swap,
          "where the swap file is: a directory, or an existing file, which can serve one region at "
          "a time (/tmp)")
      .Check("PATH", CheckSwap);
  command
      .AddFlag("--memory-budget-strict", choices.budget_strict,
               "fail instead of warning if the budget cannot be kept: do not start the program, or "
               "do not register a region of 256K or more")
      .Needs(budget);
}

void AddTransportOptions(Command command, Choices& choices) {
  const CommandOption link_layer =
      command
          .AddOption(
              "--link-layer", choices.link_layer,
              "the kind of device that the program sees: roce, addressed by GID, or ib, also "
              "addressed by LID (roce)")
          .OneOf({"roce", "ib"});
  const CommandOption transport =
      command
          .AddOption(
              "--transport", choices.transport,
              "what the device speaks: roce (RoCEv2 over UDP), or, for programs that connect by "
              "librdmacm, as perftest does with -R, iwarp (RDMA over TCP) or iwarp-sctp (RDMA over "
              "SCTP in UDP); with two, the program sees two devices, and librdmacm uses the first "
              "(roce)")
          .OneOf({"roce", "iwarp", "iwarp-sctp", "roce,iwarp", "iwarp,roce", "roce,iwarp-sctp",
                  "iwarp-sctp,roce"})
          .Excludes(link_layer);
  command
      .AddOption("--mpa-revision", choices.mpa_revision,
                 "of iWARP: the revision of MPA that requests for connections have (2)")
      .OneOf({"1", "2"})
      .Needs(transport);
  command
      .AddOption("--mpa-crc", choices.mpa_crc,
                 "of iWARP: off leaves the CRC of segments out if the peer does not want it, "
                 "either (on)")
      .OneOf({"on", "off"})
      .Needs(transport);
}

}  // namespace

void AddRunCommand(Command root, const std::filesystem::path& program, Outcome& outcome) {
  struct State {
    Choices choices;
    std::vector<std::string> program;
  };
  const auto state = std::make_shared<State>();
  Command command = root.AddCommand("run", "run an unmodified RDMA program on Verbena");
  AddTransportOptions(command, state->choices);
  command
      .AddOption("--trace", state->choices.trace,
                 "append all packets to this pcapng file, for Wireshark; %p in the name becomes "
                 "the process ID")
      .Check("FILE", CheckTrace);
  command
      .AddOption("--log", state->choices.log,
                 "how much the library prints on standard error (warning)")
      .OneOf({"error", "warning", "info", "debug"});
  command.AddFlag("--stats", state->choices.stats, "print counters when the program ends");
  command.AddFlag("--strict", state->choices.strict,
                  "use only UDP port 4791, for peers that are not Verbena; one process at a time");
  const CommandOption pin =
      command.AddFlag("--pin", state->choices.pin,
                      "lock registered memory, as other adapters do; the memlock limit (ulimit -l) "
                      "must allow it");
  command.AddFlag("--page-events", state->choices.page_events,
                  "let the kernel report when the program gives up pages; slows its munmap and "
                  "madvise");
  command.AddFlag("--windows-only", state->choices.windows_only,
                  "let peers access memory only through memory windows, not with the keys of "
                  "regions");
  command.AddFlag("--one-touch-windows", state->choices.one_touch_windows,
                  "end each memory window with the first message of a peer that uses its key");
  const CommandOption cache = AddCacheOptions(command, state->choices);
  const CommandOption guest = AddGuestOptions(command, state->choices, pin, cache);
  AddBudgetOptions(command, state->choices, pin, cache, guest);
  command
      .AddOption("--device-files", state->choices.device_files,
                 "whether the program also finds the device in /sys and /dev, where UCX and "
                 "others look for it, by a library in LD_PRELOAD (on)")
      .OneOf({"on", "off"});
  command.AddFlag("--rsockets", state->choices.rsockets,
                  "for programs that know TCP and UDP sockets only: make them rsockets, which run "
                  "over RDMA, by librspreload.so of rdma-core in LD_PRELOAD");
  command.AddRest("program", state->program, "the program and its arguments, after --");
  command.SetExamples(kExamples);
  command.SetWork([program, state, &outcome] {
    const Choices& choices = state->choices;
    if (!choices.swap.empty() && choices.memory_budget.empty() && choices.guest.empty()) {
      outcome = Misuse("--swap needs --memory-budget or --guest");
      return;
    }
    outcome = Run(program, state->choices, std::move(state->program));
  });
}

}  // namespace verbena::cli
