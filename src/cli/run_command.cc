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
#include "verbena/context.h"

namespace verbena::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libibverbs.so.1";

// The options that go to the library as environment variables, which the program's children
// inherit.
struct Choices {
  std::string look = {};
  std::string trace = {};
  std::string log = {};
  bool stats = false;
  bool strict = false;
  bool pin = false;
  bool page_events = false;
  bool windows_only = false;
  std::string memory_budget = {};
  bool budget_strict = false;
  std::string swap = {};
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
  if (!choices.look.empty()) Set("VERBENA_LINK_LAYER", choices.look);
  // Absolute, because the program can change its directory before the library opens the file.
  if (!choices.trace.empty()) Set("VERBENA_TRACE", fs::absolute(choices.trace));
  if (!choices.log.empty()) Set("VERBENA_LOG", choices.log);
  if (choices.stats) Set("VERBENA_STATS", "1");
  if (choices.strict) Set("VERBENA_STRICT", "1");
  if (choices.pin) Set("VERBENA_PIN", "1");
  if (choices.page_events) Set("VERBENA_PAGE_EVENTS", "1");
  if (choices.windows_only) Set("VERBENA_WINDOWS_ONLY", "1");
  if (!choices.memory_budget.empty()) Set("VERBENA_MEMORY_BUDGET", choices.memory_budget);
  if (choices.budget_strict) Set("VERBENA_MEMORY_BUDGET_STRICT", "1");
  if (!choices.swap.empty()) Set("VERBENA_SWAP", fs::absolute(choices.swap));
}

// The option takes precedence over the variable.
bool WantsDeviceFiles(const Choices& choices) {
  if (!choices.device_files.empty()) return choices.device_files != "off";
  const char* const variable = std::getenv("VERBENA_DEVICE_FILES");
  const std::string_view choice = variable != nullptr ? variable : "";
  if (!choice.empty() && choice != "on" && choice != "off") {
    std::cerr << "verbena: VERBENA_DEVICE_FILES is on or off, and not '" << choice << "'\n";
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
    "  VERBENA_WINDOWS_ONLY=1\n"
    "  VERBENA_MEMORY_BUDGET=SIZE  VERBENA_MEMORY_BUDGET_STRICT=1\n"
    "  VERBENA_SWAP=DIRECTORY|FILE  VERBENA_DEVICE_FILES=on|off\n\n"
    "Examples:\n"
    "  verbena run -- ibv_devinfo\n"
    "  verbena run -- ib_write_bw & verbena run -- ib_write_bw 127.0.0.1\n"
    "  verbena run --link-layer=ib -- ibv_rc_pingpong\n"
    "  verbena run -- ucx_info -d\n"
    "  verbena run --trace write.pcapng --stats -- ib_write_lat 127.0.0.1\n"
    "  verbena run --rsockets -- iperf3 -s & verbena run --rsockets -- iperf3 -c 127.0.0.1\n"
    "  verbena run --memory-budget 64M --swap /var/tmp --stats -- ib_read_bw -s 16777216 -q 16\n";

// An error text, empty if `text` is a budget.
std::string CheckBudget(const std::string& text) {
  constexpr uint64_t kBudgetMin = uint64_t{1} << 20;
  const auto bytes = ParseByteCount(text);
  if (!bytes) return "'" + text + "' is no size: write 64M or 4G, for example";
  return *bytes < kBudgetMin ? "a memory budget is at least 1M" : "";
}

// Checked here, because otherwise the program goes on without a budget and warns too late.
std::string CheckSwap(const std::string& path) {
  if (path.empty()) return "is empty: name a directory such as /var/tmp";
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
  if (path.empty()) return "is empty: name a file such as packets.pcapng";
  if (const size_t at = path.find("%p"); at != std::string::npos) {
    path.replace(at, 2, std::to_string(getpid()));
  }
  return WhyNoOwnFile(path);
}

void AddBudgetOptions(Command command, Choices& choices, const CommandOption& pin) {
  const CommandOption budget =
      command
          .AddOption("--memory-budget", choices.memory_budget,
                     "keep at most this much of the registered memory in memory at a time, 64M or "
                     "4G for example; the rest is in a swap file")
          .Check("SIZE", CheckBudget)
          .Excludes(pin);
  command
      .AddOption(
          "--swap", choices.swap,
          "where the swap file is: a directory, or an existing file, which can serve one region at "
          "a time (/tmp)")
      .Check("PATH", CheckSwap)
      .Needs(budget);
  command
      .AddFlag("--memory-budget-strict", choices.budget_strict,
               "fail instead of warning if the budget cannot be kept: do not start the program, or "
               "do not register a region of 256K or more")
      .Needs(budget);
}

}  // namespace

void AddRunCommand(Command root, const std::filesystem::path& program, Outcome& outcome) {
  struct State {
    Choices choices;
    std::vector<std::string> program;
  };
  const auto state = std::make_shared<State>();
  Command command = root.AddCommand("run", "run an unmodified RDMA program on Verbena");
  command
      .AddOption("--link-layer", state->choices.look,
                 "the kind of device that the program sees: roce, addressed by GID, or ib, also "
                 "addressed by LID (roce)")
      .OneOf({"roce", "ib"});
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
  AddBudgetOptions(command, state->choices, pin);
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
    outcome = Run(program, state->choices, std::move(state->program));
  });
}

}  // namespace verbena::cli
