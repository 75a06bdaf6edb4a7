import Foundation
import Glibc

/// The system's knowledge of users and groups.
extension CurrentProcess {
  /// Returns whether a group is the user's own and has no other members.
  ///
  /// Most distributions give every user such a group, and some a mask that lets it write: that lets
  /// in no one else.
  package static func isAlone(inGroup group: UInt32) -> Bool {
    guard let account = try? account(ofUser: user), account.group == group else { return false }
    return members(ofGroup: group, named: account.name)?.allSatisfy { $0 == account.name } ?? false
  }

  /// Returns a group's members; `nil` when the group has another name, or is unknown.
  private static func members(ofGroup group: UInt32, named name: String) -> [String]? {
    var buffer = [CChar](repeating: 0, count: 1 << 16)
    var entry = unsafe Glibc.group()
    var found: UnsafeMutablePointer<Glibc.group>?
    guard unsafe getgrgid_r(group, &entry, &buffer, buffer.count, &found) == 0,
      unsafe found != nil, unsafe String(cString: entry.gr_name) == name
    else { return nil }
    var members: [String] = []
    var next = unsafe entry.gr_mem
    while let member = unsafe next?.pointee {
      unsafe members.append(String(cString: member))
      unsafe next = next?.successor()
    }
    return members
  }

  /// Returns the identifier of a user; `nil` when no user has that name.
  package static func user(named name: String) -> UInt32? {
    var memory = [CChar](repeating: 0, count: 1 << 16)
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    let status = unsafe getpwnam_r(name, &entry, &memory, memory.count, &found)
    return unsafe status == 0 && found != nil ? entry.pw_uid : nil
  }

  /// Returns the home directory of a user; `nil` when the user database has no such user.
  ///
  /// - Throws: The error of a database that cannot be asked.
  static func home(ofUser user: UInt32) throws(SystemCallError) -> String? {
    try account(ofUser: user)?.home
  }

  /// Returns the name of a user; `nil` when the user database has none.
  package static func name(ofUser user: UInt32) -> String? { try? account(ofUser: user)?.name }

  private struct Account {
    let name: String
    let home: String
    let group: UInt32
  }

  private static func account(ofUser user: UInt32) throws(SystemCallError) -> Account? {
    var byteCount = 1 << 12
    while true {
      var memory = [CChar](repeating: 0, count: byteCount)
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      let status = unsafe getpwuid_r(user, &entry, &memory, memory.count, &found)
      // A directory service may have long entries.
      if status == ERANGE, byteCount < 1 << 24 {
        byteCount *= 4
        continue
      }
      // getpwuid_r(3) lists these for a user that is not found.
      guard status == 0 || [ENOENT, ESRCH, EBADF, EPERM].contains(status) else {
        throw SystemCallError("getpwuid_r", status)
      }
      guard unsafe status == 0 && found != nil else { return nil }
      // The entry's texts are in it.
      defer { withExtendedLifetime(memory) {} }
      return unsafe Account(
        name: String(cString: entry.pw_name), home: String(cString: entry.pw_dir),
        group: entry.pw_gid)
    }
  }

  /// Returns whether the kernel shows this process the real identifier of a user.
  ///
  /// In a sandbox (Flatpak, an unprivileged container) every user without a mapped identifier is
  /// shown as 65534, including root.
  package static func isKnown(user: UInt32) -> Bool {
    guard user == 65534 else { return true }
    guard let map = try? String(contentsOfFile: "/proc/self/uid_map", encoding: .utf8) else {
      return false
    }
    return isMapped(user: user, by: map)
  }

  /// Returns whether a process with some `uid_map` has an identifier for a user.
  package static func isMapped(user: UInt32, by map: String) -> Bool {
    // Each line: the first identifier here, the first identifier outside, and how many.
    map.split(separator: "\n").contains { line in
      let numbers = line.split(separator: " ").compactMap { UInt64($0) }
      guard numbers.count == 3 else { return false }
      return numbers[0] <= UInt64(user) && UInt64(user) - numbers[0] < numbers[2]
    }
  }
}
