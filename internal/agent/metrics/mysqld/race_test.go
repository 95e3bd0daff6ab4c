//go:build race

package mysqld

// race says that the race detector slows everything down.
const race = true
