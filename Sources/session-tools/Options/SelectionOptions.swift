import ArgumentParser
import SessionTools

/// Which items of a store are meant; all when nothing is said.
struct SelectionOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("Only items of this service.", valueName: "name"))
  var service: String?
  @Option(name: .long, help: ArgumentHelp("Only items of this group.", valueName: "name"))
  var group: String?
  @Option(name: .long, help: ArgumentHelp("Only items of this installation.", valueName: "name"))
  var install: String?
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Only identifiers like this: * is any text, ? any character.", valueName: "pattern"))
  var identifier: String?

  var selection: MigrationSelection {
    var selection = MigrationSelection()
    selection.service = service
    selection.accessGroup = group
    selection.install = install
    selection.identifierPattern = identifier
    return selection
  }
}
