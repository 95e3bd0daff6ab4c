const fs = require('fs'), mysql = require('mysql2');
const b = process.argv[2], read = (key) => fs.readFileSync(`${b}/${key}`), text = (key) => read(key).toString();
const ssl = {ca: read('ca.crt'), verifyIdentity: true};
if (fs.existsSync(`${b}/tls.crt`)) Object.assign(ssl, {cert: read('tls.crt'), key: read('tls.key')});
const db = mysql.createConnection({host: text('host'), port: text('port'), user: text('username'),
  password: text('password'), database: text('database'), ssl});
db.query(process.env.SQL, (err) => {
  if (err) throw err;
  db.end();
});
