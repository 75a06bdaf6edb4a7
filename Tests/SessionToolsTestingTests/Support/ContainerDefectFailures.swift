extension ContainerDefect {
  /// The checks that a container with this defect fails.
  var failing: Set<String> { Self.failures[self] ?? Self.broadFailures[self] ?? [] }

  /// Whether other checks may notice it too, because it affects nearly everything or shows only
  /// sometimes.
  var isBroad: Bool { Self.broadFailures[self] != nil }

  /// The defects that fail these checks and no others.
  private static let failures: [ContainerDefect: Set<String>] = [
    .keepsTheFirstItem: [
      "an item takes the place of an older one",
      "another container finds what was stored",
      "the older calls read what async ones store and remove",
      "an item that is stored is told",
      "every listener is told",
      "a stream ends when its task is cancelled",
      "eight who use a container at the same time lose nothing",
      "an item that cannot be decoded is an error, and is not removed",
    ],
    .failsToRemoveAbsent: [
      "removing an absent item is no error",
      "the older calls read what async ones store and remove",
    ],
    .ignoresCase: [
      "identifiers may differ in case and spaces alone",
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
      "what cannot be an identifier is an error"
    ],
    .forgetsAll: [
      "another container finds what was stored",
      "another container does not find what was removed",
      "what another container changes is told",
    ],
    .hasAnotherStore: [
      "the items are those of the store"
    ],
    .losesAllWhenLocked: [
      "what could not be read is there again afterwards",
      "the newer calls never take unreadable for absent",
    ],
    .looksEmptyWhenLocked: [
      "a container that cannot read throws",
      "the newer calls never take unreadable for absent",
    ],
    .looksEmptyToNewerCalls: [
      "the newer calls never take unreadable for absent"
    ],
    .removesDamaged: [
      "an item that cannot be decoded is an error, and is not removed"
    ],
    .tellsNothing: [
      "an item that is stored is told",
      "an item that is removed is told",
      "every listener is told",
      "changes that are read late are told",
      "a stream ends when its task is cancelled",
      "what another container changes is told",
    ],
    .tellsNoRemovals: [
      "an item that is removed is told",
      "what another container changes is told",
    ],
    .tellsOneListener: [
      "every listener is told",
      "a stream ends when its task is cancelled",
      "what another container changes is told",
    ],
    .tellsOwnChanges: [
      "what another container changes is told"
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
      "a stored item is said to be there"
    ],
    .saysThatEverythingIsThere: [
      "an absent item is nil"
    ],
    .removesWhatIsRead: [
      "reading leaves an item as it is"
    ],
    .makesWhatIsRead: [
      "reading an absent item makes none"
    ],
    .changesItems: [
      "a stored item comes back"
    ],
    .ignoresRemovals: [
      "a removed item is absent",
      "an item that is removed is told",
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
      "the newer calls read what the older ones store"
    ],
    .keepsTwoMemories: [
      "the older calls read what async ones store and remove"
    ],
    .losesUpdates: [
      "eight who use a container at the same time lose nothing"
    ],
    .tellsNobodyWhoIsLate: [
      "changes that are read late are told"
    ],
  ]
}
