/// The defect of a store that otherwise works as it should.
enum Defect: String, CaseIterable, CustomStringConvertible, Sendable {
  // Values
  case addsNewlines, takesEmptyForAbsent, endsValuesAtNUL, trimsValues, repairsUTF8
  case composesValues, countsValuesByBytes, cutsValuesAt64KiB, refusesTheLargest
  case takesTooLargeValues, refusesTooLargeValuesLate, givesEmptyForAbsent, makesWhatIsRead
  case removesWhatIsRead
  // Names
  case ignoresCase, trimsNames, removesControlCharacters, composesNames, keepsASCIINames
  case decodesNames, cutsNamesAt255Bytes, cutsNamesAt4095Bytes, ignoresServices, ignoresGroups
  case joinsParts, joinsPartsWithDots, findsNamespacesByPrefix, listsComposedNames
  // Changes
  case keepsTheFirstValue, removesByPrefix, ignoresRemovals, failsToRemoveAbsent, staysRemoved
  case containsForGood, failsEmptyLists, removesFirst, putsFirst, keepsTheFirstOfAList
  case makesSixteenChanges, refusesTheLongestList, showsPartsOfLists
  // Keys
  case listsInNoOrder, listsNamespacesInNoOrder, listsAllNamespaces, listsTwice, listsRemoved
  case failsToListNothing
  // Kinds of calls
  case keepsTwoMemories
  // Streams
  case reportsNothing, reportsNoRemovals, reportsTheFirstOfAList, reportsOneListener,
    reportsTheNewest
  case reportsWhatDidNotChange, reportsOwnChanges, ignoresCancelledListeners, endsAllListeners
  case outlivesItsStore, reportsOtherNames
  // Exclusive access
  case excludesNobody, hasOneLock, keepsItsLock, neverWaits, runsAfterTheTimeout
  case failsInsteadOfTimingOut, waitsWhenCancelled, excludesOneKindOfCalls, excludesOneObject
  case stopsReads, letsItselfInAgain, refusesZeroTimeouts, runsTwice
  // Tasks
  case losesCancelledChanges, cutsCancelledLists, makesWhatItCallsCancelled, readsNilWhenCancelled
  case losesUpdates, mixesValues
  // Other objects
  case forgetsAll, forgetsRemovals, readsWhatItKnows
  // Locking
  case seemsEmptyWhenLocked, takesChangesWhenLocked, losesAllWhenLocked, reportsNoUnlocking
  // Errors and traits
  case showsValues, namesNoStore, saysNothingOfProtection
  // Migration
  case listsHalf, mixesUpValues, hasTheIdentityOfAll, hasTheIdentityOfTheObject

  var description: String { rawValue }
}
