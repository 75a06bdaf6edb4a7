import SessionTools

// An app that tests start in the sandbox of a Flatpak or a Snap, written as it would be for iOS.
//
//   SandboxedApp store NAME               stores a user
//   SandboxedApp store-by-keyring NAME    the same, if the keyring can keep the keychain's key
//   SandboxedApp read                     prints the user's name
//   SandboxedApp protection               prints what protects the keychain
//
// Instead of a result it prints the code, the reason and the remedy of an error.
struct User: Codable {
  var name: String
}

let arguments = CommandLine.arguments
let container = KeychainStorageContainer<User>(
  config: KeychainContainerConfig(
    keychainName: "com.example.mail",
    protection: arguments.contains("store-by-keyring") ? .secretService : .automatic))
do {
  switch arguments.dropFirst().first {
  case "store" where arguments.count == 3, "store-by-keyring" where arguments.count == 3:
    try container.storeItem(User(name: arguments[2]), forIdentifier: "user")
    print("stored")
  case "read": print(try container.item(forIdentifier: "user")?.name ?? "no user")
  case "protection": print(try container.protection().description)
  default: fatalError("wrong arguments")
  }
} catch let error as StoreError {
  print("\(error.code): \(error.reason). \(error.remedy ?? "")")
}
