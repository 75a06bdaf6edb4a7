import Foundation

/// The kernel's list of devices, for security keys that this process may not open: libfido2 leaves
/// those out.
package struct HIDDevices: Sendable {
  /// The beginning of a FIDO device's description: the usage page 0xF1D0 (CTAP 2.1, 11.2.8.1).
  private static let usagePage: [UInt8] = [0x06, 0xD0, 0xF1]

  /// The directory with a description of each device.
  let list: String
  /// The directory with the devices.
  let devices: String

  /// - Parameters:
  ///   - list: The directory with a description of each device.
  ///   - devices: The directory with the devices.
  package init(list: String = "/sys/class/hidraw", devices: String = "/dev") {
    self.list = list
    self.devices = devices
  }

  /// The paths of the devices that are security keys; empty where the kernel shows no list.
  package var securityKeys: [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: list)) ?? []
    return names.sorted().filter(isSecurityKey).map { "\(devices)/\($0)" }
  }

  private func isSecurityKey(_ name: String) -> Bool {
    guard let file = FileHandle(forReadingAtPath: "\(list)/\(name)/device/report_descriptor"),
      let start = try? file.read(upToCount: Self.usagePage.count)
    else { return false }
    return start.elementsEqual(Self.usagePage)
  }
}
