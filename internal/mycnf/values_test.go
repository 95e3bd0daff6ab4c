package mycnf_test

import (
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/internal/mycnf"
)

// TestRefusedValues: some settings are users' own with some values only.
func TestRefusedValues(t *testing.T) {
	for _, c := range []struct {
		key, value string
		refused    bool
	}{
		{"log_bin", "ON", false},
		{"log_bin", "", false},
		{"log-bin", "shop-bin", false},
		{"log_bin", "/var/lib/mysql/data/x", true},
		{"LOG_BIN", "../x", true},
		{"loose_log_bin", "a/b", true},
		{"innodb_data_file_path", "ibdata1:12M:autoextend", false},
		{"innodb_data_file_path", "ibdata1:12M; ibdata2:1G:autoextend:max:4G", false},
		{"innodb_data_file_path", "ibdata1:12M:autoextend:autoshrink", false},
		{"innodb_data_file_path", "data:12M:autoextend", true},
		{"innodb_data_file_path", "ibdata2:12M:autoextend", true},
		{"innodb_data_file_path", "ibdata1:12M;/disk/ibdata2:12M", true},
		{"innodb_data_file_path", "ibdata10:12M", true},
		{"innodb_temp_data_file_path", "ibtmp1:12M:autoextend:max:5G", false},
		{"innodb_temp_data_file_path", "../ibtmp1:12M:autoextend", true},
		{"innodb_flush_method", "O_DIRECT", false},
		{"innodb_flush_method", "fsync", false},
		{"innodb_flush_method", "nosync", true},
		{"innodb_flush_method", "O_DIRECT_NO_FSYNC", true},
		{"innodb_flush_method", "5", true},
		{"innodb_flush_meth", "nosync", true},
		{"secure_timestamp", "SUPER", false},
		{"secure_timestamp", "yes", true},
		{"secure_timestamp", "REPLICATION", true},
		{"init_connect", "SET NAMES utf8mb4", false},
		{"init_connect", "a\nb", true},
		{"general_log", "ON", false},
		{"general_log_file", "x.log", true},
		{"slow_query_log", "ON", false},
		{"slow_query_log_file", "x.log", true},
		{"log_slow_query", "ON", false},
		{"lc_messages", "de_DE", false},
		{"secure_file_priv", "", true},
		{"replicate_do_db", "a", true},
		{"binlog_ignore_db", "a", true},
		{"innodb_page_size", "32k", false},
	} {
		if why := mycnf.Refused(c.key, c.value); (why != "") != c.refused {
			t.Errorf("Refused(%q, %q) = %q", c.key, c.value, why)
		}
	}
}

// TestUnchangeable: a data directory keeps what it was created with, however that is written.
func TestUnchangeable(t *testing.T) {
	type settings = map[string]string
	for name, c := range map[string]struct {
		created, wanted settings
		name, value     string
	}{
		"nothing set":          {nil, nil, "", ""},
		"another setting":      {settings{"max_connections": "1"}, settings{"max_connections": "2"}, "", ""},
		"the default, written": {nil, settings{"innodb_page_size": "16k"}, "", ""},
		"the default, removed": {settings{"innodb-page-size": "16384"}, nil, "", ""},
		"written otherwise":    {settings{"innodb_page_size": "32K"}, settings{"INNODB-page-size": "32768"}, "", ""},
		"page size changed": {settings{"innodb_page_size": "32k"}, settings{"innodb_page_size": "16k"},
			"innodb_page_size", "32k"},
		"page size removed":   {settings{"innodb_page_size": "32k"}, nil, "innodb_page_size", "32k"},
		"page size added":     {nil, settings{"loose_innodb_page_size": "4096"}, "innodb_page_size", "16384"},
		"names in lower case": {nil, settings{"lower_case_table_names": "1"}, "lower_case_table_names", "0"},
		"another file": {nil, settings{"innodb_data_file_path": "ibdata1:12M;ibdata2:12M:autoextend"},
			"innodb_data_file_path", "ibdata1:12M:autoextend"},
		"refused, so not in use": {nil, settings{"innodb_data_file_path": "x:12M"}, "", ""},
	} {
		got := mycnf.Unchangeable(c.created, c.wanted)
		if got == nil {
			got = &mycnf.Kept{}
		}
		if *got != (mycnf.Kept{Name: c.name, Value: c.value}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAtCreation(t *testing.T) {
	got := mycnf.AtCreation(map[string]string{"max_connections": "5", "innodb_page_size": "32k",
		"Lower_Case_Table_Names": "1", "innodb_data_file_path": "/x:1M"})
	if want := []mycnf.Option{mycnf.Set("lower-case-table-names", "1"),
		mycnf.Set("innodb-page-size", "32k")}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestBytes: sizes as MariaDB reads them.
func TestBytes(t *testing.T) {
	for value, want := range map[string]int64{"16384": 16384, "16k": 16384, "  2G\t": 2 << 30, "1t": 1 << 40,
		"3E": 3 << 60, "0": 0, "": -1, "k": -1, "8E": -1, "-1": -1, "1.5G": -1, "1GB": -1, "9223372036854775808": -1} {
		n, ok := mycnf.Bytes(value)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %t", value, n, ok)
		}
	}
}
