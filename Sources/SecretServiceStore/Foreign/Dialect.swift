public import SecretStores

extension ForeignSecretServiceItems {
  /// The scheme by which another program names its items in the Secret Service.
  ///
  /// The attributes were read from the programs themselves, in the versions of Debian 12, PyPI and
  /// crates.io.
  public struct Dialect: Sendable {
    /// The scheme's name, such as `python-keyring`.
    public let name: String
    /// The attributes that all its items have.
    let attributes: [String: String]
    /// Returns the item's name here; `nil` when the attributes are not the program's.
    let itemName: @Sendable (_ attributes: [String: String]) throws(StoreError) -> ItemName?
    /// Returns whether an item is the program's for certain, so that one without a name here is
    /// reported.
    var owns: @Sendable (_ attributes: [String: String]) -> Bool = { _ in false }

    /// Describes a program's items.
    ///
    /// - Parameters:
    ///   - name: The name for errors.
    ///   - attributes: The attributes that all its items have; the service is searched for them.
    ///   - itemName: Makes the name here from all attributes of an item, or returns `nil` for
    ///     another program's item. Of items with the same name, the one changed last counts.
    public init(
      name: String, attributes: [String: String],
      itemName: @escaping @Sendable (_ attributes: [String: String]) throws(StoreError) -> ItemName?
    ) {
      self.name = name
      self.attributes = attributes
      self.itemName = itemName
    }
  }
}

extension ForeignSecretServiceItems.Dialect {
  /// Python's `keyring`: service and user name, also in its scheme for KeePassXC.
  ///
  /// Source: keyring/backends/SecretService.py and keyring/backend.py (`SchemeSelectable`) in
  /// https://github.com/jaraco/keyring.
  public static let pythonKeyring = owning(name: "python-keyring") { attributes in
    // The second is that of versions before 8.
    ["Python keyring library", "python-keyring"].contains(attributes["application"])
  } itemName: { attributes throws(StoreError) in
    if let name = try itemName(attributes, service: "service", identifier: "username") {
      return name
    }
    return try itemName(attributes, service: "Title", identifier: "UserName")
  }

  /// `go-keyring`, as in GitHub's `gh`: service and user name, and nothing else that a program gave
  /// the item.
  public static let goKeyring = Self(name: "go-keyring", attributes: [:]) {
    attributes throws(StoreError) in
    guard hasOnly(["service", "username"], attributes) else { return nil }
    return try itemName(attributes, service: "service", identifier: "username")
  }

  /// Rust's `keyring`: service, user name, and the target as access group unless it is the default.
  public static let rustKeyring = owning(name: "keyring-rs") { attributes in
    attributes["application"]?.hasPrefix("rust-keyring") == true
  } itemName: { attributes throws(StoreError) in
    let target = attributes["target"] ?? ""
    return try itemName(
      attributes, service: "service", identifier: "username",
      accessGroup: ["", "default"].contains(target) ? nil : target)
  }

  /// Node's `keytar`: service and account.
  public static let keytar = Self(name: "keytar", attributes: [:]) {
    attributes throws(StoreError) in
    guard hasOnly(["service", "account"], attributes) else { return nil }
    return try itemName(attributes, service: "service", identifier: "account")
  }

  /// git's `git-credential-libsecret`: service `git`, and the URL as identifier.
  ///
  /// A slash or percent sign in the user name is percent-encoded. The value is the secret as git
  /// keeps it: the password, and perhaps more lines.
  public static let git = owning(name: "git") { attributes in
    // Up to git 2.40 the schema is that of all network passwords; git's are those for the web.
    switch attributes["xdg:schema"] {
    case "org.git.Password": true
    case "org.gnome.keyring.NetworkPassword":
      ["http", "https"].contains(attributes["protocol"])
    default: false
    }
  } itemName: { attributes throws(StoreError) in
    guard let scheme = attributes["protocol"], let server = attributes["server"] else { return nil }
    let port = attributes["port"].map { $0 == "0" ? "" : ":\($0)" } ?? ""
    return try GitItemName(
      scheme: scheme, user: attributes["user"], host: server + port, path: attributes["object"]
    ).itemName()
  }

  /// Docker's `docker-credential-secretservice`: service `docker`, user name and server as
  /// identifier.
  public static let docker = owning(name: "docker", attributes: ["docker_cli": "1"]) { _ in
    true
  } itemName: { attributes throws(StoreError) in
    guard let server = attributes["server"], let user = attributes["username"] else { return nil }
    return try DockerItemName(user: user, server: server).itemName()
  }

  /// Items stored with `secret-tool`, whose other attributes make the identifier.
  ///
  /// The service is the attribute `service`, or else `secret-tool`. The identifier is all other
  /// attributes, such as `host=example.com, user=me`, with a backslash before a comma, an equals
  /// sign or a backslash within them. Items of programs that leave no attribute of their own, such
  /// as `go-keyring`, look the same.
  public static let secretTool = owning(name: "secret-tool") { attributes in
    // `secret-tool` writes a schema only when it is given one.
    [nil, "org.freedesktop.Secret.Generic"].contains(attributes["xdg:schema"])
      && !attributes.keys.contains { $0.hasPrefix("session-tools:") }
      && !GivenAttributes.isEntryOfKeePassXC(attributes)
      && ![pythonKeyring, rustKeyring, docker].contains { $0.takes(attributes) }
  } itemName: { attributes throws(StoreError) in
    try itemName(of: attributes, otherwise: "secret-tool")
  }

  /// Returns a name that contains all attributes, whichever program made the item.
  ///
  /// - Throws: `invalidName`.
  static func itemName(
    of attributes: [String: String], otherwise name: String
  ) throws(StoreError) -> ItemName? {
    var rest = GivenAttributes.of(attributes)
    rest["xdg:schema"] = nil
    let service = rest.removeValue(forKey: "service")
    let texts = rest.sorted { $0.key < $1.key }.map { "\(escaped($0.key))=\(escaped($0.value))" }
    guard !texts.isEmpty else { return nil }
    return try ItemName(texts.joined(separator: ", "), in: StoreNamespace(service: service ?? name))
  }

  private static func escaped(_ text: String) -> String {
    String(text.flatMap { "\\,=".contains($0) ? ["\\", $0] : [$0] })
  }

  /// Describes a program whose items are recognized by their attributes, also without a name here.
  private static func owning(
    name: String, attributes: [String: String] = [:],
    _ owns: @escaping @Sendable ([String: String]) -> Bool,
    itemName: @escaping @Sendable ([String: String]) throws(StoreError) -> ItemName?
  ) -> Self {
    var dialect = Self(name: name, attributes: attributes) { given throws(StoreError) in
      owns(given) ? try itemName(given) : nil
    }
    dialect.owns = owns
    return dialect
  }

  /// Returns whether an item has a name in this dialect, which need not be valid.
  func takes(_ given: [String: String]) -> Bool {
    guard attributes.allSatisfy({ given[$0.key] == $0.value }) else { return false }
    do throws(StoreError) {
      return try itemName(given) != nil
    } catch {
      return true
    }
  }

  /// All dialects defined here.
  public static let all = [pythonKeyring, goKeyring, rustKeyring, keytar, git, docker, secretTool]

  private static func itemName(
    _ attributes: [String: String], service: String, identifier: String,
    accessGroup: String? = nil
  ) throws(StoreError) -> ItemName? {
    guard let service = attributes[service], let identifier = attributes[identifier] else {
      return nil
    }
    return try ItemName(
      identifier, in: StoreNamespace(service: service, accessGroup: accessGroup))
  }

  /// Returns whether there are no other attributes than the schema, which not every version writes.
  private static func hasOnly(_ names: Set<String>, _ attributes: [String: String]) -> Bool {
    Set(GivenAttributes.of(attributes).keys).subtracting(["xdg:schema"]) == names
  }
}

extension ForeignSecretServiceItems.Dialect {
  /// Returns the name from the first dialect that knows all attributes of an item, or else a name
  /// made of all attributes; `nil` for an item without attributes.
  ///
  /// - Throws: `invalidName`.
  package static func itemName(of attributes: [String: String]) throws(StoreError) -> ItemName? {
    for dialect in all
    where dialect.attributes.allSatisfy({ attributes[$0.key] == $0.value }) {
      if let name = try dialect.itemName(attributes) { return name }
    }
    // For an application with its own schema, like most in a sandbox.
    return try itemName(of: attributes, otherwise: attributes["xdg:schema"] ?? "libsecret")
  }
}
