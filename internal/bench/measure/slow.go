package measure

import (
	"context"
	"net"
	"time"
)

// dialSlowly connects through a relay that makes every round trip longer by latency: what is
// sent, and what is received, is held for half of it. Opening a connection is a round trip, too.
func dialSlowly(ctx context.Context, network, addr string, latency time.Duration) (net.Conn, error) {
	var d net.Dialer
	far, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	select {
	case <-time.After(latency):
	case <-ctx.Done():
		_ = far.Close()
		return nil, ctx.Err()
	}
	near, inner := net.Pipe()
	go func() {
		// The server hears of the connection as late as of anything the client sends, and is the first to speak.
		time.Sleep(latency / 2)
		hold(inner, far, latency/2)
	}()
	go hold(far, inner, latency/2)
	return near, nil
}

// parcel is what was read at once, and when it may go on.
type parcel struct {
	data []byte
	due  time.Time
}

// hold passes on from src to dst, each piece after delay and in order. The end of one side is the
// end of the other, after what is still in progress.
func hold(dst, src net.Conn, delay time.Duration) {
	queue := make(chan parcel, 1024)
	go func() {
		defer close(queue)
		for {
			buf := make([]byte, 16<<10)
			n, err := src.Read(buf)
			if n > 0 {
				queue <- parcel{buf[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range queue {
		time.Sleep(time.Until(p.due))
		if _, err := dst.Write(p.data); err != nil {
			break
		}
	}
	_ = dst.Close()
	_ = src.Close()
	for range queue { // the reader must not wait for us
	}
}
