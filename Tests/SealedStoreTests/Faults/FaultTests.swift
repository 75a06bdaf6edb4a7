import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestThreads
import Testing

/// Tests in which every system call of every kind of operation fails in every way.
///
/// A call fails once, or all calls of its kind fail permanently from then on.
@Suite(.onOwnThread) struct FaultTests {
  /// The result of one operation.
  private struct Attempt {
    let world: CrashWorld
    let disk: MemoryFileSystem
    let outcome: StoreError.Code?
    let calls: [FaultyFileSystem.Call]
  }

  @Test(arguments: FaultCase.all)
  func `a failing call causes a typed error, the old or the new value, and no leak`(
    faultCase: FaultCase
  ) throws {
    let template = try FaultTemplate(faultCase)
    let sound = try template.world().0
    if template.content != nil { try sound.reopen(template.key) }
    try template.operation(sound)
    let calls = sound.faults.calls
    #expect(calls.count > 10)
    let problems = Locked<[String]>([])
    let runCount = Locked(0)
    let next = Locked(0)
    try inThreads(2) { _ in
      while let position = next.withLock({ next in
        next += 1
        return next <= calls.count ? next : nil
      }) {
        for fault in SystemFault.all
        where Self.canHappen(fault, to: calls[position - 1]) {
          runCount.withLock { $0 += 1 }
          guard let problem = Self.problem(template, fault, position) else { continue }
          let call = calls[position - 1]
          problems.withLock {
            $0.append("call \(position), \(call.kind) \(call.name), \(fault): \(problem)")
          }
        }
      }
    }
    #expect(problems.value.prefix(5) == [], "\(problems.value.count)")
    #expect(runCount.value >= calls.count * 12)
  }

  /// Returns whether a fault can happen to a call.
  ///
  /// A kernel writes the 64 bytes of a mark, which are in one page, completely or not at all.
  private static func canHappen(_ fault: SystemFault, to call: FaultyFileSystem.Call) -> Bool {
    if call.kind != .write { return !fault.concernsWritesAlone }
    return call.name != "mark" || fault.shape != .halfThenError
  }

  /// Runs the operation with a failing call and describes the first problem, or returns `nil`.
  private static func problem(
    _ template: FaultTemplate, _ fault: SystemFault, _ position: Int
  ) -> String? {
    do {
      return try problemOfAttempt(template, fault, position)
    } catch {
      return "afterwards: \(error)"
    }
  }

  private static func problemOfAttempt(
    _ template: FaultTemplate, _ fault: SystemFault, _ position: Int
  ) throws -> String? {
    let (world, disk) = try template.world()
    world.faults.setRule(fault.rule(at: position))
    let outcome = try code {
      if template.content != nil { try world.reopen(template.key) }
      try template.operation(world)
    }
    let attempt = Attempt(
      world: world, disk: disk, outcome: outcome, calls: world.faults.calls)
    if let problem = problemOfOutcome(attempt, fault, position) { return problem }
    if world.faults.lockCount > 0 || disk.lockCount > 0 { return "a lock is left" }
    // Reading with the fault must fail or be right, and must never report an item as absent.
    if fault.isForGood, let store = world.current {
      let code = try code { _ = try store.texts() }
      if ![nil, fault.code, StoreError.outcomeUnknown].contains(code), template.before.items != nil
      {
        return "reading: \(code as Any)"
      }
    }
    world.faults.setRule(nil)
    if let problem = try problemOfContent(attempt, template) { return problem }
    world.close()
    if !world.faults.openNames.isEmpty { return "open: \(world.faults.openNames)" }
    if disk.descriptorCount > 0 { return "\(disk.descriptorCount) descriptors are open" }
    return world.faults.wrongCloseCount > 0 ? "closed twice" : nil
  }

  private static func problemOfOutcome(
    _ attempt: Attempt, _ fault: SystemFault, _ position: Int
  ) -> String? {
    let outcome = attempt.outcome
    if fault.shape == .half { return outcome == nil ? nil : "\(outcome as Any)" }
    guard position <= attempt.calls.count else { return nil }
    let failed = attempt.calls[position - 1]
    let hasFailedSync = failed.kind == .synchronize || failed.kind == .synchronizeData
    // A definite error means that nothing was changed, which is checked afterwards.
    let isDefinite = outcome == fault.code
    if failed.kind == .synchronizeData, outcome != StoreError.outcomeUnknown, !isDefinite {
      return "the journal's sync failed: \(outcome as Any)"
    }
    if failed.kind == .synchronize, position > 1, attempt.calls[position - 2].kind == .rename,
      outcome != nil, outcome != StoreError.outcomeUnknown, !isDefinite
    {
      return "the sync of a rename failed: \(outcome as Any)"
    }
    if outcome == nil || outcome == fault.code { return nil }
    let mayBeUnknown = hasFailedSync || isBehindSync(attempt.calls[..<position])
    return mayBeUnknown && outcome == StoreError.outcomeUnknown ? nil : "\(outcome as Any)"
  }

  /// Returns whether the failure of the last call leaves a change on the disk without its mark.
  private static func isBehindSync(_ calls: ArraySlice<FaultyFileSystem.Call>) -> Bool {
    guard let last = calls.last, last.name == "mark" else { return false }
    let commit = calls.last {
      $0.kind == .synchronizeData || $0.kind == .rename && $0.name == "journal"
    }
    return commit != nil
  }

  private static func problemOfContent(
    _ attempt: Attempt, _ template: FaultTemplate
  ) throws -> String? {
    let allowed =
      switch attempt.outcome {
      case nil: [template.after]
      case StoreError.outcomeUnknown: [template.before, template.after]
      default: [template.before]
      }
    let world = attempt.world
    if world.current == nil {
      guard try openedAnew(world, template) else { return "the store does not open" }
    }
    guard let store = world.current else { return "no store" }
    if allowed.contains(where: { $0.items == nil && !$0.keys.isEmpty }) { _ = try store.repair() }
    let repaired = template.after.items
    let items = try store.texts()
    let isAllowed = allowed.contains { moment in
      // The creation failed and was repeated, or nearly succeeded: there is an empty store.
      moment.keys.isEmpty ? items.isEmpty : (moment.items ?? repaired) == items
    }
    guard isAllowed else { return "\(attempt.outcome as Any), and found \(items)" }
    try store.put("after", as: "after")

    let environment = StoreEnvironment(fileSystem: attempt.disk)
    var opening: Set<String> = []
    var difference: String?
    for (name, key) in world.keys {
      let opened = try code {
        let again = try SealedFileStore.open(
          at: FaultCase.path, key: key, options: .init(), environment: environment)
        var found = try again.texts()
        if found.removeValue(forKey: "after") != "after" || found != items {
          difference = "\(name) finds \(found)"
        }
        let findings = try again.verify().findings.filter { $0.part != .files }
        if !findings.isEmpty { difference = "\(findings)" }
      }
      if let difference { return difference }
      if opened == nil { opening.insert(name) }
      if let opened, opened != StoreError.wrongKey { return "\(name): \(opened)" }
    }
    let mayOpen = allowed.map { $0.keys.isEmpty ? ["first"] : $0.keys }
    return mayOpen.contains(opening) ? nil : "\(attempt.outcome as Any), and \(opening) open"
  }

  private static func openedAnew(_ world: CrashWorld, _ template: FaultTemplate) throws -> Bool {
    if template.content == nil {
      let outcome = try code { try world.create() }
      if outcome == nil { return true }
      if outcome != StoreError.alreadyExists { return false }
    }
    for name in template.before.keys.union(template.after.keys).sorted() {
      if try code({ try world.reopen(name) }) == nil { return true }
    }
    return false
  }
}
