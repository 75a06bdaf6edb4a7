extension Defect {
  /// The checks that a store with this defect fails.
  var failing: Set<String> { Self.failures[self] ?? Self.broadFailures[self] ?? [] }

  /// Whether other checks may notice it too, because it affects nearly everything or shows only
  /// sometimes.
  var isBroad: Bool { Self.broadFailures[self] != nil }

  /// The defects that fail these checks and no others.
  private static let failures: [Defect: Set<String>] = [
    .takesEmptyForAbsent: [
      "a value takes the place of an older one",
      "an empty value is a value, and not an absent item",
      "another object finds what was put",
    ],
    .endsValuesAtNUL: [
      "64 KiB come back",
      "NUL bytes come back",
      "a value of the largest size comes back",
      "a value takes the place of an older one",
      "all 256 bytes come back",
      "another object finds what was put",
      "of values that are put at the same time one stays, as a whole",
      "values around the sizes of buffers come back",
    ],
    .trimsValues: [
      "newlines and spaces come back"
    ],
    .repairsUTF8: [
      "64 KiB come back",
      "a value of the largest size comes back",
      "a value takes the place of an older one",
      "all 256 bytes come back",
      "another object finds what was put",
      "bytes that are no UTF-8 come back",
      "of values that are put at the same time one stays, as a whole",
      "values around the sizes of buffers come back",
    ],
    .composesValues: [
      "text of any script comes back"
    ],
    .countsValuesByBytes: [
      "64 KiB come back",
      "a value of the largest size comes back",
      "a value takes the place of an older one",
      "all 256 bytes come back",
      "another object finds what was put",
      "of values that are put at the same time one stays, as a whole",
      "values around the sizes of buffers come back",
    ],
    .cutsValuesAt64KiB: [
      "64 KiB come back",
      "a value of the largest size comes back",
      "another object finds what was put",
    ],
    .refusesTheLargest: [
      "a value of the largest size comes back"
    ],
    .takesTooLargeValues: [
      "a list with a value that is too large changes nothing",
      "a value that is too large is refused",
      "the error of a value that is too large does not show it",
    ],
    .noticesTooLargeValuesLate: [
      "a list with a value that is too large changes nothing"
    ],
    .ignoresCase: [
      "all keys are listed in ascending order",
      "composed and decomposed characters are two names",
      "names are listed byte for byte as they were given",
      "names may have control characters",
      "names that differ in case are two",
      "the keys of one namespace are listed in ascending order",
    ],
    .trimsNames: [
      "names are listed byte for byte as they were given",
      "names that differ in spaces are several",
    ],
    .removesControlCharacters: [
      "names are listed byte for byte as they were given",
      "names may have control characters",
    ],
    .composesNames: [
      "another object finds what was put",
      "composed and decomposed characters are two names",
      "names are listed byte for byte as they were given",
    ],
    .keepsASCIINames: [
      "another object finds what was put",
      "composed and decomposed characters are two names",
      "names are listed byte for byte as they were given",
      "names may be of any script",
      "names may have control characters",
      "names that differ in case are two",
      "names that differ in spaces are several",
      "the keys of one namespace are listed in ascending order",
      "the longest names are kept apart to their last byte",
    ],
    .decodesNames: [
      "names are listed byte for byte as they were given",
      "names that differ in spaces are several",
      "names that look like paths and escapes are only names",
    ],
    .cutsNamesAt255Bytes: [
      "every part of a name may be as long as any",
      "the longest names are kept apart to their last byte",
    ],
    .cutsNamesAt4095Bytes: [
      "every part of a name may be as long as any",
      "the longest names are kept apart to their last byte",
    ],
    .ignoresGroups: [
      "a namespace has its own keys alone",
      "all keys are listed in ascending order",
      "an access group or an installation makes another namespace",
      "every part of a name may be as long as any",
      "parts of a name that run together as text are kept apart",
    ],
    .joinsParts: [
      "a namespace has its own keys alone",
      "all keys are listed in ascending order",
      "an access group or an installation makes another namespace",
      "parts of a name that run together as text are kept apart",
    ],
    .joinsPartsWithDots: [
      "a namespace has its own keys alone",
      "all keys are listed in ascending order",
      "an access group or an installation makes another namespace",
      "parts of a name that run together as text are kept apart",
    ],
    .findsNamespacesByPrefix: [
      "a namespace has its own keys alone"
    ],
    .listsComposedNames: [
      "another object finds what was put",
      "composed and decomposed characters are two names",
      "names are listed byte for byte as they were given",
    ],
    .removesByPrefix: [
      "a change leaves other items as they are",
      "composed and decomposed characters are two names",
      "names may have control characters",
      "names that differ in spaces are several",
      "names that look like paths and escapes are only names",
      "the longest names are kept apart to their last byte",
    ],
    .failsToRemoveAbsent: [
      "an item that a list puts and then removes is absent",
      "removing an absent item is no error and changes nothing",
    ],
    .containsForGood: [
      "an object reads what another changes",
      "contains says what is there and what is not",
      "what one kind of calls removes, the other kind does not find",
    ],
    .failsEmptyLists: [
      "an empty list does nothing",
      "nothing is told that did not change",
    ],
    .removesFirst: [
      "an item that a list puts and then removes is absent"
    ],
    .putsFirst: [
      "an item that a list removes and then puts is there"
    ],
    .keepsTheFirstOfAList: [
      "of two values that a list puts under one name the last stays"
    ],
    .makesSixteenChanges: [
      "a list may have many changes",
      "a migration finds every item",
    ],
    .listsNamespacesInNoOrder: [
      "a list of a cancelled task is made as a whole, or not at all",
      "a removed key is not listed",
      "the keys of one namespace are listed in ascending order",
    ],
    .listsAllNamespaces: [
      "a list of a cancelled task is made as a whole, or not at all",
      "a namespace has its own keys alone",
      "the keys of one namespace are listed in ascending order",
    ],
    .tellsNoRemovals: [
      "a removal is told",
      "every item that a list changes is told",
      "what another object changes is told",
    ],
    .tellsTheFirstOfAList: [
      "every item that a list changes is told",
      "what another object changes is told",
    ],
    .tellsOneListener: [
      "every listener is told"
    ],
    .tellsTheNewest: [
      "a listener that does not listen for a while misses nothing"
    ],
    .tellsWhatDidNotChange: [
      "nothing is told that did not change"
    ],
    .tellsOwnChanges: [
      "what another object changes is told"
    ],
    .ignoresCancelledListeners: [
      "a stream ends when its task is cancelled"
    ],
    .endsAllListeners: [
      "others go on being told when a listener is cancelled"
    ],
    .outlivesItsStore: [
      "a stream ends with its store"
    ],
    .excludesNobody: [
      "a name that is held is refused until the timeout",
      "a task that is cancelled while it waits gets cancelled, and not the name",
      "an error names the store and says what happened",
      "another object does not get a name that is held",
      "asking again inside the closure waits until the timeout",
      "objects that ask for one name have it one after the other",
      "those who ask for one name have it one after the other",
    ],
    .hasOneLock: [
      "another name is free while one is held"
    ],
    .keepsItsLock: [
      "access ends when its closure throws, and the error arrives",
      "asking again inside the closure waits until the timeout",
    ],
    .neverWaits: [
      "a task that is cancelled while it waits gets cancelled, and not the name",
      "objects that ask for one name have it one after the other",
      "those who ask for one name have it one after the other",
      "who waits gets the name when it is free",
    ],
    .runsAfterTheTimeout: [
      "a name that is held is refused until the timeout",
      "an error names the store and says what happened",
      "another object does not get a name that is held",
      "asking again inside the closure waits until the timeout",
    ],
    .failsInsteadOfTimingOut: [
      "a name that is held is refused until the timeout",
      "an error names the store and says what happened",
      "another object does not get a name that is held",
      "asking again inside the closure waits until the timeout",
    ],
    .waitsWhenCancelled: [
      "a task that is cancelled while it waits gets cancelled, and not the name"
    ],
    .excludesOneKindOfCalls: [
      "a name that is held is refused until the timeout",
      "a task that is cancelled while it waits gets cancelled, and not the name",
      "another object does not get a name that is held",
      "objects that ask for one name have it one after the other",
      "those who ask for one name have it one after the other",
    ],
    .excludesOneObject: [
      "another object does not get a name that is held",
      "objects that ask for one name have it one after the other",
    ],
    .stopsReads: [
      "reads and changes go on while a name is held"
    ],
    .letsItselfInAgain: [
      "asking again inside the closure waits until the timeout"
    ],
    .refusesZeroTimeouts: [
      "a free name is given at once",
      "a name that is held is refused until the timeout",
      "a task that is cancelled while it waits gets cancelled, and not the name",
      "access ends when its closure throws, and the error arrives",
      "access ends with its closure",
      "another object does not get a name that is held",
      "asking again inside the closure waits until the timeout",
    ],
    .runsTwice: [
      "exclusive access runs its closure once, and gives what that gives",
      "objects that ask for one name have it one after the other",
      "those who ask for one name have it one after the other",
    ],
    .losesCancelledChanges: [
      "a change of a cancelled task is made, or says that it was not",
      "a list of a cancelled task is made as a whole, or not at all",
    ],
    .cutsCancelledLists: [
      "a list of a cancelled task is made as a whole, or not at all"
    ],
    .makesWhatItCallsCancelled: [
      "a change of a cancelled task is made, or says that it was not",
      "a list of a cancelled task is made as a whole, or not at all",
    ],
    .readsNilWhenCancelled: [
      "a cancelled task does not read that an item is absent"
    ],
    .forgetsRemovals: [
      "a removal is told",
      "an object reads what another changes",
      "another object does not find what was removed",
      "every item that a list changes is told",
      "two objects that change the data at the same time lose nothing",
      "what another object changes is told",
    ],
    .looksEmptyWhenLocked: [
      "a locked store never looks empty",
      "a locked store takes no change",
      "the error of a locked store does not show the value",
      "unlocking brings everything back",
      "unlocking is told",
    ],
    .takesChangesWhenLocked: [
      "a locked store takes no change",
      "the error of a locked store does not show the value",
    ],
    .losesAllWhenLocked: [
      "a locked store takes no change",
      "unlocking brings everything back",
    ],
    .tellsNoUnlocking: [
      "unlocking is told"
    ],
    .showsValues: [
      "the error of a locked store does not show the value",
      "the error of a value that is too large does not show it",
    ],
    .namesNoStore: [
      "an error names the store and says what happened"
    ],
    .saysNothingOfProtection: [
      "the traits say what can be true"
    ],
    .listsHalf: [
      "a migration finds every item"
    ],
    .mixesUpValues: [
      "values that are read together are those read one by one"
    ],
    .hasTheIdentityOfAll: [
      "other stores have another identity"
    ],
    .hasTheIdentityOfTheObject: [
      "objects of the same data have one identity"
    ],
  ]

  /// The defects that fail these checks, and perhaps others.
  private static let broadFailures: [Defect: Set<String>] = [
    .addsNewlines: [
      "a short text comes back"
    ],
    .givesEmptyForAbsent: [
      "an absent item reads as nil"
    ],
    .makesWhatIsRead: [
      "reading an absent item makes none"
    ],
    .removesWhatIsRead: [
      "reading an item leaves it as it is"
    ],
    .ignoresServices: [
      "one identifier in several services is several items"
    ],
    .keepsTheFirstValue: [
      "a put is told",
      "a value takes the place of an older one",
    ],
    .ignoresRemovals: [
      "a removed item is absent",
      "another object does not find what was removed",
      "contains says what is there and what is not",
    ],
    .staysRemoved: [
      "an item can be put again after it was removed"
    ],
    .showsPartsOfLists: [
      "lists that are made at the same time do not mix",
      "nobody sees a part of a list",
    ],
    .listsInNoOrder: [
      "all keys are listed in ascending order",
      "the keys of one namespace are listed in ascending order",
    ],
    .listsTwice: [
      "a key is listed once, however often it was put"
    ],
    .listsRemoved: [
      "a removed key is not listed",
      "removing an absent item is no error and changes nothing",
    ],
    .failsToListNothing: [
      "an empty store lists no keys"
    ],
    .keepsTwoMemories: [
      "eight who make both kinds of calls at the same time lose nothing",
      "what one kind of calls puts, the other kind reads",
      "what one kind of calls removes, the other kind does not find",
    ],
    .tellsNothing: [
      "a listener that does not listen for a while misses nothing",
      "a put is told",
      "a removal is told",
      "a stream ends when its task is cancelled",
      "every item that a list changes is told",
      "every listener is told",
      "nothing is told that did not change",
      "others go on being told when a listener is cancelled",
      "what another object changes is told",
    ],
    .losesUpdates: [
      "eight who change a store at the same time lose nothing",
      "eight who make both kinds of calls at the same time lose nothing",
      "two objects that change the data at the same time lose nothing",
    ],
    .mixesValues: [
      "of values that are put at the same time one stays, as a whole"
    ],
    .forgetsAll: [
      "an object reads what another changes",
      "another object finds what was put",
      "two objects that change the data at the same time lose nothing",
      "what another object changes is told",
    ],
    .readsWhatItKnows: [
      "an object reads what another changes"
    ],
  ]
}
