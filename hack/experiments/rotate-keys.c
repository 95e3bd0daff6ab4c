/* A plugin of key management for rotate-keys.sh: key 1 in versions. /keys/latest has the number of the latest one, and
   version N exists while there is a file /keys/vN. The bytes of a key are its version: for experiments alone. */
#include <my_global.h>
#include <mysql/plugin.h>
#include <mysql/plugin_encryption.h>
#include <stdio.h>
#include <string.h>

static unsigned int latest(unsigned int id)
{
  unsigned int version = ENCRYPTION_KEY_VERSION_INVALID;
  FILE *f = id == 1 ? fopen("/keys/latest", "r") : NULL;
  if (!f)
    return ENCRYPTION_KEY_VERSION_INVALID;
  if (fscanf(f, "%u", &version) != 1)
    version = ENCRYPTION_KEY_VERSION_INVALID;
  fclose(f);
  return version;
}

static unsigned int get(unsigned int id, unsigned int version, unsigned char *key, unsigned int *length)
{
  char path[64];
  unsigned int space = *length;
  FILE *f;
  snprintf(path, sizeof path, "/keys/v%u", version);
  f = id == 1 ? fopen(path, "r") : NULL;
  if (!f)
    return ENCRYPTION_KEY_VERSION_INVALID;
  fclose(f);
  *length = 32;
  if (space < 32)
    return ENCRYPTION_KEY_BUFFER_TOO_SMALL;
  if (key)
    memset(key, (int) version, 32);
  return 0;
}

static int nothing(void *p) { return 0; }

static struct st_mariadb_encryption descriptor = {MariaDB_ENCRYPTION_INTERFACE_VERSION, latest, get, 0, 0, 0, 0, 0};

maria_declare_plugin(versions)
{
  MariaDB_ENCRYPTION_PLUGIN, &descriptor, "versions", "galera-operator", "keys with versions, for an experiment",
  PLUGIN_LICENSE_GPL, nothing, nothing, 0x0100, NULL, NULL, "1.0", MariaDB_PLUGIN_MATURITY_EXPERIMENTAL
}
maria_declare_plugin_end;
