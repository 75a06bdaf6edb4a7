import BusTestSupport
import SecretServiceStore
import TestSupport

extension PrivateBus {
  /// Returns a store on the bus.
  func store(
    _ collection: SecretServiceStore.Collection = .default,
    _ configure: (inout SecretServiceStore.Options) -> Void = { _ in }
  ) -> SecretServiceStore {
    var options = SecretServiceStore.Options.patient
    configure(&options)
    return SecretServiceStore(
      collection: collection, options: options, bus: SessionBus(address: address))
  }
}

extension SecretServiceStore.Options {
  /// Options with a timeout that is long enough for a busy machine.
  static var patient: SecretServiceStore.Options {
    var options = SecretServiceStore.Options()
    options.timeout = patience
    return options
  }
}
