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
	return []Option{
		Set("plugin_load_add", "file_key_management"),
		Set("file_key_management_filename", a.KeyFile),
		Set("file_key_management_filekey", "FILE:"+a.PasswordFile),
		Set("file_key_management_encryption_algorithm", a.Algorithm),
		Set("innodb_encrypt_tables", "FORCE"),
		Set("innodb_encrypt_log", "ON"),
		Set("innodb_encrypt_temporary_tables", "ON"),
		// They encrypt what was written before: the data of a backup in clear.
		Set("innodb_encryption_threads", "2"),
		Set("innodb_encryption_rotate_key_age", "1"),
		Set("aria_encrypt_tables", "ON"),
		Set("encrypt_binlog", "ON"),
		Set("encrypt_tmp_files", "ON"),
		Set("encrypt_tmp_disk_tables", "ON"),
	}
}
