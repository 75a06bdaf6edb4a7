import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import Testing

@Suite struct PathTests {
  @Test func `the directory of a path's last component`() {
    for (path, parent) in [
      ("/a/b", "/a"), ("/a/b/", "/a"), ("/a//", "/"), ("/a", "/"), ("/", "/"), ("//", "/"),
      ("a/b", "a"), ("a", "."), ("", "."),
    ] {
      #expect(path.parentPath == parent, "\(path)")
    }
  }

  @Test func `a path loses the slashes at its end, but is never emptied`() {
    for (path, stripped) in [
      ("/a/b/", "/a/b"), ("a///", "a"), ("/", "/"), ("///", "/"), ("", ""), ("/é/", "/é"),
    ] {
      #expect(path.withoutTrailingSlashes == stripped, "\(path)")
    }
  }

  @Test(arguments: [
    "plain", "it's", "a b", "line\nline", "\\'\n$x`\"", "end\n", "\u{1b}[31m", "\u{202e}x", "é\t日本",
  ])
  func `a command line for a path is one line and names that path`(path: String) throws {
    #expect(path.shellQuoted == path.shellQuoted.escapingControls())
    let printed = try Program.outcome(
      of: ["/bin/bash", "-c", "printf %s \(path.shellQuoted)"], environment: ["LC_ALL": "C.UTF-8"])
    #expect(printed.text == path)
  }

  @Test func `names and paths in descriptions neither end a line nor act on a terminal`() throws {
    let name = try ItemName(
      "a\nb", in: StoreNamespace(service: "\u{1b}[2J", accessGroup: "g\u{85}h"))
    #expect("\(name)" == "a\\nb of \\u{1b}[2J, group g\\u{85}h")
    let error = StoreError(
      .io, store: "/odd\nsession-tools: sound", reason: "no \(name)", remedy: "Look\nthere"
    )
    #expect(
      "\(error)"
        == "/odd\\nsession-tools: sound: no a\\nb of \\u{1b}[2J, group g\\u{85}h. Look\\nthere.")
  }

  @Test func `a permission error names what is in the way, and whose it is`() throws {
    let directory = try TemporaryDirectory()
    let other = getuid() == 0 ? directory["other"] : "/etc"
    if getuid() == 0 {
      try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
      #expect(unsafe chown(other, 12_345, 12_345) == 0)
    }
    let denied = SystemCallError("open", EACCES)
    let error = StoreError(denied, path: "\(other)/absent/file")
    #expect(
      error.remedy
        == (getuid() == 0
          ? "\(other) belongs to user 12345: run as that user, or choose another place"
          : "\(other) belongs to root: choose another place"))
    let own = StoreError(denied, path: directory["absent"])
    #expect(own.remedy?.hasPrefix("\(directory.path) is your own, and its mode allows it") == true)
    let readOnly = StoreError(SystemCallError("open", EROFS), path: "/x")
    #expect(readOnly.remedy?.contains("mounted read-only") == true)
  }

  @Test func `a file or a broken link in place of a directory is named`() throws {
    let directory = try TemporaryDirectory()
    let (file, link) = (directory["file"], directory["link"])
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "nowhere")
    let isFile = StoreError(SystemCallError("mkdir", ENOTDIR), path: "\(file)/.local/share")
    #expect(
      isFile.remedy == "\(file) is not a directory: move it away, or choose another place")
    let isBroken = StoreError(SystemCallError("mkdir", ENOENT), path: "\(link)/.local")
    #expect(
      isBroken.remedy
        == "\(link) is a link to what is not there: make its target, or choose another place")
    #expect(StoreError(SystemCallError("open", ENOENT), path: directory["absent"]).remedy == nil)
    let isProtected = StoreError(SystemCallError("mkdir", EPERM), path: directory["a/b"])
    #expect(isProtected.remedy?.hasSuffix("lsattr -d \(directory.path)") == true)
  }

  @Test func `directories of a user are where the specification says`() throws {
    let home = ["HOME": "/h"]
    #expect(try UserDirectory.data.path(environment: home) == "/h/.local/share")
    #expect(try UserDirectory.state.path(environment: home) == "/h/.local/state")
    #expect(try UserDirectory.runtime.path(environment: home) == "/h/.local/state")
    #expect(
      try UserDirectory.data.path(environment: ["HOME": "/h", "XDG_DATA_HOME": "/d"]) == "/d")
    #expect(try UserDirectory.runtime.path(environment: ["XDG_RUNTIME_DIR": "/r"]) == "/r")
    // Paths that are not absolute are ignored.
    let database = try UserDirectory.data.path(environment: [:])
    #expect(database == "\(NSHomeDirectory())/.local/share")
    #expect(try UserDirectory.data.path(environment: ["HOME": "h"]) == database)
    #expect(
      try UserDirectory.data.path(environment: ["HOME": "/h", "XDG_DATA_HOME": "d"])
        == "/h/.local/share")
  }

  /// In a process of another user, who has no account.
  @Test(.enabled(if: getuid() == 0, "only root can become another user"))
  func `a home that cannot be found is an error that names the variables`() async {
    await #expect(processExitsWith: .success) {
      #expect(setuid(54_321) == 0)
      for environment in [[:], ["HOME": ""], ["HOME": "ada"]] {
        let error = await expectFailure(StoreError.unavailable) {
          _ = try UserDirectory.data.path(environment: environment)
        }
        #expect(
          error?.reason == "HOME is not set to an absolute path, and user 54321 has none in the "
            + "user database")
        #expect(error?.remedy == "Set HOME or XDG_DATA_HOME to a directory of your own")
      }
      let given = try UserDirectory.data.path(environment: ["XDG_DATA_HOME": "/d"])
      #expect(given == "/d")
    }
  }

  /// As in OpenShift, whose users have no account and the group of root.
  @Test(.enabled(if: getuid() == 0, "only root can become another user"))
  func `a home that a group shares is used`() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      #expect(unsafe chmod(directory.path, 0o755) == 0)
      let home = directory["app"]
      try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
      #expect(unsafe chown(home, 1001, 0) == 0 && chmod(home, 0o770) == 0)
      #expect(setuid(54_321) == 0)
      try LinuxFileSystem().makeDirectories("\(home)/.local/share")
      var made = stat()
      #expect(unsafe stat("\(home)/.local/share", &made) == 0 && made.st_uid == 54_321)
    }
  }

  @Test(.enabled(if: getuid() == 0, "only root can make another user's directory"))
  func `nothing is made in another user's place`() throws {
    let directory = try TemporaryDirectory()
    let home = directory["ada"]
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
    #expect(unsafe chown(home, 12_345, 12_345) == 0)
    let error = expectFailure(StoreError.unsafePermissions) {
      try LinuxFileSystem().makeDirectories("\(home)/.local/share/session-tools")
    }
    #expect(error?.reason == "it would be in another user's place, so it was not made")
    #expect(
      error?.remedy
        == "\(home) belongs to user 12345: run as that user, or choose another place")
    #expect(try FileManager.default.contentsOfDirectory(atPath: home).isEmpty)
    // What is there already belongs to that user as well: chown would take it away.
    let store = "\(home)/store"
    try FileManager.default.createDirectory(atPath: store, withIntermediateDirectories: false)
    #expect(unsafe chown(store, 12_345, 12_345) == 0)
    let refusal = expectFailure(StoreError.unsafePermissions) {
      _ = try PrivateDirectory(store, isOneThing: true, fileSystem: LinuxFileSystem())
    }
    #expect(refusal?.remedy == "Run as that user")
    // Restored by root into the user's own directory, it is the user's to take.
    let restored = directory["restored"]
    try FileManager.default.createDirectory(atPath: restored, withIntermediateDirectories: false)
    #expect(unsafe chown(restored, 12_345, 12_345) == 0)
    let foreign = expectFailure(StoreError.unsafePermissions) {
      _ = try PrivateDirectory(restored, isOneThing: true, fileSystem: LinuxFileSystem())
    }
    #expect(foreign?.remedy?.contains("chown -R 0 ") == true)
  }
}
