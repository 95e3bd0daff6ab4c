package runner

import "testing"

func TestWhenStarted(t *testing.T) {
	const (
		synced  = "2026-11-24 19:57:51 2 [Note] WSREP: Synchronized with group, ready for connections"
		serving = "2026-11-24 19:57:51 0 [Note] /usr/sbin/mariadbd: ready for connections."
		other   = "2026-11-24 19:57:51 0 [Note] WSREP: Shifting JOINED -> SYNCED (TO: 3)"
	)
	for _, c := range []struct {
		lines []string
		want  int
	}{
		{[]string{serving, other, synced}, 1},
		{[]string{synced, other, serving}, 1},
		{[]string{synced, other, synced}, 0},
		{[]string{serving, serving}, 0},
		{[]string{serving, synced, synced, serving}, 1},
	} {
		told := 0
		log := whenStarted(func() { told++ })
		for _, line := range c.lines {
			log(line)
		}
		if told != c.want {
			t.Errorf("%q: told %d times", c.lines, told)
		}
	}
}
