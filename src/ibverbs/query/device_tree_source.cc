#include "ibverbs/query/device_tree_source.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "base/result.h"
#include "ibverbs/failure.h"
#include "ibverbs/query/device.h"
#include "ibverbs/query/device_tree.h"
#include "ibverbs/query/device_tree_writer.h"
#include "ibverbs/query/port_attributes.h"
#include "preload/device_path.h"
#include "verbena/context.h"

namespace verbena::ibverbs {
namespace {

// The facts as the verbs report them at this moment.
ErrorOr<DeviceFacts> Facts() {
  auto gids = TheGidTable().Read();
  if (!gids) return Fail(gids.error());
  DeviceFacts facts;
  const TransportType transport = TransportOf(TheDevice());
  FillIdentity(transport, facts.device);
  facts.link_layer = Settings::FromEnvironment(transport).link_layer;
  facts.port = PortAttributes(*gids, facts.link_layer);
  facts.gids = std::move(*gids);
  facts.processors = static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  facts.counters = verbena::Context::QueryProcess();
  return facts;
}

ErrorOr<std::string> WriteFiles() {
  const auto facts = Facts();
  if (!facts) return Fail(facts.error());
  DeviceFacts at_rest = *facts;
  at_rest.counters = {};
  auto root = TreeFolder(TheDevice().name, at_rest.link_layer);
  if (!root) return root;
  if (const auto ok = WriteTree(Describe(at_rest), *root); !ok) return Fail(ok.error());
  return root;
}

long CopyTo(const std::string& text, char* out, size_t size) {
  if (text.size() > size) return -1;
  std::ranges::copy(text, out);
  return static_cast<long>(text.size());
}

// Called from within open(). A failure here must not fail the open: -1 makes it use the file that
// `verbena run` wrote in advance.
long ReadForPathCalls(const char* path, char* out, size_t size) try {
  const auto text = ReadDeviceFile(path);
  return text ? CopyTo(*text, out, size) : -1;
} catch (...) {
  return -1;
}

}  // namespace

std::optional<std::string> ReadDeviceFile(std::string_view path) {
  if (preload::Classify(std::string(path).c_str()) == preload::PathKind::kOther)
    return std::nullopt;
  const auto facts = Facts();
  if (!facts) return std::nullopt;
  const DeviceTree tree = Describe(*facts);
  const std::string* const text = tree.Find(path);
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

void OfferDeviceFiles() {
  using SetSource = void(long (*read)(const char*, char*, size_t));
  void* const found = dlsym(RTLD_DEFAULT, "verbena_set_device_file_source");
  if (found != nullptr) reinterpret_cast<SetSource*>(found)(ReadForPathCalls);
}

}  // namespace verbena::ibverbs

using namespace verbena::ibverbs;  // NOLINT(google-build-using-namespace): the verbs are global

extern "C" {

// For `verbena run`, before it starts a program: writes the files of the device as the library
// would show it in the present environment. Returns 0, with the folder of the files in `out`, or an
// error number, with a message in `out`.
int verbena_write_device_files(char* out, size_t size) try {
  const auto root = WriteFiles();
  const std::string& text = root ? *root : root.error().text;
  const size_t length = std::min(text.size(), size - 1);
  std::copy_n(text.data(), length, out);
  out[length] = '\0';
  if (!root) return ErrnoOf(root.error());
  return length == text.size() ? 0 : ENAMETOOLONG;
} catch (...) {
  *out = '\0';
  return Thrown("verbena_write_device_files");
}
}
