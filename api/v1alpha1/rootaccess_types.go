package v1alpha1

// RootAccess defines from where root may log in over the network. On the pods themselves root stays possible for those
// who may exec into them.
//
// +kubebuilder:validation:XValidation:rule="!has(self.disabled) || !self.disabled || !has(self.hosts)",message="disabled leaves no hosts to log in from: remove hosts, or set disabled to false"
type RootAccess struct {
	// hosts that root may log in from, as in MariaDB's account names: addresses, with % and _ as wildcards, or networks
	// such as 10.1.0.0/255.255.0.0. Host names do not match, because the servers resolve none. Accounts of root at other
	// hosts are removed. Default: every host, "%".
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=60
	// +kubebuilder:validation:items:Pattern=`^[0-9a-z._:%/-]+$`
	// +kubebuilder:validation:XValidation:rule="self.all(h, h != 'localhost')",message="root at localhost is the pods' own and always exists: name other hosts"
	// +kubebuilder:validation:XValidation:rule="self.all(h, !h.contains('/') || h.matches('^[0-9.]+/[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$'))",message="MariaDB matches a network by its netmask only: write 10.1.0.0/255.255.0.0 instead of 10.1.0.0/16"
	Hosts []string `json:"hosts,omitempty"`

	// disabled keeps root from logging in over the network at all. Create administrators as GaleraUsers first. Sessions
	// that are open stay until they end. Default: false.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
}
