// Calls on directories: opendir, scandir, chdir, glob.

#include <dirent.h>
#include <glob.h>
#include <unistd.h>

#include "preload/calls/next.h"
#include "preload/calls/redirected.h"

namespace verbena::preload {
namespace {

using Filter = int(const struct dirent*);
using Order = int(const struct dirent**, const struct dirent**);
using GlobError = int(const char*, int);

constinit Next<DIR*(const char*)> next_opendir("opendir");
constinit Next<int(const char*)> next_chdir("chdir");
constinit Next<int(const char*, struct dirent***, Filter*, Order*)> next_scandir("scandir");
constinit Next<int(int, const char*, struct dirent***, Filter*, Order*)> next_scandirat(
    "scandirat");
constinit Next<int(const char*, int, GlobError*, glob_t*)> next_glob("glob");

// On the supported machines both structures are the same.
static_assert(sizeof(struct dirent) == sizeof(struct dirent64));
static_assert(sizeof(glob_t) == sizeof(glob64_t));

int Glob(const char* pattern, int flags, GlobError* on_error, glob_t* found) {
  const Redirected file(pattern);
  const int result = next_glob(file.in_tree(), flags, on_error, found);
  if (result != 0 || !file.is_ours()) return result;
  const size_t before = (flags & GLOB_DOOFFS) != 0 ? found->gl_offs : 0;
  for (size_t i = 0; i < found->gl_pathc; ++i) StripRoot(found->gl_pathv[before + i], TreeRoot());
  return result;
}

}  // namespace
}  // namespace verbena::preload

using namespace verbena::preload;  // NOLINT(google-build-using-namespace): the verbs are global

VERBENA_INTERPOSED DIR* opendir(const char* path) {
  const Redirected folder(path);
  return next_opendir(folder.path());
}

VERBENA_INTERPOSED int chdir(const char* path) noexcept {
  const Redirected folder(path);
  return next_chdir(folder.path());
}

VERBENA_INTERPOSED int scandir(const char* path, struct dirent*** found, Filter* filter,
                               Order* order) {
  const Redirected folder(path);
  return next_scandir(folder.path(), found, filter, order);
}
VERBENA_INTERPOSED int scandir64(const char* path, struct dirent64*** found,
                                 int (*filter)(const struct dirent64*),
                                 int (*order)(const struct dirent64**, const struct dirent64**)) {
  return scandir(path, reinterpret_cast<struct dirent***>(found), reinterpret_cast<Filter*>(filter),
                 reinterpret_cast<Order*>(order));
}
VERBENA_INTERPOSED int scandirat(int from, const char* path, struct dirent*** found, Filter* filter,
                                 Order* order) {
  const Redirected folder(path);
  return next_scandirat(from, folder.path(), found, filter, order);
}
VERBENA_INTERPOSED int scandirat64(int from, const char* path, struct dirent64*** found,
                                   int (*filter)(const struct dirent64*),
                                   int (*order)(const struct dirent64**, const struct dirent64**)) {
  return scandirat(from, path, reinterpret_cast<struct dirent***>(found),
                   reinterpret_cast<Filter*>(filter), reinterpret_cast<Order*>(order));
}

VERBENA_INTERPOSED int glob(const char* pattern, int flags, GlobError* on_error,
                            glob_t* found) noexcept {
  return Glob(pattern, flags, on_error, found);
}
VERBENA_INTERPOSED int glob64(const char* pattern, int flags, GlobError* on_error,
                              glob64_t* found) noexcept {
  return Glob(pattern, flags, on_error, reinterpret_cast<glob_t*>(found));
}
