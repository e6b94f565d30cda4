-- A backup with the schema 0003, as SQL. Never changed: later versions must be able to read it.
PRAGMA application_id = 1129534544;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0003');
CREATE TABLE artifact_chunks (
	"key" INTEGER NOT NULL, 
	artifact_id TEXT NOT NULL, 
	title TEXT, 
	chunk_index INTEGER NOT NULL, 
	total_chunks INTEGER NOT NULL, 
	start_char INTEGER, 
	end_char INTEGER, 
	token_count INTEGER, 
	metadata TEXT NOT NULL, 
	content TEXT NOT NULL, 
	CONSTRAINT pk_artifact_chunks PRIMARY KEY ("key"), 
	CONSTRAINT fk_artifact_chunks_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
CREATE TABLE artifacts (
	"key" INTEGER NOT NULL, 
	context TEXT NOT NULL, 
	title TEXT, 
	author TEXT, 
	author_title TEXT, 
	participants TEXT NOT NULL, 
	mentions TEXT NOT NULL, 
	source_system TEXT NOT NULL, 
	source_id TEXT, 
	source_url TEXT, 
	importance DOUBLE NOT NULL, 
	ts INTEGER, 
	ingested_at INTEGER, 
	document_date INTEGER, 
	visibility_scope TEXT, 
	retention_policy TEXT, 
	source_type TEXT, 
	document_status TEXT, 
	distribution_scope TEXT, 
	chunked INTEGER NOT NULL, 
	metadata TEXT NOT NULL, 
	content TEXT NOT NULL, 
	CONSTRAINT pk_artifacts PRIMARY KEY ("key"), 
	CONSTRAINT fk_artifacts_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "artifacts" VALUES(4,'note',NULL,NULL,NULL,'[]','[]','manual',NULL,NULL,0.5,1710720000000000,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'{}','Minutes');
CREATE TABLE backup (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "backup" VALUES('program','"0.1.0"');
INSERT INTO "backup" VALUES('created_at','"2026-11-22T03:04:04+00:00"');
INSERT INTO "backup" VALUES('store_id','"846eae5dd16746af85ac1f9b3847d878"');
INSERT INTO "backup" VALUES('contents','{"kinds": {"artifact": 1, "chunk": 1, "decision": 3, "episode": 1, "event": 1, "extraction": 1, "source": 1, "turn": 1}, "windows": {"minilm": 3}, "digest": "1e618e556c205dc4dd9bb4b0b3ec67ef2c7783658075810736eac9975711c5f6"}');
INSERT INTO "backup" VALUES('attached','{"tokens": "{\"tokens\": []}"}');
INSERT INTO "backup" VALUES('checksum','ae34fc05a81e1f44b5415997bb57a94e0a7008ba64c64e66fc90560cc8c2308b');
CREATE TABLE chunks (
	"key" INTEGER NOT NULL, 
	source_id TEXT, 
	title TEXT, 
	author TEXT, 
	source TEXT, 
	category TEXT, 
	tags TEXT NOT NULL, 
	chunk_index INTEGER NOT NULL, 
	total_chunks INTEGER NOT NULL, 
	start_char INTEGER, 
	end_char INTEGER, 
	place TEXT, 
	knowledge_card TEXT, 
	cluster_ids TEXT NOT NULL, 
	readwise_url TEXT, 
	source_url TEXT, 
	highlight_url TEXT, 
	first_highlighted_at INTEGER, 
	last_highlighted_at INTEGER, 
	created_at INTEGER, 
	metadata TEXT NOT NULL, 
	content TEXT NOT NULL, 
	CONSTRAINT pk_chunks PRIMARY KEY ("key"), 
	CONSTRAINT fk_chunks_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "chunks" VALUES(8,'src_1',NULL,NULL,NULL,NULL,'["a"]',0,1,NULL,NULL,NULL,NULL,'[]',NULL,NULL,NULL,NULL,NULL,NULL,'{}','A passage');
CREATE TABLE clusters (
	"key" INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	description TEXT, 
	size INTEGER, 
	created_at INTEGER, 
	updated_at INTEGER, 
	metadata TEXT NOT NULL, 
	CONSTRAINT pk_clusters PRIMARY KEY ("key"), 
	CONSTRAINT fk_clusters_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
CREATE TABLE counter (
	seq INTEGER NOT NULL
);
INSERT INTO "counter" VALUES(10);
CREATE TABLE decisions (
	"key" INTEGER NOT NULL, 
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
	text TEXT NOT NULL, 
	CONSTRAINT pk_decisions PRIMARY KEY ("key"), 
	CONSTRAINT fk_decisions_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "decisions" VALUES(1,'Use SQLite','storage',0.8,'high','accepted','Accepted','success',1706918400000000,'[["pattern",null],["analysis","measured"]]','["storage","sql"]','["d-0"]','["d-2"]','One file.');
INSERT INTO "decisions" VALUES(2,'Zweitens',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'[]','[]','[]','[]','Zweiter — with
two lines');
INSERT INTO "decisions" VALUES(3,'Third',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'[]','[]','[]','[]','');
CREATE TABLE edges (
	"key" INTEGER NOT NULL, 
	source_id TEXT NOT NULL, 
	target_id TEXT NOT NULL, 
	type TEXT NOT NULL, 
	name TEXT, 
	artifact_id TEXT, 
	confidence DOUBLE NOT NULL, 
	evidence TEXT, 
	metadata TEXT NOT NULL, 
	CONSTRAINT pk_edges PRIMARY KEY ("key"), 
	CONSTRAINT fk_edges_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
CREATE TABLE entities (
	"key" INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	type TEXT NOT NULL, 
	aliases TEXT NOT NULL, 
	role TEXT, 
	organization TEXT, 
	email TEXT, 
	metadata TEXT NOT NULL, 
	CONSTRAINT pk_entities PRIMARY KEY ("key"), 
	CONSTRAINT fk_entities_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
CREATE TABLE episodes (
	"key" INTEGER NOT NULL, 
	reward DOUBLE NOT NULL, 
	tags TEXT NOT NULL, 
	category TEXT, 
	created_at INTEGER, 
	metadata TEXT NOT NULL, 
	reflection TEXT, 
	"query" TEXT NOT NULL, 
	CONSTRAINT pk_episodes PRIMARY KEY ("key"), 
	CONSTRAINT fk_episodes_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "episodes" VALUES(9,0.5,'[]',NULL,NULL,'{}',NULL,'What now?');
CREATE TABLE events (
	"key" INTEGER NOT NULL, 
	category TEXT NOT NULL, 
	artifact_id TEXT, 
	event_time INTEGER, 
	actors TEXT NOT NULL, 
	subject TEXT, 
	confidence DOUBLE, 
	evidence TEXT NOT NULL, 
	created_at INTEGER, 
	metadata TEXT NOT NULL, 
	narrative TEXT NOT NULL, 
	CONSTRAINT pk_events PRIMARY KEY ("key"), 
	CONSTRAINT fk_events_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "events" VALUES(5,'Decision','art_1',NULL,'[{"ref":"Ana","role":"other"}]',NULL,NULL,'[]',NULL,'{}','It was decided.');
CREATE TABLE extractions (
	"key" INTEGER NOT NULL, 
	type TEXT NOT NULL, 
	topics TEXT NOT NULL, 
	source_id TEXT, 
	source_title TEXT, 
	chunk_id TEXT, 
	chunk_ids TEXT NOT NULL, 
	context_level TEXT, 
	context_id TEXT, 
	confidence DOUBLE, 
	schema_version TEXT, 
	extracted_at INTEGER, 
	metadata TEXT NOT NULL, 
	content TEXT NOT NULL, 
	CONSTRAINT pk_extractions PRIMARY KEY ("key"), 
	CONSTRAINT fk_extractions_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "extractions" VALUES(10,'pattern','["rag"]',NULL,NULL,NULL,'[]',NULL,NULL,NULL,NULL,NULL,'{}','{"name":"N","problem":"","solution":"S","code_example":null,"context":null,"trade_offs":[]}');
CREATE TABLE links (
	"key" INTEGER NOT NULL, 
	role SMALLINT NOT NULL, 
	place INTEGER NOT NULL, 
	target_kind SMALLINT NOT NULL, 
	target TEXT NOT NULL, 
	CONSTRAINT pk_links PRIMARY KEY ("key", role, place), 
	CONSTRAINT fk_links_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "links" VALUES(5,4,0,7,'art_1');
INSERT INTO "links" VALUES(5,5,1,11,'ana');
INSERT INTO "links" VALUES(6,5,0,11,'ana');
INSERT INTO "links" VALUES(8,1,0,2,'src_1');
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_meta PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('store_id','4fedf133554c4751ab540ecadb73c49e');
CREATE TABLE records (
	"key" INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	kind SMALLINT NOT NULL, 
	id TEXT NOT NULL, 
	project TEXT, 
	sensitivity SMALLINT NOT NULL, 
	own_project TEXT, 
	own_sensitivity SMALLINT, 
	at INTEGER, 
	context TEXT, 
	system TEXT, 
	importance DOUBLE, 
	parent INTEGER, 
	source TEXT NOT NULL, 
	source_key TEXT NOT NULL, 
	ordinal INTEGER NOT NULL, 
	ingested_as TEXT, 
	digest TEXT NOT NULL, 
	updated_at INTEGER NOT NULL, 
	CONSTRAINT pk_records PRIMARY KEY ("key"), 
	CONSTRAINT uq_records_kind UNIQUE (kind, id), 
	CONSTRAINT uq_records_seq UNIQUE (seq)
);
INSERT INTO "records" VALUES(1,1,1,'d-1','alpha',1,'alpha',1,1706918400000000,'decision',NULL,NULL,NULL,'/notes/0.md','526c3bd0a5762748',0,NULL,'digest-0',1795269447852672);
INSERT INTO "records" VALUES(2,2,1,'d-2',NULL,0,NULL,0,NULL,'decision',NULL,NULL,NULL,'/notes/1.md','5978f02fe9151a64',1,NULL,'digest-1',1795269447852672);
INSERT INTO "records" VALUES(3,3,1,'d-3',NULL,0,NULL,0,NULL,'decision',NULL,NULL,NULL,'/notes/2.md','e5fd86f7a63f0deb',2,NULL,'digest-2',1795269447860717);
INSERT INTO "records" VALUES(4,4,7,'art_1','alpha',1,'alpha',1,1710720000000000,'note','manual',0.5,NULL,'/notes/memory.jsonl','38c9c5f5c2adf4ff',0,NULL,'digest-0',1795280558466027);
INSERT INTO "records" VALUES(5,5,10,'evt_1','alpha',1,NULL,NULL,1710720000000000,'note','manual',0.5,4,'/notes/memory.jsonl','38c9c5f5c2adf4ff',1,NULL,'digest-1',1795280558466027);
INSERT INTO "records" VALUES(6,6,9,'art_2',NULL,0,NULL,NULL,NULL,'conversation','manual',0.5,NULL,'/notes/memory.jsonl','38c9c5f5c2adf4ff',2,NULL,'digest-2',1795280558466027);
INSERT INTO "records" VALUES(7,7,2,'src_1',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/notes/memory.jsonl','38c9c5f5c2adf4ff',3,NULL,'digest-3',1795280558466027);
INSERT INTO "records" VALUES(8,8,3,'chk_1',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/notes/memory.jsonl','38c9c5f5c2adf4ff',4,NULL,'digest-4',1795280558466027);
INSERT INTO "records" VALUES(9,9,6,'1',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/notes/memory.jsonl','38c9c5f5c2adf4ff',5,NULL,'digest-5',1795280558466027);
INSERT INTO "records" VALUES(10,10,5,'ext_1',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'/notes/memory.jsonl','38c9c5f5c2adf4ff',6,NULL,'digest-6',1795280558466027);
CREATE TABLE sources (
	"key" INTEGER NOT NULL, 
	title_key TEXT NOT NULL, 
	title TEXT NOT NULL, 
	authors TEXT NOT NULL, 
	type TEXT NOT NULL, 
	path TEXT, 
	url TEXT, 
	year INTEGER, 
	category TEXT, 
	tags TEXT NOT NULL, 
	created_at INTEGER, 
	metadata TEXT NOT NULL, 
	CONSTRAINT pk_sources PRIMARY KEY ("key"), 
	CONSTRAINT fk_sources_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "sources" VALUES(7,'ae35964219d1b24b','A book','[]','document',NULL,NULL,NULL,NULL,'[]',NULL,'{}');
CREATE TABLE tombstones (
	seq INTEGER NOT NULL, 
	"key" INTEGER NOT NULL, 
	kind SMALLINT DEFAULT '1' NOT NULL, 
	id TEXT NOT NULL, 
	CONSTRAINT pk_tombstones PRIMARY KEY (seq)
);
CREATE TABLE turns (
	"key" INTEGER NOT NULL, 
	by_index INTEGER DEFAULT '0' NOT NULL, 
	by_time INTEGER DEFAULT '0' NOT NULL, 
	by_place INTEGER DEFAULT '0' NOT NULL, 
	conversation_id TEXT NOT NULL, 
	turn_index INTEGER, 
	role TEXT, 
	speaker TEXT, 
	ts INTEGER, 
	session TEXT, 
	source_system TEXT NOT NULL, 
	importance DOUBLE NOT NULL, 
	mentions TEXT NOT NULL, 
	metadata TEXT NOT NULL, 
	content TEXT NOT NULL, 
	CONSTRAINT pk_turns PRIMARY KEY ("key"), 
	CONSTRAINT fk_turns_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "turns" VALUES(6,0,-4611686018427387904,0,'c',0,NULL,'Ana',NULL,NULL,'manual',0.5,'[]','{}','Hello');
CREATE TABLE vectors (
	"key" INTEGER NOT NULL, 
	model TEXT NOT NULL, 
	window INTEGER NOT NULL, 
	vector BLOB NOT NULL, 
	CONSTRAINT pk_vectors PRIMARY KEY ("key", model, window), 
	CONSTRAINT fk_vectors_key FOREIGN KEY("key") REFERENCES records ("key") ON DELETE CASCADE
);
INSERT INTO "vectors" VALUES(1,'minilm',0,X'0000803F00000000000000BF');
INSERT INTO "vectors" VALUES(1,'minilm',1,X'0000803E000040400000E040');
INSERT INTO "vectors" VALUES(2,'minilm',0,X'0000803F00000000000000BF');
CREATE INDEX ix_records_kind_seq ON records (kind, seq);
CREATE INDEX ix_records_source_key_ordinal ON records (source_key, ordinal);
CREATE INDEX ix_records_parent ON records (parent);
CREATE INDEX ix_tombstones_kind_seq ON tombstones (kind, seq);
CREATE INDEX ix_sources_title_key ON sources (title_key);
CREATE INDEX ix_chunks_source_id_chunk_index ON chunks (source_id, chunk_index);
CREATE INDEX ix_artifact_chunks_artifact_id_chunk_index ON artifact_chunks (artifact_id, chunk_index);
CREATE INDEX ix_turns_conversation_id_by_index_by_time_by_place_key ON turns (conversation_id, by_index, by_time, by_place, "key");
CREATE INDEX ix_links_target_role_key ON links (target, role, "key");
COMMIT;
