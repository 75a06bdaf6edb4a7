import BusTestSupport
import SecretServiceStore
import TestSupport

extension PrivateBus {
  /// Returns a store on the bus.
  func store(
    _ collection: SecretServiceCollection = .default,
    _ configure: (inout SecretServiceOptions) -> Void = { _ in }
  ) -> SecretServiceStore {
    var options = SecretServiceOptions.patient
    configure(&options)
    return SecretServiceStore(
      collection: collection, options: options, bus: SessionBus(address: address))
  }
}

extension SecretServiceOptions {
  /// Options with a timeout that is long enough for a busy machine.
  static var patient: SecretServiceOptions {
    var options = SecretServiceOptions()
    options.timeout = patience
    return options
  }
}
