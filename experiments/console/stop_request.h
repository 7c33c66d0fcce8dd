#pragma once

// The requests of the user to end a command that takes long: ctrl-C, or a signal from a batch
// system. The state belongs to the process, because signals do; code in a library gets an Interrupt
// instead (framework/base/interrupt.h), made of requested() or urgent().

namespace emplace {

/// After the first request a search ends its current step, so that it can be saved and resumed. Ten
/// seconds later the request is urgent, and a search ends within its step. Work that cannot be
/// saved, such as a constructive agent, ends at once. A second request, half a second or more after
/// the first, kills the process.
class StopRequest {
 public:
  /// From now on SIGINT, SIGTERM and SIGHUP request a stop (SIGHUP, the end of the terminal, unless
  /// it is ignored, as under nohup). SIGPIPE is ignored: the process continues when the reader of
  /// its output ends.
  static void CatchSignals();
  /// Restores the earlier handlers and forgets all requests, for programs that continue after a
  /// search. Returns whether there was a request.
  static bool ReleaseSignals();
  /// From now on any number of signals is one request, for a worker that its supervisor ends.
  static void IgnoreRepeats();
  /// Returns whether a stop was requested.
  static bool requested();
  /// Returns whether a stop was requested and ten seconds have passed since a search first noticed.
  static bool urgent();
};

}  // namespace emplace
