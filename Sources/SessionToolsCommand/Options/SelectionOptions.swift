import ArgumentParser
import StoreMigration

/// The namespaces whose items are selected; all by default.
struct NamespaceOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("Only items of this service.", valueName: "name"))
  var service: String?
  @Option(name: .long, help: ArgumentHelp("Only items of this group.", valueName: "name"))
  var group: String?
  @Option(name: .long, help: ArgumentHelp("Only items of this installation.", valueName: "name"))
  var install: String?

  var selection: MigrationOptions.Selection {
    var selection = MigrationOptions.Selection()
    selection.service = service
    selection.accessGroup = group
    selection.install = install
    return selection
  }
}

/// The items of a store that are selected; all by default.
struct SelectionOptions: ParsableArguments {
  @OptionGroup var namespaces: NamespaceOptions
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Only identifiers like this: * is any text, ? any character.", valueName: "pattern"))
  var identifier: String?

  var selection: MigrationOptions.Selection {
    var selection = namespaces.selection
    selection.identifierPattern = identifier
    return selection
  }
}
