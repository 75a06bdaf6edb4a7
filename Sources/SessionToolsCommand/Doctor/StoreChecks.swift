import Foundation
import SealedStore
import SessionTools
import SessionToolsBase

/// The checks of one store, with its key or without.
struct StoreChecks {
  let path: String
  let key: KeyOptions<OnlyStore>
  let interaction: InteractionOptions

  func all() -> [Check] {
    let slots: [KeySlot]
    do throws(StoreError) {
      slots = try SealedFileStore.keySlots(at: path)
      let identifier = try SealedFileStore.identifier(at: path)
      return [.ok("store", "\(path), identifier \(identifier)")] + checks(slots: slots)
    } catch {
      return [.problem("store", error)] + [FileSystemCheck.check(path)].compactMap(\.self)
    }
  }

  private func checks(slots: [KeySlot]) -> [Check] {
    let service = slots.lazy.compactMap(\.serviceKey).first.map { key in
      ServiceChecks(key.collection, isNeeded: true).all()
    }
    let opensWith = SlotChecks.check(
      slots, adding: "session-tools slots add \(path.shellQuoted)")
    return [permissions, FileSystemCheck.check(path), writerLock, leftovers, opensWith]
      .compactMap(\.self) + (service ?? []) + checksWithKey()
  }

  // MARK: - Without the key

  private var permissions: Check {
    let fileSystem = LinuxFileSystem()
    for name in Files.names(in: path).sorted() {
      let file = "\(path)/\(name)"
      // A file that cannot be examined is reported when the store is opened.
      guard let found = try? fileSystem.status(of: file, in: .workingDirectory) else { continue }
      do throws(StoreError) {
        try AccessRule.soleFile.check(found, path: file, within: path)
      } catch {
        return .problem("permissions", error)
      }
    }
    if let parent = ExposedParent(above: path, fileSystem: fileSystem) {
      return .problem(
        "permissions", "another store can be put in its place, because \(parent.reason)",
        remedy: parent.remedy, .unsafePermissions)
    }
    return .ok("permissions", "no other user may read, write or replace it")
  }

  /// The check of the writer's lock, byte 0 of the file `lock`, which a writer holds for
  /// milliseconds.
  private var writerLock: Check? {
    guard Files.names(in: path).contains(LockFile.name) else { return nil }
    do throws(StoreError) {
      let directory = try PrivateDirectory(path, fileSystem: LinuxFileSystem())
      try LockFile(directory).lock(byte: LockFile.writerByte, timeout: .seconds(2)).unlock()
      return .ok("lock", "free")
    } catch {
      guard error.code == .timedOut else { return nil }
      return .problem(
        "lock", "another process has held it for more than 2 seconds",
        remedy: "fuser -v \("\(path)/\(LockFile.name)".shellQuoted)", .unavailable)
    }
  }

  private var leftovers: Check {
    let found = Files.names(in: path).filter { $0.hasPrefix("damaged-") }
    guard !found.isEmpty else { return .ok("left-overs", "none") }
    let files = found.sorted().map { "\(path)/\($0)".shellQuoted }
    // Whether a repair lost anything is known only to who ran it.
    return .note(
      "left-overs",
      "\(Size.count(found.count, "file")) from before a repair: the only copy of what the repair "
        + "could not open",
      remedy: "Keep it; once nothing is missed, rm "
        + files.joined(separator: " "))
  }

  // MARK: - With the key

  private func checksWithKey() -> [Check] {
    let opened: (open: OpenStore<SealedFileStore>, key: any KeySource)
    do {
      opened = try KeyFinder(
        path: path, argument: key.argument, interaction: interaction
      ).open(SealedFileStore.Options(lockTimeout: .seconds(2)))
    } catch {
      return [.problem("key", error)]
    }
    let store = opened.open.store
    return [keyPlace(of: opened.open), fingerprint(of: store)] + contents(of: store)
      + [MigrationCheck.check(store, path, opened.key)].compactMap(\.self)
  }

  private func keyPlace(of open: OpenStore<SealedFileStore>) -> Check {
    if let place = open.keyPlace, Files.isPath(place, in: path) {
      return .problem(
        "key", "\(open.keyName) is in the store's own directory, where it protects nothing",
        remedy: "mv \(place.shellQuoted) DIRECTORY, one that is not backed up with the store")
    }
    return .ok("key", "\(open.keyName) opens it")
  }

  private func fingerprint(of store: SealedFileStore) -> Check {
    do throws(StoreError) {
      return .ok("fingerprint", try store.fingerprint().text)
    } catch {
      return .problem("fingerprint", error)
    }
  }

  private func contents(of store: SealedFileStore) -> [Check] {
    let report: VerificationReport
    do throws(StoreError) {
      report = try ProgressLine.during("verifying") { progress throws(StoreError) in
        try store.verify(progress: progress)
      }
    } catch {
      return [.problem("contents", error)]
    }
    let findings = report.findings.filter { $0.part != .files }
    guard findings.isEmpty else {
      return findings.map { finding in
        finding.isDamage
          ? .problem(
            finding.part.name, finding.description,
            remedy: report.isRepairable
              ? "cp -a \(path.shellQuoted) \("\(path).copy".shellQuoted) && "
                + key.command("repair", path)
              : "Put the store's directory back from a backup", .damaged)
          : .note(finding.part.name, finding.description)
      } + [journal(report)]
    }
    return [.ok("contents", "\(Size.count(report.itemCount, "item")), every record opens")]
      + [journal(report)]
  }

  private func journal(_ report: VerificationReport) -> Check {
    let live = report.liveByteCount
    let dead = max(0, report.journalByteCount - live)
    let finding = "\(Size.text(report.journalByteCount)), \(Size.text(live)) in use"
    // A store compacts itself when more than half is unused; this is for those who want it sooner.
    guard dead > 1 << 20, dead > live / 2 else { return .ok("journal size", finding) }
    return .note(
      "journal size", finding, remedy: key.command("compact", path))
  }
}

extension Check {
  /// Returns a failed check for an error.
  static func problem(_ name: String, _ error: any Error) -> Check {
    switch error {
    case let error as StoreError:
      .problem(
        name, "\(error.store): \(error.reason)",
        remedy: error.isForLackOfRights ? nil : Remedy.typed(error).remedy, ExitStatus(error.code))
    case let failure as Failure: .problem(name, failure.message, remedy: nil, failure.status)
    default: .problem(name, "\(error)", remedy: nil)
    }
  }
}

/// The check of a store's file system: its durability, locks and permissions.
enum FileSystemCheck {
  /// The types of file systems, as in linux/magic.h and the file systems' own sources.
  private static let names: [UInt32: String] = [
    0xEF53: "ext4", 0x5846_5342: "XFS", 0x9123_683E: "Btrfs", 0x2FC1_2FC1: "ZFS",
    0xF2F5_2010: "F2FS", 0x794C_7630: "overlay", 0xCA45_1A4E: "bcachefs",
    0x0102_1994: "tmpfs", 0x8584_58F6: "ramfs",
    0x6969: "NFS", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x517B: "SMB", 0x0102_1997: "9P",
    0x00C3_6400: "Ceph", 0x6573_5546: "FUSE", 0x4D44: "FAT", 0x2011_BAB0: "exFAT",
    0x7366_746E: "NTFS",
  ]
  private static let volatile: Set<UInt32> = [0x0102_1994, 0x8584_58F6]
  private static let unowned: Set<UInt32> = [0x4D44, 0x2011_BAB0, 0x7366_746E]

  static func check(_ path: String) -> Check? {
    guard let type = FileSystemType.of(path) else { return nil }
    let name = names[type] ?? "of type 0x\(String(type, radix: 16))"
    if FileSystemType.isReadOnly(path) {
      return .note("file system", "\(name), mounted read-only: the store can be read, not changed")
    }
    if volatile.contains(type) {
      return .note("file system", "\(name): its contents are lost at a restart")
    }
    if FileSystemType.remote.contains(type) {
      return .note(
        "file system", "\(name): durability, and locks across machines, depend on the server")
    }
    if unowned.contains(type) {
      return .note("file system", "\(name): has no file permissions of its own")
    }
    return .ok("file system", name)
  }
}
