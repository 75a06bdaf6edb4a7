import SessionToolsBusTestSupport
import Foundation
import SessionToolsTestSupport
import Testing

/// PAM's own module for fingerprints, with the real fprintd, before a password.
@Suite struct FingerprintModuleTests {
  private let services: PAMServices
  private let fingerprints: FingerprintService

  init() async throws {
    services = try PAMServices()
    try services.addMatrix()
    let module = try #require(
      ProcessInfo.processInfo.environment["SESSION_TOOLS_FINGERPRINT_MODULE"],
      "Tests/run sets the path of the module")
    // PAM's files have no way to write a space in a path.
    try FileManager.default.createSymbolicLink(
      atPath: services["pam_fprintd.so"], withDestinationPath: module)
    let passwords = try PAMServices.module("pam_wrapper/pam_matrix.so")
    try services.add(
      "finger", "auth sufficient \(services["pam_fprintd.so"]) max-tries=1",
      "auth required \(passwords) passdb=\(services["passdb"])",
      "account required pam_permit.so")
    fingerprints = try await FingerprintService()
    try await fingerprints.enroll("thumb")
  }

  /// Returns all lines until the outcome, with a finger put on the reader when it is asked for.
  private func outcome(_ finger: String) async throws -> [String] {
    let worker = try await AuthenticationWorker(
      ["pam", "finger", services.path], environment: fingerprints.bus.environment)
    var lines: [String] = []
    while let line = try await worker.line() {
      lines.append(line)
      if line.hasPrefix("hint"), lines.count == 1 { try await fingerprints.send("SCAN \(finger)") }
      if line.hasPrefix("question") { try worker.send("=right") }
      if line.hasPrefix("authenticated") || line.hasPrefix("error") { break }
    }
    return lines
  }

  @Test func `a finger authenticates the person, and is not called a passcode`() async throws {
    let lines = try await outcome("thumb")
    #expect(lines.first?.hasPrefix("hint ") == true, "\(lines)")
    #expect(lines.last == "authenticated system", "\(lines)")
  }

  @Test func `after a wrong finger the password is asked for`() async throws {
    let lines = try await outcome("other")
    #expect(lines.contains("question secret Password: "), "\(lines)")
    #expect(lines.last == "authenticated passcode", "\(lines)")
  }
}
