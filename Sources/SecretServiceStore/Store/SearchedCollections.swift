package import SecretStores

/// Where a store looked for an item that it did not find.
package struct SearchedCollections: Sendable {
  /// The program that provides the service.
  package let program: ProviderProgram
  /// The names of the collections that were searched.
  package let names: [String]
  /// The names of those that were not.
  package let others: [String]

  /// A sentence, without its full stop, that says where something is not.
  package func lack(_ what: String) -> String {
    func quoted(_ names: [String]) -> String {
      names.map { "'\($0)'" }.joined(separator: ", ")
    }
    return "\(program) has no \(what) in its "
      + (names.count == 1 ? "collection " : "collections ") + quoted(names)
      + (others.isEmpty ? "" : "; it also has \(quoted(others))")
  }
}

extension SecretServiceStore {
  /// Returns where the store looks for an item; blocks.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func searchedCollections() throws(StoreError) -> SearchedCollections {
    try waiting { store async throws(StoreError) in
      try await store.perform { operation in try await operation.searchedCollections() }
    }
  }

  /// Returns a name of the collection that it keeps when its label changes; blocks.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func lastingName() throws(StoreError) -> String {
    try waiting { store async throws(StoreError) in
      try await store.perform { operation in
        Provider.lastPart(of: try await operation.collection())
      }
    }
  }

  /// Returns whether a name is another one of this store's collection; blocks.
  ///
  /// - Throws: The errors of ``asyncValue(for:)``.
  package func isSameCollection(as other: Collection) throws(StoreError) -> Bool {
    try waiting { store async throws(StoreError) in
      try await store.perform { operation in
        let path = try await operation.collection()
        return try await operation.provider.path(of: other, until: operation.deadline) == path
      }
    }
  }
}

extension Operation {
  fileprivate func searchedCollections() async throws -> SearchedCollections {
    let own = try await collection()
    // gnome-keyring's collection in memory is empty after each login.
    let all = try await provider.collections(until: deadline).filter {
      link.program != .gnomeKeyring || Provider.lastPart(of: $0) != "session" || $0 == own
    }
    let searched = store.collection.name == nil ? all : [own]
    return SearchedCollections(
      program: link.program,
      names: try await provider.names(of: searched, until: deadline).sorted(),
      others: try await provider.names(
        of: all.filter { !searched.contains($0) }, until: deadline
      ).sorted())
  }
}
