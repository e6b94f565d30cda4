-- A backup with the schema 0001, as SQL. Never changed: later versions must be able to read it.
PRAGMA application_id = 1129534544;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE backup (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "backup" VALUES('program','"0.1.0"');
INSERT INTO "backup" VALUES('created_at','"2026-11-21T13:57:27+00:00"');
INSERT INTO "backup" VALUES('store_id','"08557d8b998045a7b98f8d2af8acbf1f"');
INSERT INTO "backup" VALUES('contents','{"decisions": 3, "windows": {"minilm": 3}, "digest": "efa87964d386cc268176f73f2acf8c8daf2decaab70296d834706ecc163ad580"}');
INSERT INTO "backup" VALUES('attached','{"tokens": "{\"tokens\": []}"}');
INSERT INTO "backup" VALUES('checksum','67eba1091a9acb767437c6fc53098aeff81322855d7dac1c46afe9130c68dcd9');
CREATE TABLE counter (
	seq INTEGER NOT NULL
);
INSERT INTO "counter" VALUES(3);
CREATE TABLE decisions (
	"key" INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	title TEXT NOT NULL, 
	category TEXT, 
	confidence DOUBLE, 
	stakes TEXT, 
	status TEXT, 
	status_text TEXT, 
	outcome TEXT, 
	date INTEGER, 
	reasons TEXT NOT NULL, 
	tags TEXT NOT NULL, 
	supersedes TEXT NOT NULL, 
	superseded_by TEXT NOT NULL, 
	project TEXT, 
	sensitivity SMALLINT NOT NULL, 
	source TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	ingested_as TEXT, 
	digest TEXT NOT NULL, 
	updated_at INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_decisions PRIMARY KEY ("key"), 
	CONSTRAINT uq_decisions_seq UNIQUE (seq), 
	CONSTRAINT uq_decisions_id UNIQUE (id)
);
INSERT INTO "decisions" VALUES(1,1,'d-1','Use SQLite','storage',0.8,'high','accepted','Accepted','success',1706918400000000,'[["pattern",null],["analysis","measured"]]','["storage","sql"]','["d-0"]','["d-2"]','alpha',1,'/notes/0.md',0,NULL,'digest-0',1795269447852672,'One file.');
INSERT INTO "decisions" VALUES(2,2,'d-2','Zweitens',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'[]','[]','[]','[]',NULL,0,'/notes/1.md',1,NULL,'digest-1',1795269447852672,'Zweiter — with
two lines');
INSERT INTO "decisions" VALUES(3,3,'d-3','Third',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'[]','[]','[]','[]',NULL,0,'/notes/2.md',2,NULL,'digest-2',1795269447860717,'');
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_meta PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('store_id','b49b691c050e4890a20c2477fc21d3e9');
CREATE TABLE tombstones (
	seq INTEGER NOT NULL, 
	"key" INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	CONSTRAINT pk_tombstones PRIMARY KEY (seq)
);
CREATE TABLE vectors (
	"key" INTEGER NOT NULL, 
	model TEXT NOT NULL, 
	window INTEGER NOT NULL, 
	vector BLOB NOT NULL, 
	CONSTRAINT pk_vectors PRIMARY KEY ("key", model, window), 
	CONSTRAINT fk_vectors_key FOREIGN KEY("key") REFERENCES decisions ("key") ON DELETE CASCADE
);
INSERT INTO "vectors" VALUES(1,'minilm',0,X'0000803F00000000000000BF');
INSERT INTO "vectors" VALUES(1,'minilm',1,X'0000803E000040400000E040');
INSERT INTO "vectors" VALUES(2,'minilm',0,X'0000803F00000000000000BF');
COMMIT;
