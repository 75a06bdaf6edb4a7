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
    let lines = try TextLines(
      text, is: .gitHubHosts, name: name,
      remedy: "Give the file as gh wrote it, or copy the token by hand")
    let root = try Mapping(lines)
    // Before gh 1 had a file of its own for them, hosts were one of its settings.
    let hosts = (root["hosts"] ?? root).members.filter { $0.value.text == nil }
    guard hosts.contains(where: { host in Self.loginMembers.contains { host.value[$0] != nil } })
    else {
      throw StoreError(
        .undecodable, store: name, reason: "it names no host with a login",
        remedy: "Give hosts.yml of gh, which is beside config.yml")
    }
    var items: [ItemName: SecretBytes] = [:]
    var omissions: [Omission] = []
    for member in root.members where member.value.text != nil {
      omissions.append(
        Omission(member.name, reason: "it is of no host; copy it by hand if it is a secret"))
    }
    for host in hosts {
      let service = "gh:\(host.name)"
      func leaveOut(_ part: String, _ reason: String) {
        omissions.append(Omission(service, part: part, reason: reason, service: service))
      }
      for part in unknownParts(of: host.value) {
        leaveOut(part, "it is not read; copy it by hand if it is a secret")
      }
      for account in accounts(of: host.value) {
        if account.hasOtherToken {
          leaveOut(account.user, "the file has a second token for it, which gh does not use")
        }
        guard let token = account.token else {
          leaveOut(
            account.user,
            "its token is not in this file; read it with gh auth token "
              + "--hostname \(host.name.shellQuoted) --user \(account.user.shellQuoted)")
          continue
        }
        do throws(StoreError) {
          let name = try ItemName(account.user, in: StoreNamespace(service: service))
          items[name] = SecretBytes(utf8: token)
        } catch {
          leaveOut(account.user, "\(error.reason); copy it by hand")
        }
      }
    }
    return ReadOnlyItems(
      name: name, protection: "plain text, the file of gh", items: items, omissions: omissions)
  }

  private static let loginMembers = ["user", "users", "oauth_token"]
  /// Settings, which are no secrets.
  private static let settings: Set = [
    "git_protocol", "editor", "prompt", "pager", "browser", "http_unix_socket", "api_host",
  ]

  private struct Account {
    let user: String
    let token: String?
    var hasOtherToken = false
  }

  /// Returns the users of a host, with their tokens; before gh 2.40 there was one.
  ///
  /// The token of the host itself is the active user's, and the one that gh sends (ActiveToken).
  private static func accounts(of host: Mapping) -> [Account] {
    let active = host["user"]?.text
    let token = host.token
    var accounts = (host["users"]?.members ?? []).map { user in
      let own = user.value.token
      guard user.name == active, let token else { return Account(user: user.name, token: own) }
      return Account(user: user.name, token: token, hasOtherToken: own ?? token != token)
    }
    if let active, !accounts.contains(where: { $0.user == active }) {
      accounts.append(Account(user: active, token: token))
    }
    // gh's name for a token of which it knows no user.
    if active == nil, let token { accounts.append(Account(user: "x-access-token", token: token)) }
    return accounts
  }

  /// Returns the names of what is neither a login nor a setting.
  private static func unknownParts(of host: Mapping) -> [String] {
    let ofHost = host.members.map(\.name).filter {
      !loginMembers.contains($0) && !settings.contains($0)
    }
    let ofUsers = (host["users"]?.members ?? []).flatMap { user in
      user.value.members.map(\.name).filter { $0 != "oauth_token" && !settings.contains($0) }
        .map { "\(user.name) \($0)" }
    }
    return ofHost + ofUsers
  }
}

/// What `gh` writes of YAML: mappings in indented lines, and scalars.
private struct Mapping {
  /// The scalar; `nil` for a mapping.
  private(set) var text: String?
  private(set) var members: [(name: String, value: Mapping)] = []

  subscript(name: String) -> Mapping? { members.first { $0.name == name }?.value }

  /// The token in it, unless that is empty.
  var token: String? { self["oauth_token"]?.text.flatMap { $0.isEmpty ? nil : $0 } }

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
      self.scalar =
        Self.nulls.contains(scalar) && rest.first != "\"" && rest.first != "'" ? nil : scalar
    }

    private static let nulls: Set = ["", "~", "null", "Null", "NULL"]

    /// Returns a plain or quoted scalar of one line; `nil` for any other text.
    private static func scalar(_ text: Substring) -> String? {
      switch text.first {
      case nil, "#": return ""
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
      default:
        // Without a comment behind it.
        let end = text.range(of: "[ \\t]+#", options: .regularExpression)?.lowerBound
        let plain = text[..<(end ?? text.endIndex)]
        return plain.contains(": ") ? nil : plain.trimmingCharacters(in: .whitespaces)
      }
    }
  }
}
