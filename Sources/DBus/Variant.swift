import CGIO

/// A value as it goes over D-Bus.
///
/// A `GVariant` never changes and counts its references atomically: this makes the unchecked
/// conformance true.
@safe package final class Variant: @unchecked Sendable {
  /// For other C libraries; valid as long as this object is.
  package let pointer: OpaquePointer

  /// Takes a value over: a floating one becomes ours, of any other one reference does.
  package init(taking pointer: OpaquePointer) {
    unsafe self.pointer = unsafe g_variant_take_ref(pointer)
  }

  /// Refers to a value that someone else has as well.
  package init(sharing pointer: OpaquePointer) {
    unsafe self.pointer = unsafe g_variant_ref(pointer)
  }

  deinit {
    unsafe g_variant_unref(pointer)
  }
}

// MARK: Making values

extension Variant {
  private static func make(_ pointer: OpaquePointer?) -> Variant {
    guard let pointer = unsafe pointer else {
      preconditionFailure("GLib ends the process when there is no memory")
    }
    return unsafe Variant(taking: pointer)
  }

  /// A text; must have no NUL.
  package static func string(_ text: String) -> Variant {
    unsafe make(g_variant_new_string(text))
  }

  /// The path of an object, which must be one.
  package static func objectPath(_ path: String) -> Variant {
    unsafe make(g_variant_new_object_path(path))
  }

  package static func unsigned32(_ value: UInt32) -> Variant {
    unsafe make(g_variant_new_uint32(value))
  }

  package static func unsigned64(_ value: UInt64) -> Variant {
    unsafe make(g_variant_new_uint64(guint64(value)))
  }

  package static func signed32(_ value: Int32) -> Variant {
    unsafe make(g_variant_new_int32(value))
  }

  package static func boolean(_ value: Bool) -> Variant {
    unsafe make(g_variant_new_boolean(value ? 1 : 0))
  }

  /// A value that carries its own type.
  package static func variant(_ value: Variant) -> Variant {
    unsafe make(g_variant_new_variant(value.pointer))
  }

  package static func tuple(_ members: [Variant]) -> Variant {
    var pointers: [OpaquePointer?] = unsafe members.map { unsafe $0.pointer }
    return withExtendedLifetime(members) {
      unsafe make(g_variant_new_tuple(&pointers, gsize(pointers.count)))
    }
  }

  /// An array of elements of one type, such as `o` or `{sv}`.
  package static func array(_ elements: [Variant], of type: String) -> Variant {
    var pointers: [OpaquePointer?] = unsafe elements.map { unsafe $0.pointer }
    let elementType = unsafe g_variant_type_new(type)
    defer { unsafe g_variant_type_free(elementType) }
    return withExtendedLifetime(elements) {
      unsafe make(g_variant_new_array(elementType, &pointers, gsize(pointers.count)))
    }
  }

  package static func objectPaths(_ paths: [String]) -> Variant {
    array(paths.map(objectPath), of: "o")
  }

  /// `a{ss}`.
  package static func strings(_ values: [String: String]) -> Variant {
    array(values.map { entry(string($0), string($1)) }, of: "{ss}")
  }

  /// `a{sv}`.
  package static func properties(_ values: [String: Variant]) -> Variant {
    array(values.map { entry(string($0), variant($1)) }, of: "{sv}")
  }

  private static func entry(_ key: Variant, _ value: Variant) -> Variant {
    unsafe make(g_variant_new_dict_entry(key.pointer, value.pointer))
  }
}

// MARK: Reading values

extension Variant {
  /// The type, such as `(ao)`.
  package var type: String { unsafe String(cString: g_variant_get_type_string(pointer)) }

  /// A text or an object's path; `nil` for anything else.
  package var text: String? {
    guard ["s", "o"].contains(type) else { return nil }
    return unsafe String(cString: g_variant_get_string(pointer, nil))
  }

  /// The path of an object, which can be called; `nil` for anything else, also for a text that
  /// looks like one.
  package var objectPath: String? { type == "o" ? text : nil }

  /// The paths of an array of paths; `nil` when it is none.
  package var objectPaths: [String]? { type == "ao" ? texts : nil }

  package var boolean: Bool? {
    type == "b" ? unsafe g_variant_get_boolean(pointer) != 0 : nil
  }

  package var unsigned32: UInt32? {
    type == "u" ? unsafe UInt32(g_variant_get_uint32(pointer)) : nil
  }

  package var unsigned64: UInt64? {
    type == "t" ? unsafe UInt64(g_variant_get_uint64(pointer)) : nil
  }

  /// The position of a descriptor among those that came along; `nil` for anything else.
  package var handle: Int? {
    type == "h" ? unsafe Int(g_variant_get_handle(pointer)) : nil
  }

  /// The members of a container; none for anything else.
  package var children: [Variant] {
    guard unsafe g_variant_is_container(pointer) != 0 else { return [] }
    return unsafe (0..<g_variant_n_children(pointer)).compactMap { position in
      unsafe g_variant_get_child_value(pointer, position).map { unsafe Variant(taking: $0) }
    }
  }

  /// What is inside of a value that carries its own type; the value itself otherwise.
  package var unwrapped: Variant {
    var value = self
    while value.type == "v", let inner = value.children.first { value = inner }
    return value
  }

  /// The texts of an array of texts or paths; `nil` when it is none.
  package var texts: [String]? {
    guard ["as", "ao"].contains(type) else { return nil }
    return children.compactMap(\.text)
  }

  /// The entries of a dictionary with texts as keys.
  package var entries: [String: Variant] {
    var entries: [String: Variant] = [:]
    guard type.hasPrefix("a{s") || type.hasPrefix("a{o") else { return entries }
    for entry in children {
      let parts = entry.children
      if parts.count == 2, let key = parts[0].text { entries[key] = parts[1].unwrapped }
    }
    return entries
  }
}
