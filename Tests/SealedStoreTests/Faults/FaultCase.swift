import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// An operation on a store, during which system calls fail.
struct FaultCase: Sendable, CustomTestStringConvertible {
  static let path = "/store"

  let scenario: String
  /// The position of the operation in the scenario; the operations before it succeed.
  let position: Int

  var testDescription: String { "\(scenario), operation \(position)" }

  /// A case for each kind of operation, including those that handle the remains of a crash.
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

/// The contents of a store before and after the operation of a ``FaultCase``.
struct FaultTemplate: Sendable {
  let operation: CrashScenario.Operation
  /// The store's files; `nil` if there is no store yet.
  let content: RecordedDisk.Content?
  let before: CrashLife.Moment
  let after: CrashLife.Moment
  /// The name of a key that opens the store before the operation.
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

  /// Makes a new world in memory, in the state before the operation.
  func world() throws -> (CrashWorld, MemoryFileSystem) {
    let disk = try content.map { try MemoryFileSystem(FaultCase.path, $0) } ?? MemoryFileSystem()
    let world = try CrashWorld(FaultCase.path, in: disk, content: content ?? [:], seed: 2)
    return (world, disk)
  }
}
