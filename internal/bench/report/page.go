package report

import (
	"html/template"
	"io"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// page writes one file that needs no other.
func page(w io.Writer, b Benchmark) error {
	all, err := charts(b)
	if err != nil {
		return err
	}
	data := struct {
		Name, Verdict, Progress string
		Head                    []string
		Rows                    [][]string
		Charts                  []template.HTML
		Surroundings            [][2]string
		Invalid                 []v1alpha1.InvalidRun
	}{Name: b.Resource.Name, Verdict: orDash(b.Resource.Status.Verdict), Progress: b.Resource.Status.Progress,
		Surroundings: surroundings(b), Invalid: b.Resource.Status.InvalidRuns}
	rows := grid(b.Resource.Status.Results)
	data.Head, data.Rows = rows[0], rows[1:]
	for _, p := range all {
		text, err := svg(p)
		if err != nil {
			return err
		}
		data.Charts = append(data.Charts, template.HTML(text)) //nolint:gosec // drawn here; its texts are escaped by the library
	}
	return pageTemplate.Execute(w, data)
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Benchmark {{.Name}}</title>
<style>
body { font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1c1e21; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.verdict { font-size: 1.25rem; margin: .5rem 0 .25rem; color: #0072b2; }
.progress { color: #666; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2), .where td, .where th { text-align: left; }
th { background: #f4f6f8; font-weight: 600; }
.where td { white-space: normal; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
</style>
</head>
<body>
<h1>Benchmark {{.Name}}</h1>
<p class="verdict">{{.Verdict}}</p>
<p class="progress">{{.Progress}} runs</p>
<h2>Results</h2>
<div class="wide"><table>
<tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>
<p>Medians over all rounds. A cost is significant when its 95 % interval does not include zero.</p>
{{range .Charts}}{{.}}
{{end}}
{{if .Invalid}}<h2>Runs that do not count</h2>
<table class="where"><tr><th>Run</th><th>Arm</th><th>Reason</th></tr>
{{range .Invalid}}<tr><td>{{.Index}}, attempt {{.Attempt}}</td><td>{{.Arm}}</td><td>{{.Reason}}</td></tr>
{{end}}</table>{{end}}
{{if .Surroundings}}<h2>Where it was measured</h2>
<table class="where">{{range .Surroundings}}<tr><th>{{index . 0}}</th><td>{{index . 1}}</td></tr>
{{end}}</table>{{end}}
</body>
</html>
`))
