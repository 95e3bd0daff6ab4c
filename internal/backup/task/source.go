package task

// Source is what a copied server is like, and what of it was copied.
type Source struct {
	Version string `json:"version,omitempty"`
	GTID    string `json:"gtid,omitempty"`
	Tables  int    `json:"tables,omitempty"`
	// Bytes is the source's estimate; Rows is what was copied.
	Bytes int64 `json:"bytes,omitempty"`
	Rows  int64 `json:"rows,omitempty"`
	// LockedMilliseconds is for how long its commits waited.
	LockedMilliseconds int64 `json:"lockedMilliseconds,omitempty"`
	// Skipped are accounts and grants that were left out.
	Skipped []string `json:"skipped,omitempty"`
	// Findings are what keeps it from being copied.
	Findings []Finding `json:"findings,omitempty"`
}

// Shorten leaves out an example, and reports whether there was one: the counts stay.
func (s *Source) Shorten() bool {
	if s == nil {
		return false
	}
	longest := -1
	for i, f := range s.Findings {
		if len(f.Objects) > 0 && (longest < 0 || len(f.Objects) >= len(s.Findings[longest].Objects)) {
			longest = i
		}
	}
	switch {
	case longest >= 0:
		o := &s.Findings[longest].Objects
		*o = (*o)[:len(*o)-1]
	case len(s.Skipped) > 1: // the last one counts the others
		s.Skipped = append(s.Skipped[:len(s.Skipped)-2], s.Skipped[len(s.Skipped)-1])
	default:
		return false
	}
	return true
}

// Finding is one reason why a server is not copied.
type Finding struct {
	Name string `json:"name"`
	// Objects are some of those that it is about, Count how many there are.
	Objects []string `json:"objects,omitempty"`
	Count   int      `json:"count,omitempty"`
	// Message describes what is wrong, and what to do.
	Message string `json:"message"`
}
