import SessionToolsBase
import ToolBase

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
