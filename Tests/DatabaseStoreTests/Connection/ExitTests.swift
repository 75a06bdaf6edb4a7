import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// What a process does that ends while its connections are used.
@Suite struct ExitTests {
  @Test func `a program may exit while its threads open and close connections`() async throws {
    let made = try await StoreOnServer(.tls)
    let directory = try TemporaryDirectory()
    let key = try made.addKeyFile(in: directory)
    var statuses: [Int32] = []
    for _ in 0..<20 {
      let process = try StoreProcess("exit", made.location, key)
      statuses.append(try await process.status())
    }
    #expect(statuses.allSatisfy { $0 == 0 }, "\(statuses)")
  }
}
