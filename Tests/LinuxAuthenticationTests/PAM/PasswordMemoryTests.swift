import Foundation
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// Searches for passwords in the memory of a process that received them.
@Suite(.disabled(if: isSanitized, "a sanitizer's memory cannot be searched"))
struct PasswordMemoryTests {
  let services: PAMServices
  let accounts: OtherAccounts

  init() async throws {
    services = try PAMServices()
    accounts = try await OtherAccounts()
    try services.add("unix", "auth required pam_unix.so", "account required pam_unix.so")
  }

  @Test func `neither a right nor a wrong password stays in memory`() async throws {
    for (answer, outcome) in [
      (OtherAccounts.password, "authenticated passcode"),
      ("schloss-walnuss-ameise-19c2b7e4f7a3d011", "error failed"),
    ] {
      let worker = try await accounts.worker(
        OtherAccounts.ada.identifier, "pam", "unix", services.path)
      #expect(try await worker.line() == "question secret Password: ")
      // Finding the text of the question shows that the search works.
      #expect(try await found(answer, in: worker.process) == ["question"])
      try worker.send("=\(answer)")
      #expect(try await worker.line() == outcome)
      // The process releases the password a moment later.
      try await wait(until: "the password is gone") {
        try await found(answer, in: worker.process) == ["question"]
      }
    }
  }

  @Test
  func `an answer that the module never gets, because the next one is cancelled, does not stay`()
    async throws
  {
    try await services.addAsking("two")
    for (answer, outcome) in [("!", "error userCancel"), ("=any", "authenticated passcode")] {
      let worker = try await accounts.worker(nil, "pam", "asking", services.path)
      #expect(try await worker.line() == "question secret First: ")
      try worker.send("=\(OtherAccounts.password)")
      #expect(try await worker.line() == "question secret Second: ")
      // The first answer stays in the process until the second arrives.
      #expect(try await found(OtherAccounts.password, in: worker.process).contains("password"))
      try worker.send(answer)
      #expect(try await worker.line() == outcome)
      try await wait(until: "the password is gone") {
        try await !found(OtherAccounts.password, in: worker.process).contains("password")
      }
    }
  }

  /// Returns which of the password and its question are in a process's memory.
  private func found(_ password: String, in process: Int32) async throws -> Set<String> {
    // As root, who may read the memory of a process that changed its user.
    let searcher = try await accounts.worker(nil, "find", "\(process)")
    // Only the end of the password: free() overwrites the beginning of a block.
    let end = String(password.suffix(20))
    for (name, text) in [("password", end), ("question", "Password: ")] {
      let digits = text.utf8.map { String(format: "%02x", Int($0)) }.joined()
      try searcher.send("\(name) \(digits)")
    }
    try searcher.endInput()
    var found: Set<String> = []
    while let line = try await searcher.line() {
      found.insert(String(line.split(separator: " ")[1]))
    }
    return found
  }
}
