import DatabaseStore
import Foundation
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport

/// Threads that put texts, each time another one, for an item of their own, and find out after each
/// put that was not confirmed what became of it.
final class Writers: Sendable {
  struct Tally: Sendable {
    /// What each item is known to hold, by its writer.
    var stored: [String?]
    var confirmedCount = 0
    /// Puts of unknown outcome, by what became of them.
    var madeCount = 0
    var notMadeCount = 0
    /// What should not have happened.
    var wrongs: [String] = []
  }

  private let items: [ItemName]
  private let tally: Mutex<Tally>
  private let isOver = Atomic(false)
  private let hasEnded = DispatchGroup()

  /// Starts a thread for each item, which are dealt out to the stores; the first ones of these have
  /// so much time that the outcome of none of their puts may be unknown.
  init(of items: [ItemName], in stores: [SealedDatabaseStore], patientCount: Int) {
    self.items = items
    tally = Mutex(Tally(stored: Array(repeating: nil, count: items.count)))
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
    var (stored, count): (String?, Int) = (nil, 0)
    // Puts that were not made when they were looked for: a server may have been about to make them,
    // until another one is confirmed.
    var pending: Set<String> = []
    while !isOver.load(ordering: .acquiring) || !pending.isEmpty {
      count += 1
      let text = "\(count)"
      do throws(StoreError) {
        try store.apply([.put(SecretBytes(utf8: text), for: item)])
        (stored, pending) = (text, [])
        tally.withLock { $0.confirmedCount += 1 }
      } catch {
        let isUnknown = error.code == .outcomeUnknown
        if isUnknown, isPatient { note("\(item): the outcome of a put is unknown") }
        if ![.outcomeUnknown, .timedOut, .unavailable].contains(error.code) { note("\(error)") }
        if isUnknown { pending.insert(text) }
        let found = read(item, in: store)
        // What was refused was not made, and what was confirmed before is still there.
        guard found == stored || found.map(pending.contains) ?? false else {
          note("\(item): \(found ?? "nothing") was read after \(stored ?? "nothing") and \(error)")
          return
        }
        tally.withLock { tally in
          if isUnknown, found == text { tally.madeCount += 1 }
          if isUnknown, found != text { tally.notMadeCount += 1 }
        }
        // Of several puts that expect the same version, one is made.
        if found != stored { (stored, pending) = (found, []) }
      }
      tally.withLock { [stored] in $0.stored[writer] = stored }
    }
  }

  /// Reads a text until a server answers.
  private func read(_ item: ItemName, in store: SealedDatabaseStore) -> String? {
    while true {
      do throws(StoreError) {
        return try store.value(for: item).map { String(decoding: $0.copyBytes(), as: UTF8.self) }
      } catch {
        if ![.timedOut, .unavailable].contains(error.code) { return "\(error)" }
      }
    }
  }

  private func note(_ wrong: String) {
    tally.withLock { $0.wrongs.append(wrong) }
  }
}
