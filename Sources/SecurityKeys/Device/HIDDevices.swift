import Foundation
import SessionToolsBase

/// The kernel's list of devices, for security keys that this process may not open: libfido2 leaves
/// those out.
struct HIDDevices {
  /// The beginning of the description of a FIDO device: the usage page 0xF1D0 (CTAP 2.1, 11.2.8.1).
  private static let usagePage: [UInt8] = [0x06, 0xD0, 0xF1]
  /// As the kernel limits it (HID_MAX_DESCRIPTOR_SIZE).
  private static let largestDescriptionByteCount = 4096

  /// The directories to look in; those of the system, except in tests.
  var list = "/sys/class/hidraw"
  var devices = "/dev"

  /// Returns the devices, by their paths, that are security keys.
  func securityKeys() -> [String] {
    let fileSystem = LinuxFileSystem()
    // Without the kernel's list, as in some containers, no key can be told from none.
    guard let opened = try? fileSystem.openDirectory(list) else { return [] }
    let directory = OwnedDescriptor(opened, of: fileSystem)
    let names = (try? fileSystem.names(in: directory.descriptor)) ?? []
    return names.sorted().filter(isSecurityKey).map { "\(devices)/\($0)" }
  }

  private func isSecurityKey(_ name: String) -> Bool {
    let path = "\(list)/\(name)/device/report_descriptor"
    guard let file = FileHandle(forReadingAtPath: path),
      let description = try? file.read(upToCount: Self.largestDescriptionByteCount)
    else { return false }
    return description.starts(with: Self.usagePage)
  }
}
