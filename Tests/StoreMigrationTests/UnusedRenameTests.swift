import SessionToolsBase
import StoreMigration
import Testing

/// Another name for a service of which the source has no items.
@Suite struct UnusedRenameTests {
  @Test(arguments: [("mail", 0), ("mial", 1), ("web", 1)])
  func `a service without selected items that is to be renamed is reported`(
    _ service: String, _ count: Int
  ) throws {
    let source = MemoryStore()
    for name in ["mail", "web"] {
      try source.put(
        SecretBytes(utf8: "1"), for: try ItemName("a", in: StoreNamespace(service: name)))
    }
    var options = MigrationOptions()
    options.selection.service = "mail"
    options.mapping.renames = [.init(service: service, newName: "post")]
    options.allowsWeakerProtection = true
    let migration = Migration(
      from: source, to: MemoryStore(), journal: MemoryStore(), options: options)
    let plan = try migration.plan()
    #expect(plan.copiedCount == 1 && plan.omittedCount == count)
    let report = try migration.run()
    #expect(report.migratedCount == 1 && report.omittedCount == count)
    #expect(report.isComplete == (count == 0))
    var names: [String] = []
    try report.forEachOmission { names.append($0.name) }
    #expect(names == Array(repeating: "service \"\(service)\"", count: count))
  }
}
