package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/summary"
	"github.com/galera-operator/galera-operator/test/harness"
)

// tried is what one change showed, turn by turn: of the cluster it is compared with, and of the one that has it.
type tried struct {
	name  string
	turns [2][]usage
}

// figures are what each turn found, as the raw data have it.
var figures = []struct {
	name string
	of   func(usage) float64
	set  func(*usage) *float64
}{
	{"tps", func(u usage) float64 { return u.tps }, func(u *usage) *float64 { return &u.tps }},
	{"userMicros", func(u usage) float64 { return u.user }, func(u *usage) *float64 { return &u.user }},
	{"systemMicros", func(u usage) float64 { return u.system }, func(u *usage) *float64 { return &u.system }},
	{"waits", func(u usage) float64 { return u.waits }, func(u *usage) *float64 { return &u.waits }},
	{"preempted", func(u usage) float64 { return u.preempted }, func(u *usage) *float64 { return &u.preempted }},
	{"sentBytes", func(u usage) float64 { return u.sentBytes }, func(u *usage) *float64 { return &u.sentBytes }},
	{"sentPackets", func(u usage) float64 { return u.sentPackets }, func(u *usage) *float64 { return &u.sentPackets }},
}

func (t tried) values(arm int, of func(usage) float64) (out []float64) {
	for _, u := range t.turns[arm] {
		out = append(out, of(u))
	}
	return out
}

// compared returns by how many percent the change has more transactions.
func (t tried) compared() summary.Overhead {
	tps := figures[0].of
	return summary.Compare(t.values(0, tps), t.values(1, tps), true)
}

// line is a row of the table.
func (t tried) line(significant bool) string {
	o, interval, proved := t.compared(), "-", "no"
	if o.Known {
		interval = fmt.Sprintf("%+.1f to %+.1f", o.Low, o.High)
	}
	if significant {
		proved = "yes"
	}
	row := []string{t.name, strconv.Itoa(len(t.turns[0])), fmt.Sprintf("%+.1f %%", o.Percent), interval, proved}
	for _, f := range []func(usage) float64{figures[0].of, func(u usage) float64 { return u.user + u.system },
		func(u usage) float64 { return u.waits + u.preempted },
		func(u usage) float64 { return u.sentBytes / max(u.sentPackets, 1) }} {
		row = append(row, fmt.Sprintf("%.0f → %.0f", median(t.values(0, f)), median(t.values(1, f))))
	}
	return "| " + strings.Join(row, " | ") + " |"
}

// table compares all changes, and corrects for their number.
func table(all []tried) string {
	var ps []float64
	for _, t := range all {
		ps = append(ps, t.compared().P)
	}
	var out strings.Builder
	out.WriteString("| change | turns | tps | interval, 95 % | significant | tps | µs of CPU | context switches | " +
		"bytes in a packet |\n|---|---|---|---|---|---|---|---|---|\n")
	significant := summary.Holm(ps)
	for i, t := range all {
		out.WriteString(t.line(significant[i]) + "\n")
	}
	fmt.Fprintf(&out, "\nThe change in transactions is the geometric mean of the ratios within turns. Its interval "+
		"holds it with 95 %%\nconfidence at least (Student's t). Significant is what Holm's correction for all %d "+
		"comparisons leaves. CPU and\nswitches are those of a transaction on all nodes; medians.\n", len(all))
	return out.String()
}

// surroundings are the image, with its digest and the version of the server in it, and this host.
func surroundings(ctx context.Context, image string) (string, error) {
	digest, err := harness.Docker(ctx, "image", "inspect", "--format", "{{.Id}}", image)
	if err != nil {
		return "", err
	}
	server, err := harness.Docker(ctx, "run", "--rm", "--entrypoint", "mariadbd", image, "--version")
	if err != nil {
		return "", err
	}
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "", err
	}
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("- image: %s (%s)\n- server: %s\n- host: %s, %d CPUs, kernel %s\n", image,
		strings.TrimSpace(digest), strings.TrimSpace(server), model(string(cpu)), runtime.NumCPU(),
		strings.TrimSpace(string(kernel))), nil
}

// model returns the name of the first processor in /proc/cpuinfo, "CPU" where it has none.
func model(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "CPU"
}

// publish prints a report, and leaves it in the file that -out names, with where it was measured, and the raw data as
// csv.
func (o options) publish(where, text string, all []tried) error {
	fmt.Print(text)
	if o.out == "" {
		return nil
	}
	command := "go run ./test/bench/replication -what " + o.what
	name := filepath.Base(o.out)
	page := fmt.Sprintf("# %s\n\nMeasured until %s, with the source %s, by `%s`\n(%d clients, %d turns of %s).\n"+
		"Raw data: [%[1]s.csv](%[1]s.csv). The comparisons are computed anew by\n`%[4]s -from %[1]s.csv`.\n\n%[8]s\n", name,
		time.Now().UTC().Format(time.RFC3339), revision(), command, o.clients[0], o.turns, o.turn, where)
	if o.what == "cost" {
		text = "```\n" + strings.Replace(text, "| change", "```\n\n| change", 1)
	}
	raw, err := os.Create(o.out + ".csv")
	if err != nil {
		return err
	}
	return errors.Join(writeTurns(raw, all), raw.Close(),
		os.WriteFile(o.out+".md", []byte(page+text), 0o600))
}

// revision is the commit that is checked out, with "-dirty" after it where something was changed.
func revision() string {
	text, err := exec.CommandContext(context.Background(), "git", "describe", "--always", "--dirty", "--exclude",
		"*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// writeTurns writes a line for every turn of either cluster.
func writeTurns(f *os.File, all []tried) error {
	w := csv.NewWriter(f)
	head := []string{"change", "turn", "changed"}
	for _, f := range figures {
		head = append(head, f.name)
	}
	_ = w.Write(head) // Error returns it below
	for _, t := range all {
		for arm, turns := range t.turns {
			for i, u := range turns {
				row := []string{t.name, strconv.Itoa(i + 1), strconv.FormatBool(arm == 1)}
				for _, f := range figures {
					row = append(row, strconv.FormatFloat(f.of(u), 'g', -1, 64))
				}
				_ = w.Write(row)
			}
		}
	}
	w.Flush()
	return w.Error()
}

// readTurns reads what writeTurns has written.
func readTurns(path string) (all []tried, err error) {
	f, err := os.Open(path) //nolint:gosec // named on the command line
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		if i == 0 || len(row) != 3+len(figures) {
			continue
		}
		if len(all) == 0 || all[len(all)-1].name != row[0] {
			all = append(all, tried{name: row[0]})
		}
		var u usage
		for k, f := range figures {
			*f.set(&u) = number(row[3+k])
		}
		arm := 0
		if row[2] == "true" {
			arm = 1
		}
		t := &all[len(all)-1]
		t.turns[arm] = append(t.turns[arm], u)
	}
	return all, nil
}
