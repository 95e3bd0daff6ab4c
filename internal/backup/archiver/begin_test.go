package archiver

import "testing"

// TestBegins: a chain begins with what another node is at, too: data from before that may lack what the other one has.
// Nothing is called archived while all others have more.
func TestBegins(t *testing.T) {
	play(t, func(w *world) {
		w.stop()
		w.session = "s2"
		for _, s := range []*server{w.b, w.c} {
			s.commit(6)
			s.do(func() { s.views = 5 })
		}
		w.archiver, w.stop = w.start()
		w.pass(retryFirst / 2)
		if h := w.heads()[1]; !h.Begins || h.Last != gtid(5) || h.From != 11 || !h.Through.IsZero() {
			t.Errorf("%+v", h)
		}
	})
}
