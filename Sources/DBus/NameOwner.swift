/// What the bus itself knows: who has which name.
extension DBusConnection {
  /// The name of the bus, and of its own signals' interface.
  package static let busName = "org.freedesktop.DBus"

  /// A method of the bus.
  package static func busMethod(_ name: String) -> DBusMethod {
    DBusMethod(busName, "/org/freedesktop/DBus", busName, name)
  }

  /// The name of whoever provides a service, which nobody else ever has; the service is started if
  /// the bus knows how.
  ///
  /// - Throws: `DBusError`; `remote` with `ServiceUnknown` when there is no such service.
  package func provider(
    of name: String, until deadline: Deadline
  ) async throws(DBusError) -> String {
    if let owner = try await owner(of: name, until: deadline) { return owner }
    // Starting is the bus's work; by the time it answers, the name has an owner.
    _ = try await call(
      Self.busMethod("StartServiceByName"), [.string(name), .unsigned32(0)],
      timeout: deadline.left)
    guard let owner = try await owner(of: name, until: deadline) else {
      throw DBusError(
        .remote("org.freedesktop.DBus.Error.NameHasNoOwner"), "\(name) ended at once")
    }
    return owner
  }

  /// The name of whoever provides a service now; `nil` when nobody does.
  ///
  /// - Throws: `DBusError`.
  package func owner(
    of name: String, until deadline: Deadline
  ) async throws(DBusError) -> String? {
    do throws(DBusError) {
      let answer = try await call(
        Self.busMethod("GetNameOwner"), [.string(name)], timeout: deadline.left)
      return answer.children.first?.text
    } catch {
      guard error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" else { throw error }
      return nil
    }
  }
}

extension DBusSignal {
  /// What became of a name, if this is the bus's signal that says so about that name: its owner,
  /// or `nil` for none.
  package func owner(of name: String) -> String?? {
    guard self.name == "NameOwnerChanged", arguments.count == 3, arguments[0].text == name,
      let owner = arguments[2].text
    else { return nil }
    return .some(owner.isEmpty ? nil : owner)
  }
}

extension DBusError {
  /// Whether nobody provides the service that was asked for, and nobody could be started.
  package var saysNoProvider: Bool {
    guard let name else { return false }
    return name.hasPrefix("org.freedesktop.DBus.Error.Spawn")
      || [
        "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
      ].contains(name)
  }
}
