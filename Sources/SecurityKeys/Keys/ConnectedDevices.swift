import Foundation
import SealedStore
import SecretStores

extension FIDODevice {
  /// Opens all security keys that are plugged in.
  ///
  /// - Parameters:
  ///   - devices: Where to look for those that this process may not open.
  ///   - name: What errors are about.
  /// - Returns: The keys that answer.
  /// - Throws: `accessDenied` when there are some and this process may open none, `unavailable`
  ///   when none of them answers.
  static func connected(
    deniedAmong devices: HIDDevices = HIDDevices(), name: String = SecurityKey.name
  ) throws(StoreError) -> [FIDODevice] {
    let places: [Place]
    do throws(FIDOError) {
      places = try Self.places()
    } catch {
      throw StoreError(error, of: name)
    }
    if places.isEmpty, let path = devices.securityKeys.first {
      throw .noAccess(to: path, name: name)
    }
    var opened: [FIDODevice] = []
    var refusal: StoreError?
    for place in places {
      do throws(FIDOError) {
        opened.append(try FIDODevice(place))
      } catch {
        // Another key may be the right one.
        refusal = refusal ?? StoreError(error, of: name, at: place)
      }
    }
    if opened.isEmpty, let refusal { throw refusal }
    return opened
  }

  /// Opens the security key that made a credential, or else those that do not say whether they did
  /// before they have verified their person; none when it is not plugged in.
  ///
  /// - Throws: As ``connected(deniedAmong:name:)``.
  static func connected(
    for credential: [UInt8]
  ) throws(StoreError) -> (devices: [FIDODevice], areCertain: Bool) {
    var perhaps: [FIDODevice] = []
    var refusal: StoreError?
    for device in try connected(name: StoreError.slotName) where device.supportsSecrets {
      do throws(FIDOError) {
        switch try device.knowledge(of: credential) {
        case .known: return ([device], true)
        case .secret: perhaps.append(device)
        case .unknown: continue
        }
      } catch {
        refusal = refusal ?? StoreError(error, of: StoreError.slotName, at: device.place)
      }
    }
    if perhaps.isEmpty, let refusal { throw refusal }
    return (perhaps, false)
  }
}

extension StoreError {
  /// The error for a security key that is plugged in and that this process may not open.
  fileprivate static func noAccess(to path: String, name: String) -> StoreError {
    StoreError(
      .accessDenied, store: name,
      reason: "a security key is plugged in at \(path), and this process may not use it",
      remedy: "Log in at the machine itself, where udev gives the person in front of it access "
        + "(70-uaccess.rules), and not over SSH; a container or Flatpak needs the device, too")
  }
}

/// A security key that is plugged in.
public struct SecurityKeyDevice: Hashable, Sendable {
  /// The path of its device, such as `/dev/hidraw3`, which is another one when it is plugged in
  /// again.
  public let path: String
  /// The name that its maker gave it.
  public let product: String
  /// Whether a PIN was set on it.
  public let hasPIN: Bool
  /// Whether it has a fingerprint reader of its own, and knows a finger.
  public let verifiesItself: Bool
  /// Whether it computes secrets (the extension hmac-secret), without which it opens no store.
  public let supportsSecrets: Bool
}

extension SecurityKeyDevice {
  init(_ device: FIDODevice) {
    path = device.place.path
    product = device.place.product
    hasPIN = device.hasPIN
    verifiesItself = device.hasReader
    supportsSecrets = device.supportsSecrets
  }
}

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
