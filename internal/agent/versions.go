package agent

import (
	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
)

func (a *agent) build() lifecycle.Build {
	return lifecycle.Build{Name: a.Name, Image: a.image.ServerVersion, Newer: a.exam.Found.Newer}
}

// made are the versions of a database made by a server.
func made(version string) datadir.Versions { return datadir.Versions{Used: version, Tables: version} }

// used are the versions of the data here from the moment the image's server is started on them.
func (a *agent) used() datadir.Versions {
	a.versions.Used = a.image.ServerVersion
	return a.versions
}

// copiedVersions are the versions of data that have come by a full copy, nil when none has: the system tables are the donor's.
func (a *agent) copiedVersions() *datadir.Versions {
	if !a.run.note.Transfer {
		return nil
	}
	v := datadir.Versions{Used: a.image.ServerVersion}
	if a.join != nil {
		v.Tables = a.peers[a.join.Donor].Tables
	}
	return &v
}
