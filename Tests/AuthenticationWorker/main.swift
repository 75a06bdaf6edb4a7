import Foundation
import LinuxAuthentication
import SessionAuthentication
import SessionToolsBase
import TestSupport

// A program that authenticates whoever talks to it, in tests that need a process of its own: as
// another user, with other accounts, or to be searched for secrets. Its orders:
//
//   pam SERVICE DIRECTORY [USER]   evaluates a PAMAuthenticator
//   polkit ACTION SECONDS          evaluates a PolkitAuthenticator between two lines: one that
//                                  lets it begin, and one that cancels
//   polkit-availability ACTION     says whether it is available, after a line
//   issue SECONDS                  says an expiring token, encoded
//   check                          says whether such a token counts, which it reads
//   find PROCESS                   says which of the bytes that it reads are in a process's memory
//
// It says what it is asked and told, a line each, and reads an answer for each question: "=" and
// the text, "!" to cancel, "?" for the fallback. At last it says what came of it, and waits for a
// line before it ends. Where LANGUAGE is set, texts are translated, by those in TEXTS.

let arguments = Array(CommandLine.arguments.dropFirst())

func argument(_ position: Int) -> String {
  guard position < arguments.count else { fail("argument \(position) is missing") }
  return arguments[position]
}

/// Writes a line at once, so that whoever reads it knows that it happened.
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
  guard let seconds = Int(argument(2)) else { fail("\(argument(2)) is no number") }
  await evaluateUntilLine(
    PolkitAuthenticator(action: argument(1)),
    AuthenticationRequest(reason: "try it", timeout: .seconds(seconds)))
case "polkit-availability":
  _ = StandardInput.line()
  switch await PolkitAuthenticator(action: argument(1)).availability() {
  case .available: say("available")
  case .unavailable(let error): say(error)
  }
  _ = StandardInput.line()
case "issue":
  guard let seconds = Int(argument(1)) else { fail("\(argument(1)) is no number") }
  let token = try JSONEncoder().encode(ExpiringToken(lifetime: .seconds(seconds)))
  say(String(decoding: token, as: UTF8.self))
case "check":
  let token = try JSONDecoder().decode(
    ExpiringToken.self, from: Data(StandardInput.line().copyBytes()))
  say("\(token.isValid(at: SystemSessionClock().instant))")
case "find":
  guard let process = Int32(argument(1)) else { fail("\(argument(1)) is no process") }
  try find(in: process)
default: fail("no such order: \(argument(0))")
}
