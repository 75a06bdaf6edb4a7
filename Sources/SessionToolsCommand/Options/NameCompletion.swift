import Dispatch
import Foundation
import SealedStore
import SessionToolsBase
import Synchronization

/// The names of items and services that a shell offers.
///
/// They are sealed, so they are offered only where a key file opens the store: nothing is asked,
/// and no service is waited for. A shell waits for the answer, which is empty if it takes too long.
enum NameCompletion {
  private static let timeout = 0.2

  /// Offers the identifiers of the items.
  static let item: @Sendable ([String], Int, String) -> [String] = { words, _, _ in
    offer(of: CompletedLine(words)) { $0.map(\.identifier) }
  }

  /// Offers the services of the items.
  static let service: @Sendable ([String], Int, String) -> [String] = { words, _, _ in
    var line = CompletedLine(words)
    line.options["--service"] = nil
    return offer(of: line) { $0.map(\.namespace.service) }
  }

  /// Offers the identifiers of the items in the default store, and directories.
  static let storeOrItem: @Sendable ([String], Int, String) -> [String] = { words, _, prefix in
    var line = CompletedLine(words)
    line.words = []
    let directories = directories(with: prefix)
    // Enough of a path was typed to know that no item is meant.
    if prefix.contains("/") { return directories }
    return directories + offer(of: line) { $0.map(\.identifier) }
  }

  private static func offer(
    of line: CompletedLine, _ words: ([ItemName]) -> [String]
  ) -> [String] {
    let answer = Answer()
    Thread.detachNewThread {
      // A shell has no place for the reason why there are no names.
      let names = (try? names(on: line)) ?? []
      answer.names.withLock { $0 = names }
      answer.arrival.signal()
    }
    _ = answer.arrival.wait(timeout: .now() + timeout)
    return Set(words(answer.names.withLock { $0 })).filter(isSafe).sorted()
  }

  /// The names in a store, which another thread reads.
  private final class Answer: Sendable {
    let names = Mutex<[ItemName]>([])
    let arrival = DispatchSemaphore(value: 0)
  }

  private static func names(on line: CompletedLine) throws -> [ItemName] {
    let location = try line.store.map(StoreLocation.init) ?? Settings.store()
    guard case .sealed(let path) = location else { return [] }
    let file = line.options["--key-file"] ?? KeySearch.keyFileOfEnvironment
    let key: KeyFile
    if let file {
      key = KeyFile(file)
    } else {
      key = try KeyFile.standard(forStore: try SealedFileStore.identifier(at: path))
    }
    let store = try SealedFileStore.open(
      at: path, key: key, options: SealedFileStore.Options(lockTimeout: .seconds(timeout)))
    guard let service = line.options["--service"] else { return try store.names(in: nil) }
    return try store.names(in: nil).filter { $0.namespace.service == service }
  }

  /// Returns whether a shell takes a name as it is.
  ///
  /// Bash expands what `compgen -W` is given, commands included, and zsh splits at colons. A name
  /// in a store may come from anywhere.
  private static func isSafe(_ name: String) -> Bool {
    name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "._-+@/,%".utf8.contains(byte)
      }
    }
  }

  private static func directories(with prefix: String) -> [String] {
    let parent = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? ""
    let start = prefix.dropFirst(parent.count)
    return Files.names(in: parent.isEmpty ? "." : parent)
      .filter { $0.hasPrefix(start) && ($0.first != "." || start.first == ".") && isSafe($0) }
      .map { parent + $0 }
      .filter(Files.isDirectory)
      .map { $0 + "/" }
      .sorted()
  }
}

/// A command line that is being typed, read without errors.
private struct CompletedLine {
  /// The options of the commands for items that a value follows.
  private static let optionsWithValue: Set<String> = [
    "--store", "--service", "--group", "--install", "--identifier", "--key-file",
    "--passphrase-file", "--passphrase-fd", "--credential", "--key", "--timeout", "--length",
    "--alphabet", "--words", "--for", "--schema", "--password-file",
  ]

  var options: [String: String] = [:]
  /// The words that belong to no option, without the program and its command.
  var words: [String] = []

  /// Reads the words as the shell gives them.
  init(_ given: [String]) {
    var rest = given.dropFirst(2)
    while let word = rest.popFirst() {
      guard word.hasPrefix("--") else {
        words.append(word)
        continue
      }
      if let separator = word.firstIndex(of: "=") {
        options[String(word[..<separator])] = String(word[word.index(after: separator)...])
      } else if Self.optionsWithValue.contains(word), let value = rest.popFirst() {
        options[word] = value
      }
    }
  }

  /// The store that is named.
  ///
  /// While the line is incomplete, its first word may be a store or a name: it is taken for a store
  /// if it leads to one.
  var store: String? {
    // Completion stays silent about what is wrong.
    if let named = options["--store"] { return try? Settings.expandingHome(in: named) }
    let first = words.first.flatMap { try? Settings.expandingHome(in: $0) }
    return first.flatMap { StoreLocation.isStore($0) || Files.isDirectory($0) ? $0 : nil }
  }
}
