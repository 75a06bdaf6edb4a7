import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// `session-tools migrate --delete-source` with one system call that fails.
@Suite(.onOwnThread) struct FailingMigrationTests {
  /// The calls that change something, each of which fails in turn, and others, of which every
  /// `step`th fails.
  ///
  /// Failures of memory and of randomness are not tried: the runtime and libsodium then end the
  /// process on purpose.
  private static let calls: [(names: [String], step: Int)] = [
    (["pwrite64", "fsync", "fdatasync", "rename", "unlink", "unlinkat", "mkdir"], 1),
    (
      ["openat", "newfstatat", "statx", "pread64", "fcntl"],
      TestSize.choose(small: 50, medium: 20, large: 1)
    ),
  ]

  @Test func `no item is lost, and the migration can be completed`() throws {
    let stage = try MigrationStage(itemCount: 6)
    try stage.startAnew()
    let from = try stage.contents(of: "from")
    #expect(try stage.begin().waitUntilExit() == 0)
    let result = try stage.contents(of: "to")
    let trace = stage.tool["trace"]
    var failureCount = 0
    for (names, step) in Self.calls {
      for name in names {
        var number = 1
        while true {
          try stage.startAnew()
          let call: Comment = "\(name) \(number)"
          let process = try stage.begin(
            under: [
              "strace", "-f", "-qq", "-o", trace, "-e", "trace=\(name)", "-e",
              "inject=\(name):error=EIO:when=\(number)",
            ])
          let status = process.waitUntilExit()
          // 127 is from the loader, which did not start the program. A crash is not accepted.
          #expect([0, 1, 4, 6, 8, 127].contains(status), call)
          guard try String(contentsOfFile: trace, encoding: .utf8).contains("INJECTED") else {
            break
          }
          failureCount += 1
          try stage.expectNothingLost(from, call)
          if try stage.run("--resume") != 0 {
            #expect(try stage.begin().waitUntilExit() == 0, call)
          }
          #expect(try stage.contents(of: "from").isEmpty, call)
          #expect(try stage.contents(of: "to") == result, call)
          number += step
        }
      }
    }
    #expect(failureCount > 50)
  }
}
