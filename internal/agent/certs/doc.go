// Package certs takes the published certificate pair from the mounted Secret, judges it, and
// keeps a private copy for mariadbd that changes in one step: neither the server nor a transfer
// script ever sees a certificate with the wrong key.
//
// A Prover finds out what is encrypted by dialling, never by reading settings: it speaks to
// group communication (4567) and to the MySQL port (3306) with TLS and without, and reports what
// it saw.
package certs
