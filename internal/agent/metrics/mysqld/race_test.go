//go:build race

package mysqld

// race is set while the race detector slows everything down.
const race = true
