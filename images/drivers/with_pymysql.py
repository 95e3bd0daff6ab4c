import os, pathlib, ssl, sys
import pymysql

b = pathlib.Path(sys.argv[1])
tls = ssl.create_default_context(cafile=b / "ca.crt")
if (b / "tls.crt").exists():
    tls.load_cert_chain(b / "tls.crt", b / "tls.key")
db = pymysql.connect(host=(b / "host").read_text(), port=int((b / "port").read_text()),
                     user=(b / "username").read_text(), password=(b / "password").read_text(),
                     database=(b / "database").read_text(), ssl=tls, autocommit=True)
db.cursor().execute(os.environ["SQL"])
