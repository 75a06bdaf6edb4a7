import Foundation
import SecretStores

/// `gpg`, run as `pass` runs it: the same program, options and environment.
struct GPG: Sendable {
  /// How gpg ended, and what it reported to programs.
  struct Outcome {
    let ending: LimitedProgram.Ending
    let status: GPGStatus
  }

  /// Longer than a person needs to type the passphrase of a key.
  static let timeout = Duration.seconds(120)

  /// The options that come before all others, from `PASSWORD_STORE_GPG_OPTS`.
  private let options: [String]
  private let environment: [String: String]
  private let usesAgentByVariable: Bool

  /// Whether the options make gpg ask for passphrases itself, on the terminal.
  var asksItself: Bool { options.contains { $0.contains("loopback") } }

  /// Describes how to run gpg.
  ///
  /// - Parameter variables: The environment of this process.
  init(variables: [String: String] = ProcessInfo.processInfo.environment) {
    // pass leaves this to the shell, which knows no quotes there.
    options = (variables["PASSWORD_STORE_GPG_OPTS"] ?? "").unicodeScalars
      .split { $0 == " " || $0 == "\t" || $0 == "\n" }.map { String($0) }
    // gpg's agent runs in a session of its own, and finds a person's terminal only by its name. A
    // shell without a terminal makes the variable "not a tty", and tmux keeps it when the terminal
    // is gone.
    let terminal = variables["GPG_TTY"] ?? ""
    environment =
      terminal.hasPrefix("/") && FileManager.default.fileExists(atPath: terminal)
      ? [:] : CurrentProcess.terminalName.map { ["GPG_TTY": $0] } ?? [:]
    usesAgentByVariable = !(variables["GPG_AGENT_INFO"] ?? "").isEmpty
  }

  /// Runs `gpg2`, or `gpg` where there is no such program; blocks the thread.
  ///
  /// - Parameters:
  ///   - arguments: What it is to do.
  ///   - largest: The most bytes of its output.
  ///   - place: Where it runs. Only in the foreground can it ask on the terminal itself; its agent
  ///     can always.
  /// - Returns: How it ended, and its report.
  /// - Throws: `posix_spawnp` with its error, and what making a connection to it throws.
  func run(
    _ arguments: [String], maximumOutputByteCount largest: Int,
    place: StartedProgram.Place = .ownGroup
  ) throws(SystemCallError) -> Outcome {
    do throws(SystemCallError) {
      return try run("gpg2", isBatch: true, arguments, largest, place)
    } catch let error where error.isOfMissingProgram {
      return try run("gpg", isBatch: usesAgentByVariable, arguments, largest, place)
    }
  }

  private func run(
    _ name: String, isBatch: Bool, _ arguments: [String], _ largest: Int,
    _ place: StartedProgram.Place
  ) throws(SystemCallError) -> Outcome {
    // Without pass's --quiet, with which gpg does not report why a key was of no use.
    let common = ["--yes", "--compress-algo=none", "--no-encrypt-to"]
    var program = LimitedProgram(
      name,
      // First, so that gpg also reports an option that it does not take.
      ["--status-fd", "3"] + options + common + (isBatch ? ["--batch", "--use-agent"] : [])
        + arguments,
      maximumOutputByteCount: largest, timeout: Self.timeout)
    program.environment = environment
    program.place = place
    let (ending, report) = try program.runForReport()
    return Outcome(ending: ending, status: GPGStatus(report))
  }
}

extension SystemCallError {
  /// Whether there is no program of the name that can be run; a shell's search goes on, too, behind
  /// one that it may not run.
  var isOfMissingProgram: Bool {
    errno == SystemCallError.noSuchFile || errno == SystemCallError.accessDenied
  }
}
