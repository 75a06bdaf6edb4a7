extension Defect {
  /// The defects that fail these checks, and perhaps others.
  static let broadFailures: [Defect: Set<String>] = [
    .addsNewlines: [
      "a short text comes back"
    ],
    .givesEmptyForAbsent: [
      "an absent item reads as nil"
    ],
    .makesWhatIsRead: [
      "reading an absent item does not create it"
    ],
    .removesWhatIsRead: [
      "reading an item leaves it as it is"
    ],
    .ignoresServices: [
      "one identifier in several services is several items"
    ],
    .keepsTheFirstValue: [
      "a put is reported",
      "a value replaces an older one",
    ],
    .ignoresRemovals: [
      "a removed item is absent",
      "another object does not find what was removed",
      "contains reports whether an item is there",
    ],
    .staysRemoved: [
      "an item can be put again after it was removed"
    ],
    .showsPartsOfLists: [
      "lists that are made at the same time do not mix",
      "no reader sees a part of a list",
    ],
    .listsInNoOrder: [
      "all names are listed in ascending order",
      "the names of one namespace are listed in ascending order",
    ],
    .listsTwice: [
      "a name is listed once, however often it was put"
    ],
    .listsRemoved: [
      "a removed name is not listed",
      "removing an absent item is not an error and changes nothing",
    ],
    .failsToListNothing: [
      "an empty store lists no names"
    ],
    .keepsTwoMemories: [
      "eight tasks that make both kinds of calls lose nothing",
      "one kind of calls reads what the other puts",
      "one kind of calls does not find what the other removes",
    ],
    .reportsNothing: [
      "a listener that reads late misses nothing",
      "a put is reported",
      "a removal is reported",
      "a stream of some names has their changes and no others",
      "a stream ends when its task is cancelled",
      "every item that a list changes is reported",
      "every listener is notified",
      "only changes are reported",
      "other listeners are notified after one was cancelled",
      "changes by another object are reported",
    ],
    .losesUpdates: [
      "eight tasks that change a store lose nothing",
      "eight tasks that make both kinds of calls lose nothing",
      "two objects that change the data at the same time lose nothing",
    ],
    .mixesValues: [
      "one of several values put at the same time stays complete"
    ],
    .forgetsAll: [
      "an object reads what another changes",
      "another object finds what was put",
      "two objects that change the data at the same time lose nothing",
      "changes by another object are reported",
    ],
    .readsWhatItKnows: [
      "an object reads what another changes"
    ],
  ]
}
