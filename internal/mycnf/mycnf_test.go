package mycnf_test

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/mycnf"
)

func TestForbiddenSetting(t *testing.T) {
	for key, want := range map[string]bool{
		"max_connections":                false,
		"innodb_buffer_pool_size":        false,
		"innodb-flush-log-at-trx-commit": false,
		"wsrep_slave_threads":            false,
		"WSREP-Slave_Threads":            false,
		"log_bin":                        false,
		"log":                            false,
		"performance_schema":             false,
		"sql_mode":                       false,
		"tmp_table_size":                 false,
		"skip_log_bin":                   false,
		"event_scheduler":                true,
		"datadir":                        true,
		"DataDir":                        true,
		"data":                           true, // MariaDB would complete it to datadir
		"loose-datadir":                  true,
		"loose_skip-ssl":                 true,
		"ssl_ca":                         true,
		"ssl-c":                          true,
		"disable-ssl":                    true,
		"wsrep_on":                       true,
		"wsrep":                          true,
		"ws":                             true,
		"skip_wsrep_on":                  true,
		"wsrep_provider_options":         true,
		"wsrep_cluster_addr":             true,
		"wsrep_slave":                    true, // shortened, and not for us to complete
		"binlog_format":                  true,
		"strict_password_validation":     true,
		"skip-grant-tables":              true,
		"skip_networking":                true,
		"log-error":                      true,
		"innodb_force_recovery":          true,
		"":                               true,
		"!includedir /tmp":               true,
		"x\ny":                           true,
		"skip-":                          true,
	} {
		reason, got := mycnf.ForbiddenSetting(key)
		if got != want {
			t.Errorf("ForbiddenSetting(%q) = %v (%s), want %v", key, got, reason, want)
		}
		if got && reason == "" {
			t.Errorf("ForbiddenSetting(%q) forbids without a reason", key)
		}
	}
}

func TestCheckSetting(t *testing.T) {
	for _, c := range []struct {
		key, value string
		ok         bool
	}{
		{"max_connections", "100", true},
		{"init_connect", "SET @a = 'x # y'", true},
		{"sql_mode", "", true},
		{"a", "1\nskip-grant-tables", false},
		{"a", "1\r[mysqld]", false},
		{"a b", "1", false},
		{"[mysqld]", "1", false},
		{"", "1", false},
	} {
		if err := mycnf.CheckSetting(c.key, c.value); (err == nil) != c.ok {
			t.Errorf("CheckSetting(%q, %q) = %v", c.key, c.value, err)
		}
	}
}

func TestRender(t *testing.T) {
	f := mycnf.File{
		{Name: "mysqld", Options: []mycnf.Option{
			mycnf.Set("datadir", "/var/lib/mysql/data"),
			mycnf.Set("init_connect", `SET @a = "x # y\z"`),
			mycnf.Set("wsrep_provider_options", "a=b;c=d"),
			mycnf.Set("max_connections", "1"),
			mycnf.Set("max-connections", "2"),
			{Key: "skip_name_resolve", Bare: true},
		}},
		{Name: "sst", Options: []mycnf.Option{mycnf.Set("encrypt", "4")}},
	}
	want := `[mysqld]
datadir = /var/lib/mysql/data
init_connect = "SET @a = \"x # y\\z\""
wsrep_provider_options = a=b;c=d
max_connections = 1
max-connections = 2
skip_name_resolve

[sst]
encrypt = 4
`
	if got := f.Render(); got != want {
		t.Errorf("Render:\n%s\nwant:\n%s", got, want)
	}
	if v, ok := f.Get("mysqld", "max_connections"); !ok || v != "2" {
		t.Errorf("Get = %q, %v; the last one must win", v, ok)
	}
	if _, ok := f.Get("sst", "datadir"); ok {
		t.Error("Get found a key in the wrong section")
	}
	if _, ok := (mycnf.File{f[0].Without("MAX_connections")}).Get("mysqld", "max_connections"); ok {
		t.Error("Without left the key")
	}
}
