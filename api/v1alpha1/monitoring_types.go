package v1alpha1

// MonitoringSpec adds to the metrics that every node serves by itself.
type MonitoringSpec struct {
	// exporter runs Prometheus' mysqld_exporter beside every node, for what the agent does not read: statement digests, and statistics of
	// tables and indexes. It listens on port 9104. Adding, changing or removing it restarts one node at a time.
	// +optional
	Exporter *ExporterSpec `json:"exporter,omitempty"`
}

// ExporterSpec configures mysqld_exporter. It logs in by an account of its own, the GaleraUser NAME-exporter, which may see what the server is
// doing (PROCESS) and read performance_schema, and nothing of the data. What it serves has other names than the agent's metrics.
type ExporterSpec struct {
	// image of mysqld_exporter 0.14 or later; its entry point is the program. Default: prom/mysqld-exporter:v0.18.0.
	// +optional
	// +kubebuilder:default="prom/mysqld-exporter:v0.18.0"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// collectors are what is read, by the exporter's names (its flags --collect.NAME). Those of perf_schema need the setting
	// performance_schema: "ON" in spec.mariadb.config, those of user and client statistics userstat: "ON". Default: perf_schema.eventsstatements,
	// perf_schema.tableiowaits, perf_schema.indexiowaits, perf_schema.tablelocks.
	// +optional
	// +listType=set
	// +kubebuilder:default={"perf_schema.eventsstatements","perf_schema.tableiowaits","perf_schema.indexiowaits","perf_schema.tablelocks"}
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Enum=perf_schema.eventsstatements;perf_schema.eventsstatementssum;perf_schema.eventswaits;perf_schema.file_events;perf_schema.tableiowaits;perf_schema.indexiowaits;perf_schema.tablelocks;perf_schema.memory_events;info_schema.processlist;info_schema.innodb_metrics;info_schema.innodb_cmp;info_schema.innodb_cmpmem;info_schema.userstats;info_schema.clientstats
	Collectors []string `json:"collectors,omitempty"`
	// resources of the container.
	// +optional
	Resources SidecarResources `json:"resources,omitempty"`
}
