import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Testing

/// One operation on a store, during which system calls fail.
struct FaultCase: Sendable, CustomTestStringConvertible {
  static let path = "/store"

  let scenario: String
  /// Which of the scenario's operations; those before it succeeded.
  let position: Int

  var testDescription: String { "\(scenario), operation \(position)" }

  /// Each kind of operation once, with what a crash left before it where that is its work.
  static let all = [
    FaultCase(scenario: "creation", position: 0),
    FaultCase(scenario: "put", position: 1),
    FaultCase(scenario: "remove", position: 0),
    FaultCase(scenario: "change of 40 records", position: 1),
    FaultCase(scenario: "compaction", position: 1),
    FaultCase(scenario: "slot added", position: 0),
    FaultCase(scenario: "slots changed and removed", position: 0),
    FaultCase(scenario: "slots changed and removed", position: 2),
    FaultCase(scenario: "rotation", position: 1),
    FaultCase(scenario: "revocation", position: 1),
    FaultCase(scenario: "rotation finished by another", position: 1),
    FaultCase(scenario: "unfinished write", position: 1),
    FaultCase(scenario: "repair", position: 0),
  ]
}

/// What a store held before and after the operation of a ``FaultCase``.
struct FaultTemplate: Sendable {
  let operation: CrashScenario.Operation
  /// `nil` when there is no store yet.
  let content: RecordedDisk.Content?
  let before: CrashLife.Moment
  let after: CrashLife.Moment
  /// The name of a key that opens it before.
  let key: String

  init(_ faultCase: FaultCase) throws {
    let scenario = CrashScenario.named(faultCase.scenario)
    let scratch = try Scratch()
    let preparing = try CrashWorld(scratch.path, seed: 1)
    let earlier = scenario.preparation + scenario.operations[..<faultCase.position]
    for operation in earlier { try operation(preparing) }
    preparing.close()
    operation = scenario.operations[faultCase.position]
    content = earlier.isEmpty ? nil : try RecordedDisk.read(scratch.path)
    before = try CrashLife.moment(of: preparing)
    key = before.keys.sorted().first ?? "first"
    let world = try CrashWorld(scratch.path, content: content ?? [:], seed: 2)
    if content != nil { try world.reopen(key) }
    try operation(world)
    after = try CrashLife.moment(of: world)
  }

  /// A new world as it was before, in memory.
  func world() throws -> (CrashWorld, MemoryFileSystem) {
    let disk = try content.map { try MemoryFileSystem(FaultCase.path, $0) } ?? MemoryFileSystem()
    let world = try CrashWorld(FaultCase.path, in: disk, content: content ?? [:], seed: 2)
    return (world, disk)
  }
}
