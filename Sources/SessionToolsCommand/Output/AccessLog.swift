import Foundation
import Glibc
import SessionToolsBase

/// The record of who read which item, where the settings ask for it: `audit = journald`, or the
/// path of a file.
///
/// It has no value of an item. What keeps it from being written, such as a full disk, is reported
/// and stops no read.
struct AccessLog: Sendable {
  private enum Target: Sendable {
    case journal
    case file(String)
  }

  /// What became of a read.
  enum Outcome {
    case read, absent
    case failed(any Error)

    fileprivate var text: String {
      switch self {
      case .read: "read"
      case .absent: "absent"
      case .failed(let error as StoreError): "failed: \(error.code)"
      case .failed: "failed"
      }
    }
  }

  private let target: Target
  private let command: String
  private let store: String

  /// Returns the record of the reads of a command; `nil` if the settings do not ask for one.
  ///
  /// - Throws: As `SettingsFile.read`, and a usage failure for a relative path: what cannot be
  ///   recorded as it should be is not read.
  init?(of command: String, store: StoreLocation) throws {
    let settings: SettingsFile
    do {
      settings = try SettingsFile.read()
    } catch let error as StoreError where error.code == .unavailable {
      // A user without a home has no settings.
      return nil
    }
    guard let setting = settings.audit else { return nil }
    if setting.value == "journald" {
      target = .journal
    } else {
      let path = try Settings.expandingHome(in: setting.value)
      guard path.hasPrefix("/") else {
        throw Failure(
          .usage,
          "\(SettingsFile.shownPath), line \(setting.line): audit is journald, or an absolute path "
            + "of a file, or one that begins with ~/")
      }
      target = .file(path)
    }
    self.command = command
    self.store = "\(store.absolute)"
  }

  /// Records a read by a process.
  ///
  /// - Parameters:
  ///   - item: The item.
  ///   - outcome: What became of it.
  ///   - process: The process that gets the value.
  ///   - unit: Its unit of systemd, if another program has named it.
  func note(
    _ item: ItemName, _ outcome: Outcome, process: Int32 = getppid(), unit: String? = nil
  ) {
    let entry = Entry(
      command: command, executable: Self.executable(of: process), item: ItemOutput(item),
      outcome: outcome.text, process: process, store: store, time: Date.now.formatted(.iso8601),
      unit: unit ?? Self.unit(of: process))
    do {
      let line = try JSONOption.text(of: entry)
      switch target {
      case .journal: try Self.sendToJournal(line, entry, item)
      case .file(let path): try Self.append(line + "\n", to: path)
      }
    } catch {
      // What repairs a store is no advice for this file.
      StandardError.complain(
        "the read of an item could not be recorded: \(error.store): \(error.reason). Repair that, "
          + "or change the line audit in \(SettingsFile.shownPath)")
    }
  }

  private struct Entry: Encodable {
    let command: String
    @Nullable var executable: String?
    let item: ItemOutput
    let outcome: String
    let process: Int32
    let store: String
    let time: String
    @Nullable var unit: String?
  }

  private static func executable(of process: Int32) -> String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
  }

  /// The last part of the process's control group that is a unit (systemd's Control Group APIs).
  private static func unit(of process: Int32) -> String? {
    guard let text = FileManager.default.contents(atPath: "/proc/\(process)/cgroup") else {
      return nil
    }
    return String(decoding: text, as: UTF8.self).split(whereSeparator: { "/\n".contains($0) })
      .last { $0.hasSuffix(".service") || $0.hasSuffix(".scope") }.map(String.init)
  }

  private static func append(_ line: String, to path: String) throws(StoreError) {
    // Without waiting for a reader, where someone put a pipe.
    let flags =
      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
    let descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else { throw StoreError(SystemCallError("open", errno), path: path) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw StoreError(SystemCallError("fstat", errno), path: path)
    }
    guard [S_IFREG, S_IFCHR].contains(status.st_mode & S_IFMT) else {
      throw StoreError(.io, store: path, reason: "this is no file")
    }
    // In one call, so that the lines of several processes do not mix.
    var done = 0
    do throws(SystemCallError) {
      try System.write(line, to: descriptor, done: &done)
    } catch {
      // Half a line would spoil the next one. No lock is taken, which others could hold for ever.
      let end = lseek(descriptor, 0, SEEK_CUR)
      if done > 0, unsafe fstat(descriptor, &status) == 0, status.st_size == end {
        _ = ftruncate(descriptor, end - done)
      }
      throw StoreError(error, path: path)
    }
  }

  /// Sends an entry to systemd's journal.
  ///
  /// Source: systemd's Native Journal Protocol. No value has a newline in it.
  private static func sendToJournal(
    _ line: String, _ entry: Entry, _ item: ItemName
  ) throws(StoreError) {
    let fields = [
      "MESSAGE=\(entry.outcome): \(item), for \(entry.executable ?? "process \(entry.process)")",
      "PRIORITY=6", "SYSLOG_IDENTIFIER=session-tools", "SESSION_TOOLS_ACCESS=\(line)",
      "SESSION_TOOLS_OUTCOME=\(entry.outcome)", "SESSION_TOOLS_PROCESS=\(entry.process)",
      "SESSION_TOOLS_UNIT=\(entry.unit ?? "")",
    ]
    let message = fields.map { $0.escapingControls() + "\n" }.joined()
    let path = "/run/systemd/journal/socket"
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw StoreError(SystemCallError("socket", errno), path: path) }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { memory in
      unsafe memory.copyBytes(from: Array(path.utf8.prefix(capacity - 1)))
    }
    let bytes = Array(message.utf8)
    let sent = unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe sendto(
          descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL),
          address,
          socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard sent == bytes.count else {
      throw StoreError(SystemCallError("sendto", errno), path: path)
    }
  }
}

extension ItemStore {
  /// Reads an item for another program, and records that where the settings ask for it.
  ///
  /// - Parameters:
  ///   - name: The item.
  ///   - command: The command that reads it.
  ///   - process: The process that gets the value; by default the one that has started this one.
  ///   - unit: Its unit of systemd, if another program has named it.
  /// - Returns: The value; `nil` if there is no such item.
  /// - Throws: As `SecretStore.value(for:)` and `AccessLog`.
  func value(
    for name: ItemName, as command: String, process: Int32 = getppid(), unit: String? = nil
  ) throws -> SecretBytes? {
    let log = try AccessLog(of: command, store: location)
    do {
      let value = try store.value(for: name)
      log?.note(name, value == nil ? .absent : .read, process: process, unit: unit)
      return value
    } catch {
      log?.note(name, .failed(error), process: process, unit: unit)
      throw error
    }
  }
}
