//go:build !race

package metrics

const race = false
