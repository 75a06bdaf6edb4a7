import BusTestSupport
import SecretServiceStore
import TestSupport

extension PrivateBus {
  /// A store on the bus.
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
  /// For machines that have a lot else to do.
  static var patient: SecretServiceOptions {
    var options = SecretServiceOptions()
    options.timeout = patience
    return options
  }
}
