extension ContainerDefect {
  /// The checks that a container with this defect fails.
  var failing: Set<String> { Self.failures[self] ?? Self.broadFailures[self] ?? [] }

  /// Whether other checks may notice it too, because it affects nearly everything or shows only
  /// sometimes.
  var isBroad: Bool { Self.broadFailures[self] != nil }

  /// The defects that fail these checks and no others.
  private static let failures: [ContainerDefect: Set<String>] = [
    .keepsTheFirstItem: [
      "an item replaces an older one",
      "another container finds what was stored",
      "the older calls see what async calls store and remove",
      "storing an item is reported",
      "every listener is notified",
      "a stream ends when its task is cancelled",
      "eight tasks that use a container lose nothing",
      "an item that cannot be decoded is an error, and is not removed",
    ],
    .failsToRemoveAbsent: [
      "removing an absent item is not an error",
      "the older calls see what async calls store and remove",
    ],
    .ignoresCase: [
      "identifiers may differ only in case and spaces",
      "identifiers are compared byte for byte",
    ],
    .cleansPaths: [
      "identifiers that look like paths and escapes are only names"
    ],
    .keepsASCII: [
      "identifiers may be of any script, and have control characters",
      "identifiers are compared byte for byte",
    ],
    .composesIdentifiers: [
      "identifiers are compared byte for byte"
    ],
    .takesAnyIdentifier: [
      "an invalid identifier is an error"
    ],
    .forgetsAll: [
      "another container finds what was stored",
      "another container does not find what was removed",
      "changes by another container are reported",
    ],
    .hasAnotherStore: [
      "the items are those of the store"
    ],
    .losesAllWhenLocked: [
      "items are kept while they cannot be read",
      "the newer calls never report unreadable as absent",
    ],
    .seemsEmptyWhenLocked: [
      "a container that cannot read throws",
      "the newer calls never report unreadable as absent",
    ],
    .seemsEmptyToNewerCalls: [
      "the newer calls never report unreadable as absent"
    ],
    .removesDamaged: [
      "an item that cannot be decoded is an error, and is not removed"
    ],
    .reportsNothing: [
      "storing an item is reported",
      "removing an item is reported",
      "every listener is notified",
      "changes that are read late are reported",
      "a stream ends when its task is cancelled",
      "changes by another container are reported",
    ],
    .reportsNoRemovals: [
      "removing an item is reported",
      "changes by another container are reported",
    ],
    .reportsOneListener: [
      "every listener is notified",
      "a stream ends when its task is cancelled",
      "changes by another container are reported",
    ],
    .reportsOwnChanges: [
      "changes by another container are reported"
    ],
    .ignoresCancelledListeners: [
      "a stream ends when its task is cancelled"
    ],
  ]

  /// The defects that fail these checks, and perhaps others.
  private static let broadFailures: [ContainerDefect: Set<String>] = [
    .givesAnItemForAbsent: [
      "an absent item is nil"
    ],
    .saysThatNothingIsThere: [
      "hasItem is true for a stored item"
    ],
    .saysThatEverythingIsThere: [
      "an absent item is nil"
    ],
    .removesWhatIsRead: [
      "reading leaves an item as it is"
    ],
    .makesWhatIsRead: [
      "reading an absent item does not create it"
    ],
    .changesItems: [
      "a stored item comes back"
    ],
    .ignoresRemovals: [
      "a removed item is absent",
      "removing an item is reported",
    ],
    .staysRemoved: [
      "an item can be stored again after it was removed"
    ],
    .ignoresIdentifiers: [
      "identifiers keep items apart"
    ],
    .forgetsRemovals: [
      "another container does not find what was removed"
    ],
    .readsAnotherMemory: [
      "the newer calls read what the older calls store"
    ],
    .keepsTwoMemories: [
      "the older calls see what async calls store and remove"
    ],
    .losesUpdates: [
      "eight tasks that use a container lose nothing"
    ],
    .reportsNothingToLateListeners: [
      "changes that are read late are reported"
    ],
  ]
}
