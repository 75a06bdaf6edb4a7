import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// `old-stores DIRECTORY`: writes small stores of every kind, for later versions to read, and
/// beside each a text with its keys and items.
///
/// `Tests/Data/OldStores/README.md` says when to run this, and what the text means.
func makeOldStores() throws {
  let makers: [(name: String, make: (inout OldStore) throws -> Void)] = [
    ("empty", { _ in }),
    ("values", makeValues),
    ("every-slot", makeSlots),
    ("sealed-to-others", makeSealedToOthers),
    ("removed-items", makeRemovals),
    ("changes-of-several", makeChanges),
    ("compacted", makeCompacted),
    ("rotated", makeRotated),
    ("revoked", makeRevoked),
    ("unfinished-tail", { try makeUnfinished(&$0) { Array($0.dropLast(100)) } }),
    ("unfinished-in-reserve", { try makeUnfinished(&$0, makeTorn) }),
    ("unmarked", makeUnmarked),
    ("compacted-unmarked", makeCompactedUnmarked),
    ("pending-rotation", { try makePending(&$0, isRevocation: false) }),
    ("pending-rotation-unmarked", { try makePending(&$0, isRevocation: false, isMarked: false) }),
    ("pending-revocation", { try makePending(&$0, isRevocation: true) }),
  ]
  try FileManager.default.createDirectory(
    atPath: argument(1), withIntermediateDirectories: true)
  for (name, make) in makers {
    var store = try OldStore(argument(1) + "/" + name)
    try make(&store)
    try store.writeText()
    say(name)
  }
}

private func makeValues(_ old: inout OldStore) throws {
  let group = try StoreNamespace(service: "com.example.mail", accessGroup: "com.example.shared")
  let install = try StoreNamespace(
    service: "com.example.mail", accessGroup: "com.example.shared",
    install: InstallIdentifier(rawValue: "9b0f6c1e-8a52-4d0e-9a57-1f1f3c1f6d10"))
  try old.put("plain", "a value")
  try old.put("empty", "")
  try old.put("long", String(repeating: "0123456789", count: 400))
  try old.put("Zoë ✉︎", "ünïcode")
  try old.apply([.put(SecretBytes(utf8: "of a group"), for: ItemName("plain", in: group))])
  try old.apply([.put(SecretBytes([0, 255, 10, 13]), for: ItemName("plain", in: install))])
}

private func makeSlots(_ old: inout OldStore) throws {
  try old.put("before", "the slots")
  try old.addPassphrase("pässphrase of an old store")
  try old.addNamedKey("keyring://old/store")
  // A slot that is removed again, so that the numbers of the others change.
  let slot = try old.store.addSlot(RawKey(RawKey.random(), label: "removed"))
  try old.addNamedKey("keyring://old/second")
  try old.store.removeSlot(slot.number)
  try old.put("after", "the slots")
}

private func makeSealedToOthers(_ old: inout OldStore) throws {
  try old.put("before", "the slots")
  try old.addRecipient(label: "recovery")
  try old.addSecurityKey(label: "Ada's")
  try old.put("after", "the slots")
}

private func makeRemovals(_ old: inout OldStore) throws {
  for name in ["a", "b", "c", "d"] { try old.put(name, "first of \(name)") }
  try old.remove("b")
  try old.remove("c")
  try old.put("b", "back")
  try old.put("d", "second of d")
  try old.remove("a")
}

private func makeChanges(_ old: inout OldStore) throws {
  try old.put("gone", "until the next change")
  try old.apply(
    (1...12).map { .put(SecretBytes(utf8: "value \($0)"), for: try old.name("item \($0)")) }
      + [.remove(try old.name("gone"))])
  try old.apply([
    .remove(try old.name("item 1")), .put(SecretBytes(utf8: "new"), for: try old.name("item 2")),
    .put(SecretBytes(utf8: "newer"), for: try old.name("item 2")),
    .remove(try old.name("item 3")),
  ])
}

private func makeCompacted(_ old: inout OldStore) throws {
  try makeRemovals(&old)
  try old.store.compact()
  try old.put("e", "behind the compaction")
}

private func makeRotated(_ old: inout OldStore) throws {
  try makeRemovals(&old)
  try old.addPassphrase("stays")
  try old.store.rotate()
  try old.put("e", "behind the rotation")
}

private func makeRevoked(_ old: inout OldStore) throws {
  try makeRemovals(&old)
  try old.store.addSlot(RawKey(RawKey.random(), label: "revoked"))
  try old.store.revoke(keeping: [old.rawKey]) { _ in true }
  try old.put("e", "behind the revocation")
}

/// Leaves the last change as a crash would have left it: unconfirmed.
private func makeUnfinished(
  _ old: inout OldStore, _ leave: (ArraySlice<UInt8>) -> [UInt8]
) throws {
  try makeChanges(&old)
  let before = try RecordedDisk.read(old.path)
  try old.store.apply([
    .put(SecretBytes(utf8: "unfinished"), for: old.name("item 4")),
    .put(SecretBytes(utf8: "unfinished"), for: old.name("item 5")),
  ])
  var after = try RecordedDisk.read(old.path)
  let confirmed = before["journal"] ?? []
  after["journal"] = confirmed + leave((after["journal"] ?? [])[confirmed.count...])
  after["mark"] = before["mark"]
  try old.replaceFiles(after)
}

/// Returns a change with a gap of zeros in the middle, followed by a reserve.
private func makeTorn(_ change: ArraySlice<UInt8>) -> [UInt8] {
  var change = Array(change)
  for place in change.count / 2 - 40..<change.count / 2 { change[place] = 0 }
  return change + [UInt8](repeating: 0, count: 1000)
}

/// Leaves the last change whole, with the mark of the change before it.
private func makeUnmarked(_ old: inout OldStore) throws {
  try makeRemovals(&old)
  let mark = try RecordedDisk.read(old.path)["mark"]
  try old.put("e", "behind the mark")
  var after = try RecordedDisk.read(old.path)
  after["mark"] = mark
  try old.replaceFiles(after)
}

/// Leaves the new journal with the mark of the old one.
private func makeCompactedUnmarked(_ old: inout OldStore) throws {
  try makeRemovals(&old)
  let mark = try RecordedDisk.read(old.path)["mark"]
  try old.store.compact()
  var after = try RecordedDisk.read(old.path)
  after["mark"] = mark
  try old.replaceFiles(after)
  old.findings = ["mark"]
}

/// Leaves the new journal with both of the old headers, and with the old mark unless `isMarked`.
private func makePending(
  _ old: inout OldStore, isRevocation: Bool, isMarked: Bool = true
) throws {
  try makeRemovals(&old)
  let before = try RecordedDisk.read(old.path)
  if isRevocation {
    try old.store.revoke(keeping: [old.rawKey]) { _ in true }
  } else {
    try old.store.rotate()
  }
  var after = try RecordedDisk.read(old.path)
  after["header.next"] = after["header"]
  after["header"] = before["header"]
  after["header.copy"] = before["header.copy"]
  if !isMarked { after["mark"] = before["mark"] }
  try old.replaceFiles(after)
  old.findings = ["rotation"] + (isMarked ? [] : ["mark"])
}
