/**
 * Every failure a user can meet is a row of this table. An error is given its code once, at the edge where it is first
 * understood (a socket, a file, a broker's answer, a line of YAML); nothing further in reads message texts.
 *
 * `retryable` says that the same call may succeed when it is made again. `exitCode` is what the process ends with:
 * 1 failed, 2 bad command line or configuration, 3 damage found, 4 partly done and resumable, 5 another writer holds it, 6 no match.
 */
export const errorTable = {
  USAGE: { retryable: false, exitCode: 2, help: 'See `kafka-backup <command> --help`.' },
  CONFIG_UNREADABLE: { retryable: false, exitCode: 2, help: 'Check the path and the permissions of the job file.' },
  CONFIG_INVALID: {
    retryable: false,
    exitCode: 2,
    help: 'Correct the fields named in the message; docs/configuration.md lists them all.',
  },
  LOCATION_INVALID: {
    retryable: false,
    exitCode: 2,
    help: 'Give a folder (`/backups`, `./backups`, `file:///backups`) or a bucket (`s3://bucket/prefix`, `az://container/prefix`, `gs://bucket/prefix`).',
  },

  STORAGE_NOT_FOUND: { retryable: false, exitCode: 1, help: 'Check the location: the object or folder is missing.' },
  STORAGE_EXISTS: { retryable: false, exitCode: 1, help: 'Objects are write-once; this key is already taken.' },
  STORAGE_DENIED: { retryable: false, exitCode: 1, help: 'Grant the process access to the location.' },
  STORAGE_FULL: { retryable: false, exitCode: 1, help: 'Free space at the location, then run the same command again.' },
  STORAGE_SHORT: { retryable: false, exitCode: 3, help: 'The object is shorter than recorded; run `verify --deep`.' },
  STORAGE_UNFIT: {
    retryable: false,
    exitCode: 1,
    help: 'Use a store that creates objects only where none is (`If-None-Match: *`); docs/s3.md names some.',
  },
  STORAGE_RETAINED: {
    retryable: false,
    exitCode: 1,
    help: 'The store protects the object by its own retention rule; it can be removed when that has expired.',
  },
  STORAGE_REFUSED: { retryable: false, exitCode: 1, help: 'The store refused the request; see docs/storage.md.' },
  STORAGE_PROTOCOL: { retryable: true, exitCode: 1, help: 'A proxy or captive portal answered: check the endpoint.' },
  STORAGE_UNAVAILABLE: { retryable: true, exitCode: 1, help: 'The location did not answer; run the command again.' },

  BACKUP_NOT_FOUND: { retryable: false, exitCode: 1, help: '`kafka-backup list --path …` shows the backups there.' },
  GENERATION_NOT_FOUND: { retryable: false, exitCode: 1, help: '`kafka-backup list --generations` shows them.' },
  BACKUP_PRUNED: {
    retryable: false,
    exitCode: 1,
    help: '`kafka-backup prune --keep <id>` keeps an expired backup while its grace period lasts; otherwise use another backup_id.',
  },
  BACKUP_HELD: {
    retryable: false,
    exitCode: 1,
    help: '`kafka-backup list --generations` shows the holds; `kafka-backup hold --release` ends one.',
  },
  BACKUP_IN_USE: {
    retryable: true,
    exitCode: 5,
    help: 'Wait until the processes that the message names have ended, or stop them. A killed one counts until its lease expires: two minutes for a writer (`backup.lease_duration`), five for a reader.',
  },
  NO_MATCH: { retryable: false, exitCode: 6, help: 'Check the conditions, or search an earlier generation.' },
  ARCHIVE_DAMAGED: {
    retryable: false,
    exitCode: 3,
    help: 'Run `kafka-backup verify --deep` for the whole extent; earlier generations may be intact.',
  },
  ARCHIVE_TOO_NEW: {
    retryable: false,
    exitCode: 1,
    help: 'Use the version of kafka-backup that wrote it, or a newer one.',
  },
  ENCRYPTION_KEY: {
    retryable: false,
    exitCode: 1,
    help: 'Give a key of the backup: `encryption.recipients` in the job, `--key-file`, or KAFKA_BACKUP_KEY_FILE; docs/encryption.md lists all ways.',
  },
  KMS_UNREACHABLE: { retryable: true, exitCode: 1, help: 'Check the region, endpoint and network of AWS KMS.' },
  CREDENTIALS_UNREACHABLE: { retryable: true, exitCode: 1, help: 'Check the network to the service, then run again.' },
  CREDENTIALS_REFUSED: { retryable: false, exitCode: 1, help: 'Check role, client, secret, and token or key file.' },
  ENCRYPTION_MISMATCH: {
    retryable: false,
    exitCode: 1,
    help: 'Make `encryption` of the job and the backup agree, or take another `backup_id`; see docs/encryption.md.',
  },
  SCHEMAS_NOT_FOUND: {
    retryable: false,
    exitCode: 1,
    help: 'Back up with `enterprise.schema_registry.enabled: true`, or run `kafka-backup schemas backup`.',
  },
  WRITER_CONFLICT: {
    retryable: false,
    exitCode: 5,
    help: 'Another process writes to this backup_id, or restores into this registry. Let it finish or stop it, then run the same command again.',
  },

  SHARDS_INCOMPLETE: {
    retryable: false,
    exitCode: 4,
    help: 'Run the shards that are missing (`--shard i/n`), then `backup --commit` or `restore --finish` again.',
  },

  RESTORE_REFUSED: {
    retryable: false,
    exitCode: 1,
    help: 'Correct what the message names, then run the command again.',
  },
  RESTORE_CONFLICT: {
    retryable: false,
    exitCode: 5,
    help: 'Stop the other writer, delete the topics that this restore fills, then run the same command again.',
  },

  SCHEMA_ID_UNKNOWN: {
    retryable: false,
    exitCode: 1,
    help:
      'The message says why. Map the ID by `enterprise.schema_registry.restore.id_mapping_file`, or set ' +
      '`enterprise.schema_registry.restore.unknown_ids: pass` to leave such records as they are.',
  },

  KAFKA_UNREACHABLE: { retryable: true, exitCode: 1, help: 'Check `bootstrap_servers`, the network and the listener.' },
  KAFKA_DISCONNECTED: { retryable: true, exitCode: 1, help: 'The broker closed the connection; see its log.' },
  KAFKA_TIMEOUT: { retryable: true, exitCode: 1, help: 'The broker did not answer in time; see its log.' },
  KAFKA_NOT_READY: {
    retryable: true,
    exitCode: 1,
    help: 'The cluster was electing or loading; run the command again.',
  },
  KAFKA_TLS: {
    retryable: false,
    exitCode: 1,
    help: 'Compare `security.protocol` and `security.tls` with the listener; docs/security.md explains each.',
  },
  KAFKA_AUTH: {
    retryable: false,
    exitCode: 1,
    help: 'Check mechanism, user and password under `security.sasl`; docs/security.md explains each.',
  },
  KAFKA_DENIED: { retryable: false, exitCode: 1, help: '`kafka-backup check` lists every permission that is missing.' },
  KAFKA_NO_AUTHORIZER: {
    retryable: false,
    exitCode: 1,
    help: 'The brokers have no `authorizer.class.name`: they keep no ACLs and check none.',
  },
  KAFKA_UNSUPPORTED: { retryable: false, exitCode: 1, help: 'See docs/kafka-versions.md for what each Kafka has.' },
  KAFKA_REFUSED: { retryable: false, exitCode: 1, help: 'The broker refused the request; see its log.' },
  KAFKA_PROTOCOL: { retryable: false, exitCode: 1, help: 'The answer is not Kafka protocol; is this a broker?' },
  TOPIC_NOT_FOUND: {
    retryable: false,
    exitCode: 1,
    help: 'Correct `source.topics.include`, or set `backup.missing_topics: warn`.',
  },
  GROUP_ACTIVE: {
    retryable: false,
    exitCode: 1,
    help: 'The consumer group has members. Stop its consumers, then run the same command again.',
  },
  GROUP_NOT_FOUND: {
    retryable: false,
    exitCode: 1,
    help: '`kafka-backup offsets list` shows the consumer groups of a cluster.',
  },
  OFFSETS_REFUSED: {
    retryable: false,
    exitCode: 1,
    help: 'No committed offset was changed. Correct what the message names, then run the command again.',
  },
  OFFSETS_DIFFER: {
    retryable: false,
    exitCode: 1,
    help: 'Something else commits for this group. Stop it, then run the same command again.',
  },
  OFFSET_OUT_OF_RANGE: { retryable: false, exitCode: 1, help: 'The source no longer holds this offset.' },
  SOURCE_REPLACED: {
    retryable: true,
    exitCode: 1,
    help: 'The topic was deleted or re-created; run the command again.',
  },
  SOURCE_TRUNCATED: {
    retryable: false,
    exitCode: 1,
    help: 'The source lost records that this backup holds, or, on a cluster without topic IDs, the topic was created again. Set `backup.on_truncation: new_incarnation` to keep them and copy the topic again from its start; docs/restore.md describes incarnations.',
  },
  SOURCE_CORRUPT: {
    retryable: true,
    exitCode: 1,
    help: 'The broker sent a batch whose checksum is wrong; check its disk and the network.',
  },
  SOURCE_UNREADABLE: {
    retryable: false,
    exitCode: 1,
    help: 'The broker holds these offsets but returns no batch for them; see its log, and its remote storage.',
  },
  BATCH_OLD_FORMAT: {
    retryable: false,
    exitCode: 1,
    help: 'Segments hold record batches of format v2 only; this one was not written by kafka-backup, or is damaged.',
  },
  BATCH_INVALID: { retryable: false, exitCode: 3, help: 'The bytes are not a valid record batch.' },

  REGISTRY_UNREACHABLE: {
    retryable: true,
    exitCode: 1,
    help: 'Check the address of the registry (`enterprise.schema_registry.url` in a job) and the network, then run the command again.',
  },
  REGISTRY_TLS: {
    retryable: false,
    exitCode: 1,
    help: 'Compare `url` and `tls` under `enterprise.schema_registry` with the registry.',
  },
  REGISTRY_AUTH: {
    retryable: false,
    exitCode: 1,
    help: 'Check `auth` under `enterprise.schema_registry`, and what this user may do there.',
  },
  REGISTRY_NOT_FOUND: {
    retryable: false,
    exitCode: 1,
    help: 'Check `enterprise.schema_registry.url`: its path has to be that of the Confluent API.',
  },
  REGISTRY_REFUSED: { retryable: false, exitCode: 1, help: 'The registry refused the request; see its log.' },
  REGISTRY_PROTOCOL: {
    retryable: false,
    exitCode: 1,
    help: 'The answer is not that of a schema registry; check `enterprise.schema_registry.url`.',
  },
  REGISTRY_UNFAITHFUL: {
    retryable: false,
    exitCode: 3,
    help: 'Compare with `kafka-backup schemas diff`; running the restore again continues where it stopped.',
  },
  REGISTRY_CHANGING: {
    retryable: true,
    exitCode: 1,
    help: 'Schemas were registered or deleted while the registry was read; run the command again when there are fewer changes.',
  },

  // Only the operator meets these.
  KUBE_CONFIG: {
    retryable: false,
    exitCode: 2,
    help: 'Run in a pod with a service account, or give a kubeconfig with a token or a client certificate.',
  },
  KUBE_UNREACHABLE: {
    retryable: true,
    exitCode: 1,
    help: 'The API server did not answer or was too busy; the request is repeated.',
  },
  KUBE_TLS: {
    retryable: false,
    exitCode: 1,
    help: 'Compare the address and the certificate authority with the API server.',
  },
  KUBE_AUTH: {
    retryable: false,
    exitCode: 1,
    help: 'The API server does not know the token or certificate; it may have expired or belong to another cluster.',
  },
  KUBE_DENIED: {
    retryable: false,
    exitCode: 1,
    help: 'Grant the account what the message names by a role, or change the policy or quota that it names.',
  },
  KUBE_NOT_FOUND: { retryable: false, exitCode: 1, help: 'The object does not exist, or no longer exists.' },
  KUBE_EXISTS: { retryable: false, exitCode: 1, help: 'The name exists; its object is used or left unchanged.' },
  KUBE_CONFLICT: {
    retryable: true,
    exitCode: 1,
    help: 'Another client changed the object meanwhile; it is read again, and the change is repeated if it is still needed.',
  },
  KUBE_INVALID: { retryable: false, exitCode: 1, help: 'Correct the fields named in the message.' },
  KUBE_GONE: { retryable: true, exitCode: 1, help: 'The requested version is too old; the objects are listed again.' },
  KUBE_PROTOCOL: {
    retryable: false,
    exitCode: 1,
    help: 'The answer is not that of a Kubernetes API server; check the address.',
  },

  GAP_FOUND: { retryable: false, exitCode: 4, help: 'Records expired before they were read; the manifest lists them.' },
  BACKUP_PARTIAL: {
    retryable: false,
    exitCode: 4,
    help: 'What is committed is kept; run the same command to continue.',
  },
  INTERRUPTED: {
    retryable: false,
    exitCode: 130,
    help: 'What was durable is committed; run the same command to continue.',
  },
  TERMINATED: {
    retryable: false,
    exitCode: 143,
    help: 'What was durable is committed; run the same command to continue.',
  },
  INTERNAL: {
    retryable: false,
    exitCode: 1,
    help: 'This is a bug in kafka-backup; please report it with `-v` output.',
  },
} as const satisfies Record<string, { retryable: boolean; exitCode: number; help: string }>
