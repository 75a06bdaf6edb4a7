import ArgumentParser
import SessionToolsBase
import StoreMigration

/// The output about a migration, planned or done, for a person or a program.
struct MigrationOutput {
  /// What was done, in words.
  enum Work {
    case migration, export
  }

  let format: JSONOption
  private let work: Work

  init(format: JSONOption, of work: Work = .migration) {
    self.format = format
    self.work = work
  }

  /// Runs a step that Ctrl-C stops cleanly, and then reports how to continue.
  static func interruptibly<Result>(
    _ migration: Migration, canResume: Bool = true,
    _ step: (Migration, Migration.Progress?) throws -> Result
  ) throws -> Result {
    try TaskThreads.check()
    var migration = migration
    migration.isCancelled = { Interruption.signal != nil }
    do {
      return try Interruption.during(announcing: stopping) {
        try MigrationLine.during { try step(migration, $0) }
      }
    } catch MigrationError.store(let error) where error.code == .cancelled {
      switch canResume ? try migration.state() : nil {
      case nil where !canResume: StandardError.complain("stopped")
      case nil: StandardError.complain("stopped; nothing was changed")
      case .undoing: StandardError.complain("stopped; continue with --undo")
      default:
        StandardError.complain(
          "stopped; continue with --resume, or undo it with --undo")
      }
      throw error
    }
  }

  private static let stopping =
    "session-tools: stopping after the present item; once more ends it at once"

  /// Checks that a migration within one store gives the items other names.
  ///
  /// - Throws: A usage failure, before anything is written; as reading the identities.
  static func checkNames(_ migration: Migration) throws {
    guard migration.options.mapping == MigrationOptions.Mapping(),
      try migration.isWithinOneStore()
    else { return }
    if migration.source as AnyObject !== migration.target as AnyObject,
      (migration.source as? any MigratableStore)?.sharesItems(with: migration.target) == true
    {
      throw Failure(
        .usage,
        "source and target share items, because secret-service: has those of all collections; name "
          + "the collections, as secret-service:COLLECTION")
    }
    throw Failure(
      .usage,
      "source and target are the same store; to give its items other names, use rename, or "
        + "--rename-service, --to-install or --drop-install")
  }

  /// Copies items in one go; Ctrl-C stops it, and it cannot be undone.
  static func copy(
    from source: MigratedStore, to target: any SecretStore, _ options: MigrationOptions
  ) throws -> MigrationReport {
    var migration = Migration(
      from: source.store, to: target, journal: MemoryStore(), options: options)
    migration.foundInstead = source.foundInstead
    try checkNames(migration)
    return try interruptibly(migration, canResume: false) { try $0.run(progress: $1) }
  }

  /// Plans a migration, and writes the plan while it is made.
  ///
  /// - Returns: The plan.
  /// - Throws: As planning.
  func writePlan(of migration: Migration) throws -> MigrationPlan {
    let protections = try migration.protections()
    let plan: MigrationPlan
    if format.json {
      var list = try JSONList(
        "items",
        after: PlanHead(
          after: protections.after.description, before: protections.before.description,
          isWeaker: protections.isWeaker))
      plan = try Self.interruptibly(migration) { migration, progress in
        try migration.plan(progress: progress) { entry throws(StoreError) in
          try list.add(
            PlannedItem(
              action: entry.action.name, reason: entry.action.reason,
              source: ItemOutput(entry.source), target: ItemOutput(entry.target)))
        } omitted: { omission throws(StoreError) in
          try list.add(PlannedOmission(omission))
        }
      }
      try list.end(before: Nothing())
    } else {
      var table = Table(["ACTION"] + ItemName.columnNames + ["TARGET", "REASON"])
      plan = try Self.interruptibly(migration) { migration, progress in
        try migration.plan(progress: progress) { entry throws(StoreError) in
          try table.add(
            [entry.action.name] + entry.source.columns
              + [entry.source == entry.target ? "" : "\(entry.target)", entry.action.reason ?? ""])
        } omitted: { omission throws(StoreError) in
          try table.add([Omission.outcome] + omission.columns + ["", omission.reason])
        }
      }
      try table.write()
      StandardError.say("from: \(plan.before.description)")
      StandardError.say("to: \(plan.after.description)")
    }
    if let damage = plan.damage {
      StandardError.complain("the source is damaged: \(damage)")
    }
    return plan
  }

  /// - Parameters:
  ///   - report: What was done.
  ///   - undo: The options behind `--undo` that undo it, if it can be undone.
  /// - Throws: Exit status 9 when something is missing.
  func write(_ report: MigrationReport, undo: String? = nil) throws {
    if format.json {
      var list = try JSONList(
        "items",
        after: ReportHead(
          after: report.after.description, before: report.before.description,
          isComplete: report.isComplete))
      try report.forEachEntry { entry throws(StoreError) in
        try list.add(
          ReportedItem(
            outcome: entry.outcome.name, reason: entry.outcome.reason,
            source: ItemOutput(entry.source), target: ItemOutput(entry.target)))
      }
      try report.forEachOmission { omission throws(StoreError) in
        try list.add(ReportedOmission(omission))
      }
      try list.end(
        before: ReportTail(
          sourceDigest: report.sourceDigest, targetDigest: report.targetDigest))
    } else {
      var table = Table(["OUTCOME"] + ItemName.columnNames + ["REASON"])
      try report.forEachEntry { entry throws(StoreError) in
        guard !entry.outcome.isPlain else { return }
        try table.add(
          [entry.outcome.name] + entry.source.columns + [entry.outcome.reason ?? ""])
      }
      try report.forEachOmission { omission throws(StoreError) in
        try table.add([Omission.outcome] + omission.columns + [omission.reason])
      }
      try table.write()
      try StandardOutput.write(summary(of: report) + "\n")
      // An archive is a copy: the store stays as it is.
      let (before, after) = work == .export ? ("store", "archive") : ("before", "now")
      StandardError.say("\(before): \(report.before.description)")
      StandardError.say("\(after): \(report.after.description)")
    }
    if let damage = report.damage {
      StandardError.complain("the source is damaged: \(damage)")
    }
    if let undo {
      StandardError.complain("undo it with --undo\(undo), or forget it with --close\(undo)")
    }
    guard report.isComplete else { throw ExitCode(ExitStatus.incomplete.rawValue) }
  }

  private func summary(of report: MigrationReport) -> String {
    let count = report.migratedCount
    let (same, replaced) = (report.sameCount, report.replacedCount)
    let verb = work == .export ? "exported" : "migrated"
    return "\(Size.count(count, "item")) \(verb) and compared, \(report.failedCount) failed"
      + (report.omittedCount > 0 ? ", \(report.omittedCount) left out" : "")
      // Where all are new there is nothing to tell them from.
      + (same + replaced > 0
        ? ": \(count - same - replaced) new, \(same) the same, \(replaced) replaced" : "")
  }

  func write(undone report: Migration.UndoReport) throws {
    if format.json {
      var list = try JSONList("left", after: Nothing())
      try report.forEachLeftItem { name, reason throws(StoreError) in
        try list.add(LeftItem(item: ItemOutput(name), reason: reason.reason))
      }
      try list.end(
        before: UndoTail(restored: report.restoredCount, returned: report.returnedCount))
    } else {
      var table = Table(["LEFT"] + ItemName.columnNames + ["REASON"])
      try report.forEachLeftItem { name, reason throws(StoreError) in
        try table.add(["left"] + name.columns + [reason.reason])
      }
      try table.write()
      try StandardOutput.write(
        "\(Size.count(report.removedCount, "item")) removed from the target, "
          + "\(report.restoredCount - report.removedCount) restored in it, "
          + "\(report.returnedCount) returned to the source, \(report.leftCount) left\n")
    }
    StandardError.complain(
      report.isComplete
        ? "forget the migration with --close"
        : "try to restore what is left with --undo, or forget the migration with --close")
    guard report.isComplete else { throw ExitCode(ExitStatus.incomplete.rawValue) }
  }
}

// The parts of the objects: what is before the list of items, one item, and what is behind it.

private struct Nothing: Encodable {}

private struct PlanHead: Encodable {
  let after: String
  let before: String
  let isWeaker: Bool
}

private struct PlannedItem: Encodable {
  let action: String
  @Nullable var reason: String?
  let source: ItemOutput
  let target: ItemOutput
}

private struct PlannedOmission: Encodable {
  let action = Omission.outcome
  let name: String
  @Nullable var part: String?
  let reason: String
  @Nullable var source: ItemOutput?
  @Nullable var target: ItemOutput?

  init(_ omission: Omission) {
    (name, part, reason) = (omission.name, omission.part, omission.reason)
  }
}

private struct ReportHead: Encodable {
  let after: String
  let before: String
  let isComplete: Bool
}

private struct ReportedItem: Encodable {
  let outcome: String
  @Nullable var reason: String?
  let source: ItemOutput
  let target: ItemOutput
}

private struct ReportedOmission: Encodable {
  let name: String
  let outcome = Omission.outcome
  @Nullable var part: String?
  let reason: String
  @Nullable var source: ItemOutput?
  @Nullable var target: ItemOutput?

  init(_ omission: Omission) {
    (name, part, reason) = (omission.name, omission.part, omission.reason)
  }
}

private struct ReportTail: Encodable {
  let sourceDigest: String
  let targetDigest: String
}

private struct LeftItem: Encodable {
  let item: ItemOutput
  let reason: String
}

private struct UndoTail: Encodable {
  let restored: Int
  let returned: Int
}

extension Omission {
  /// The word for it where items have an action or an outcome.
  fileprivate static let outcome = "omitted"

  /// The name stands in the column of the service, and the part in that of the identifier.
  fileprivate var columns: [String] { [name, "", "", part ?? ""] }
}

extension MigrationPlan.Action {
  fileprivate var reason: String? {
    if case .impossible(let error) = self { error.reason } else { nil }
  }
}

extension MigrationReport.Outcome {
  fileprivate var reason: String? {
    if case .failed(let error) = self { error.reason } else { nil }
  }

  /// Whether the outcome needs no line of its own.
  fileprivate var isPlain: Bool {
    switch self {
    case .migrated, .moved: true
    case .skipped, .left, .failed: false
    }
  }
}
