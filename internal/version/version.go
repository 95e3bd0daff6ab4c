// Package version holds the version the build was given.
package version

// Version is set by the linker.
var Version = "dev"
