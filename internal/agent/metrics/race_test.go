//go:build race

package metrics

// race is set while the race detector slows everything down.
const race = true
