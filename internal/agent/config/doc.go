// Package config is the agent's component for the published NodeConfig. A Manager reads and checks it, and gives a
// running server what it can take over without a restart.
//
// Build turns it into what mariadbd, OpenSSL and the transfer scripts read: my.cnf, openssl.cnf and the scripts'
// environment. Build is pure. The environment makes each transfer script leave a TransferNote: its role, its peer and
// how far it is are observed from outside.
package config
