// Package version holds the version the build was given.
package version

// Version is the semantic version of the release, for instance v0.2.0, or what `git describe` says of the commit; "dev"
// where the build was given none. The linker sets it (-X, see the Makefile).
var Version = "dev"

// Asked reports whether a program's arguments ask for its version and nothing else: "version", "--version" or
// "-version".
func Asked(args []string) bool {
	return len(args) == 1 && (args[0] == "version" || args[0] == "--version" || args[0] == "-version")
}
