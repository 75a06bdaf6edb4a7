/// Questions to the bus itself: which connection owns which name.
extension DBusConnection {
  /// The name of the bus, and of its own signals' interface.
  package static let busName = "org.freedesktop.DBus"

  /// Returns a method of the bus.
  package static func busMethod(_ name: String) -> DBusMethod {
    DBusMethod(busName, "/org/freedesktop/DBus", busName, name)
  }

  /// Returns the unique name of a service's provider, starting the service if the bus can.
  ///
  /// The bus never gives a unique name to another connection.
  ///
  /// - Throws: `DBusError`; `remote` with `ServiceUnknown` when there is no such service.
  package func provider(
    of name: String, until deadline: Deadline
  ) async throws(DBusError) -> String {
    if let owner = try await owner(of: name, until: deadline) { return owner }
    // The bus starts the service; when it answers, the name has an owner.
    _ = try await call(
      Self.busMethod("StartServiceByName"), [.string(name), .unsigned32(0)],
      timeout: deadline.left)
    guard let owner = try await owner(of: name, until: deadline) else {
      throw DBusError(
        .remote("org.freedesktop.DBus.Error.NameHasNoOwner"), "\(name) ended at once")
    }
    return owner
  }

  /// Returns the process of a connection, by its unique name or another one.
  ///
  /// - Throws: `DBusError`; `remote` with `NameHasNoOwner` when there is no such connection.
  package func process(of name: String, timeout: Duration) async throws(DBusError) -> UInt32 {
    let answer = try await call(
      Self.busMethod("GetConnectionUnixProcessID"), [.string(name)], timeout: timeout)
    guard let process = answer.children.first?.unsigned32 else {
      throw .unexpected("GetConnectionUnixProcessID")
    }
    return process
  }

  /// Returns the unique name of a service's current provider; `nil` when there is no provider.
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
  /// Returns the new owner of a name, if this is the bus's signal about that name; the inner `nil`
  /// means that the name has no owner.
  package func owner(of name: String) -> String?? {
    guard self.name == "NameOwnerChanged", arguments.count == 3, arguments[0].text == name,
      let owner = arguments[2].text
    else { return nil }
    return .some(owner.isEmpty ? nil : owner)
  }
}

extension DBusError {
  /// Whether the service has no provider, and could not be started.
  package var saysNoProvider: Bool {
    guard let name else { return false }
    return name.hasPrefix("org.freedesktop.DBus.Error.Spawn")
      || [
        "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
      ].contains(name)
  }
}
