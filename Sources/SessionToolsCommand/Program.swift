import ArgumentParser
import Glibc
import SessionToolsBase

/// The tool, from its arguments to its exit status.
public enum Tool {
  /// Runs the command that the process's arguments name, and ends the process with its status.
  public static func main() -> Never {
    System.occupyStandardDescriptors()
    System.forbidCoreDumps()
    System.ignoreSignalsOfWriting()
    exit(Program.run(ProgramName.arguments(of: System.arguments)))
  }
}

enum Program {
  private typealias Root = RootCommand

  /// Parses the arguments, runs the command, and reports any error.
  ///
  /// - Returns: The exit status: an `ExitStatus`, or that of a command that was run.
  static func run(_ arguments: [String]) -> Int32 {
    do {
      guard System.areOwnArgumentsUTF8 else { throw notUTF8 }
      if let text = ToolHelp.text(for: arguments, width: StandardOutput.columnCount ?? 80) {
        try StandardOutput.write(text + "\n")
        return ExitStatus.done.rawValue
      }
      var command = try CommandNames.parse(arguments)
      guard command is any CommandOfOtherProgram || System.areArgumentsUTF8 else { throw notUTF8 }
      try command.run()
      return ExitStatus.done.rawValue
    } catch {
      let outcome = Root.outcome(of: error)
      if let signal = Interruption.signal,
        error is CancellationError || outcome?.isCancellation ?? false
      {
        // Ends the process as the signal alone would have, now that everything is tidied up.
        raise(signal)
      }
      // A command has reported the reason.
      return (error as? ExitCode)?.rawValue ?? report(error, outcome).rawValue
    }
  }

  private static var notUTF8: Failure { Failure(.usage, "an argument is not UTF-8") }

  private static func report(_ error: any Error, _ outcome: ErrorOutcome?) -> ExitStatus {
    if let outcome {
      StandardError.complain(outcome.text)
      return outcome.status
    }
    switch error {
    case let failure as Failure:
      StandardError.complain(failure.message)
      return failure.status
    default:
      return answerOfParser(error)
    }
  }

  /// Writes help, the version or a completion script, or reports an error in the arguments.
  private static func answerOfParser(_ error: any Error) -> ExitStatus {
    let code = Root.exitCode(for: error)
    let text = Root.fullMessage(for: error)
    if code == .success {
      do throws(StoreError) {
        try StandardOutput.write(text + "\n")
        return .done
      } catch {
        return report(error, Root.outcome(of: error))
      }
    }
    // Only the error and where to read more: the usage between them fills half a screen.
    let pointer = text.split(separator: "\n").last { $0.hasPrefix("  See '") } ?? ""
    let message = Root.message(for: error).trimmed
    StandardError.complain(message)
    if !pointer.isEmpty { StandardError.say(String(pointer)) }
    return code == .validationFailure ? .usage : .failure
  }
}

/// A command whose arguments behind `--` are those of another program, which takes any bytes.
protocol CommandOfOtherProgram {}

/// What a person reads about an error, and the exit status.
struct ErrorOutcome {
  let text: String
  let status: ExitStatus
  /// Whether the work was given up, as a person or a signal wanted.
  let isCancellation: Bool

  init(_ text: String, _ status: ExitStatus, isCancellation: Bool = false) {
    self.text = text
    self.status = status
    self.isCancellation = isCancellation
  }
}

extension String {
  /// The text without whitespace and newlines at its end.
  fileprivate var trimmed: String {
    var text = self
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return text
  }
}
