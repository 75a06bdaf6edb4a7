import SessionToolsBusTestSupport
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// Faults of a provider are errors with the right code, in time.
@Suite(.fewAtATime) struct FaultyProviderTests {
  private let (name, other): (ItemName, ItemName)

  init() throws {
    name = try ItemName("item", in: "com.example.mail")
    other = try ItemName("other", in: "com.example.news")
  }

  /// Starts a provider with two items on a bus.
  private func provider() async throws -> (PrivateBus, FaultyProvider) {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    let store = bus.store()
    try await store.put(SecretBytes(utf8: "value"), for: name)
    try await store.put(SecretBytes(utf8: "another"), for: other)
    return (bus, provider)
  }

  private func expect(
    _ code: StoreError.Code?, of call: String, _ store: SecretServiceStore, _ fault: String
  ) async throws {
    let call = try #require((reads + changes).first { $0.name == call })
    let found = await failure { try await call.run(store, name) }
    #expect(found == code, "\(call.name), \(fault)")
  }

  /// The methods and properties that each call uses.
  private static let used = [
    ("value", ["OpenSession", "SearchItems", "GetSecrets"]),
    ("contains", ["OpenSession", "SearchItems"]),
    ("keys", ["OpenSession", "ReadAlias", "Collections", "Locked", "SearchItems", "GetSecrets"]),
    ("items", ["OpenSession", "ReadAlias", "Collections", "Locked", "SearchItems", "GetSecrets"]),
    ("put", ["OpenSession", "Locked", "SearchItems"]),
    ("remove", ["OpenSession", "SearchItems", "Locked"]),
  ]

  @Test func `no answer is an error in time`() async throws {
    let (bus, provider) = try await provider()
    for (call, methods) in Self.used {
      for method in methods {
        try await provider.set(method, "hang")
        try await expect(
          StoreError.timedOut, of: call, bus.store { $0.timeout = .milliseconds(100) }, method)
        try await provider.set(method, "")
      }
    }
    try await expectUnchanged(bus)
  }

  @Test func `a late answer is accepted, or is an error in time`() async throws {
    let (bus, provider) = try await provider()
    for (call, methods) in Self.used where !["put", "remove"].contains(call) {
      let method = try #require(methods.last)
      try await provider.set(method, "late 150")
      let patient = bus.store()
      try await expect(nil, of: call, patient, method)
      try await provider.set(method, "late 5000")
      let hasty = bus.store { $0.timeout = .milliseconds(100) }
      try await expect(StoreError.timedOut, of: call, hasty, method)
      try await provider.set(method, "")
      try await expect(nil, of: call, patient, method)
    }
    try await expectUnchanged(bus)
  }

  @Test(arguments: ["empty", "number", "text", "nested", "error org.freedesktop.DBus.Error.Failed"])
  func `an answer of another form is an error`(_ fault: String) async throws {
    let (bus, provider) = try await provider()
    for (call, methods) in Self.used {
      // The property `Locked` has a fault of its own, below.
      for method in methods where !(method == "Locked") {
        try await provider.set(method, fault)
        try await expect(StoreError.unavailable, of: call, bus.store(), "\(method) \(fault)")
        try await provider.set(method, "")
      }
    }
    try await provider.set("Locked", "wrong")
    try await expect(StoreError.unavailable, of: "put", bus.store(), "Locked")
    try await expect(StoreError.unavailable, of: "remove", bus.store(), "Locked")
    try await provider.set("Locked", "")
    try await expectUnchanged(bus)
  }

  @Test(arguments: [
    "org.freedesktop.Secret.Error.IsLocked": StoreError.locked,
    "org.freedesktop.DBus.Error.AccessDenied": StoreError.accessDenied,
    "org.freedesktop.DBus.Error.ServiceUnknown": StoreError.unavailable,
    "org.freedesktop.DBus.Error.LimitsExceeded": StoreError.unavailable,
    "org.freedesktop.DBus.Error.TimedOut": StoreError.timedOut,
  ])
  func `an error has the code that says what to do`(
    _ error: String, _ code: StoreError.Code
  ) async throws {
    let (bus, provider) = try await provider()
    for (call, methods) in Self.used {
      let method = try #require(methods.last)
      try await provider.set(method, "error \(error)")
      try await expect(code, of: call, bus.store(), error)
      try await provider.set(method, "")
    }
    try await expectUnchanged(bus)
  }

  /// KWallet refuses a public key that begins with a zero byte, as one in 256 does.
  @Test func `a session whose key is refused is opened with another key`() async throws {
    let (bus, provider) = try await provider()
    let refusal = "error org.freedesktop.DBus.Error.InvalidArgs"
    try await provider.set("OpenSession", "once \(refusal)")
    let store = bus.store()
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    // A provider that refuses every key is not asked forever.
    try await provider.set("OpenSession", refusal)
    try await expect(StoreError.unavailable, of: "value", bus.store(), refusal)
    // An error that has nothing to do with the key is thrown at once.
    try await provider.set("OpenSession", "once error org.freedesktop.DBus.Error.Failed")
    try await expect(StoreError.unavailable, of: "value", bus.store(), "Failed")
  }

  /// The keys of KWallet and libsecret differ in one session of 256.
  @Test(arguments: ["value", "keys", "items", "put"])
  func `a session whose two sides have different keys is opened again`(
    _ call: String
  ) async throws {
    let (bus, provider) = try await provider()
    try await provider.set("OpenSession", "once sealed")
    try await expect(nil, of: call, bus.store(), "a secret that cannot be opened")
    try await provider.set("CreateItem", "once error org.qtproject.QtDBus.Error.InvalidObjectPath")
    let new = try ItemName("new", in: "com.example.mail")
    try await bus.store().put(SecretBytes(utf8: "x"), for: new)
    #expect(try await bus.store().value(for: new) == SecretBytes(utf8: "x"))
    try await provider.set("OpenSession", "once sealed")
    try await bus.store().put(SecretBytes(utf8: "y"), for: ItemName("newer", in: "com.example"))
    #expect(try await bus.store().names(in: nil).count == 4)
    // One provider in many has to be asked a third time.
    try await provider.set("OpenSession", "once once once sealed")
    try await expect(nil, of: call, bus.store(), "three sessions that have different keys")
    // And one that never has the right key is not asked for ever.
    try await provider.set("OpenSession", "sealed")
    try await expect(
      StoreError.unavailable, of: call, bus.store(), "a provider that has the wrong key")
  }

  @Test func `what became of a change is not known when no later session has the right key`()
    async throws
  {
    let (bus, provider) = try await provider()
    let store = bus.store()
    #expect(try await store.value(for: name) == SecretBytes(utf8: "value"))
    try await provider.set("CreateItem", "once error org.qtproject.QtDBus.Error.InvalidObjectPath")
    try await provider.set("OpenSession", "sealed")
    try await expect(
      StoreError.outcomeUnknown, of: "put", store, "a provider that has the wrong key")
  }

  /// KWallet's provider in newer versions of KDE Frameworks 6, as its sources describe it.
  @Test func `ksecretd is KWallet, and a wallet that the login opened needs no question`()
    async throws
  {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus, alsoNamed: "org.kde.ksecretd")
    let store = bus.store()
    #expect(try await store.providerProgram() == .kWallet)
    for call in reads + changes {
      try await store.put(SecretBytes(utf8: "value"), for: name)
      try await provider.set("isOpen", "open")
      try await provider.set("Unlock", "prompt 0 done")
      try await provider.set("locked", "empty")
      #expect(try await store.availability() == .unlocked)
      #expect(await failure { try await call.run(store, name) } == nil, "\(call.name)")
    }
    try await store.put(SecretBytes(utf8: "value"), for: name)
    try await provider.set("locked", "empty")
    // A closed wallet, and a version that does not report its state.
    for answer in ["", "error org.freedesktop.DBus.Error.UnknownInterface"] {
      try await provider.set("isOpen", answer)
      #expect(try await store.availability() == .locked)
      #expect(await failure { try await store.value(for: name) } == StoreError.locked)
    }
  }

  @Test(arguments: ["value", "keys", "items"])
  func `a secret that is not as it was written is an error`(_ call: String) async throws {
    let (bus, provider) = try await provider()
    let corrupt = [
      "line none", "line", "line session-tools:1:", "line session-tools:1:AAAA", "bytes",
      "cut 1", "cut 4", "cut 44", "flip 16", "flip 20", "flip 24", "flip 40", "flip -1", "flip 3",
    ]
    for fault in corrupt {
      try await provider.set("GetSecrets", fault)
      try await expect(StoreError.corrupt, of: call, bus.store(), fault)
    }
    for fault in ["line session-tools:2:AAAA", "line session-tools:", "line session-tools:10:"] {
      try await provider.set("GetSecrets", fault)
      try await expect(StoreError.unsupportedVersion, of: call, bus.store(), fault)
    }
    for fault in ["session", "unknown"] {
      try await provider.set("GetSecrets", fault)
      try await expect(StoreError.unavailable, of: call, bus.store(), fault)
    }
    try await provider.set("GetSecrets", "more")
    try await expect(nil, of: call, bus.store(), "more than was asked for")
    try await provider.set("GetSecrets", "")
    try await expectUnchanged(bus)
  }

  @Test func `another item's secret is an error`() async throws {
    let (bus, provider) = try await provider()
    let store = bus.store()
    try await provider.set("GetSecrets", "other")
    #expect(await failure { try await store.value(for: name) } == StoreError.corrupt)
    for namespace in [name.namespace, other.namespace] {
      #expect(await failure { try await store.names(in: namespace) } == StoreError.corrupt)
      #expect(await failure { try await store.items(in: namespace) } == StoreError.corrupt)
    }
  }

  @Test func `a name that was changed is an error`() async throws {
    let (bus, provider) = try await provider()
    let store = bus.store()
    try await store.put(SecretBytes([UInt8](repeating: 1, count: 100_000)), for: name)
    try await provider.set("Attributes", "changed")
    #expect(await failure { try await store.names(in: nil) } == StoreError.corrupt)
  }

  /// A secret that is said to be encrypted cannot be decrypted, whatever it contains.
  @Test func `a secret that cannot be decrypted is an error`() async throws {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    try await bus.store().put(SecretBytes(utf8: "value"), for: name)
    try await provider.set("OpenSession", "sealed")
    let store = bus.store()
    for fault in [
      "sealed 0", "sealed 1", "sealed 15", "sealed 16", "sealed 160", "parameters 0",
      "parameters 15", "parameters 16", "parameters 17",
    ] {
      try await provider.set("GetSecrets", fault)
      let code = await failure { try await store.value(for: name) }
      #expect(code == StoreError.unavailable || code == StoreError.corrupt, "\(fault)")
    }
  }

  @Test func `an item without a secret is an error, unless the item is gone`() async throws {
    let (bus, provider) = try await provider()
    let store = bus.store()
    try await provider.set("GetSecrets", "missing")
    for call in ["value", "keys", "items"] {
      try await expect(StoreError.unavailable, of: call, store, "missing")
    }
    try await provider.set("GetSecrets", "")
    try await provider.set("SearchItems", "more")
    try await expect(nil, of: "value", bus.store(), "one that is gone")
    #expect(try await bus.store().names(in: nil) == [name, other])
  }

  @Test(arguments: ["value", "contains", "keys", "items"])
  func `a provider that dies in mid-call is an error`(_ call: String) async throws {
    for method in try #require(Self.used.first { $0.0 == call }).1 {
      let (bus, provider) = try await provider()
      try await provider.set(method, "die")
      try await expect(StoreError.unavailable, of: call, bus.store(), method)
    }
  }

  @Test(arguments: [
    ("put", "CreateItem", "hang"), ("put", "CreateItem", "dieafter"), ("put", "CreateItem", "die"),
    ("put", "CreateItem", "forget"), ("put", "CreateItem", "line none"),
    ("put", "CreateItem", "locks"),
    ("put", "SetSecret", "hang"), ("put", "SetSecret", "die"), ("put", "SetSecret", "forget"),
    ("remove", "Delete", "hang"), ("remove", "Delete", "die"), ("remove", "Delete", "dieafter"),
    ("remove", "Delete", "number"), ("remove", "Delete", "empty"), ("remove", "Delete", "locks"),
    ("remove", "Delete", "prompt 0 never"), ("remove", "Delete", "prompt 0 wrong"),
    ("remove", "Delete", "prompt 0 die"),
  ])
  func `a change that was not confirmed may have been made`(
    _ call: String, _ method: String, _ fault: String
  ) async throws {
    let (bus, provider) = try await provider()
    try await provider.set(method, fault)
    // As KeePassXC does.
    if method == "SetSecret" { try await provider.set("CreateItem", "prompt 0 done") }
    try await provider.set("Unlock", "prompt 0 never")
    let isSilent = fault.hasSuffix("hang") || fault.hasSuffix("never")
    let store = bus.store { if isSilent { $0.timeout = .seconds(6) } }
    try await expect(StoreError.outcomeUnknown, of: call, store, fault)
  }

  @Test(arguments: [
    "hang", "die", "dieafter", "empty", "number", "nested", "forget", "line none", "locks",
    "prompt 0 never", "prompt 0 wrong", "prompt 0 die",
  ])
  func `an item whose creation was not confirmed may have been created`(_ fault: String)
    async throws
  {
    let bus = try await PrivateBus()
    let provider = try await FaultyProvider.start(on: bus)
    try await provider.set("CreateItem", fault)
    try await provider.set("Unlock", "prompt 0 never")
    let isSilent = fault.hasSuffix("hang") || fault.hasSuffix("never")
    let store = bus.store { if isSilent { $0.timeout = .seconds(6) } }
    try await expect(StoreError.outcomeUnknown, of: "put", store, fault)
  }

  @Test func `a change that was refused was not made`() async throws {
    let (bus, provider) = try await provider()
    let new = try ItemName("new", in: "com.example.mail")
    let store = bus.store()
    for method in ["CreateItem", "SetSecret", "Delete"] {
      try await provider.set(method, "error org.freedesktop.DBus.Error.AccessDenied")
    }
    for name in [name, new] {
      #expect(
        await failure { try await store.put(SecretBytes(utf8: "x"), for: name) }
          == StoreError.accessDenied)
    }
    try await expect(StoreError.accessDenied, of: "remove", store, "Delete")
    for method in ["CreateItem", "Delete"] { try await provider.set(method, "prompt 0 dismissed") }
    #expect(
      await failure { try await store.put(SecretBytes(utf8: "x"), for: new) }
        == StoreError.promptDismissed)
    try await expect(StoreError.promptDismissed, of: "remove", store, "Delete")
    try await expectUnchanged(bus)
  }

  @Test func `a change that was refused after others has an unknown outcome`() async throws {
    let (bus, provider) = try await provider()
    try await provider.set("Delete", "error org.freedesktop.DBus.Error.AccessDenied")
    let store = bus.store()
    #expect(
      await failure {
        try await store.apply([.put(SecretBytes(utf8: "x"), for: name), .remove(other)])
      } == StoreError.outcomeUnknown)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "x"))
    #expect(try await store.contains(other))
  }

  @Test func `changes with a prompt that asks no question are made`() async throws {
    let (bus, provider) = try await provider()
    let store = bus.store()
    let new = try ItemName("new", in: "com.example.mail")
    for method in ["CreateItem", "Delete"] { try await provider.set(method, "prompt 50 done") }
    try await store.put(SecretBytes(utf8: "x"), for: new)
    #expect(try await store.value(for: new) == SecretBytes(utf8: "x"))
    try await store.remove(new)
    #expect(try await store.value(for: new) == nil)
  }

  @Test func `a person may take longer than the service`() async throws {
    let (bus, provider) = try await provider()
    let store = bus.store {
      $0.prompts = .ifNeeded
      // Long enough for a machine that is busy.
      $0.timeout = .seconds(12)
      $0.promptTimeout = patience
    }
    for call in reads where ["value", "keys"].contains(call.name) {
      try await provider.lock()
      try await provider.set("Unlock", "prompt 12500 done")
      try await expect(nil, of: call.name, store, "a slow person")
    }
    for (fault, code) in [
      ("prompt 10 dismissed", StoreError.promptDismissed),
      ("prompt 10 wrong", StoreError.unavailable),
      ("number", StoreError.unavailable), ("hang", StoreError.timedOut),
      ("prompt 10 die", StoreError.unavailable),
    ] as [(String, StoreError.Code)] {
      try await provider.lock()
      try await provider.set("Unlock", fault)
      try await expect(code, of: "value", store, fault)
    }
  }

  private func expectUnchanged(_ bus: PrivateBus) async throws {
    #expect(
      try await bus.store().items(in: nil)
        == [name: SecretBytes(utf8: "value"), other: SecretBytes(utf8: "another")])
  }
}
