package galera

import "testing"

func TestBridge(t *testing.T) {
	plain, dynamic, strict := Encryption{Socket: SocketPlain}, Encryption{Socket: SocketDynamic},
		Encryption{Socket: SocketStrict}
	only := func(s SocketMode, suites ...string) Encryption { return NewEncryption(s, suites) }
	for _, r := range []struct{ from, to, step Encryption }{
		{plain, strict, dynamic},
		{strict, plain, dynamic},
		{dynamic, strict, strict},
		{dynamic, plain, plain},
		{strict, strict, strict},
		{strict, only(SocketStrict, "A"), only(SocketStrict, "A")},
		{only(SocketStrict, "A"), only(SocketStrict, "B"), only(SocketStrict, "A", "B")},
		{only(SocketStrict, "A", "B"), only(SocketStrict, "B"), only(SocketStrict, "B")},
		{plain, only(SocketStrict, "A"), only(SocketDynamic, "A")},
		{only(SocketDynamic, "A"), only(SocketStrict, "B"), only(SocketDynamic, "A", "B")},
		{only(SocketDynamic, "A"), plain, plain},
	} {
		got := r.from.Bridge(r.to)
		if got != r.step {
			t.Errorf("%v to %v: %v, want %v", r.from, r.to, got, r.step)
		}
		if !got.Meets(r.from) || !got.Meets(r.to) {
			t.Errorf("%v does not meet both %v and %v", got, r.from, r.to)
		}
	}
}

func TestMeets(t *testing.T) {
	plain, dynamic, strict := Encryption{Socket: SocketPlain}, Encryption{Socket: SocketDynamic},
		Encryption{Socket: SocketStrict}
	a, b := NewEncryption(SocketStrict, []string{"A"}), NewEncryption(SocketStrict, []string{"B"})
	for _, r := range []struct {
		x, y  Encryption
		meets bool
	}{
		{plain, plain, true}, {plain, strict, false}, {plain, dynamic, true}, {strict, dynamic, true},
		{a, b, false}, {a, strict, true}, {a, a, true}, {plain, a, false},
	} {
		if r.x.Meets(r.y) != r.meets || r.y.Meets(r.x) != r.meets {
			t.Errorf("%v meets %v: want %t", r.x, r.y, r.meets)
		}
	}
}
