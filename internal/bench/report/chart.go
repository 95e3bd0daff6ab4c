package report

import (
	"bytes"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// palette has colours that can be distinguished with any kind of colour vision (Okabe and Ito).
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255},
	{86, 180, 233, 255}, {90, 90, 90, 255},
}

const (
	chartWidth  = 5.6 * vg.Inch
	chartHeight = 3.3 * vg.Inch
)

func newPlot(title, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, "seconds", y
	p.Title.Padding = vg.Points(8)
	p.Legend.Top, p.Legend.Left = true, true
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = color.Gray{225}
	p.Add(grid)
	return p
}

// series is what a run reports second by second, and what it counts; nil when it reports nothing.
func series(o *result.Output) (points plotter.XYs, label string) {
	label = "transactions per second"
	switch {
	case o.Connect != nil:
		label = "connections per second"
	case o.Answers != nil:
		label = "queries per second"
	}
	for _, s := range *o.Series() {
		points = append(points, plotter.XY{X: s.Second, Y: s.TPS})
	}
	return points, label
}

// load is one figure of what all nodes used.
func load(o *result.Output, of func(result.LoadPoint) float64) (points plotter.XYs) {
	for _, p := range o.Load {
		points = append(points, plotter.XY{X: p.Second, Y: of(p)})
	}
	return points
}

// tracks are what is drawn over time.
var tracks = []struct {
	title  string
	points func(*result.Output) (plotter.XYs, string)
}{
	{"First round, second by second: ", series},
	{"First round, CPU of all nodes: ", func(o *result.Output) (plotter.XYs, string) {
		return load(o, func(p result.LoadPoint) float64 { return p.CPU }), "busy processors"
	}},
	{"First round, network of all nodes: ", func(o *result.Output) (plotter.XYs, string) {
		return load(o, func(p result.LoadPoint) float64 { return p.Sent }), "MB sent per second"
	}},
}

// charts draws the tracks of the first round, one line for every arm, one chart for every workload.
func charts(b Benchmark) (out []*plot.Plot, err error) {
	plots, lines := map[string]*plot.Plot{}, map[*plot.Plot]int{}
	for _, r := range b.Records {
		if !r.Valid || r.Round != 1 || r.Output == nil {
			continue
		}
		for _, t := range tracks {
			points, label := t.points(r.Output)
			if len(points) < 2 {
				continue
			}
			name := t.title + strings.TrimSpace(r.Workload+" "+r.Variant)
			p := plots[name]
			if p == nil {
				p = newPlot(name, label)
				plots[name] = p
				out = append(out, p)
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				return nil, err
			}
			line.Color = palette[max(0, slices.Index(b.Resource.Status.ArmNames, r.Arm))%len(palette)]
			line.Width = vg.Points(1.6)
			lines[p]++
			p.Add(line)
			p.Legend.Add(r.Arm, line)
		}
	}
	for _, p := range out {
		p.Y.Min = 0
		p.Y.Max *= 1 + 0.075*float64(lines[p]+2) // the legend is above the data
	}
	return out, nil
}

// picture draws all charts below each other, as SVG.
func picture(w io.Writer, b Benchmark) error {
	all, err := charts(b)
	if err != nil {
		return err
	}
	img := vgsvg.New(chartWidth, chartHeight*vg.Length(max(1, len(all))))
	whole := draw.New(img)
	for i, p := range all {
		top := whole.Max.Y - chartHeight*vg.Length(i)
		part := draw.Canvas{Canvas: whole.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: whole.Min.X, Y: top - chartHeight}, Max: vg.Point{X: whole.Max.X, Y: top}}}
		p.Draw(draw.Crop(part, vg.Points(8), -vg.Points(8), vg.Points(8), -vg.Points(8)))
	}
	var out bytes.Buffer
	if _, err := img.WriteTo(&out); err != nil {
		return err
	}
	// Not every reader has the library's font.
	_, err = w.Write(bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation S"),
		[]byte("font-family:Arial,Helvetica,Liberation S")))
	return err
}
