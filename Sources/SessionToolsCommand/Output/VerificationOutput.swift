import SealedStore
import SessionToolsBase

/// A verification report as JSON.
struct VerificationOutput: Encodable {
  private let damagedItems: [ItemOutput]
  private let findings: [Finding]
  private let fingerprint: String
  private let isSound: Bool
  private let itemCount: Int
  private let journalByteCount: Int
  private let liveByteCount: Int
  private let recordCount: Int
  private let repairableItems: [ItemOutput]

  init(_ report: VerificationReport, fingerprint: StoreFingerprint) {
    self.fingerprint = fingerprint.text
    damagedItems = report.damagedItems.map(ItemOutput.init)
    findings = report.findings.map { finding in
      Finding(
        description: finding.description, isDamage: finding.isDamage,
        part: finding.part.rawValue)
    }
    isSound = report.isSound
    itemCount = report.itemCount
    journalByteCount = report.journalByteCount
    liveByteCount = report.liveByteCount
    recordCount = report.recordCount
    repairableItems = report.repairableItems.map(ItemOutput.init)
  }

  private struct Finding: Encodable {
    let description: String
    let isDamage: Bool
    let part: String
  }
}

extension VerificationReport.Part {
  /// The name for a person.
  var name: String { self == .headerCopy ? "header copy" : rawValue }
}
