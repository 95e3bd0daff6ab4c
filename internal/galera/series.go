package galera

import "fmt"

// Series is a line of MariaDB releases, for instance 10.11 or 11.8. Within one, servers may be exchanged
// at will; from one to a later one a data directory is upgraded, and there is no way back.
type Series struct{ Major, Minor int }

// ParseSeries reads the series off a version like 11.8.6-MariaDB, or off the beginning of one.
func ParseSeries(version string) (Series, bool) {
	var s Series
	n, _ := fmt.Sscanf(version, "%d.%d", &s.Major, &s.Minor)
	return s, n == 2
}

// String returns the series as people write it.
func (s Series) String() string { return fmt.Sprintf("%d.%d", s.Major, s.Minor) }

// Before reports whether a series is older than another.
func (s Series) Before(o Series) bool {
	return s.Major < o.Major || s.Major == o.Major && s.Minor < o.Minor
}

// Older reports whether a version is of an older series than another. What is not known is not older.
func Older(version, than string) bool {
	a, ok := ParseSeries(version)
	b, known := ParseSeries(than)
	return ok && known && a.Before(b)
}

// SameSeries reports whether two versions are known and of one series.
func SameSeries(version, other string) bool {
	a, ok := ParseSeries(version)
	b, known := ParseSeries(other)
	return ok && known && a == b
}
