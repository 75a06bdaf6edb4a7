import Foundation
import LinuxAuthentication
import SessionAuthentication
import SessionToolsBase
import SessionToolsTestSupport

// Authenticates for tests that need another process: one of another user, one with other
// accounts, or one to be searched for secrets. Its commands:
//
//   pam SERVICE DIRECTORY [USER]   evaluates a PAMAuthenticator
//   polkit ACTION SECONDS          evaluates a PolkitAuthenticator: the first line of input starts
//                                  the evaluation, the second cancels it
//   polkit-availability ACTION     reports whether it is available, after a line of input
//   issue SECONDS                  writes an expiring token, encoded
//   check                          reads such a token and reports whether it is valid
//   events                         reports what logind does, idleness included, until it is killed
//   find PROCESS                   reads byte strings and reports which are in a process's memory
//
// It writes each question and each message on a line, and reads an answer for each question: "="
// and the text, "!" to cancel, "?" for the fallback. Finally it writes the outcome, and waits for a
// line before it exits. If TEXTS is set, messages are translated into LANGUAGE with the catalogs in
// that directory.

let arguments = Array(CommandLine.arguments.dropFirst())

func argument(_ position: Int) -> String {
  guard position < arguments.count else { fail("argument \(position) is missing") }
  return arguments[position]
}

/// Writes a line without buffering, so that the reader knows what has happened so far.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

func fail(_ reason: String) -> Never {
  FileHandle.standardError.write(Data("AuthenticationWorker: \(reason)\n".utf8))
  exit(2)
}

useTranslations()
say("process \(getpid())")
switch argument(0) {
case "pam":
  await evaluate(
    PAMAuthenticator(
      service: argument(1), user: arguments.count > 3 ? argument(3) : nil,
      configurationDirectory: argument(2), prompt: LinePrompt()))
case "polkit":
  _ = StandardInput.line()
  guard let seconds = Int(argument(2)) else { fail("\(argument(2)) is not a number") }
  await evaluateUntilLine(
    PolkitAuthenticator(action: argument(1)),
    AuthenticationRequest(reason: "try it", timeout: .seconds(seconds)))
case "polkit-availability":
  _ = StandardInput.line()
  do throws(AuthenticationError) {
    try await PolkitAuthenticator(action: argument(1)).checkAvailability()
    say("available")
  } catch {
    say(error)
  }
  _ = StandardInput.line()
case "issue":
  guard let seconds = Int(argument(1)) else { fail("\(argument(1)) is not a number") }
  let token = try JSONEncoder().encode(ExpiringToken(lifetime: .seconds(seconds)))
  say(String(decoding: token, as: UTF8.self))
case "check":
  let token = try JSONDecoder().decode(
    ExpiringToken.self, from: Data(StandardInput.line().copyBytes()))
  say("\(token.isValid(at: SystemSessionClock().instant))")
case "events":
  do {
    let program = "AuthenticationWorker-\(getpid())"
    try await LogindSource(program: program, countsIdleness: true).run { say("\($0)") }
  } catch {
    fail("\(error)")
  }
case "find":
  guard let process = Int32(argument(1)) else { fail("\(argument(1)) is not a process identifier") }
  try find(in: process)
default: fail("no such command: \(argument(0))")
}
