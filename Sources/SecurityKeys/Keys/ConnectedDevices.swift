import SessionToolsBase

extension FIDODevice {
  /// Opens all security keys that are plugged in.
  ///
  /// - Throws: `accessDenied` when there are some and this process may open none, `unavailable`
  ///   when none of them answers.
  static func connected(
    deniedAmong devices: HIDDevices = HIDDevices()
  ) throws(StoreError) -> [FIDODevice] {
    let places: [Place]
    do throws(FIDOError) {
      places = try Self.places()
    } catch {
      throw StoreError(error, of: SecurityKey.name)
    }
    if places.isEmpty, let path = devices.securityKeys.first { throw .noAccess(to: path) }
    var opened: [FIDODevice] = []
    var refusal: StoreError?
    for place in places {
      do throws(FIDOError) {
        opened.append(try FIDODevice(place))
      } catch {
        // Another key may be the right one.
        refusal = refusal ?? StoreError(error, of: place.product)
      }
    }
    if opened.isEmpty, let refusal { throw refusal }
    return opened
  }

  /// Opens the security key that made a credential; `nil` when it is not plugged in.
  ///
  /// - Throws: As ``connected(deniedAmong:)``.
  static func connected(for credential: [UInt8]) throws(StoreError) -> FIDODevice? {
    var perhaps: FIDODevice?
    var refusal: StoreError?
    for device in try connected() where device.supportsSecrets {
      do throws(FIDOError) {
        switch try device.knowledge(of: credential) {
        case .known: return device
        case .secret: perhaps = perhaps ?? device
        case .unknown: continue
        }
      } catch {
        refusal = refusal ?? StoreError(error, of: device.place.product)
      }
    }
    if perhaps == nil, let refusal { throw refusal }
    return perhaps
  }
}

extension StoreError {
  /// The error for a security key that is plugged in and that this process may not open.
  fileprivate static func noAccess(to path: String) -> StoreError {
    StoreError(
      .accessDenied, store: SecurityKey.name,
      reason: "a security key is plugged in at \(path), and this process may not use it",
      remedy: "Log in at the machine itself, where udev gives the person in front of it access "
        + "(70-uaccess.rules), and not over SSH; a container or Flatpak needs the device, too")
  }
}
