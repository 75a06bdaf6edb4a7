import Foundation

/// The defect of a container that otherwise works as it should.
enum ContainerDefect: String, CaseIterable, CustomStringConvertible, Sendable {
  // Items
  case givesAnItemForAbsent, saysThatNothingIsThere, saysThatEverythingIsThere
  case removesWhatIsRead, makesWhatIsRead, keepsTheFirstItem, changesItems, ignoresRemovals
  case failsToRemoveAbsent, staysRemoved
  // Identifiers
  case ignoresIdentifiers, ignoresCase, cleansPaths, keepsASCII, composesIdentifiers
  case takesAnyIdentifier
  // Other containers
  case forgetsAll, forgetsRemovals, hasAnotherStore
  // Items that cannot be read
  case losesAllWhenLocked, seemsEmptyWhenLocked, seemsEmptyToNewerCalls, removesDamaged
  // The newer calls
  case readsAnotherMemory, keepsTwoMemories, losesUpdates, reportsNothing, reportsNoRemovals
  case reportsOneListener, reportsOwnChanges, reportsNothingToLateListeners,
    ignoresCancelledListeners

  var description: String { rawValue }

  /// Returns the identifier under which a container with this defect keeps an item.
  func kept(_ identifier: String) -> String {
    switch self {
    case .ignoresIdentifiers: "any"
    case .ignoresCase: identifier.lowercased()
    case .cleansPaths:
      identifier.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
        .removingPercentEncoding ?? identifier
    case .keepsASCII: String(identifier.map { $0.isASCII ? $0 : "?" })
    case .composesIdentifiers: identifier.precomposedStringWithCanonicalMapping
    case .takesAnyIdentifier: identifier.isEmpty ? "empty" : String(identifier.prefix(4096))
    default: identifier
    }
  }
}
