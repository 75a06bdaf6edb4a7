import Foundation
import SecretStores

/// The stores that gopass knows: its root, and others that it shows below names in it.
///
/// Their files are those of `pass`. gopass keeps the list in its own configuration, in the format
/// of git's, and before version 1.15 in YAML.
package struct GopassStores {
  /// The path of its root; `nil` if the configuration names none.
  package private(set) var root: String?
  /// The paths of the stores that it mounts, by their names.
  package private(set) var mounts: [String: String] = [:]

  /// Returns what to do where there is no directory of `pass`.
  static var remedyForMissingStore: String {
    let remedy = "Give its path, or set PASSWORD_STORE_DIR"
    let environment = ProcessInfo.processInfo.environment
    let data = environment["XDG_DATA_HOME"] ?? home.map { "\($0)/.local/share" }
    let candidates = [configured.root, data.map { "\($0)/gopass/stores/root" }].compactMap(\.self)
    guard let root = candidates.first(where: FileManager.default.fileExists(atPath:)) else {
      return remedy
    }
    return "\(remedy); gopass has a store here: pass:\(root)"
  }

  /// Returns the mounts of a root, as omissions: they are no part of its directory.
  static func mounts(in path: String) -> [Omission] {
    let stores = configured
    guard let root = stores.root, root.withoutLinks == path else { return [] }
    return stores.mounts.sorted { $0.key < $1.key }.compactMap { name, mount in
      let place = "\(path)/\(name)"
      // A link is followed, so that its entries have the names that gopass shows.
      guard place.withoutLinks != mount.withoutLinks else { return nil }
      let isTaken = FileManager.default.fileExists(atPath: place)
      return Omission(
        name,
        reason: isTaken
          ? "gopass mounts another store over this; migrate it by itself: "
            + "pass:\(mount)".shellQuoted
          : "gopass mounts another store here; to migrate it under this name, link it: "
            + "ln -sT \(mount.shellQuoted) \(place.shellQuoted)")
    }
  }

  private static var home: String? {
    // Without one, gopass has no configuration either.
    try? UserDirectory.home()
  }

  private static var configured: GopassStores {
    let environment = ProcessInfo.processInfo.environment
    let directory =
      environment["GOPASS_HOMEDIR"].map { "\($0)/.config" } ?? environment["XDG_CONFIG_HOME"]
      ?? home.map { "\($0)/.config" }
    guard let directory else { return GopassStores() }
    // A configuration that cannot be read is as good as none: it only adds to what is reported.
    if let text = try? String(contentsOfFile: "\(directory)/gopass/config", encoding: .utf8) {
      return GopassStores(configuration: text)
    }
    if let text = try? String(contentsOfFile: "\(directory)/gopass/config.yml", encoding: .utf8) {
      return GopassStores(yaml: text)
    }
    return GopassStores()
  }

  private init() {}

  /// Reads the configuration of version 1.15 and later.
  package init(configuration text: String) {
    var section: String?
    var name: String?
    for line in text.split(separator: "\n").map(\.trimmed) {
      if line.hasPrefix("["), line.hasSuffix("]") {
        let parts = line.dropFirst().dropLast().split(separator: " ", maxSplits: 1)
        section = parts.first.map(String.init)
        name = parts.count > 1 ? parts[1].unquoted : nil
      } else if section == "mounts", let (key, value) = line.pair("="), key == "path" {
        if let name { mounts[name] = value } else { root = value }
      }
    }
  }

  /// Reads the configuration of earlier versions: `path: ROOT`, and below `mounts:`, `NAME: PATH`.
  package init(yaml text: String) {
    var isInMounts = false
    for line in text.split(separator: "\n") {
      let isNested = line.hasPrefix(" ")
      guard let (key, value) = String(line).trimmed.pair(":") else { continue }
      if !isNested { isInMounts = key == "mounts" }
      if isNested, isInMounts { mounts[key] = value.withoutScheme }
      // A version nested the root's own settings below `root:`.
      if key == "path", !isInMounts { root = root ?? value.withoutScheme }
    }
  }
}

extension StringProtocol {
  fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }

  /// The text without quotes around it.
  fileprivate var unquoted: String {
    let text = trimmed
    return text.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"")
      ? String(text.dropFirst().dropLast()) : text
  }

  /// The two parts of the text around the first separator.
  fileprivate func pair(_ separator: Character) -> (String, String)? {
    guard let end = firstIndex(of: separator) else { return nil }
    return (self[..<end].trimmed.unquoted, self[index(after: end)...].unquoted)
  }

  /// A path without what older versions of gopass put before it, such as `gpgcli-gitcli-fs+file://`.
  fileprivate var withoutScheme: String {
    guard let range = range(of: "file://") else { return String(self) }
    return String(self[range.upperBound...])
  }
}
