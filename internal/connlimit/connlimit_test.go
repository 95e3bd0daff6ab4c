package connlimit

import "testing"

// TestWhichConnectionIsClosed: an idle connection before one with a request, the oldest first, of the client that holds
// most.
func TestWhichConnectionIsClosed(t *testing.T) {
	l := &Listener{Total: 4, PerAddress: 3}
	enter := func(from string) (*conn, *conn) {
		c := &conn{from: from, port: l}
		return c, l.enter(c)
	}
	a1, _ := enter("a")
	a2, _ := enter("a")
	_, _ = enter("b")
	a1.busy = true
	a3, out := enter("a")
	if out != nil {
		t.Fatal("there was space")
	}
	if _, out = enter("c"); out != a2 {
		t.Error("the port is full: the oldest idle one of a has to go")
	}
	a2.busy, a3.busy = true, true
	if _, out = enter("a"); out != a1 {
		t.Error("a holds too many, all at work: its oldest has to go")
	}
	l = &Listener{Total: 10, PerAddress: 1}
	b1, _ := enter("b")
	if _, out = enter("c"); out != nil {
		t.Error("there was space")
	}
	if _, out = enter("b"); out != b1 {
		t.Error("b holds too many, though the port has space")
	}
}
