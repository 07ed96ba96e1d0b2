// The shortest program on the API: a queue pair that is connected to itself writes two bytes by
// RDMA. With two machines, the ends exchange their addresses and the key of the memory first.

#include <array>
#include <cstddef>
#include <cstdio>

#include "examples/support/endpoint.h"
#include "verbena/verbena.h"

using examples::Must;
using namespace verbena;

int main() {
  auto context = Must(Context::Open());
  auto domain = Must(ProtectionDomain::Allocate(context));
  auto cq = Must(CompletionQueue::Create(context, 16));
  auto qp = Must(QueuePair::Create(domain, {.send_cq = &cq, .receive_cq = &cq}));
  const QpAddress self{qp.number(), Must(Context::Gids()).front().gid};
  Must(qp.Connect(self, self));  // or to the address that a peer has sent
  std::array from{std::byte{'h'}, std::byte{'i'}}, to{std::byte{}, std::byte{}};
  auto source = Must(MemoryRegion::Register(domain, from, Access::kLocal));
  auto target = Must(MemoryRegion::Register(domain, to, Access::kAll));
  Must(qp.Post(Write{.data = source.Local(0, 2), .remote = target.Remote()}));

  Completion done;
  while (cq.Poll({&done, 1}) == size_t{0}) continue;
  std::printf("%s: %c%c\n", NameOf(done.status), static_cast<char>(to[0]),
              static_cast<char>(to[1]));
  return done.ok() && from == to ? 0 : 1;
}
