import DatabaseStore
import Foundation
import SessionToolsBase
import Synchronization
import TestSupport

/// Threads that put increasing numbers, each for an item of its own, and find out after each put
/// that was not confirmed what became of it.
final class Writers: Sendable {
  struct Tally: Sendable {
    /// What each item is known to hold, by its writer.
    var stored: [Int]
    /// What each item may hold since: the put was not made when it was looked for, but the server
    /// may have been about to make it.
    var pending: [Int: Int] = [:]
    var confirmedCount = 0
    /// Puts of unknown outcome, by what became of them.
    var madeCount = 0
    var notMadeCount = 0
    /// What should not have happened.
    var wrongs: [String] = []

    /// The texts that an item may have, by its writer.
    func texts(of writer: Int) -> Set<String?> {
      var texts: Set = [stored[writer] == 0 ? nil : "\(stored[writer])"]
      if let number = pending[writer] { texts.insert("\(number)") }
      return texts
    }
  }

  private let items: [StoreKey]
  private let tally: Mutex<Tally>
  private let isOver = Atomic(false)
  private let hasEnded = DispatchGroup()

  /// Starts a thread for each item, which are dealt out to the stores; the first ones of these have
  /// so much time that the outcome of none of their puts may be unknown.
  init(of items: [StoreKey], in stores: [SealedDatabaseStore], patientCount: Int) {
    self.items = items
    tally = Mutex(Tally(stored: Array(repeating: 0, count: items.count)))
    for number in items.indices {
      let place = number % stores.count
      hasEnded.enter()
      let thread = Thread {
        self.write(number, in: stores[place], isPatient: place < patientCount)
        self.hasEnded.leave()
      }
      thread.stackSize = 1 << 19
      thread.start()
    }
  }

  var confirmedCount: Int { tally.withLock { $0.confirmedCount } }

  /// Lets all threads end; returns what they found.
  func end() -> Tally {
    isOver.store(true, ordering: .releasing)
    hasEnded.wait()
    return tally.withLock { $0 }
  }

  private func write(_ writer: Int, in store: SealedDatabaseStore, isPatient: Bool) {
    let item = items[writer]
    var (stored, isPending) = (0, false)
    while !isOver.load(ordering: .acquiring) {
      let next = stored + 1
      do throws(StoreError) {
        try store.apply([.put(SecretBytes(utf8: "\(next)"), for: item)])
        (stored, isPending) = (next, false)
        tally.withLock { tally in
          tally.confirmedCount += 1
          tally.stored[writer] = next
          tally.pending[writer] = nil
        }
      } catch {
        let isUnknown = error.code == .outcomeUnknown
        if isUnknown, isPatient { note("\(item): the outcome of a put is unknown") }
        if ![.outcomeUnknown, .timedOut, .unavailable].contains(error.code) { note("\(error)") }
        let found = read(item, in: store)
        // What was refused was not made, and what was confirmed before is still there.
        isPending = isPending || isUnknown
        guard found == stored || isPending && found == next else {
          note("\(item): \(found) was read after \(stored) and \(error)")
          return
        }
        tally.withLock { tally in
          if isUnknown, found == next { tally.madeCount += 1 }
          if isUnknown, found != next { tally.notMadeCount += 1 }
          tally.stored[writer] = found
          tally.pending[writer] = isPending && found != next ? next : nil
        }
        isPending = isPending && found != next
        stored = found
      }
    }
  }

  /// Reads a number until a server answers.
  private func read(_ item: StoreKey, in store: SealedDatabaseStore) -> Int {
    while true {
      do throws(StoreError) {
        guard let value = try store.value(for: item) else { return 0 }
        return Int(String(decoding: value.copyBytes(), as: UTF8.self)) ?? -1
      } catch {
        if ![.timedOut, .unavailable].contains(error.code) {
          note("\(error)")
          return -1
        }
      }
    }
  }

  private func note(_ wrong: String) {
    tally.withLock { $0.wrongs.append(wrong) }
  }
}
