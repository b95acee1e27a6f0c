BEGIN TRANSACTION;
CREATE TABLE erased_sessions (
	session_hash VARCHAR(64) NOT NULL, 
	erased_at DATETIME NOT NULL, 
	PRIMARY KEY (session_hash)
);
CREATE TABLE leases (
	name VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	ends_at FLOAT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE run_steps (
	run_id VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	step VARCHAR NOT NULL, 
	started_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	outcome VARCHAR NOT NULL, 
	counts JSON NOT NULL, 
	PRIMARY KEY (run_id, position)
);
INSERT INTO "run_steps" VALUES('61f6e7a3e1cf4cab9843202f646e69f9',1,'extract','2026-11-23 07:40:31.110315','2026-11-23 07:40:31.262279','completed','{}');
INSERT INTO "run_steps" VALUES('e63c4fbeec844d708dcce410b3051909',1,'extract','2026-11-23 07:40:31.276405','2026-11-23 07:40:31.398964','completed','{}');
INSERT INTO "run_steps" VALUES('61f6e7a3e1cf4cab9843202f646e69f9',2,'score','2026-11-23 07:40:31.275828','2026-11-23 07:40:31.738374','completed','{"rows_in": 9, "scored": 8, "excluded": 1, "rejected": 0}');
INSERT INTO "run_steps" VALUES('e63c4fbeec844d708dcce410b3051909',2,'score','2026-11-23 07:40:31.417944','2026-11-23 07:40:31.766137','completed','{"rows_in": 9, "scored": 9, "excluded": 0, "rejected": 0}');
INSERT INTO "run_steps" VALUES('e63c4fbeec844d708dcce410b3051909',3,'write','2026-11-23 07:40:31.795543','2026-11-23 07:40:32.562077','completed','{}');
INSERT INTO "run_steps" VALUES('61f6e7a3e1cf4cab9843202f646e69f9',3,'write','2026-11-23 07:40:31.746773','2026-11-23 07:40:32.845295','completed','{}');
INSERT INTO "run_steps" VALUES('61f6e7a3e1cf4cab9843202f646e69f9',4,'summarise','2026-11-23 07:40:32.862851','2026-11-23 07:40:33.882979','completed','{}');
INSERT INTO "run_steps" VALUES('e63c4fbeec844d708dcce410b3051909',4,'summarise','2026-11-23 07:40:32.584688','2026-11-23 07:40:33.954557','completed','{}');
INSERT INTO "run_steps" VALUES('59de223fc0cf4802b6aa102c8a4f3acc',1,'extract','2026-11-23 07:40:38.031334','2026-11-23 07:40:38.090426','completed','{}');
INSERT INTO "run_steps" VALUES('59de223fc0cf4802b6aa102c8a4f3acc',2,'score','2026-11-23 07:40:38.112560','2026-11-23 07:40:38.795034','completed','{"rows_in": 9, "scored": 9, "excluded": 0, "rejected": 0}');
INSERT INTO "run_steps" VALUES('59de223fc0cf4802b6aa102c8a4f3acc',3,'write','2026-11-23 07:40:38.812519','2026-11-23 07:40:39.472511','completed','{}');
INSERT INTO "run_steps" VALUES('59de223fc0cf4802b6aa102c8a4f3acc',4,'summarise','2026-11-23 07:40:39.482582','2026-11-23 07:40:40.092568','completed','{}');
INSERT INTO "run_steps" VALUES('473c8103fcd048268fb00377559623e4',1,'score','2026-11-23 07:40:42.563472','2026-11-23 07:40:43.724126','completed','{"rows_in": 11, "scored": 11, "excluded": 0, "rejected": 0}');
CREATE TABLE runs (
	run_id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	score_date DATE NOT NULL, 
	rubric VARCHAR NOT NULL, 
	rubric_version VARCHAR NOT NULL, 
	code_version VARCHAR NOT NULL, 
	started_at DATETIME NOT NULL, 
	finished_at DATETIME, 
	outcome VARCHAR NOT NULL, 
	inputs JSON NOT NULL, 
	rows_in INTEGER, 
	scored INTEGER, 
	excluded INTEGER, 
	rejected INTEGER, 
	message VARCHAR, 
	parameters JSON, 
	content VARCHAR, 
	model VARCHAR, 
	prompt_versions VARCHAR, 
	cost_usd FLOAT, 
	told_at DATETIME, 
	PRIMARY KEY (run_id)
);
INSERT INTO "runs" VALUES('61f6e7a3e1cf4cab9843202f646e69f9','backfill','2026-03-09','ola-monitoring','1','0.1.0','2026-11-23 07:40:30.986809','2026-11-23 07:40:33.902785','completed','[{"name": "chat_rows/2026-03-09.parquet", "sha256": "086806b3ef1fce2c79a823b566699b8aaefec33920ed0e910e4b28faad9b285f", "bytes": 13522}, {"name": "chat_rows/2026-03-10.parquet", "sha256": "459318fc17969390188416ff7e7eb9c592c749c5a3b3b194c0e410fc5151ff71", "bytes": 13054}, {"name": "chat_rows/2026-03-11.parquet", "sha256": "77c5bc44c6bf390f26c003fbe0ad11494a92b876ef3344d77ca1341d0b128d59", "bytes": 12805}, {"name": "chat_rows/2026-03-12.parquet", "sha256": "f3a60ad7b3c31fc3d783e9a32539d3232385381c15e27cb44bf157719e663eec", "bytes": 12503}]',9,8,1,0,NULL,'{"time_zone": "Asia/Seoul", "keep_text": "flagged", "warehouse": "warehouse"}','9-53e4c92811ee6d9d',NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES('e63c4fbeec844d708dcce410b3051909','backfill','2026-03-10','ola-monitoring','1','0.1.0','2026-11-23 07:40:31.010719','2026-11-23 07:40:33.978637','completed','[{"name": "chat_rows/2026-03-09.parquet", "sha256": "086806b3ef1fce2c79a823b566699b8aaefec33920ed0e910e4b28faad9b285f", "bytes": 13522}, {"name": "chat_rows/2026-03-10.parquet", "sha256": "459318fc17969390188416ff7e7eb9c592c749c5a3b3b194c0e410fc5151ff71", "bytes": 13054}, {"name": "chat_rows/2026-03-11.parquet", "sha256": "77c5bc44c6bf390f26c003fbe0ad11494a92b876ef3344d77ca1341d0b128d59", "bytes": 12805}, {"name": "chat_rows/2026-03-12.parquet", "sha256": "f3a60ad7b3c31fc3d783e9a32539d3232385381c15e27cb44bf157719e663eec", "bytes": 12503}]',9,9,0,0,NULL,'{"time_zone": "Asia/Seoul", "keep_text": "flagged", "warehouse": "warehouse"}','9-a1d6156e82999840',NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES('59de223fc0cf4802b6aa102c8a4f3acc','nightly','2026-03-11','ola-monitoring','1','0.1.0','2026-11-23 07:40:37.936938','2026-11-23 07:40:40.110760','completed','[{"name": "chat_rows/2026-03-09.parquet", "sha256": "086806b3ef1fce2c79a823b566699b8aaefec33920ed0e910e4b28faad9b285f", "bytes": 13522}, {"name": "chat_rows/2026-03-10.parquet", "sha256": "459318fc17969390188416ff7e7eb9c592c749c5a3b3b194c0e410fc5151ff71", "bytes": 13054}, {"name": "chat_rows/2026-03-11.parquet", "sha256": "77c5bc44c6bf390f26c003fbe0ad11494a92b876ef3344d77ca1341d0b128d59", "bytes": 12805}, {"name": "chat_rows/2026-03-12.parquet", "sha256": "f3a60ad7b3c31fc3d783e9a32539d3232385381c15e27cb44bf157719e663eec", "bytes": 12503}]',9,9,0,0,NULL,'{"time_zone": "Asia/Seoul", "keep_text": "flagged", "warehouse": "warehouse"}','9-c6e27b03b855e699',NULL,NULL,NULL,NULL);
INSERT INTO "runs" VALUES('473c8103fcd048268fb00377559623e4','test_run','2026-11-23','aqb-1.2','1','0.1.0','2026-11-23 07:40:42.490290','2026-11-23 07:40:43.734604','completed','[{"name": "inbox/resume_agent_sample.xlsx", "sha256": "24ed0f3508b521f2b60c5d1a17f6de923b8e658c4e941e8b4671dafccccc404c", "bytes": 10670}]',11,11,0,0,NULL,'{"rubric_options": {}, "judged": false}',NULL,NULL,NULL,NULL,NULL);
CREATE INDEX runs_by_day ON runs (score_date);
COMMIT;
