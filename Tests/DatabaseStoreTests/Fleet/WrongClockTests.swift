import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A machine whose clock is wrong among others.
@Suite(.onOwnThread) struct `a process with a wrong clock` {
  @Test(arguments: [-3600, 3600])
  func `neither loses its access nor gets that of another one`(_ shift: Int) async throws {
    let directory = try TemporaryDirectory()
    let library = try await ShiftedClock.library(in: directory)
    let fleet = try await Fleet()
    let (item, name) = (try ItemName("item", in: "fleet"), try ItemName("name", in: "fleet"))
    let worker = try fleet.start(
      "hold", environment: ["LD_PRELOAD": library, "SHIFTED_CLOCK": "\(shift)"])
    try await worker.waitFor("opened")
    // It waits while this process has the name.
    try await fleet.store.withExclusiveAccess(to: name, timeout: patience) {
      try worker.send()
      let end = ContinuousClock.now + .seconds(1)
      while ContinuousClock.now < end {
        try await Task.sleep(for: .milliseconds(20))
        #expect(!worker.said.contains("held"))
      }
      try await fleet.store.put("mine", for: item)
    }
    // And has it for itself then.
    try await worker.waitFor("held")
    let error = await #expect(throws: StoreError.self) {
      try await fleet.store.withExclusiveAccess(to: name, timeout: .seconds(1)) {
        await Task.yield()
      }
    }
    #expect(error?.code == .timedOut)
    try worker.send("1")
    try await worker.waitFor("stored")
    #expect(try await fleet.store.text(for: item) == "1")
    #expect(try worker.end().status == 0)
  }
}
