import ArgumentParser
import SessionToolsBase

/// `session-tools git-credential`.
struct GitCredentialCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "git-credential",
    abstract: "Keep git's credentials in a store, as its helper.",
    discussion: """
      git starts this with get, store or erase, and a description of the credential on standard \
      input (gitcredentials(7)). A credential is an item of the service git; its identifier is the \
      address with the user, such as https://me@example.com, as migrate --from git: names it. With \
      credential.useHttpPath the path is a part of it. The value is the password, and below it, \
      if git gave them, the date on which it expires and a refresh token.

      If the store cannot be read, git is told to quit and does not ask for a password. A link to \
      session-tools named git-credential-session-tools makes "session-tools" the helper's name.

      Example:
        git config --global credential.helper \\
          '/usr/local/bin/session-tools git-credential --store ~/vault'
      """)

  @OptionGroup var store: StoreOption
  @OptionGroup var access: AccessOptions

  @Argument(
    help: "get, store, erase or capability; others are ignored.",
    completion: .list(["get", "store", "erase", "capability"]))
  var operation: String

  func validate() throws {
    try KeyArgument.checkDescriptors(access.secrets, isInputTaken: true)
  }

  func run() throws {
    switch operation {
    case "capability": try StandardOutput.write("version 0\ncapability \(GitHelper.capability)\n")
    case "get": try get()
    case "store", "erase": try change()
    // gitcredentials(7): later versions of git may have other operations.
    default: break
    }
  }

  private func get() throws {
    do {
      let request = try readAttributes()
      if let answer = try helper().answer(to: request) { try StandardOutput.write(answer) }
    } catch {
      // A store that cannot be read is not one without the credential: git must not ask for another
      // one, and then store that.
      try StandardOutput.write("quit=1\n")
      throw error
    }
  }

  private func change() throws {
    let credential = try readAttributes()
    let helper = try helper()
    if operation == "store" {
      try helper.store(credential)
    } else {
      try helper.erase(credential)
    }
    helper.open.close()
  }

  private func helper() throws -> GitHelper {
    GitHelper(open: try access.openItems(at: try store.location()), timeout: access.timeout)
  }

  private func readAttributes() throws(StoreError) -> GitAttributes {
    GitAttributes(lines: try StandardInput.readValue(atMost: Self.maximumByteCount))
  }

  /// More than any description, which has the headers of a server's answer in it.
  private static let maximumByteCount = 1 << 20
}
