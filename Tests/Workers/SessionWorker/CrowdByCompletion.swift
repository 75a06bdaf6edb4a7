import Dispatch
import Foundation
import SessionToolsBase
import Synchronization

extension Crowd {
  /// Lets all users ask at once, as code for iOS-SessionTools does, and reports how many were
  /// refreshed and how many threads there were meanwhile.
  func askByCompletion() async {
    let threads = ThreadWatch()
    threads.start()
    let refreshedCount = await withTaskGroup(of: Bool.self) { group in
      for session in sessions {
        group.addTask {
          await withCheckedContinuation { done in
            session.refresh { error in done.resume(returning: error == nil) }
          }
        }
      }
      return await group.reduce(into: 0) { count, isRefreshed in if isRefreshed { count += 1 } }
    }
    say("refreshed \(refreshedCount)")
    say("threads \(threads.stop())")
  }
}

/// Counts the threads of the process repeatedly.
private final class ThreadWatch: Sendable {
  private let isStopped = Atomic(false)
  private let most = Mutex(0)
  private let hasEnded = DispatchSemaphore(value: 0)

  func start() {
    Thread {
      while !self.isStopped.load(ordering: .relaxed) {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
        self.most.withLock { $0 = max($0, names?.count ?? 0) }
        Thread.sleep(forTimeInterval: 0.002)
      }
      self.hasEnded.signal()
    }.start()
  }

  /// Stops counting, and returns the largest number of threads.
  func stop() -> Int {
    isStopped.store(true, ordering: .relaxed)
    hasEnded.wait()
    return most.withLock { $0 }
  }
}
