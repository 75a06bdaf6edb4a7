import ArgumentParser
import Glibc
import SessionToolsBase
import StoreMigration
import WebLogin

/// The program, from its arguments to its exit status.
enum Program {
  /// Parses the arguments, runs the command, and reports any error.
  static func run(_ arguments: [String]) -> ExitStatus {
    do {
      guard System.areArgumentsUTF8 else {
        throw Failure(.usage, "an argument is not UTF-8")
      }
      try CommandNames.check(arguments)
      var command = try RootCommand.parseAsRoot(arguments)
      try command.run()
      return .done
    } catch {
      if let signal = Interruption.signal, isOfCancellation(error) {
        // Ends the process as the signal alone would have, now that everything is tidied up.
        raise(signal)
      }
      return report(error)
    }
  }

  private static func isOfCancellation(_ error: any Error) -> Bool {
    switch error {
    case StoreError.cancelled, WebLoginError.cancelled: true
    default: error is CancellationError
    }
  }

  /// Returns the text of an error of a command, for other programs.
  static func text(of error: any Error) -> String {
    switch error {
    case let error as StoreError: "\(Remedy.typed(error))"
    case let failure as Failure: failure.message
    default: "\(error)"
    }
  }

  private static func report(_ error: any Error) -> ExitStatus {
    switch error {
    case let error as StoreError:
      complain("\(Remedy.typed(error))")
      return ExitStatus(error.code)
    case let error as MigrationError:
      complain(MigrationRemedy.text(of: error))
      return ExitStatus(error)
    case let error as WebLoginError:
      complain("\(error)")
      return ExitStatus(error)
    case let error as SessionError:
      complain("\(error)")
      return ExitStatus(error)
    case let failure as Failure:
      complain(failure.message)
      return failure.status
    case let code as ExitCode:
      // The command has reported the reason.
      return ExitStatus(rawValue: code.rawValue) ?? .failure
    default:
      return answerOfParser(error)
    }
  }

  /// Writes help, the version or a completion script, or reports an error in the arguments.
  private static func answerOfParser(_ error: any Error) -> ExitStatus {
    let code = RootCommand.exitCode(for: error)
    let text = RootCommand.fullMessage(for: error)
    if code == .success {
      do throws(StoreError) {
        try StandardOutput.write(text + "\n")
        return .done
      } catch {
        return report(error)
      }
    }
    // Only the error and where to read more: the usage between them fills half a screen.
    let pointer = text.split(separator: "\n").last { $0.hasPrefix("  See '") } ?? ""
    let message = RootCommand.message(for: error).trimmed
    complain(message)
    if !pointer.isEmpty { StandardError.say(String(pointer)) }
    return code == .validationFailure ? .usage : .failure
  }

  private static func complain(_ text: String) {
    StandardError.say("session-tools: \(text)")
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
