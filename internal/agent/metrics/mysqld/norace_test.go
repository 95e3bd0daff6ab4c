//go:build !race

package mysqld

const race = false
