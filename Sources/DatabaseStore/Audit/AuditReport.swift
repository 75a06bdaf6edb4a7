package import Foundation
package import SecretStores

/// What an audit of a database found.
package struct AuditReport: Hashable, Sendable {
  /// Something that no program with the keys did.
  package enum Finding: Hashable, Sendable {
    /// The item is older than in an audit before, or was replaced by another one of the same age.
    case older(ItemName)
    /// The row with this tag, in hexadecimal digits, is missing, and was not removed.
    case missing(tag: String)
    /// The row with this tag, in hexadecimal digits, does not open.
    case damaged(tag: String)
    /// The header is older than in an audit before: removed key slots may open the store again.
    case olderHeader
  }

  /// The number of items, without removed ones.
  package internal(set) var itemCount = 0
  /// When the audit before this one began; `nil` when this is the first.
  package internal(set) var lastTime: Date?
  /// What was found, in no particular order.
  package internal(set) var findings: Set<Finding> = []
  /// The number of items that are missing and may have been removed: the audit before this one was
  /// so long ago that removals may have been swept.
  package internal(set) var unexplainedCount = 0
}
