import ArgumentParser
import Glibc
import SessionTools
import SessionToolsBase
import WebLogin

/// From arguments to an exit status.
enum Program {
  /// Parses, runs, and reports what went wrong.
  static func run(_ arguments: [String]) -> ExitStatus {
    do {
      guard System.areArgumentsUTF8 else {
        throw Failure(.usage, "an argument is not UTF-8")
      }
      var command = try RootCommand.parseAsRoot(arguments)
      try command.run()
      return .done
    } catch {
      if let signal = Interruption.signal, isOfCancellation(error) {
        // As it would have ended without a word of ours, but after everything is tidied up.
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

  private static func report(_ error: any Error) -> ExitStatus {
    switch error {
    case let error as StoreError:
      complain("\(error)")
      return ExitStatus(error.code)
    case let error as MigrationError:
      complain("\(error)")
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
      // The command has said why.
      return ExitStatus(rawValue: code.rawValue) ?? .failure
    default:
      return answerOfParser(error)
    }
  }

  /// Help, the version, a completion script, or what is wrong with the arguments.
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
    // What is wrong and where to read more; the usage in between fills half a screen.
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
  /// Without line ends and spaces at its end.
  fileprivate var trimmed: String {
    var text = self
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return text
  }
}
