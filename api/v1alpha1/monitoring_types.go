package v1alpha1

// MonitoringSpec adds to the metrics that every node serves by itself.
type MonitoringSpec struct {
	// exporter runs Prometheus' mysqld_exporter alongside every node. It adds what the agent does not read: statement
	// digests, and statistics of tables and indexes. It listens on port 9104. Adding, changing or removing it restarts one
	// node at a time. Default: none.
	// +optional
	Exporter *ExporterSpec `json:"exporter,omitempty"`
}

// ExporterSpec configures mysqld_exporter. It logs in with an account of its own, the GaleraUser NAME-exporter, which
// has PROCESS and may read performance_schema, but none of the data. Its metrics do not collide with the agent's.
type ExporterSpec struct {
	// image of mysqld_exporter 0.14 or later; its entry point is the program. Default: prom/mysqld-exporter:v0.18.0.
	// +optional
	// +kubebuilder:default="prom/mysqld-exporter:v0.18.0"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// collectors to turn on, by the exporter's names (its flags --collect.NAME). Those of perf_schema need
	// performance_schema: "ON" in spec.mariadb.config; info_schema.userstats and info_schema.clientstats need userstat:
	// "ON". Default: perf_schema.eventsstatements, perf_schema.tableiowaits, perf_schema.indexiowaits,
	// perf_schema.tablelocks.
	// +optional
	// +listType=set
	// +kubebuilder:default={"perf_schema.eventsstatements","perf_schema.tableiowaits","perf_schema.indexiowaits","perf_schema.tablelocks"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Enum=perf_schema.eventsstatements;perf_schema.eventsstatementssum;perf_schema.eventswaits;perf_schema.file_events;perf_schema.tableiowaits;perf_schema.indexiowaits;perf_schema.tablelocks;perf_schema.memory_events;info_schema.processlist;info_schema.innodb_metrics;info_schema.innodb_cmp;info_schema.innodb_cmpmem;info_schema.userstats;info_schema.clientstats
	Collectors []string `json:"collectors,omitempty"`
	// resources of the container. Default: none.
	// +optional
	Resources SidecarResources `json:"resources,omitempty"`
}
