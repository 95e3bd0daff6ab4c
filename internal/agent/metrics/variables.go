package metrics

import (
	"regexp"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

const variablesPrefix = "mysql_global_variables_"

var (
	versionInfo = desc("mysql_version_info", "MySQL version and distribution.", "innodb_version", "version",
		"version_comment")
	variablesInfo = desc("mysql_galera_variables_info", "PXC/Galera variables information.", "wsrep_cluster_name")
	cacheSize     = desc("mysql_galera_gcache_size_bytes", "PXC/Galera gcache size.")
	isolation     = desc("mysql_transaction_isolation", "MySQL transaction isolation.", "level")
)

// variable takes one row of SHOW GLOBAL VARIABLES.
func (s *sending) variable(row string, raw []byte) {
	name := metricName(row)
	if s.seenBefore(variablesPrefix + name) {
		return
	}
	value, ok := number(raw)
	if !ok {
		s.variableWord(name, raw)
		return
	}
	if name == "wsrep_provider_gcache_size" {
		s.text.cache = value
	}
	s.generic(variablesPrefix, name, "Generic gauge metric from SHOW GLOBAL VARIABLES.", prometheus.GaugeValue, value)
}

// variableWord keeps what is no number, and exported as a label.
func (s *sending) variableWord(name string, raw []byte) {
	t := &s.text
	switch name {
	case "innodb_version":
		t.innodb = string(raw)
	case "version":
		t.version = string(raw)
	case "version_comment":
		t.comment = string(raw)
	case "wsrep_cluster_name":
		t.cluster = string(raw)
	case "wsrep_provider_options":
		t.options = string(raw)
	case "transaction_isolation":
		t.isolation = string(raw)
	case "tx_isolation": // what it was called before MariaDB 11.1
		if t.isolation == "" {
			t.isolation = string(raw)
		}
	}
}

// variableText sends what was kept of the variables.
func (s *sending) variableText() {
	t := s.text
	s.send(versionInfo, prometheus.GaugeValue, 1, t.innodb, t.version, t.comment)
	if t.cluster != "" {
		s.send(variablesInfo, prometheus.GaugeValue, 1, t.cluster)
	}
	if size := cacheOf(t.options, t.cache); size > 0 {
		s.send(cacheSize, prometheus.GaugeValue, size)
	}
	if t.isolation != "" {
		s.send(isolation, prometheus.GaugeValue, 1, t.isolation)
	}
}

var cacheOption = regexp.MustCompile(`(?:^|[; ])gcache\.size = (\d+)([KMGT]?)`)

// cacheOf is the size of the gcache in bytes: of the provider's options, or of the variable that servers have instead
// whose provider is a plugin; 0 when there is none.
func cacheOf(options string, variable float64) float64 {
	m := cacheOption.FindStringSubmatch(options)
	if m == nil {
		return variable
	}
	size, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return variable
	}
	return size * map[string]float64{"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}[m[2]]
}
