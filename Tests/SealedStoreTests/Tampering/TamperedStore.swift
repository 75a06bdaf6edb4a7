import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Testing

/// A small store with records of every kind, and the right answers of a reader.
///
/// If its files are changed without a key, every answer must still be right or an error.
struct TamperedStore {
  let scratch: Scratch
  let files: RecordedDisk.Content
  /// The right values of the items; `nil` for absent items.
  let truth: [String: String?]

  init() throws {
    scratch = try Scratch()
    let store = try scratch.create()
    try store.put("first of a", as: "a")
    try store.apply([
      .put(secret("b in a change"), for: name("b")), .put(secret("c in a change"), for: name("c")),
    ])
    try store.put("second of a", as: "a")
    try store.remove(name("c"))
    try store.put(String(repeating: "d", count: 300), as: "d")
    try store.apply([
      .put(secret("e"), for: name("e")), .remove(name("b")),
      .put(secret("b again"), for: name("b")),
    ])
    files = try RecordedDisk.read(scratch.path)
    truth = [
      "a": "second of a", "b": "b again", "c": nil, "d": String(repeating: "d", count: 300),
      "e": "e", "never": nil,
    ]
  }

  func restore(_ name: String) throws {
    try scratch.overwrite(name, with: files[name] ?? [])
  }

  /// Restores all files, and removes the files that a repair left.
  func restoreAll() throws {
    for name in try scratch.names() where files[name] == nil {
      try FileManager.default.removeItem(atPath: scratch.file(name))
    }
    for name in ["header", "header.copy", "mark", "journal"] { try restore(name) }
  }

  /// Returns a wrong answer of a store, or `nil` if every answer is right or an error.
  func wrongAnswer(of store: SealedFileStore) -> String? {
    for (identifier, value) in truth {
      do throws(StoreError) {
        let answer = try store.text(identifier)
        if answer != value { return "\(identifier) is \(answer ?? "absent")" }
      } catch {
        if error.code != .corrupt { return "\(identifier): \(error)" }
      }
      do throws(StoreError) {
        if try store.contains(name(identifier)) != (value != nil) {
          return "\(identifier) is wrongly reported as present or absent"
        }
      } catch {
        if error.code != .corrupt { return "\(identifier): \(error)" }
      }
    }
    do throws(StoreError) {
      let names = try store.names(in: nil).map(\.identifier)
      if names != ["a", "b", "d", "e"] { return "listed are \(names)" }
    } catch {
      if error.code != .corrupt { return "listing: \(error)" }
    }
    return nil
  }

  /// Opens the store again and verifies it.
  ///
  /// - Parameter isDetected: Whether `verify` must report a finding.
  /// - Returns: The problem, or `nil`.
  func wrongAnswer(isDetected: Bool = true) -> String? {
    let store: SealedFileStore
    do throws(StoreError) {
      store = try scratch.open()
    } catch {
      let allowed = [StoreError.corrupt, StoreError.wrongKey, StoreError.unsupportedVersion]
      return allowed.contains(error.code) ? nil : "opening: \(error)"
    }
    if let wrong = wrongAnswer(of: store) { return wrong }
    do throws(StoreError) {
      let report = try store.verify()
      if isDetected, report.findings.isEmpty { return "verify finds nothing" }
    } catch {
      return error.code == .corrupt ? nil : "verifying: \(error)"
    }
    return nil
  }
}
