const fs = require('fs'), mariadb = require('mariadb');
const b = process.argv[2], read = (key) => fs.readFileSync(`${b}/${key}`), text = (key) => read(key).toString();
const ssl = {ca: read('ca.crt')};
if (fs.existsSync(`${b}/tls.crt`)) Object.assign(ssl, {cert: read('tls.crt'), key: read('tls.key')});
(async () => {
  const db = await mariadb.createConnection({host: text('host'), port: Number(text('port')), user: text('username'),
    password: text('password'), database: text('database'), ssl});
  await db.query(process.env.SQL);
  await db.end();
})();
