package report

import (
	"bytes"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

// palette has colours that can be told apart with any kind of colour vision (Okabe and Ito).
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255}, {90, 90, 90, 255},
}

const (
	chartWidth  = 7.2 * vg.Inch
	chartHeight = 3.2 * vg.Inch
)

// charts draws what a benchmark has figures for: overhead, latencies, and each arm over time.
func charts(b Benchmark) ([]*plot.Plot, error) {
	var out []*plot.Plot
	for _, draw := range []func(Benchmark) (*plot.Plot, error){overheads, latencies} {
		p, err := draw(b)
		if err != nil {
			return nil, err
		}
		if p != nil {
			out = append(out, p)
		}
	}
	over, err := overTime(b)
	return append(out, over...), err
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	p.Legend.Top = true
	p.Add(plotter.NewGrid())
	return p
}

// errorBars are values with their intervals.
type errorBars struct {
	plotter.XYs
	plotter.YErrors
}

// overheads are bars with their 95 % intervals.
func overheads(b Benchmark) (*plot.Plot, error) {
	var values plotter.Values
	var bars errorBars
	var names []string
	for _, r := range b.Resource.Status.Results {
		if r.OverheadPercent == "" {
			continue
		}
		v := number(r.OverheadPercent)
		bars.XYs = append(bars.XYs, plotter.XY{X: float64(len(values)), Y: v})
		low, high := v, v
		if r.OverheadLow != "" {
			low, high = number(r.OverheadLow), number(r.OverheadHigh)
		}
		bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{v - low, high - v})
		values, names = append(values, v), append(names, title(r)+"\n"+r.Arm)
	}
	if len(values) == 0 {
		return nil, nil
	}
	p := newPlot("Overhead against the baseline, with 95 % intervals", "", "percent")
	chart, err := plotter.NewBarChart(values, vg.Points(min(34, 300/float64(len(values)))))
	if err != nil {
		return nil, err
	}
	chart.Color, chart.LineStyle.Width = palette[0], 0
	whiskers, err := plotter.NewYErrorBars(bars)
	if err != nil {
		return nil, err
	}
	whiskers.Width = vg.Points(1.4)
	p.Add(chart, whiskers)
	nominal(p, names)
	return p, nil
}

// nominal writes names below the bars; many of them slanted, so that they do not run into each other.
func nominal(p *plot.Plot, names []string) {
	p.NominalX(names...)
	p.X.Tick.Label.Font.Size = vg.Points(8)
	if len(names) > 4 {
		p.X.Tick.Label.Rotation = 0.5
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
}

// latencies are percentiles of every workload, side by side for the arms.
func latencies(b Benchmark) (*plot.Plot, error) {
	var titles, arms []string
	at := map[string]v1alpha1.BenchmarkResult{}
	for _, r := range b.Resource.Status.Results {
		if figure(r, wire.FigureP95) == nil {
			continue
		}
		titles, arms = once(titles, title(r)), once(arms, r.Arm)
		at[title(r)+"/"+r.Arm] = r
	}
	if len(titles) == 0 {
		return nil, nil
	}
	p := newPlot("Latency: median, 95th and 99th percentile", "", "milliseconds")
	width := vg.Points(min(14, 360/float64(len(arms)*3*len(titles))))
	var names []string
	for _, t := range titles {
		names = append(names, t+" p50", "p95", "p99")
	}
	for i, arm := range arms {
		var values plotter.Values
		for _, t := range titles {
			for _, name := range []string{wire.FigureP50, wire.FigureP95, wire.FigureP99} {
				v := 0.0
				if f := figure(at[t+"/"+arm], name); f != nil {
					v = number(f.Median)
				}
				values = append(values, v)
			}
		}
		chart, err := plotter.NewBarChart(values, width)
		if err != nil {
			return nil, err
		}
		chart.Color, chart.LineStyle.Width = palette[i%len(palette)], 0
		chart.Offset = width * vg.Length(float64(i)-float64(len(arms)-1)/2)
		p.Add(chart)
		p.Legend.Add(arm, chart)
	}
	nominal(p, names)
	return p, nil
}

func once(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// overTime draws transactions per second of the first round, one line for every arm, one chart for every workload.
func overTime(b Benchmark) (out []*plot.Plot, err error) {
	plots, lines := map[string]*plot.Plot{}, map[string]int{}
	for _, r := range b.Records {
		if !r.Valid || r.Round != 1 || r.Output == nil || r.Output.OLTP == nil || len(r.Output.OLTP.Series) < 2 {
			continue
		}
		name := r.Workload + " " + r.Variant
		p := plots[name]
		if p == nil {
			p = newPlot("Transactions per second, first round: "+name, "seconds", "tps")
			p.Y.Min = 0
			plots[name] = p
			out = append(out, p)
		}
		var points plotter.XYs
		for _, s := range r.Output.OLTP.Series {
			points = append(points, plotter.XY{X: s.Second, Y: s.TPS})
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = palette[lines[name]%len(palette)], vg.Points(1.8)
		lines[name]++
		p.Add(line)
		p.Legend.Add(r.Arm, line)
	}
	for _, p := range out {
		p.Y.Min, p.Y.Max = 0, p.Y.Max*1.25 // room for the legend
	}
	return out, nil
}

// svg draws a chart as a piece of a page.
func svg(p *plot.Plot) (string, error) {
	c := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.New(c))
	var text bytes.Buffer
	if _, err := c.WriteTo(&text); err != nil {
		return "", err
	}
	// Within a page there is no XML declaration.
	if at := bytes.Index(text.Bytes(), []byte("<svg")); at > 0 {
		text.Next(at)
	}
	return text.String(), nil
}

// picture draws all charts below each other.
func picture(w io.Writer, b Benchmark) error {
	all, err := charts(b)
	if err != nil {
		return err
	}
	n := max(1, len(all))
	img := vgimg.NewWith(vgimg.UseWH(chartWidth, chartHeight*vg.Length(n)), vgimg.UseDPI(120))
	whole := draw.New(img)
	for i, p := range all {
		top := whole.Max.Y - chartHeight*vg.Length(i)
		part := draw.Canvas{Canvas: whole.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: whole.Min.X, Y: top - chartHeight}, Max: vg.Point{X: whole.Max.X, Y: top}}}
		p.Draw(draw.Crop(part, vg.Points(8), -vg.Points(8), vg.Points(8), -vg.Points(8)))
	}
	_, err = vgimg.PngCanvas{Canvas: img}.WriteTo(w)
	return err
}
