#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "verbena/rendezvous.h"

namespace examples {

// The two ends of an example. Each returns whether it succeeded.
using ServerEnd = bool (*)(const verbena::RendezvousListener& listener);
using ClientEnd = bool (*)(const std::string& host, uint16_t port);

inline constexpr uint16_t kDefaultPort = 18515;

// Runs an end in a child process.
inline pid_t Spawn(ClientEnd client, const char* host, uint16_t port) {
  // Otherwise both processes would print the contents of the buffer.
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return child;
  const bool ok = client(host, port);
  std::fflush(stdout);
  _exit(ok ? EXIT_SUCCESS : EXIT_FAILURE);
}

inline bool Join(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == EXIT_SUCCESS;
}

inline int ExitCode(bool ok) {
  if (!ok) std::printf("FAILED\n");
  return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

inline int Usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s                       both ends, here\n"
               "       %s server [PORT]\n"
               "       %s client HOST [PORT]\n",
               program, program, program);
  return EXIT_FAILURE;
}

inline uint16_t PortOf(int argc, char** argv, int at) {
  return argc > at ? static_cast<uint16_t>(std::atoi(argv[at])) : kDefaultPort;
}

// main() of an example: runs one of its ends, or without arguments both, as two processes.
inline int RunEnds(int argc, char** argv, ServerEnd server, ClientEnd client) {
  // Line buffering keeps the lines of the two processes in order.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string role = argc > 1 ? argv[1] : "both";
  if (role == "client" && argc > 2) return ExitCode(client(argv[2], PortOf(argc, argv, 3)));
  if (role != "server" && role != "both") return Usage(argv[0]);
  const auto listener =
      verbena::RendezvousListener::Listen(role == "server" ? PortOf(argc, argv, 2) : 0);
  if (!listener) {
    std::fprintf(stderr, "%s\n", listener.error().text.c_str());
    return EXIT_FAILURE;
  }
  if (role == "server") return ExitCode(server(*listener));
  // Forks before a device is opened, because a child cannot use the device of its parent.
  const pid_t child = Spawn(client, "127.0.0.1", listener->port());
  const bool server_ok = server(*listener);
  const bool client_ok = Join(child);
  return ExitCode(server_ok && client_ok);
}

}  // namespace examples
