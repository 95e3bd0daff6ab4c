package archiver

import "testing"

// TestSeqnos: any node shows that transactions name Galera's seqnos. The first one after the beginning of a chain may
// be before what the node had by then that the chain begins with.
func TestSeqnos(t *testing.T) {
	for name, c := range map[string]struct {
		ahead int64 // how many more seqnos there were when the chain began
		down  int   // how many nodes do not answer when the segment is stored
		hangs bool  // the one that is followed does not even refuse
		want  bool
	}{
		"all answer":                           {0, 0, false, true},
		"the one that is followed does not":    {0, 1, false, true},
		"nor does another one":                 {0, 2, false, true},
		"none answers":                         {0, 3, false, true},
		"the chain began later":                {1, 0, false, true},
		"and the one that is followed is away": {1, 2, false, true},
		"and it hangs":                         {1, 1, true, true},
		"and all are away":                     {1, 3, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.stop()
				w.session = "s2"
				views := func(n int64) {
					for _, s := range w.servers() {
						s.do(func() { s.views = n })
					}
				}
				views(c.ahead)
				w.archiver, w.stop = w.start()
				w.pass(retryFirst + interval/4)
				views(0)
				w.commit(6)
				w.pass(interval / 4)
				w.a.mu.Lock()
				w.a.hangs = c.hangs
				w.a.mu.Unlock()
				for _, s := range w.servers()[:c.down] {
					s.fail("killed")
				}
				w.pass(3*interval + confirmTime)
				w.expect("@5 @5 6-6")
				if h := w.heads()[2]; h.Seqnos != c.want || c.want && h.Held != 6 {
					t.Errorf("%+v", h)
				}
			})
		})
	}
}
