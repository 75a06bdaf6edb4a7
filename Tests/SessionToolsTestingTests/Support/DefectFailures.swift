extension Defect {
  /// The checks that a store with this defect fails.
  var failing: Set<String> { Self.failures[self] ?? Self.broadFailures[self] ?? [] }

  /// Whether other checks may notice it too, because it affects nearly everything or shows only
  /// sometimes.
  var isBroad: Bool { Self.broadFailures[self] != nil }

  /// The defects that fail these checks and no others.
  private static let failures: [Defect: Set<String>] = [
    .takesEmptyForAbsent: [
      "a value replaces an older one",
      "an empty value is a value, and not an absent item",
      "another object finds what was put",
    ],
    .endsValuesAtNUL: [
      "64 KiB come back",
      "NUL bytes come back",
      "a value of the largest size comes back",
      "a value replaces an older one",
      "all 256 bytes come back",
      "another object finds what was put",
      "one of several values put at the same time stays complete",
      "values around the sizes of buffers come back",
    ],
    .trimsValues: [
      "newlines and spaces come back"
    ],
    .repairsUTF8: [
      "64 KiB come back",
      "a value of the largest size comes back",
      "a value replaces an older one",
      "all 256 bytes come back",
      "another object finds what was put",
      "bytes that are not UTF-8 come back",
      "one of several values put at the same time stays complete",
      "values around the sizes of buffers come back",
    ],
    .composesValues: [
      "text of any script comes back"
    ],
    .countsValuesByBytes: [
      "64 KiB come back",
      "a value of the largest size comes back",
      "a value replaces an older one",
      "all 256 bytes come back",
      "another object finds what was put",
      "one of several values put at the same time stays complete",
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
      "the error of a too large value does not show the value",
    ],
    .refusesTooLargeValuesLate: [
      "a list with a value that is too large changes nothing"
    ],
    .ignoresCase: [
      "all names are listed in ascending order",
      "composed and decomposed characters are different",
      "names are listed byte for byte as they were given",
      "names may have control characters",
      "names that differ in case are different",
      "the names of one namespace are listed in ascending order",
    ],
    .trimsNames: [
      "names are listed byte for byte as they were given",
      "names that differ in spaces are different",
    ],
    .removesControlCharacters: [
      "names are listed byte for byte as they were given",
      "names may have control characters",
    ],
    .composesNames: [
      "another object finds what was put",
      "composed and decomposed characters are different",
      "names are listed byte for byte as they were given",
    ],
    .keepsASCIINames: [
      "another object finds what was put",
      "composed and decomposed characters are different",
      "names are listed byte for byte as they were given",
      "names may be of any script",
      "names may have control characters",
      "names that differ in case are different",
      "names that differ in spaces are different",
      "the names of one namespace are listed in ascending order",
      "the longest names are kept apart to their last byte",
    ],
    .decodesNames: [
      "names are listed byte for byte as they were given",
      "names that differ in spaces are different",
      "names that look like paths and escapes are only names",
    ],
    .cutsNamesAt255Bytes: [
      "every part of a name may have the full length",
      "the longest names are kept apart to their last byte",
    ],
    .cutsNamesAt4095Bytes: [
      "every part of a name may have the full length",
      "the longest names are kept apart to their last byte",
    ],
    .ignoresGroups: [
      "a namespace lists only its own names",
      "all names are listed in ascending order",
      "an access group or an installation makes another namespace",
      "every part of a name may have the full length",
      "names that are equal as joined text are kept apart",
    ],
    .joinsParts: [
      "a namespace lists only its own names",
      "all names are listed in ascending order",
      "an access group or an installation makes another namespace",
      "names that are equal as joined text are kept apart",
    ],
    .joinsPartsWithDots: [
      "a namespace lists only its own names",
      "all names are listed in ascending order",
      "an access group or an installation makes another namespace",
      "names that are equal as joined text are kept apart",
    ],
    .findsNamespacesByPrefix: [
      "a namespace lists only its own names"
    ],
    .listsComposedNames: [
      "another object finds what was put",
      "composed and decomposed characters are different",
      "names are listed byte for byte as they were given",
    ],
    .removesByPrefix: [
      "a change leaves other items as they are",
      "composed and decomposed characters are different",
      "names may have control characters",
      "names that differ in spaces are different",
      "names that look like paths and escapes are only names",
      "the longest names are kept apart to their last byte",
    ],
    .failsToRemoveAbsent: [
      "an item that a list puts and then removes is absent",
      "removing an absent item is not an error and changes nothing",
    ],
    .containsForGood: [
      "an object reads what another changes",
      "contains reports whether an item is there",
      "one kind of calls does not find what the other removes",
    ],
    .failsEmptyLists: [
      "an empty list does nothing",
      "only changes are reported",
    ],
    .removesFirst: [
      "an item that a list puts and then removes is absent"
    ],
    .putsFirst: [
      "an item that a list removes and then puts is there"
    ],
    .keepsTheFirstOfAList: [
      "the last value that a list puts under a name stays"
    ],
    .makesSixteenChanges: [
      "a list may have many changes",
      "a migration finds every item",
    ],
    .refusesTheLongestList: [
      "a list as long as the traits promise is accepted"
    ],
    .listsNamespacesInNoOrder: [
      "a list of a cancelled task is applied all or nothing",
      "a removed name is not listed",
      "the names of one namespace are listed in ascending order",
    ],
    .listsAllNamespaces: [
      "a list of a cancelled task is applied all or nothing",
      "a namespace lists only its own names",
      "the names of one namespace are listed in ascending order",
    ],
    .reportsNoRemovals: [
      "a removal is reported",
      "every item that a list changes is reported",
      "changes by another object are reported",
    ],
    .reportsTheFirstOfAList: [
      "every item that a list changes is reported",
      "changes by another object are reported",
    ],
    .reportsOneListener: [
      "every listener is notified"
    ],
    .reportsTheNewest: [
      "a listener that reads late misses nothing"
    ],
    .reportsWhatDidNotChange: [
      "only changes are reported"
    ],
    .reportsOtherNames: [
      "a stream of some names has their changes and no others"
    ],
    .reportsOwnChanges: [
      "changes by another object are reported"
    ],
    .ignoresCancelledListeners: [
      "a stream ends when its task is cancelled"
    ],
    .endsAllListeners: [
      "other listeners are notified after one was cancelled"
    ],
    .outlivesItsStore: [
      "a stream ends with its store"
    ],
    .excludesNobody: [
      "a name that is held is refused until the timeout",
      "a task that is cancelled while it waits does not get the name",
      "an error names the store and what happened",
      "another object does not get a name that is held",
      "asking again inside the closure waits until the timeout",
      "objects that ask for one name take turns",
      "callers that ask for one name take turns",
    ],
    .hasOneLock: [
      "another name is free while one is held"
    ],
    .keepsItsLock: [
      "access ends when its closure throws, and the error is rethrown",
      "asking again inside the closure waits until the timeout",
    ],
    .neverWaits: [
      "a task that is cancelled while it waits does not get the name",
      "objects that ask for one name take turns",
      "callers that ask for one name take turns",
      "a waiter gets the name when it is free",
    ],
    .runsAfterTheTimeout: [
      "a name that is held is refused until the timeout",
      "an error names the store and what happened",
      "another object does not get a name that is held",
      "asking again inside the closure waits until the timeout",
    ],
    .failsInsteadOfTimingOut: [
      "a name that is held is refused until the timeout",
      "an error names the store and what happened",
      "another object does not get a name that is held",
      "asking again inside the closure waits until the timeout",
    ],
    .waitsWhenCancelled: [
      "a task that is cancelled while it waits does not get the name"
    ],
    .excludesOneKindOfCalls: [
      "a name that is held is refused until the timeout",
      "a task that is cancelled while it waits does not get the name",
      "another object does not get a name that is held",
      "objects that ask for one name take turns",
      "callers that ask for one name take turns",
    ],
    .excludesOneObject: [
      "another object does not get a name that is held",
      "objects that ask for one name take turns",
    ],
    .stopsReads: [
      "reads and changes continue while a name is held"
    ],
    .letsItselfInAgain: [
      "asking again inside the closure waits until the timeout"
    ],
    .refusesZeroTimeouts: [
      "a free name is given at once",
      "a name that is held is refused until the timeout",
      "a task that is cancelled while it waits does not get the name",
      "access ends when its closure throws, and the error is rethrown",
      "access ends with its closure",
      "another object does not get a name that is held",
      "asking again inside the closure waits until the timeout",
    ],
    .runsTwice: [
      "exclusive access runs its closure once and returns its result",
      "objects that ask for one name take turns",
      "callers that ask for one name take turns",
    ],
    .losesCancelledChanges: [
      "a change of a cancelled task is made, or reports that it was not",
      "a list of a cancelled task is applied all or nothing",
    ],
    .cutsCancelledLists: [
      "a list of a cancelled task is applied all or nothing"
    ],
    .makesWhatItCallsCancelled: [
      "a change of a cancelled task is made, or reports that it was not",
      "a list of a cancelled task is applied all or nothing",
    ],
    .readsNilWhenCancelled: [
      "a cancelled task does not read an item as absent"
    ],
    .forgetsRemovals: [
      "a removal is reported",
      "an object reads what another changes",
      "another object does not find what was removed",
      "every item that a list changes is reported",
      "two objects that change the data at the same time lose nothing",
      "changes by another object are reported",
    ],
    .seemsEmptyWhenLocked: [
      "a locked store never looks empty",
      "a locked store refuses changes",
      "the error of a locked store does not show the value",
      "unlocking makes everything readable again",
      "unlocking is reported",
    ],
    .takesChangesWhenLocked: [
      "a locked store refuses changes",
      "the error of a locked store does not show the value",
    ],
    .losesAllWhenLocked: [
      "a locked store refuses changes",
      "unlocking makes everything readable again",
    ],
    .reportsNoUnlocking: [
      "unlocking is reported"
    ],
    .showsValues: [
      "the error of a locked store does not show the value",
      "the error of a too large value does not show the value",
    ],
    .namesNoStore: [
      "an error names the store and what happened"
    ],
    .saysNothingOfProtection: [
      "the traits are plausible"
    ],
    .listsHalf: [
      "a migration finds every item"
    ],
    .mixesUpValues: [
      "values read together equal those read one by one"
    ],
    .hasTheIdentityOfAll: [
      "different stores have different identities"
    ],
    .hasTheIdentityOfTheObject: [
      "objects of the same data have the same identity"
    ],
  ]
}
