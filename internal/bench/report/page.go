package report

import (
	_ "embed"
	"html/template"
	"io"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// sheet is everything a page shows.
type sheet struct {
	Title, Verdict, Progress, Note string
	Settings, Head                 []string
	Rows                           [][]string
	Sections                       []section
	Charts                         []template.HTML
	Surroundings                   [][2]string
	Invalid                        []v1alpha1.InvalidRun
}

// page writes one file that needs no other.
func page(w io.Writer, b Benchmark) error {
	s := b.Resource.Status
	data := sheet{Title: "Benchmark " + b.Resource.Name, Verdict: orDash(s.Verdict), Progress: "Runs: " + s.Progress,
		Surroundings: surroundings(b), Invalid: s.InvalidRuns,
		Note: "Medians over all rounds. " + evidence(b)}
	all, err := charts(b)
	if err != nil {
		return err
	}
	rows := grid(b)
	data.Head, data.Rows = rows[0], rows[1:]
	data.Sections = sections(b)
	for _, p := range all {
		text, err := svg(p)
		if err != nil {
			return err
		}
		data.Charts = append(data.Charts, template.HTML(
			text)) //nolint:gosec // drawn here; its texts are escaped by the library
	}
	return pageTemplate.Execute(w, data)
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))
