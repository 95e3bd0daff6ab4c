package result

import "testing"

func TestThin(t *testing.T) {
	points := func(n int) (out []Point) {
		for i := range n {
			out = append(out, Point{Second: float64(i + 1), TPS: float64(i % 2 * 10), Errors: 1})
		}
		return out
	}
	o := Output{OLTP: &OLTPResult{Series: points(3600)}, Connect: &ConnectResult{Paced: Paced{Series: points(7199)}},
		Transfer: &TransferFacts{Series: points(86400)}}
	o.Thin()
	if got := o.OLTP.Series; len(got) != 3600 || got[1] != (Point{Second: 2, TPS: 10, Errors: 1}) {
		t.Errorf("an hour: %d points, %+v", len(got), got[1])
	}
	if got := o.Connect.Series; len(got) != 3600 || got[0] != (Point{Second: 2, TPS: 5, Errors: 1}) ||
		got[3599].Second != 7199 {
		t.Errorf("two hours: %d points, %+v … %+v", len(got), got[0], got[3599])
	}
	if got := o.Transfer.Series; len(got) != 3600 || got[3599].Second != 86400 {
		t.Errorf("a day: %d points", len(got))
	}
}
