package report

import (
	"bytes"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// palette has colours that can be distinguished with any kind of colour vision (Okabe and Ito).
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255},
	{86, 180, 233, 255}, {90, 90, 90, 255},
}

// undecided is the colour of differences that may be chance.
var undecided = color.RGBA{170, 176, 182, 255}

const (
	chartWidth  = 5.6 * vg.Inch
	chartHeight = 3.3 * vg.Inch
)

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(2)
	for size, styles := range map[vg.Length][]*text.Style{
		12: {&p.Title.TextStyle},
		9:  {&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.Legend.TextStyle},
		8:  {&p.X.Tick.Label, &p.Y.Tick.Label},
	} {
		for _, s := range styles {
			s.Font.Variant, s.Font.Size = "Sans", size
		}
	}
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = color.Gray{225}
	p.Add(grid)
	return p
}

// bar is a value with its interval. Without an interval both ends are the value.
type bar struct {
	value, low, high float64
	colour           color.Color
}

// bars draws groups of bars side by side: series by series, one bar (or nil) in every group.
func bars(p *plot.Plot, groups, series []string, at func(series, group int) *bar) error {
	width := vg.Points(min(30, 300/float64(len(groups)*(len(series)+1))))
	for i, name := range series {
		offset := width * vg.Length(float64(i)-float64(len(series)-1)/2)
		for g := range groups {
			if b := at(i, g); b != nil {
				if err := oneBar(p, *b, float64(g), offset, width); err != nil {
					return err
				}
			}
		}
		if len(series) > 1 {
			key, err := plotter.NewBarChart(plotter.Values{0}, width) // for the legend only
			if err != nil {
				return err
			}
			key.Color, key.LineStyle.Width = palette[i%len(palette)], 0
			p.Legend.Add(name, key)
		}
	}
	nominal(p, groups)
	p.X.Min, p.X.Max = -0.6, float64(len(groups))-0.4
	p.Y.Min = min(p.Y.Min, 0)
	roomForLegend(p, len(series))
	return nil
}

func oneBar(p *plot.Plot, b bar, x float64, offset, width vg.Length) error {
	chart, err := plotter.NewBarChart(plotter.Values{b.value}, width)
	if err != nil {
		return err
	}
	chart.XMin, chart.Offset = x, offset
	chart.Color, chart.LineStyle.Width = b.colour, 0
	p.Add(chart)
	if b.low == b.high {
		return nil
	}
	p.Add(whisker{x: x, low: b.low, high: b.high, offset: offset})
	return nil
}

// whisker is the interval of a bar that stands alongside others; plotter's error bars cannot be moved aside.
type whisker struct {
	x, low, high float64
	offset       vg.Length
}

// Plot draws it.
func (w whisker) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	x, low, high := toX(w.x)+w.offset, toY(w.low), toY(w.high)
	style := draw.LineStyle{Color: color.Gray{40}, Width: vg.Points(1.2)}
	end := vg.Points(3)
	c.StrokeLine2(style, x, low, x, high)
	c.StrokeLine2(style, x-end, low, x+end, low)
	c.StrokeLine2(style, x-end, high, x+end, high)
}

// DataRange makes space for it.
func (w whisker) DataRange() (xmin, xmax, ymin, ymax float64) { return w.x, w.x, w.low, w.high }

// letters is how many letters there is space for below the bars.
const letters = 70

// nominal writes names below the bars; many or long ones slanted, so that they do not run into each other.
func nominal(p *plot.Plot, names []string) {
	p.NominalX(names...)
	longest := 0
	for _, name := range names {
		for line := range strings.Lines(name) {
			longest = max(longest, len(line))
		}
	}
	if len(names)*longest > letters {
		p.X.Tick.Label.Rotation = 0.5
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
}

// roomForLegend keeps the data below a legend of n lines.
func roomForLegend(p *plot.Plot, n int) {
	if n > 1 {
		p.Y.Max += (p.Y.Max - p.Y.Min) * 0.075 * float64(n+1)
	}
}

// svg draws a chart as a piece of a page.
func svg(p *plot.Plot) (string, error) {
	c := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.New(c))
	var out bytes.Buffer
	if _, err := c.WriteTo(&out); err != nil {
		return "", err
	}
	// Within a page there is no XML declaration.
	if at := bytes.Index(out.Bytes(), []byte("<svg")); at > 0 {
		out.Next(at)
	}
	return string(withFonts(out.Bytes())), nil
}

// withFonts names others than the library's, which not every reader has.
func withFonts(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}

// canvas is a picture of one format.
type canvas interface {
	vg.CanvasSizer
	io.WriterTo
}

func pngCanvas(width, height vg.Length) canvas {
	return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(120))}
}

func svgCanvas(width, height vg.Length) canvas { return vgsvg.New(width, height) }

// picture draws all charts below each other.
func picture(w io.Writer, b Benchmark, on func(width, height vg.Length) canvas) error {
	all, err := charts(b)
	if err != nil {
		return err
	}
	img := on(chartWidth, chartHeight*vg.Length(max(1, len(all))))
	whole := draw.New(img)
	for i, p := range all {
		top := whole.Max.Y - chartHeight*vg.Length(i)
		part := draw.Canvas{Canvas: whole.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: whole.Min.X, Y: top - chartHeight},
			Max: vg.Point{X: whole.Max.X, Y: top}}}
		p.Draw(draw.Crop(part, vg.Points(8), -vg.Points(8), vg.Points(8), -vg.Points(8)))
	}
	var out bytes.Buffer
	if _, err := img.WriteTo(&out); err != nil {
		return err
	}
	_, err = w.Write(withFonts(out.Bytes()))
	return err
}
