import Foundation
import Glibc

/// What keeps this process from a path: the last part of it that can be seen.
///
/// That is a directory that it may not pass, or in which it may make nothing, or the file itself.
struct Obstacle {
  let path: String
  /// What follows it in the path, which cannot be seen; `nil` if the path ends with it.
  private let next: String?
  private let owner: UInt32
  private let mode: UInt32
  private let wholePath: String
  /// The variable that leads there.
  private let variable: String?

  /// Finds it; `nil` if nothing of the path can be seen.
  init?(on path: String) {
    var (seen, next, found) = ("", String?.none, stat())
    for part in Self.parts(of: path) {
      var status = stat()
      // Links are followed, as the call that failed followed them.
      guard unsafe stat(part, &status) == 0 else {
        next = part
        break
      }
      (seen, found) = (part, status)
    }
    guard !seen.isEmpty else { return nil }
    self.path = seen
    self.next = next
    owner = found.st_uid
    mode = found.st_mode
    wholePath = path
    variable = Self.variable(to: path)
  }

  /// Returns the variable that leads to a path, if one does.
  static func variable(to path: String) -> String? {
    let environment = ProcessInfo.processInfo.environment
    return ["XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"]
      .first { name in
        guard let place = environment[name], place.hasPrefix("/") else { return false }
        return name == "HOME" ? isDefault(path, inHome: place) : isWithin(path, place)
      }
  }

  /// Whether a path is below what ``UserDirectory`` takes by default in a home directory: any other
  /// path there was chosen by someone.
  private static func isDefault(_ path: String, inHome home: String) -> Bool {
    let home = home.hasSuffix("/") ? String(home.dropLast()) : home
    return [".config", ".local"].contains { isWithin(path, "\(home)/\($0)") }
  }

  private static func isWithin(_ path: String, _ place: String) -> Bool {
    path == place || path.hasPrefix(place.hasSuffix("/") ? place : "\(place)/")
  }

  /// Whether the user database leads there, because no variable does.
  private var isInHome: Bool {
    guard ProcessInfo.processInfo.environment["HOME"]?.hasPrefix("/") != true,
      // What cannot be found out does not lead anywhere.
      let home = try? CurrentProcess.home(ofUser: CurrentProcess.user)
    else { return false }
    return Self.isDefault(wholePath, inHome: home)
  }

  /// The path from its beginning: `/`, `/home`, `/home/ada`.
  private static func parts(of path: String) -> [String] {
    var part = path.hasPrefix("/") ? "/" : "."
    return [part]
      + path.split(separator: "/").map { name in
        part += (part.hasSuffix("/") ? "" : "/") + name
        return part
      }
  }

  /// Whether it belongs to neither this user nor root.
  var isAnotherUsers: Bool {
    owner != CurrentProcess.user && owner != 0 && CurrentProcess.isKnown(user: owner)
  }

  /// The error for what is not made in another user's place.
  func refusal(toMake path: String) -> StoreError {
    StoreError(
      .unsafePermissions, store: path,
      reason: "it would be in another user's place, so it was not made",
      remedy: remedy)
  }

  /// What to do about it, for people.
  var remedy: String {
    guard owner == CurrentProcess.user else {
      if isSudos {
        return "\(path) belongs to \(ownerName)\(leads): run without sudo, or with sudo -H"
      }
      // No one is sent to root for this.
      let user = owner == 0 || !CurrentProcess.isKnown(user: owner) ? "" : "run as that user, or "
      return "\(path) belongs to \(ownerName)\(leads): \(user)\(otherPlace)"
    }
    let needed: UInt32 = mode & S_IFMT == S_IFDIR ? 0o700 : 0o600
    guard mode & needed == needed else {
      return "Run chmod u+rwX \(path.shellQuoted)"
    }
    return "\(path) is your own, and its mode allows it: find out what else forbids it, such as "
      + "AppArmor, SELinux or a sandbox"
  }

  /// What to do about a file, or a link to nothing, where the path needs a directory; `nil` if
  /// it has no such part.
  var remedyForMissingDirectory: String? {
    guard let next else { return nil }
    if mode & S_IFMT != S_IFDIR {
      return "\(path) is not a directory\(leads): move it away, or \(otherPlace)"
    }
    var link = stat()
    guard unsafe lstat(next, &link) == 0, link.st_mode & S_IFMT == S_IFLNK else { return nil }
    return "\(next) is a link to what is not there\(leads): make its target, or \(otherPlace)"
  }

  /// What to do where neither the owner nor the mode is in the way, but the call is not permitted.
  var remedyForProtection: String {
    "Check the owner of \(path), and whether it may be changed: lsattr -d \(path.shellQuoted)"
  }

  private var leads: String { variable.map { ", and \($0) leads there" } ?? "" }

  private var otherPlace: String {
    guard let variable else {
      return isInHome ? "set HOME to a directory of your own" : "choose another place"
    }
    return "set \(variable) to a directory of your own"
      + (variable == "HOME" ? "" : ", or unset it")
  }

  private var ownerName: String {
    // One number stands for all of them.
    guard CurrentProcess.isKnown(user: owner) else { return "a user from outside this container" }
    return CurrentProcess.name(ofUser: owner) ?? "user \(owner)"
  }

  /// Whether it belongs to the user who ran sudo, which kept a variable that leads there.
  private var isSudos: Bool {
    variable != nil && CurrentProcess.user == 0
      && ProcessInfo.processInfo.environment["SUDO_UID"].flatMap(UInt32.init) == owner
  }
}
