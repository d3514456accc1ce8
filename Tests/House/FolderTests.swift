import Foundation
import Testing

@Suite("The repository")
struct FolderTests {
    @Test(
        "Apart from hidden files, the top folder contains only the package, Sources, Tests, Deploy, README and LICENSE"
    )
    func topLevel() {
        let known: Set<String> = ["Package.swift", "Sources", "Tests", "Deploy", "README.md", "LICENSE"]
        let top = Set(Repository.files.compactMap { $0.split(separator: "/").first.map(String.init) })
        expectNone(top.subtracting(known).filter { !$0.hasPrefix(".") }.sorted(), "belongs in a subfolder")
        expectNone(known.subtracting(top).sorted(), "is missing")
    }

    @Test("Every module has a folder of tests of its name, in its wing's folder")
    func testFolders() {
        // The stores' tests test it, it has the suites that stores must pass, and a command that the simulator's tests run.
        let without: Set = ["Server/Postgres", "Proofs/CallTesting", "Proofs/ringline-simulate"]
        let modules = Set(Repository.sources.map { "\($0.wing)/\($0.module)" })
        let tested = Set(Repository.swift.filter { $0.path.hasPrefix("Tests/") }.map { "\($0.wing)/\($0.module)" })
        expectNone(modules.subtracting(without).subtracting(tested).sorted(), "has no tests in Tests/<wing>/<module>")
        expectNone(without.subtracting(modules).sorted(), "is no module")
        expectNone(without.intersection(tested).sorted(), "has tests after all")
    }

    @Test("The repository contains no leftovers of a build or a run")
    func noLeftovers() {
        let leftover =
            /(^|\/)(Package\.resolved|\.build[^\/]*|\.swiftpm|\.venv|__pycache__|node_modules|\.DS_Store|data)(\/|$)|\.(pyc|o|so|db|sqlite3?|db-wal|db-shm|log|orig|rej|bak)$/
        expectNone(Repository.committed.filter { $0.contains(leftover) }, "does not belong in git")
    }

    @Test("The repository contains no private key")
    func noSecrets() {
        let name = /\.(p8|p12|pem|key|pfx|jks|keystore)$|(^|\/)\.env/
        expectNone(Repository.committed.filter { $0.contains(name) }, "looks like a key")
        // A key has a header and a body. Code that recognizes keys contains only the header.
        let key = /-----BEGIN [A-Z ]*PRIVATE KEY-----\s*(\\n)?\s*[A-Za-z0-9+\/=]{40}/
        expectNone(Repository.committed.filter { Repository.text(of: $0).contains(key) }, "contains a private key")
    }

    @Test("No committed file is larger than 200 kB")
    func noLargeFiles() {
        let large = Repository.committed.filter { Repository.text(of: $0).utf8.count > 200_000 }
        expectNone(large, "larger than 200 kB")
    }

    @Test(
        "shellcheck accepts every shell script",
        .enabled(if: Repository.run("shellcheck", ["--version"]).status == 0, "apt-get install shellcheck")
    )
    func shellcheck() {
        let scripts = Self.scripts
        #expect(scripts.count >= 4)
        let result = Repository.run("shellcheck", ["--external-sources", "--format=gcc"] + scripts)
        expectNone(result.status == 0 ? [] : result.output.split(separator: "\n").map(String.init), "shellcheck")
    }

    /// The paths of all shell scripts.
    private static var scripts: [String] {
        Repository.files.filter { path in
            let text = Repository.text(of: path)
            return text.hasPrefix("#!/usr/bin/env bash") || text.hasPrefix("#!/bin/")
                || text.hasPrefix("# shellcheck shell")
        }
    }

    @Test("Every script waits for a machine that is updating itself")
    func busyPackages() {
        let command = /\bapt(-get)?\b[^;&|]*\b(update|install|upgrade|remove)\b/
        var commands = 0
        for path in Self.scripts {
            for line in Repository.text(of: path).split(separator: "\n") where !line.hasPrefix("RUN ") {
                // A text in quotes is a message, and a comment is none of it.
                let bare = line.replacing(/"[^"]*"/, with: "").prefix { $0 != "#" }
                guard bare.contains(command) else { continue }
                commands += 1
                #expect(bare.contains("DPkg::Lock::Timeout="), "\(path): \(line)")
                // The option concerns no lock of the package lists.
                #expect(!bare.contains(/\bupdate\b/) || path == "Deploy/packages.bash", "\(path): update_package_lists")
            }
        }
        #expect(commands >= 2)
    }

    @Test("Every committed file that begins with #! is executable")
    func executable() {
        let scripts = Repository.committed.filter { Repository.text(of: $0).hasPrefix("#!") }
        #expect(scripts.count >= 9)
        let unusable = scripts.filter {
            !FileManager.default.isExecutableFile(atPath: Repository.root.appending(path: $0).path)
        }
        expectNone(unusable, "begins with #! but is not executable")
    }

    @Test("The image installs the packages that Deploy/packages.bash lists")
    func imagePackages() {
        let stages = Repository.text(of: "Deploy/Dockerfile").split(separator: "\nFROM ")
        for (stage, list) in [
            ("swift", "SWIFT"), ("build", "BUILD"), ("javascript", "JAVASCRIPT"), ("runtime", "RUN"),
        ] {
            let text = stages.first { $0.prefix { !$0.isNewline }.hasSuffix(" AS \(stage)") }
            #expect(text?.contains("\"${\(list)_PACKAGES[@]}\"") == true, "the stage \(stage)")
        }
    }

    @Test("Only Deploy/packages.bash names a package that not every supported release of Debian has")
    func packagesByRelease() {
        let script = """
            . Deploy/packages.bash
            packages_of "$1"
            for list in $(compgen -v | grep '_PACKAGES$'); do declare -n names=$list; printf '%s\\n' "${names[@]}"; done
            """
        let lists = ["bookworm", "trixie"].map { release in
            Set(Repository.run("bash", ["-c", script, "bash", release]).output.split(separator: "\n").map(String.init))
        }
        let names = lists[0].symmetricDifference(lists[1])
        #expect(names.contains("libssl3") && names.contains("libssl3t64"))
        let others = Repository.committed.filter {
            $0 != "Deploy/packages.bash" && $0 != "Tests/House/FolderTests.swift"
        }
        let named = others.flatMap { path in
            let words = Repository.text(of: path).split { !($0.isLetter || $0.isNumber || "+-.".contains($0)) }
            return Set(words).filter { names.contains(String($0)) || $0.wholeMatch(of: /postgresql-\d+/) != nil }
                .map { "\(path): \($0)" }
        }
        expectNone(named.sorted(), "belongs in Deploy/packages.bash, by release")
    }
}
