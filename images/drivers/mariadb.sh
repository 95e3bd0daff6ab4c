b=$1
pair=()
if [ -e "$b/tls.crt" ]; then pair=(--ssl-cert="$b/tls.crt" --ssl-key="$b/tls.key"); fi
MYSQL_PWD=$(cat "$b/password") mariadb --host="$(cat "$b/host")" --port="$(cat "$b/port")" \
  --user="$(cat "$b/username")" --ssl-ca="$b/ca.crt" --ssl-verify-server-cert "${pair[@]}" \
  "$(cat "$b/database")" -e "$SQL"
