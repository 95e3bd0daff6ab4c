#!/bin/bash
# again.sh NAME BINDING COMMAND...: logs in again and again with what the binding holds at that moment, and notes each login in the table
# logins. It ends at the first one that fails. Before, it wants the driver to refuse a server of another CA.
set -u
name=$1 binding=$2
shift 2
export SQL="INSERT INTO logins (driver, cipher) SELECT '$name', VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_cipher'"

# login BINDING COMMAND...: a copy of a mounted Secret is of one moment; its addresses name the files in it.
login() {
  local from=$1 copy=/tmp/binding-$RANDOM out rc=0
  shift
  mkdir "$copy"
  cp -L "$from"/* "$copy"
  sed -i "s|$binding|$copy|g; s|${binding//\//%2F}|${copy//\//%2F}|g" "$copy/jdbc-url" "$copy/sqlalchemy-url"
  if [ -n "${OTHER_CA:-}" ]; then cp "$OTHER_CA" "$copy/ca.crt"; fi
  local store=()
  if [ "$name" = jdbc ] && [ -e "$copy/tls.crt" ]; then
    openssl pkcs12 -export -in "$copy/tls.crt" -inkey "$copy/tls.key" -out "$copy/store.p12" -passout pass:store
    store=("$copy/store.p12" store)
  fi
  out=$("$@" "$copy" "${store[@]}" 2>&1) || rc=$?
  rm -rf "$copy"
  if [ $rc != 0 ]; then echo "${out:0:2000}"; fi
  return $rc
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=other -days 1 -keyout /tmp/other.key -out /tmp/other.crt 2>/dev/null
if OTHER_CA=/tmp/other.crt login "$binding" "$@" >/tmp/refused; then
  echo "$name does not verify the server" | tee /dev/termination-log
  exit 1
fi
while :; do
  if ! login "$binding" "$@" >/tmp/failed; then
    tee /dev/termination-log </tmp/failed
    exit 1
  fi
  sleep 1
done
