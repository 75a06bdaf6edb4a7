package import StoreMigration
import Foundation
package import SecretStores

/// The file in which `gh` keeps tokens where it has no keyring, `~/.config/gh/hosts.yml`, as the
/// source of a migration.
///
/// A token has the name under which `gh` itself keeps it in a keyring: the service `gh:HOST`, and
/// the user. A user whose token is in a keyring is listed, with the command that reads it there.
///
/// Source: internal/config/config.go of https://github.com/cli/cli.
package enum GitHubHosts {
  /// The file that `gh` reads.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  static var standardPath: String {
    get throws(StoreError) {
      if let directory = ProcessInfo.processInfo.environment["GH_CONFIG_DIR"], !directory.isEmpty {
        return "\(directory)/hosts.yml"
      }
      return try UserDirectory.configuration.path + "/gh/hosts.yml"
    }
  }

  /// Returns the items of a file.
  ///
  /// - Parameters:
  ///   - text: The entire file.
  ///   - name: The name of the file in errors.
  /// - Returns: The items; listing them reports users without a token.
  /// - Throws: `undecodable` with the line for what `gh` does not write, or with the kind of a file
  ///   of another format.
  package static func items(
    _ text: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    var items: [ItemName: SecretBytes] = [:]
    var omissions: [Omission] = []
    for host in try Mapping(TextLines(text, is: .gitHubHosts, name: name)).members {
      let service = "gh:\(host.name)"
      for (user, token) in accounts(of: host.value) {
        func leaveOut(_ reason: String) {
          omissions.append(Omission(service, part: user, reason: reason, service: service))
        }
        guard let token else {
          leaveOut(
            "its token is not in this file; read it with gh auth token "
              + "--hostname \(host.name.shellQuoted) --user \(user.shellQuoted)")
          continue
        }
        do throws(StoreError) {
          items[try ItemName(user, in: StoreNamespace(service: service))] = SecretBytes(utf8: token)
        } catch {
          leaveOut("\(error.reason); copy it by hand")
        }
      }
    }
    return ReadOnlyItems(
      name: name, protection: "plain text, the file of gh", atRest: .nothing
    ) { [items, omissions] in
      StoreListing(names: items.keys.sorted(), omissions: omissions)
    } read: { [items] itemName in
      items[itemName]
    }
  }

  /// Returns the users of a host, with their tokens; before gh 2.40 there was one.
  private static func accounts(of host: Mapping) -> [(user: String, token: String?)] {
    let active = host["user"]?.text
    let token = host["oauth_token"]?.text
    var accounts = (host["users"]?.members ?? []).map { user in
      (user.name, user.value["oauth_token"]?.text ?? (user.name == active ? token : nil))
    }
    if let active, !accounts.contains(where: { $0.0 == active }) {
      accounts.append((active, token))
    }
    // gh writes this for a token of which it knows no user.
    if accounts.isEmpty, token != nil { accounts = [("x-access-token", token)] }
    return accounts
  }
}

/// What `gh` writes of YAML: mappings in indented lines, and scalars.
private struct Mapping {
  /// The scalar; `nil` for a mapping.
  private(set) var text: String?
  private(set) var members: [(name: String, value: Mapping)] = []

  subscript(name: String) -> Mapping? { members.first { $0.name == name }?.value }

  private init() {}

  /// - Throws: `undecodable` for any line that is not a name, a colon, and a scalar or nothing.
  init(_ lines: TextLines) throws(StoreError) {
    var rest: ArraySlice<Line> = []
    for (number, text) in lines.numbered {
      let content = text.trimmingCharacters(in: .whitespaces)
      guard !content.isEmpty, !content.hasPrefix("#") else { continue }
      rest.append(try Line(text, content, lines, number))
    }
    try self.init(&rest, indentation: 0, lines)
    if let line = rest.first {
      throw lines.undecodable("its indentation is not that of a line above", line: line.number)
    }
  }

  private init(
    _ rest: inout ArraySlice<Line>, indentation: Int, _ lines: TextLines
  ) throws(StoreError) {
    while let line = rest.first, line.indentation == indentation {
      rest.removeFirst()
      guard self[line.name] == nil else {
        throw lines.undecodable("it is already in an earlier line", line: line.number)
      }
      var value = Mapping()
      value.text = line.scalar
      if let next = rest.first, next.indentation > indentation {
        guard line.scalar == nil else {
          throw lines.undecodable("it goes on in the next line", line: line.number)
        }
        value = try Mapping(&rest, indentation: next.indentation, lines)
      }
      members.append((line.name, value))
    }
  }

  private struct Line {
    let number: Int
    let indentation: Int
    let name: String
    let scalar: String?

    init(
      _ text: String, _ content: String, _ lines: TextLines, _ number: Int
    ) throws(StoreError) {
      self.number = number
      indentation = text.prefix { $0 == " " }.count
      let end = content.range(of: ":(?= |$)", options: .regularExpression)
      guard let end, let name = Self.scalar(content[..<end.lowerBound]), !name.isEmpty,
        text.dropFirst(indentation).first != "\t"
      else { throw lines.undecodable("it is no line that gh writes", line: number) }
      self.name = name
      let rest = content[end.upperBound...].drop(while: \.isWhitespace)
      guard let scalar = Self.scalar(rest) else {
        throw lines.undecodable("its value is of no form that gh writes", line: number)
      }
      self.scalar = rest.isEmpty || rest == "{}" || rest == "null" ? nil : scalar
    }

    /// Returns a plain or quoted scalar of one line; `nil` for any other text.
    private static func scalar(_ text: Substring) -> String? {
      switch text.first {
      case nil: return ""
      case "\"":
        // What YAML has besides JSON's escapes, it writes for control characters only.
        return try? JSONDecoder().decode(String.self, from: Data(text.utf8))
      case "'":
        guard text.count >= 2, text.last == "'" else { return nil }
        let inner = text.dropFirst().dropLast()
        let parts = inner.replacing("''", with: "")
        return parts.contains("'") ? nil : inner.replacing("''", with: "'").description
      case "{": return text == "{}" ? "" : nil
      case "[", "&", "*", "!", "|", ">", "%", "@", "`", "-", "?": return nil
      default: return text.contains(" #") || text.contains(": ") ? nil : String(text)
      }
    }
  }
}
