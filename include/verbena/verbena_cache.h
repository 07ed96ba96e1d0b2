#ifndef VERBENA_VERBENA_CACHE_H
#define VERBENA_VERBENA_CACHE_H

/*
 * The registration cache for C. See registration_cache.h for what it does, and
 * docs/registration-cache.md for what it notices and when it pays.
 *
 * Include <infiniband/verbs.h> before this header for verbena_cache_ibv_backend, which registers
 * with any libibverbs.
 *
 * Calls that can fail return 0 or an error number (errno.h). Any thread may call at any time,
 * except for verbena_cache_destroy.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rights of a registration; the same numbers as IBV_ACCESS_*. Reading by the program's own
 * requests is always allowed. */
enum verbena_cache_access {
  VERBENA_CACHE_LOCAL_WRITE = 1,
  VERBENA_CACHE_REMOTE_WRITE = 1 << 1,
  VERBENA_CACHE_REMOTE_READ = 1 << 2,
  VERBENA_CACHE_REMOTE_ATOMIC = 1 << 3,
  VERBENA_CACHE_MW_BIND = 1 << 4
};

struct verbena_cache_keys {
  void* object; /* the backend's own: an ibv_mr, say */
  uint32_t lkey;
  uint32_t rkey;
};

/* How the cache registers. Called by the threads that acquire and release, several at a time. The
 * functions must not call the cache, and must not throw. */
struct verbena_cache_backend {
  /* 0, or an error number. */
  int (*reg)(void* argument, void* address, size_t length, int access,
             struct verbena_cache_keys* keys);
  void (*dereg)(void* argument, const struct verbena_cache_keys* keys);
  /* Other rights and other keys; the old keys are refused from then on. NULL if it cannot. */
  int (*rekey)(void* argument, struct verbena_cache_keys* keys, int access);
  void* argument;
  /* 1 if a key stands for addresses, whatever is mapped there: on-demand paging. */
  int follows_mappings;
};

struct verbena_cache_options {
  uint32_t entries_max;
  uint64_t bytes_max;
  uint64_t age_max_ns;
  int release_immediately;
  int keep_released_remote_keys;
  int exclusive;
  int use_userfaultfd;
  int checks_pending_events;
  int announces;
};
/* The defaults of CacheOptions. */
void verbena_cache_default_options(struct verbena_cache_options* options);

typedef struct verbena_cache verbena_cache;

/* `options` may be NULL. */
int verbena_cache_create(const struct verbena_cache_backend* backend,
                         const struct verbena_cache_options* options, verbena_cache** cache);
/* Regions that are still acquired stay registered until they are released. */
void verbena_cache_destroy(verbena_cache* cache);

struct verbena_cached_region {
  struct verbena_cache_keys keys;
  uint32_t number; /* of its line in the table */
  void* core;      /* of the cache */
  uint32_t shard;  /* likewise */
};

int verbena_cache_acquire(verbena_cache* cache, const void* address, size_t length, int access,
                          struct verbena_cached_region* region);
/* Once for each acquired region, by any thread. */
void verbena_cache_release(struct verbena_cached_region* region);

/* These bytes are given up, or replaced. Allocates nothing, takes no lock. */
void verbena_cache_announce(verbena_cache* cache, const void* address, size_t length);
/* Deregisters what is old and not in use; everything that is not in use if `all` is not 0. */
void verbena_cache_collect(verbena_cache* cache, int all);

struct verbena_cache_statistics {
  uint64_t hits_fast, hits_slow, misses, merges, changes, evictions, expirations, invalidations;
  uint64_t entries, bytes;
};
void verbena_cache_query(const verbena_cache* cache, struct verbena_cache_statistics* statistics);

struct verbena_cache_entry {
  uint32_t number;
  uint32_t lkey, rkey;
  int access;
  uint64_t address, length, handles;
  const char* status; /* "in use" */
};
/* Writes the first `room` lines of the table, and returns how many there are. */
size_t verbena_cache_list(const verbena_cache* cache, struct verbena_cache_entry* entries,
                          size_t room);

#ifdef INFINIBAND_VERBS_H
#include <errno.h>

static inline int verbena_cache_ibv_reg(void* argument, void* address, size_t length, int access,
                                        struct verbena_cache_keys* keys) {
  struct ibv_mr* mr = ibv_reg_mr((struct ibv_pd*)argument, address, length, access);
  if (!mr) return errno ? errno : ENOMEM;
  keys->object = mr;
  keys->lkey = mr->lkey;
  keys->rkey = mr->rkey;
  return 0;
}
static inline void verbena_cache_ibv_dereg(void* argument, const struct verbena_cache_keys* keys) {
  (void)argument;
  ibv_dereg_mr((struct ibv_mr*)keys->object);
}
/* Registers with ibv_reg_mr. Drivers keep the R_Key in ibv_rereg_mr, so there is no rekey: a region
 * with remote rights is deregistered when it is released, unless keep_released_remote_keys is set.
 * REQUIRES: the domain outlives the cache. */
static inline struct verbena_cache_backend verbena_cache_ibv_backend(struct ibv_pd* pd) {
  struct verbena_cache_backend backend = {verbena_cache_ibv_reg, verbena_cache_ibv_dereg, NULL, pd,
                                          0};
  return backend;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
