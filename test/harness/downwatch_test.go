package harness

import (
	"slices"
	"testing"
)

func TestDownWatch(t *testing.T) {
	runs, synced := map[string]string{"a": "1", "b": "2", "c": "3"}, map[string]bool{"a": true, "b": true, "c": true}
	d := &DownWatch{stop: func() {}, log: t.Logf, ready: map[string]bool{"a": true, "b": true, "c": true},
		runs:   map[string]string{"a": "1", "b": "2", "c": "3"},
		synced: func(pod string) bool { return synced[pod] }, run: func(pod string) string { return runs[pod] }}
	restart := func(pod, run string, meanwhile func()) {
		d.note(pod, false)
		meanwhile()
		runs[pod] = run
		d.note(pod, true)
	}
	blip := func(pod string) func() {
		return func() { d.note(pod, false); d.note(pod, true) }
	}
	restart("a", "4", blip("b")) // a kubelet that was late with b
	restart("b", "5", func() {})
	restart("c", "6", blip("a"))
	if most, worst, order, err := d.Stop(); most != 1 || !slices.Equal(order, []string{"a", "b", "c"}) || err != nil {
		t.Errorf("%d, %v, %v, %v", most, worst, order, err)
	}

	synced["b"] = false // it gives a full copy: it is not restarted, and does not serve
	restart("c", "7", blip("b"))
	if most, worst, order, _ := d.Stop(); most != 2 || !slices.Equal(worst, []string{"b", "c"}) || len(order) != 5 {
		t.Errorf("%d, %v, %v", most, worst, order)
	}
	synced["b"] = true
	d.note("a", false)
	runs["a"] = "" // it does not answer at the end
	if _, _, order, _ := d.Stop(); len(order) != 6 || order[5] != "a" {
		t.Errorf("%v", order)
	}
}
