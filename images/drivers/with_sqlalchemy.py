import os, pathlib, sys
import sqlalchemy

engine = sqlalchemy.create_engine(pathlib.Path(sys.argv[1], "sqlalchemy-url").read_text())
with engine.begin() as db:
    db.execute(sqlalchemy.text(os.environ["SQL"]))
