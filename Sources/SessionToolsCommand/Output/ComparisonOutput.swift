import DatabaseStore
import Foundation
import SessionToolsBase

/// What a comparison found, for a person or a program.
struct ComparisonOutput {
  private let report: ComparisonReport
  private let findings: [Finding]

  init(_ report: ComparisonReport) {
    self.report = report
    findings = report.findings.map(Finding.init).sorted {
      $0.columns.lexicographicallyPrecedes($1.columns)
    }
  }

  func write(_ format: JSONOption) throws {
    if format.json {
      return try format.write(
        Document(
          findings: findings, itemCount: report.itemCount,
          lastTime: report.lastTime.map { $0.formatted(.iso8601) },
          unexplainedCount: report.unexplainedCount))
    }
    var table = Table(["FINDING"] + ItemName.columnNames + ["ROW"])
    table.rows = findings.map(\.columns)
    try table.write()
    try StandardOutput.write(summary + "\n")
    if report.unexplainedCount > 0 {
      StandardError.complain(
        "\(Size.count(report.unexplainedCount, "item")) that the last comparison found are not "
          + "there, and may have been removed since")
    }
  }

  private var summary: String {
    let items = Size.count(report.itemCount, "item")
    guard let last = report.lastTime else {
      return "\(items), noted for the next comparison"
    }
    let found =
      findings.isEmpty
      ? "no row is older or missing, and all names open" : Size.count(findings.count, "finding")
    return "\(items), \(found) since the comparison of \(last.formatted(.iso8601))"
  }

  private struct Document: Encodable {
    let findings: [Finding]
    let itemCount: Int
    @Nullable var lastTime: String?
    let unexplainedCount: Int
  }

  private struct Finding: Encodable {
    let finding: String
    @Nullable var item: ItemOutput?
    @Nullable var tag: String?
    let columns: [String]

    private enum CodingKeys: CodingKey {
      case finding, item, tag
    }

    init(_ found: ComparisonReport.Finding) {
      let nameless = ItemName.columnNames.map { _ in "" }
      switch found {
      case .older(let name):
        (finding, item, tag) = ("older", ItemOutput(name), nil)
        columns = ["older"] + name.columns + [""]
      case .missing(let tag):
        (finding, item, self.tag) = ("missing", nil, tag)
        columns = ["missing"] + nameless + [tag]
      case .damaged(let tag):
        (finding, item, self.tag) = ("damaged", nil, tag)
        columns = ["damaged"] + nameless + [tag]
      case .olderHeader:
        (finding, item, tag) = ("olderHeader", nil, nil)
        columns = ["older header"] + nameless + [""]
      }
    }
  }
}
