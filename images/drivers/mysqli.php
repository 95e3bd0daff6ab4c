<?php
$b = $argv[1];
$read = fn($key) => file_get_contents("$b/$key");
$pair = fn($key) => file_exists("$b/$key") ? "$b/$key" : null;
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$db = mysqli_init();
$db->options(MYSQLI_OPT_SSL_VERIFY_SERVER_CERT, true);
$db->ssl_set($pair('tls.key'), $pair('tls.crt'), "$b/ca.crt", null, null);
$db->real_connect($read('host'), $read('username'), $read('password'), $read('database'), (int) $read('port'), null,
    MYSQLI_CLIENT_SSL);
$db->query(getenv('SQL'));
