import Foundation
import SealedStore
import SessionToolsTestSupport
import Testing

/// What it costs to sign in and to refresh in a sealed file store, counted by `strace`.
@Suite struct `the system calls of a token` {
  private struct Counts: Equatable, CustomStringConvertible {
    var locks = 0
    var syncs = 0

    var description: String { "\(locks) locks, \(syncs) syncs" }
  }

  /// In an account, signing in also removes the record of a rejection, if there is one.
  @Test(arguments: [[], ["ada"]])
  func `signing in takes one lock and one sync, a refresh two locks and one sync`(
    account: [String]
  ) throws {
    let directory = try TemporaryDirectory()
    _ = try SealedFileStore.create(
      at: directory["store"], key: KeyFile.create(at: directory["key"]))
    let trace = directory["trace"]
    let outcome = try Program.outcome(
      of: [
        "strace", "-f", "-qq", "-s", "32", "-o", trace, "-e", "trace=fcntl,fdatasync,fsync,write",
        BuildDirectory.program("SessionToolsSessionWorker"), "road", directory["store"],
        directory["key"], "http://localhost",
      ] + account)
    try #require(outcome.status == 0, "\(outcome.text)")
    var counts: [String: Counts] = [:]
    var (moment, current) = ("", Counts())
    for line in try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n") {
      if let said = ["signs in", "signed in", "refreshed"].first(where: {
        line.contains("write(1, \"\($0)\\n\"")
      }) {
        counts[moment] = current
        (moment, current) = (said, Counts())
      }
      if line.contains(" fcntl("), line.contains("F_OFD_SETLK"), line.contains("F_WRLCK") {
        current.locks += 1
      }
      if line.contains(" fdatasync(") || line.contains(" fsync(") { current.syncs += 1 }
    }
    #expect(counts["signs in"] == Counts(locks: 1, syncs: 1))
    // The refresh's own, and the writer's.
    #expect(counts["signed in"] == Counts(locks: 2, syncs: 1))
  }
}
