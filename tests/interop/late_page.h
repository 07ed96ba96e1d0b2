// A page of memory that is paged in late, for answers.c and late.c.

#ifndef VERBENA_TESTS_INTEROP_LATE_PAGE_H_
#define VERBENA_TESTS_INTEROP_LATE_PAGE_H_

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kHeldMs = 1200 };

static void Require(int good, const char* what) {
  if (good) return;
  perror(what);
  exit(1);
}

static int64_t NowMs(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// The first access to the page waits until this thread, which owns the userfaultfd, copies it in.
static void* PageInLate(void* start) {
  const int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
  Require(file >= 0, "userfaultfd");
  struct uffdio_api api = {.api = UFFD_API};
  Require(ioctl(file, UFFDIO_API, &api) == 0, "UFFDIO_API");
  struct uffdio_register all = {.range = {(uintptr_t)start, kPage},
                                .mode = UFFDIO_REGISTER_MODE_MISSING};
  Require(ioctl(file, UFFDIO_REGISTER, &all) == 0, "UFFDIO_REGISTER");
  struct uffd_msg fault;
  Require(read(file, &fault, sizeof fault) == sizeof fault, "read of userfaultfd");
  usleep(kHeldMs * 1000);
  static char bytes[kPage];
  memset(bytes, 'h', sizeof bytes);
  struct uffdio_copy copy = {.dst = (uintptr_t)start, .src = (uintptr_t)bytes, .len = kPage};
  Require(ioctl(file, UFFDIO_COPY, &copy) == 0, "UFFDIO_COPY");
  return NULL;
}

#endif  // VERBENA_TESTS_INTEROP_LATE_PAGE_H_
