import ArgumentParser

/// The argument that names a store.
struct StoreArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp("The store: PATH or sealed:PATH.", valueName: "store"),
    completion: .directory, transform: StoreLocation.init)
  var location: StoreLocation
}
