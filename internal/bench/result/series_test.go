package result

import "testing"

func TestThin(t *testing.T) {
	points := func(n int) (out []Point) {
		for i := range n {
			out = append(out, Point{Second: float64(i + 1), TPS: float64(i % 2 * 10), Errors: 1})
		}
		return out
	}
	thin := func(o Output) []Point { o.Thin(); return *o.Series() }
	if got := thin(Output{OLTP: &OLTPResult{Series: points(3600)}}); len(got) != 3600 ||
		got[1] != (Point{Second: 2, TPS: 10, Errors: 1}) {
		t.Errorf("an hour: %d points, %+v", len(got), got[1])
	}
	if got := thin(Output{Connect: &ConnectResult{Paced: Paced{Series: points(7199)}}}); len(got) != 3600 ||
		got[0] != (Point{Second: 2, TPS: 5, Errors: 1}) || got[3599].Second != 7199 {
		t.Errorf("two hours: %d points, %+v … %+v", len(got), got[0], got[3599])
	}
	if got := thin(Output{Transfer: &TransferFacts{Series: points(86400)}}); len(got) != 3600 ||
		got[3599].Second != 86400 {
		t.Errorf("a day: %d points", len(got))
	}
}
