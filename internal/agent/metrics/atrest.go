package metrics

import "github.com/galera-operator/galera-operator/internal/agentapi"

// atRestFamilies are about the encryption on the volume.
var atRestFamilies = []Family{
	atRestFamily("galera_at_rest_files", "Files with tables or logs, by the last check of all of them.",
		func(a agentapi.AtRestReport, send send) { send(float64(a.Files)) }),
	atRestFamily("galera_at_rest_pages", "Pages with content in these files.",
		func(a agentapi.AtRestReport, send send) { send(float64(a.Pages)) }),
	atRestFamily("galera_at_rest_clear_files", "How many of these files are in clear, or hold pages in clear.",
		func(a agentapi.AtRestReport, send send) { send(float64(a.ClearFiles)) }),
	atRestFamily("galera_at_rest_scan_timestamp_seconds", "When all files were read last, in seconds since 1970.",
		func(a agentapi.AtRestReport, send send) { send(unix(a.FullAt)) }),
}

// atRestFamily is one metric of a volume that was read as a whole.
func atRestFamily(name, help string, of func(agentapi.AtRestReport, send)) Family {
	return Family{name, help, gauge, nil, func(f Facts, send send) {
		if a := f.Report.AtRest; a != nil && !a.FullAt.IsZero() {
			of(*a, send)
		}
	}}
}
