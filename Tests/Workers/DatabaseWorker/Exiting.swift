import DatabaseStore
import Foundation
import SessionToolsBase

/// Ends the process while threads of it open and close connections.
func exitWhileConnecting() {
  for _ in 0..<4 {
    Thread.detachNewThread {
      do {
        while true { _ = try openStore().value(for: ItemName("a", in: "svc")) }
      } catch {
        fail("\(error)")
      }
    }
  }
  Thread.sleep(forTimeInterval: 0.1)
  exit(0)
}
