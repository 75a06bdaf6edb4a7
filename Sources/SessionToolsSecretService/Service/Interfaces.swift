/// The interfaces of the objects, as the Secret Service specification has them.
enum Interface: String {
  case service = "org.freedesktop.Secret.Service"
  case collection = "org.freedesktop.Secret.Collection"
  case item = "org.freedesktop.Secret.Item"
  case session = "org.freedesktop.Secret.Session"
  case prompt = "org.freedesktop.Secret.Prompt"

  /// A method, with the types of its arguments and answers.
  struct Method {
    let name: String
    let arguments: [String]
    let answers: [String]

    init(_ name: String, _ arguments: [String] = [], answers: [String] = []) {
      self.name = name
      self.arguments = arguments
      self.answers = answers
    }

    var signature: String { "(\(arguments.joined()))" }
  }

  /// A property, and whether clients may set it.
  typealias Property = (name: String, type: String, isSettable: Bool)

  static let secretType = "(oayays)"

  var methods: [Method] {
    switch self {
    case .service:
      [
        Method("OpenSession", ["s", "v"], answers: ["v", "o"]),
        Method("CreateCollection", ["a{sv}", "s"], answers: ["o", "o"]),
        Method("SearchItems", ["a{ss}"], answers: ["ao", "ao"]),
        Method("Unlock", ["ao"], answers: ["ao", "o"]),
        Method("Lock", ["ao"], answers: ["ao", "o"]),
        Method("GetSecrets", ["ao", "o"], answers: ["a{o\(Self.secretType)}"]),
        Method("ReadAlias", ["s"], answers: ["o"]),
        Method("SetAlias", ["s", "o"]),
      ]
    case .collection:
      [
        Method("Delete", answers: ["o"]),
        Method("SearchItems", ["a{ss}"], answers: ["ao"]),
        Method("CreateItem", ["a{sv}", Self.secretType, "b"], answers: ["o", "o"]),
      ]
    case .item:
      [
        Method("Delete", answers: ["o"]),
        Method("GetSecret", ["o"], answers: [Self.secretType]),
        Method("SetSecret", [Self.secretType]),
      ]
    case .session: [Method("Close")]
    case .prompt: [Method("Prompt", ["s"]), Method("Dismiss")]
    }
  }

  var properties: [Property] {
    switch self {
    case .service: [("Collections", "ao", false)]
    case .collection:
      [
        ("Items", "ao", false), ("Label", "s", true), ("Locked", "b", false),
        ("Created", "t", false), ("Modified", "t", false),
      ]
    case .item:
      [
        ("Locked", "b", false), ("Attributes", "a{ss}", true), ("Label", "s", true),
        ("Created", "t", false), ("Modified", "t", false),
      ]
    case .session, .prompt: []
    }
  }

  private var signals: [Method] {
    switch self {
    case .service:
      ["Created", "Deleted", "Changed"].map { Method("Collection\($0)", ["o"]) }
    case .collection: ["Created", "Deleted", "Changed"].map { Method("Item\($0)", ["o"]) }
    case .prompt: [Method("Completed", ["b", "v"])]
    case .item, .session: []
    }
  }

  /// The name of a property where the arguments of a method have it.
  func property(_ name: String) -> String { "\(rawValue).\(name)" }

  /// The interface in the language of `Introspect`.
  private var description: String {
    let methods = methods.map { method in
      "<method name=\"\(method.name)\">"
        + method.arguments.map { "<arg type=\"\($0)\" direction=\"in\"/>" }.joined()
        + method.answers.map { "<arg type=\"\($0)\" direction=\"out\"/>" }.joined() + "</method>"
    }
    let signals = signals.map { signal in
      "<signal name=\"\(signal.name)\">"
        + signal.arguments.map { "<arg type=\"\($0)\"/>" }.joined() + "</signal>"
    }
    let properties = properties.map { name, type, isSettable in
      "<property name=\"\(name)\" type=\"\(type)\" access=\"read\(isSettable ? "write" : "")\"/>"
    }
    return "<interface name=\"\(rawValue)\">"
      + (methods + signals + properties).joined() + "</interface>"
  }

  /// Describes an object in the language of `Introspect`.
  ///
  /// - Parameters:
  ///   - interface: The interface of the object, if it has one.
  ///   - children: The next steps of the paths below it.
  /// - Returns: The answer to `Introspect`.
  static func introspection(of interface: Interface?, children: [String]) -> String {
    let common = """
      <interface name="\(properties)"><method name="Get"><arg type="s" direction="in"/>\
      <arg type="s" direction="in"/><arg type="v" direction="out"/></method>\
      <method name="GetAll"><arg type="s" direction="in"/><arg type="a{sv}" direction="out"/>\
      </method><method name="Set"><arg type="s" direction="in"/><arg type="s" direction="in"/>\
      <arg type="v" direction="in"/></method><signal name="PropertiesChanged"><arg type="s"/>\
      <arg type="a{sv}"/><arg type="as"/></signal></interface>
      """
    return "<node><interface name=\"\(introspectable)\"><method name=\"Introspect\">"
      + "<arg type=\"s\" direction=\"out\"/></method></interface>"
      + (interface.map { common + $0.description } ?? "")
      + children.map { "<node name=\"\($0)\"/>" }.joined() + "</node>"
  }

  static let properties = "org.freedesktop.DBus.Properties"
  static let introspectable = "org.freedesktop.DBus.Introspectable"
}
