import ArgumentParser

/// The argument that names a store.
struct StoreArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp("\(StoreLocation.help)", valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var location: StoreLocation
}
