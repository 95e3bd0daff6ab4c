package mycnf

// AtRest is what MariaDB is to encrypt data on disks with.
type AtRest struct {
	// Algorithm is AES_CTR or AES_CBC.
	Algorithm string
	// KeyFile and PasswordFile are the paths of both files.
	KeyFile, PasswordFile string
}

// Options are the settings of a server that encrypts all that MariaDB can. They come after the user's: plugin_load
// discards every plugin_load_add before it.
func (a AtRest) Options() []Option {
	return append(a.keys(),
		Set("innodb_encrypt_tables", "FORCE"),
		Set("innodb_encrypt_log", "ON"),
		Set("innodb_encrypt_temporary_tables", "ON"),
		Set("aria_encrypt_tables", "ON"),
		Set("encrypt_binlog", "ON"),
		Set("encrypt_tmp_files", "ON"),
		Set("encrypt_tmp_disk_tables", "ON"),
	)
}

// ClearOptions are the settings of a server that can read what is encrypted, and writes in clear.
func (a AtRest) ClearOptions() []Option {
	return append(a.keys(),
		Set("innodb_encrypt_tables", "OFF"),
		Set("innodb_encrypt_log", "OFF"),
		Set("innodb_encrypt_temporary_tables", "OFF"),
		Set("aria_encrypt_tables", "OFF"),
		Set("encrypt_binlog", "OFF"),
		Set("encrypt_tmp_files", "OFF"),
		Set("encrypt_tmp_disk_tables", "OFF"),
	)
}

// keys are the settings of a server that has the keys. Its threads encrypt, or decrypt, what was written before.
func (a AtRest) keys() []Option {
	return []Option{
		Set("plugin_load_add", "file_key_management"),
		Set("file_key_management_filename", a.KeyFile),
		Set("file_key_management_filekey", "FILE:"+a.PasswordFile),
		Set("file_key_management_encryption_algorithm", a.Algorithm),
		Set("innodb_encryption_threads", "2"),
		Set("innodb_encryption_rotate_key_age", "1"),
	}
}
