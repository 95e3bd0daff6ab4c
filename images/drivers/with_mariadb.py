import os, pathlib, sys
import mariadb

b = pathlib.Path(sys.argv[1])
pair = {"ssl_cert": str(b / "tls.crt"), "ssl_key": str(b / "tls.key")} if (b / "tls.crt").exists() else {}
db = mariadb.connect(host=(b / "host").read_text(), port=int((b / "port").read_text()),
                     user=(b / "username").read_text(), password=(b / "password").read_text(),
                     database=(b / "database").read_text(),
                     ssl=True, ssl_ca=str(b / "ca.crt"), ssl_verify_cert=True, autocommit=True, **pair)
db.cursor().execute(os.environ["SQL"])
