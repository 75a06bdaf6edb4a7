import Foundation
import LinuxAuthentication
import SessionAuthentication
import SessionToolsTestSupport
import Testing

/// The real `pam_unix` and its helper, with accounts that no other program sees.
@Suite struct AccountTests {
  let services: PAMServices
  let accounts: OtherAccounts

  init() async throws {
    services = try PAMServices()
    accounts = try await OtherAccounts()
    try services.add("unix", "auth required pam_unix.so", "account required pam_unix.so")
    try services.add("nullok", "auth required pam_unix.so nullok", "account required pam_unix.so")
  }

  private func outcome(
    of account: OtherAccounts.Account, _ answer: String, service: String = "unix",
    user: String? = nil, options: [String] = []
  ) async throws -> [String] {
    let arguments = ["pam", service, services.path] + (user.map { [$0] } ?? [])
    let worker = try await AuthenticationWorker(
      arguments, at: accounts.workerPath,
      under: accounts.prefix(account.identifier, options: options))
    return try await worker.lines(answering: answer)
  }

  @Test func `a user is authenticated by their own password, without any privilege`() async throws {
    #expect(
      try await outcome(of: OtherAccounts.ada, "=\(OtherAccounts.password)") == [
        "question secret Password: ", "authenticated passcode",
      ])
  }

  @Test func `a wrong password, an empty one and the password with a suffix fail`() async throws {
    for answer in ["=wrong", "=", "=\(OtherAccounts.password)x"] {
      let lines = try await outcome(of: OtherAccounts.ada, answer)
      #expect(lines.last == "error failed")
    }
  }

  @Test func `cancelling is reported as such`() async throws {
    #expect(try await outcome(of: OtherAccounts.ada, "!").last == "error userCancel")
    #expect(try await outcome(of: OtherAccounts.ada, "?").last == "error userFallback")
  }

  @Test func `another user's password cannot be checked, not even the right one`() async throws {
    let lines = try await outcome(
      of: OtherAccounts.ada, "=\(OtherAccounts.password)", user: OtherAccounts.bob.name)
    #expect(lines.last == "error notPermitted")
  }

  @Test func `a process that can get no privileges cannot check a password`() async throws {
    let lines = try await outcome(
      of: OtherAccounts.ada, "=\(OtherAccounts.password)", options: ["--no-new-privs"])
    #expect(lines.last == "error notPermitted")
  }

  @Test func `root can check the password of others`() async throws {
    let worker = try await accounts.worker(
      nil, "pam", "unix", services.path, OtherAccounts.bob.name)
    let lines = try await worker.lines(answering: "=\(OtherAccounts.password)")
    #expect(lines.last == "authenticated passcode")
  }

  @Test func `a service that allows empty passwords reports an account without a password`()
    async throws
  {
    let lines = try await outcome(of: OtherAccounts.open, "=", service: "nullok")
    #expect(lines == ["error passcodeNotSet"])
  }

  @Test func `an expired account, or one with an expired password, is unusable`() async throws {
    for account in [OtherAccounts.expired, OtherAccounts.stale] {
      let lines = try await outcome(of: account, "=\(OtherAccounts.password)")
      #expect(lines.last == "error accountUnusable", "\(account.name)")
    }
  }

  @Test func `a user without an account must be named`() async throws {
    let worker = try await accounts.worker(64_299, "pam", "unix", services.path)
    let lines = try await worker.lines(answering: "=")
    #expect(lines == ["error misconfigured"])
  }

  @Test func `a module that replaces the requested user does not authenticate`() async throws {
    let module = try PAMServices.module("pam_wrapper/pam_set_items.so")
    try services.add(
      "changing", "auth required pam_unix.so", "auth required \(module)",
      "account required pam_permit.so")
    let worker = try await accounts.worker(
      nil, "pam", "changing", services.path, OtherAccounts.bob.name,
      environment: ["PAM_USER": OtherAccounts.ada.name])
    let lines = try await worker.lines(answering: "=\(OtherAccounts.password)")
    #expect(lines.last == "error failed")
  }
}
