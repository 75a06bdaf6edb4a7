package import ArgumentParser
package import StoreMigration

/// The namespaces whose items are selected; all by default.
package struct NamespaceOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("Only items of this service.", valueName: "name"))
  package var service: String?
  @Option(name: .long, help: ArgumentHelp("Only items of this group.", valueName: "name"))
  package var group: String?
  @Option(name: .long, help: ArgumentHelp("Only items of this installation.", valueName: "name"))
  package var install: String?

  package var selection: MigrationOptions.Selection {
    var selection = MigrationOptions.Selection()
    selection.service = service
    selection.accessGroup = group
    selection.install = install
    return selection
  }

  package init() {}
}

/// The items of a store that are selected; all by default.
package struct SelectionOptions: ParsableArguments {
  @OptionGroup package var namespaces: NamespaceOptions
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Only identifiers like this: * is any text, ? any character.", valueName: "pattern"))
  package var identifier: String?

  package var selection: MigrationOptions.Selection {
    var selection = namespaces.selection
    selection.identifierPattern = identifier
    return selection
  }

  package init() {}
}
