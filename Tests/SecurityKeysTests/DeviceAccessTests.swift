import Foundation
import SecurityKeys
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// Without libfido2, which does not list what it may not open.
struct DeviceAccessTests {
  @Test func `a key that this process may not use is reported with its path`() throws {
    let directory = try TemporaryDirectory()
    let descriptions = [("hidraw0", "05 01 09 06"), ("hidraw1", "06 D0 F1 09 01"), ("hidraw2", "")]
    for (name, description) in descriptions {
      let device = "\(directory.path)/\(name)/device"
      try FileManager.default.createDirectory(
        atPath: device, withIntermediateDirectories: true)
      let bytes = description.split(separator: " ").compactMap { UInt8($0, radix: 16) }
      try Data(bytes).write(to: URL(filePath: "\(device)/report_descriptor"))
    }
    let devices = HIDDevices(list: directory.path, devices: "/dev")
    #expect(devices.securityKeys == ["/dev/hidraw1"])
    let error = #expect(throws: StoreError.self) {
      try SecurityKey.connected(deniedAmong: devices)
    }
    #expect(error?.code == .accessDenied)
    #expect(error?.reason.contains("/dev/hidraw1") == true)
  }

  @Test func `without any device nothing is plugged in`() throws {
    #expect(try SecurityKey.connected(deniedAmong: HIDDevices(list: "/nowhere")).isEmpty)
  }
}
