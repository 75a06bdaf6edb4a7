import CSessionToolsLinux

/// The type of the file system that a path is on, as in statfs(2) and linux/magic.h.
package enum FileSystemType {
  /// FAT, exFAT, NTFS, CIFS and SMB, 9P (the drives of Windows in WSL), and FUSE, which may be any
  /// of them.
  private static let withoutModes: Set<UInt32> = [
    0x4D44, 0x2011_BAB0, 0x7366_746E, 0xFF53_4D42, 0xFE53_4D42, 0x517B, 0x0102_1997, 0x6573_5546,
  ]

  /// NFS, CIFS, SMB, 9P, Ceph, and FUSE, which may be any of them.
  package static let remote: Set<UInt32> = [
    0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x517B, 0x0102_1997, 0x00C3_6400, 0x6573_5546,
  ]

  /// Returns the type; `nil` if it is unknown.
  package static func of(_ path: String) -> UInt32? {
    var status = statfs()
    guard unsafe statfs(path, &status) == 0 else { return nil }
    return UInt32(truncatingIfNeeded: status.f_type)
  }

  /// Returns whether the file system is mounted read-only at a path.
  package static func isReadOnly(_ path: String) -> Bool {
    var status = statfs()
    // ST_RDONLY.
    return unsafe statfs(path, &status) == 0 && status.f_flags & 1 != 0
  }

  /// Returns whether chmod may have no effect on a file.
  static func mayIgnoreModes(_ path: String) -> Bool {
    of(path).map(withoutModes.contains) ?? false
  }
}
