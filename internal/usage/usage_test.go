package usage

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCPU(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  Counters
		ok    bool
	}{
		"version 2": {map[string]string{"cpu.stat": "usage_usec 2500000\nuser_usec 1\nnr_periods 9\nnr_throttled 4\n"},
			Counters{2.5, 4}, true},
		"version 1": {map[string]string{"cpu,cpuacct/cpuacct.usage": "1500000000\n",
			"cpu,cpuacct/cpu.stat": "nr_periods 3\nnr_throttled 2\nthrottled_time 1\n"}, Counters{1.5, 2}, true},
		"apart": {map[string]string{"cpuacct/cpuacct.usage": "1500000000\n", "cpu/cpu.stat": "nr_throttled 2\n"},
			Counters{1.5, 2}, true},
		"nothing": {nil, Counters{}, false},
	} {
		got, ok := cpu(write(t, tc.files))
		if got != tc.want || ok != tc.ok {
			t.Errorf("%s: got %+v, %v", name, got, ok)
		}
	}
}

func TestMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  float64
		ok    bool
	}{
		"version 2": {map[string]string{"memory.current": "5000\n", "memory.stat": "anon 3000\ninactive_file 1500\n"},
			3500, true},
		"version 1": {map[string]string{"memory/memory.usage_in_bytes": "5000\n",
			"memory/memory.stat": "rss 3000\ninactive_file 1500\n"}, 3500, true},
		"files alone": {map[string]string{"memory.current": "5000\n", "memory.stat": "inactive_file 6000\n"}, 0, true},
		"nothing":     {nil, 0, false},
	} {
		if got, ok := memory(write(t, tc.files)); got != tc.want || ok != tc.ok {
			t.Errorf("%s: got %g, %t", name, got, ok)
		}
	}
}

func TestProcessor(t *testing.T) {
	got := processor(
		"processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu aes avx2\n\nprocessor\t: 1\nmodel name\t: Some " +
			"CPU\nflags\t\t: fpu aes avx2\n")
	if !reflect.DeepEqual(got, Processor{Model: "Some CPU", Count: 2, Flags: []string{"aes", "avx2"}}) {
		t.Errorf("got %+v", got)
	}
}

func TestSentBytes(t *testing.T) {
	head := "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs " +
		"drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
	for name, tc := range map[string]struct {
		text string
		want float64
		ok   bool
	}{
		"a pod": {head +
			"    lo:    1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0  " +
			"        0\n  eth0: 5000 50 0 0 0 0 0 0 7000 70 0 0 0 0 0 0\n", 7000, true},
		"two": {head + "eth0:5000 50 0 0 0 0 0 0 7000 70 0 0 0 0 0 0\nnet1: 1 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n",
			7500, true},
		"loopback alone": {head + "lo: 1 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n", 0, false},
		"nothing":        {"", 0, false},
	} {
		if got, ok := sentBytes(tc.text); got != tc.want || ok != tc.ok {
			t.Errorf("%s: got %g, %v", name, got, ok)
		}
	}
}
