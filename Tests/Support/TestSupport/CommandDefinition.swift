import Foundation

/// What a tool says of one of its commands, for programs that read its help.
///
/// ArgumentParser finds mistakes in definitions in debug builds only.
package struct CommandDefinition: Decodable {
  private struct Whole: Decodable { let command: CommandDefinition }
  private struct Argument: Decodable {
    let kind: String
    let isRepeating: Bool
    let parsingStrategy: String
    let names: [Name]?
  }
  private struct Name: Decodable, Hashable {
    let kind: String
    let name: String
  }

  private let commandName: String
  private let arguments: [Argument]?
  private let subcommands: [CommandDefinition]?

  /// Returns what makes commands of a tool ambiguous, one line each.
  package static func mistakes(of program: String, _ tool: Tool) throws -> [String] {
    let help = try tool.run("\(program) --experimental-dump-help")
    return try JSONDecoder().decode(Whole.self, from: help.output).command.mistakes(in: "")
  }

  private func mistakes(in parents: String) -> [String] {
    let command = "\(parents)\(commandName)"
    let names = (arguments ?? []).flatMap { $0.names ?? [] }
    let repeated = Dictionary(grouping: names) { $0 }.filter { $1.count > 1 }.keys
    let unreachable = (arguments ?? []).filter { $0.kind == "positional" }
      .drop { !$0.isRepeating || $0.parsingStrategy == "postTerminator" }.dropFirst()
    return repeated.map { "\(command) has \($0.name) twice" }
      + unreachable.map { _ in "\(command) has an argument behind one that takes all" }
      + (subcommands ?? []).flatMap { $0.mistakes(in: "\(command) ") }
  }
}
