import ArgumentParser
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsCommand

/// `session-tools-database audit`.
struct AuditCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Detect items that are older than at the last audit, or that vanished.",
    discussion: """
      A person who can write to a database can put back rows as they once were, or delete them, \
      and nothing in a row shows that. An audit reads the version of every item, compares it with \
      what the last audit found, and keeps it for the next one in a sealed store of the auditor's \
      own, the keeper, about 40 bytes an item. Keep the keeper where the database's administrators \
      cannot write. The first audit compares nothing. The role NAME_auditor is enough.

      Writes a line for each finding, with fields separated by tabs, and a summary. Exit status 6 \
      when there is a finding. What was found is found again until the item is put again, or until \
      --accept, which is for a database that was put back from a backup on purpose: it shows the \
      findings for the last time, and ends with 0.

      With --json: {"findings": [{"finding", "item", "tag"}], "itemCount", "lastTime", \
      "unexplainedCount"}. A finding is older, missing, damaged or olderHeader; item is as in \
      session-tools list --json, and tag is what the row is called in the database; a field that \
      a finding does not have is null, and so is lastTime at the first audit.

      Example:
        session-tools init ~/audit
        session-tools-database audit postgresql://auditor@db.example.com/app \\
          --key-file app.key --keeper ~/audit
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup(title: "Key") var key: KeyOptions
  @Option(
    name: .long,
    help: ArgumentHelp(
      "The sealed store that keeps what audits found; made with session-tools init.",
      valueName: "directory"), completion: .directory, transform: { try Directory.path($0) })
  var keeper: String
  @OptionGroup(title: "Key of the keeper") var keeperKey: MigrationKeyOptions<KeeperSide>
  @Flag(name: .long, help: "Take what there is now as right.")
  var accept = false
  @OptionGroup var format: JSONOption

  func validate() throws {
    try KeyArgument.checkDescriptors([key.argument, keeperKey.argument])
  }

  func run() throws {
    let access = try database.connect()
    let store = try access.open(key.argument, database.interaction).store
    let keeper = try KeyFinder(
      path: keeper, argument: keeperKey.argument, interaction: database.interaction
    ).open(SealedFileStore.Options(onNotice: Notices.report)).open.store
    let report = try ProgressLine.during("auditing") { progress throws(StoreError) in
      try store.audit(with: keeper, accepting: accept, progress: progress)
    }
    try AuditOutput(report).write(format)
    guard report.findings.isEmpty || accept else { throw ExitCode(ExitStatus.damaged.rawValue) }
  }
}

/// The store that keeps what audits found.
enum KeeperSide: MigrationSide {
  static let name = "keeper"
  static let prefix = "keeper"
}
