import DatabaseStore
import Foundation
import SessionToolsTestSupport
import Testing

@Suite struct SchemaTests {
  @Test func `the schema is what the article prints`() throws {
    let article = try String(
      contentsOfFile: SourceDirectory.path
        + "/Sources/DatabaseStore/DatabaseStore.docc/DatabaseFormat.md", encoding: .utf8)
    let start = try #require(article.range(of: "```sql\n"))
    let end = try #require(article[start.upperBound...].range(of: "```\n"))
    #expect(article[start.upperBound..<end.lowerBound] == DatabaseSchema.text())
  }

  @Test func `other names stand at every place of the usual ones`() {
    let names = DatabaseSchema.Names(
      schema: "\"A\"", owner: "\"B\"", application: "\"C\"", auditor: "\"D\"")
    let usual = DatabaseSchema.text()
      .replacing("session_tools_owner", with: "\"B\"")
      .replacing("session_tools_application", with: "\"C\"")
      .replacing("session_tools_auditor", with: "\"D\"")
      .replacing("session_tools", with: "\"A\"")
    #expect(DatabaseSchema.text(names) == usual)
  }
}
