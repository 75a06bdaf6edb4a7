import ArgumentParser
import Foundation
import SealedStore
import SessionToolsBase

/// Gives a key to the agent, which is started if it does not run.
struct AgentStart {
  /// How long the agent may take to start.
  private static let patience = Duration.seconds(10)
  private static let pause = 0.005
  /// What the agent needs to find its socket, logind and its libraries: nothing else of the
  /// environment, which may have secrets in it, stays for as long as the agent runs.
  private static let variables = [
    "HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "DBUS_SYSTEM_BUS_ADDRESS", "LD_LIBRARY_PATH",
    "TSAN_OPTIONS", "ASAN_OPTIONS",
  ]

  private var program: StartedProgram?

  /// Has the key of a store kept for a time.
  ///
  /// - Throws: As `KeyAgent.ask`; `unavailable` if the agent keeps too many keys, `timedOut` if it
  ///   does not start, or the exit code of an agent that failed and reported why.
  static func keep(_ key: WrappingKey, of store: StoreIdentifier, for time: KeepingTime) throws {
    var start = AgentStart()
    let request = AgentRequest.keep(store, key, seconds: time.seconds)
    let deadline = ContinuousClock.now + patience
    while ContinuousClock.now < deadline {
      switch try KeyAgent().ask(request) {
      case nil:
        try start.ensureItRuns()
        Thread.sleep(forTimeInterval: pause)
      case .full:
        throw StoreError(
          .unavailable, store: try KeyAgent.directoryPath,
          reason: "the agent keeps \(KeptKeys.maximumCount) keys already, or has no memory",
          remedy: "Run session-tools lock, which wipes all of them")
      default: return
      }
    }
    throw StoreError(
      .timedOut, store: try KeyAgent.directoryPath, reason: "the agent did not start in time",
      remedy: "Try again when the machine is less busy")
  }

  /// Starts the agent if it does not run, or has ended since.
  ///
  /// It ends when another one of this user is about to end or has just begun, so this may start
  /// more than one.
  private mutating func ensureItRuns() throws {
    if let program {
      guard program.hasEnded else { return }
      if let status = program.wait(), status != 0 {
        // It has reported the reason, unless it was killed.
        guard status > 128 else { throw ExitCode(status) }
        throw StoreError(
          .unavailable, store: try KeyAgent.directoryPath,
          reason: "the agent was ended by signal \(status - 128)")
      }
    }
    do throws(SystemCallError) {
      // It reports an error as this process would, until it listens.
      program = try StartedProgram(
        Files.ownProgram, ["agent"], inheriting: Self.variables,
        streams: StartedProgram.Streams(errors: STDERR_FILENO), place: .ownSession)
    } catch {
      throw StoreError(error, path: Files.ownProgram)
    }
  }
}
