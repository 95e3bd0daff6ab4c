package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// curves are what is drawn by the size of the answer.
var curves = []struct{ title, figure, label string }{
	{"Throughput by size of the answer: ", result.FigureMegabytesPerSecond, "MB per second"},
	{"CPU of all nodes by size of the answer: ", result.FigureServerCPU, "microseconds for each answer"},
}

// bySize draws the curves of workloads with several sizes, one line for every arm. Both axes are logarithmic.
func bySize(b Benchmark) (out []*plot.Plot, err error) {
	for i := range b.Resource.Spec.Workloads {
		w := &b.Resource.Spec.Workloads[i]
		if w.ResultSize == nil || len(w.ResultSize.Sizes) < 2 {
			continue
		}
		for _, c := range curves {
			p := newPlot(c.title+w.Name, "bytes", c.label)
			lines, err := curve(p, b, w, c.figure)
			if err != nil {
				return nil, err
			}
			if lines == 0 {
				continue
			}
			p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
			p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
			p.Y.Max *= 3 // room for the legend
			out = append(out, p)
		}
	}
	return out, nil
}

// curve adds a line for every arm with two points at least, and describes how many there are.
func curve(p *plot.Plot, b Benchmark, w *v1alpha1.BenchmarkWorkload, name string) (lines int, err error) {
	for i, arm := range b.Resource.Status.ArmNames {
		var points plotter.XYs
		for _, c := range cells(b, w) {
			if v, ok := value(b, c, arm, name); ok && v > 0 && c.Threads == int(w.ResultSize.Threads[0]) {
				points = append(points, plotter.XY{X: float64(c.Size), Y: v})
			}
		}
		if len(points) < 2 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return lines, err
		}
		line.Color, line.Width, dots.Color = palette[i%len(palette)], vg.Points(1.6), palette[i%len(palette)]
		p.Add(line, dots)
		p.Legend.Add(arm, line, dots)
		lines++
	}
	return lines, nil
}
