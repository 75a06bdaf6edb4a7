import CSessionToolsPAM
import Foundation
import SessionAuthentication
import SessionToolsBase
import SessionToolsTestSupport

/// Evaluates an authenticator, writes the outcome, and waits for a line that confirms it.
func evaluate(_ authenticator: some UserAuthenticator) async {
  await sayOutcome(of: authenticator, AuthenticationRequest(reason: "try it"))
  _ = StandardInput.line()
}

/// Evaluates an authenticator and writes the outcome; a line of input cancels the evaluation.
func evaluateUntilLine(
  _ authenticator: some UserAuthenticator, _ request: AuthenticationRequest
) async {
  let task = Task { await sayOutcome(of: authenticator, request) }
  // Read on a thread of its own, because reading blocks.
  let reading = Task { try? await onThread { _ = StandardInput.line() } }
  Task {
    await reading.value
    task.cancel()
  }
  await task.value
  await reading.value
}

private func sayOutcome(
  of authenticator: some UserAuthenticator, _ request: AuthenticationRequest
) async {
  do throws(AuthenticationError) {
    say("authenticated \(try await authenticator.evaluate(request))")
  } catch {
    say(error)
  }
}

func say(_ error: AuthenticationError) {
  let seconds = error.retryAfter.map { " \($0.components.seconds)" } ?? ""
  say("error \(error.code)\(seconds)")
  FileHandle.standardError.write(Data("\(error)\n".utf8))
}

/// A prompt that is answered by the lines of standard input.
struct LinePrompt: AuthenticationPrompt {
  func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    say("question \(question.isSecret ? "secret" : "visible") \(question.text)")
    // Read on a thread of its own, because reading blocks.
    let answer = try? await onThread { StandardInput.answer() }
    guard let answer else { throw .cancelledByPerson }
    return try answer.get()
  }

  func show(_ message: AuthenticationMessage) async {
    switch message {
    case .hint(let text): say("hint \(text)")
    case .problem(let text): say("problem \(text)")
    }
  }
}

/// Standard input, read a byte at a time, so that no part of it remains in a buffer.
enum StandardInput {
  static func line() -> SecretBytes {
    SecretBytes(capacity: 4096) { output in
      while output.freeCapacity > 0, let byte = byte(), byte != UInt8(ascii: "\n") {
        output.append(byte)
      }
    }
  }

  static func answer() -> Result<SecretBytes, AuthenticationError> {
    switch byte() {
    case UInt8(ascii: "="): return .success(line())
    case UInt8(ascii: "?"):
      _ = line()
      return .failure(.personWantsAnotherWay)
    default:
      _ = line()
      return .failure(.cancelledByPerson)
    }
  }

  private static func byte() -> UInt8? {
    var byte: UInt8 = 0
    return unsafe read(0, &byte, 1) == 1 ? byte : nil
  }
}

/// Reports which byte strings, read as lines `NAME HEXADECIMAL`, are in another process's memory.
func find(in process: Int32) throws {
  var wanted: [String: [UInt8]] = [:]
  while let line = readLine() {
    let words = line.split(separator: " ")
    let digits = Array(words[1])
    wanted[String(words[0])] = stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(digits[$0...($0 + 1)]), radix: 16)
    }
  }
  for (name, places) in try ProcessMemory(of: process).places(of: wanted) {
    say("found \(name) \(places.count)")
  }
}

/// Makes PAM modules use the language LANGUAGE, with the message catalogs in the directory TEXTS.
func useTranslations() {
  guard let directory = ProcessInfo.processInfo.environment["TEXTS"] else { return }
  guard unsafe setlocale(LC_ALL, "") != nil,
    unsafe bindtextdomain("Linux-PAM", directory) != nil
  else { fail("no translations") }
}
