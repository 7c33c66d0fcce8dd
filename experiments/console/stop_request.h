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
  /// it is ignored, as under nohup). SIGPIPE is ignored: if the reader of the output ends, the
  /// process continues.
  static void CatchSignals();
  /// Restores the handlers from before CatchSignals() and forgets earlier requests, for a program
  /// in which a search is only a part.
  static void ReleaseSignals();
  /// From now on any number of signals counts as one request, for a worker process whose supervisor
  /// ends it.
  static void IgnoreRepeats();
  /// Returns whether a stop was requested.
  static bool requested();
  /// Returns whether a stop was requested and ten seconds have passed since a search first noticed.
  static bool urgent();
};

}  // namespace emplace
