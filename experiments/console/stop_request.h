#pragma once

// How the user ends a command that takes long: ctrl-C, or a signal from a batch system. The state
// is the process's, because signals are; whoever runs in a library gets an Interrupt instead
// (framework/base/interrupt.h), made of requested() or urgent().

namespace emplace {

/// The first request lets a search end its current step, so that it can be saved and go on from
/// there. Ten seconds later the request is urgent, and a search ends within its step. What could
/// not be saved anyway, such as a constructive agent, ends at once. A second request, half a second
/// or more after the first, kills the process.
class StopRequest {
 public:
  /// From now on SIGINT, SIGTERM and SIGHUP (the end of the terminal; unless it is ignored, as
  /// under nohup) request a stop. SIGPIPE is ignored: a reader of our output that goes away does
  /// not end the process.
  static void CatchSignals();
  /// The signals do again what they did before CatchSignals(), and earlier requests are forgotten:
  /// for a program of which a search is only a part.
  static void ReleaseSignals();
  /// From now on any number of signals are one request. For a worker process, which its supervisor
  /// ends.
  static void IgnoreRepeats();
  /// Was a stop requested?
  static bool requested();
  /// Was it requested, and did ten seconds pass since this was first asked?
  static bool urgent();
};

}  // namespace emplace
