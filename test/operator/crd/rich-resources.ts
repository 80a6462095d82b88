import { secret } from './resources.ts'

/** Resources that say as much as they can, with what the job then has. */

export const fileFolder = '/etc/kafka-backup-files'

export const fullBackup = {
  kafkaCluster: {
    bootstrapServers: ['k-1:9092', '[::1]:9093'],
    clientId: 'b',
    requestTimeout: '5s',
    clientRack: 'r',
  },
  topics: { include: ['orders', 'a*'], exclude: ['a1'] },
  backup: {
    compression: 'zstd',
    segmentBytes: 1_048_576,
    missingTopics: 'warn',
    onGap: 'fail',
    consumerGroups: { include: ['g?'], exclude: ['g1'] },
    acls: true,
    commitInterval: '2m',
    continuous: true,
    rateLimit: '10MiB',
    connectionsPerBroker: 4,
  },
  retention: {
    ...{ keepLast: 3, olderThan: '30d', grace: '0s', afterBackup: false },
    generations: { keepLast: 5, keepHourly: 24, keepDaily: 7 },
  },
}

export const fullRestore = {
  restore: {
    generation: 4,
    topics: { include: ['orders'], exclude: [] },
    partitions: { orders: [0, 2] },
    offsetRanges: { 'orders/0': { start: 100, end: '9007199254740993' } },
    timeWindowStart: '2026-01-31T08:00:00Z',
    timeWindowEnd: 1_769_900_000_000,
    topicMapping: { orders: 'constructor' },
    partitionMapping: { orders: { '0': 1, '2': 0 } },
    topicConfig: { 'retention.ms': -1, 'cleanup.policy': 'compact' },
    replicationFactor: 3,
    consumerGroups: { mapping: { 'a b': 'c d' }, release: 'per_topic' },
  },
}

export const registryRestore = {
  strategy: 'overwrite',
  idMappingConfigMap: { name: 'ids', key: 'ids.json' },
  subjectMapping: { 'a-value': 'b-value' },
  setCompatibility: 'NONE',
  rewriteTopics: { include: ['orders'] },
  rewriteParts: ['value'],
  topicContexts: { orders: '.prod' },
}

export const encryption = {
  hideNames: true,
  recipients: [
    { keySecret: secret('key'), name: 'daily' },
    { passphraseSecret: secret('phrase') },
    { awsKms: { keyId: 'alias/backups', region: 'eu-central-1' } },
  ],
}

export const storages: Record<string, { spec: object; expected: object }> = {
  pvc: {
    spec: { backend: 'pvc', pvc: { claimName: 'backups', subPath: 'kafka/prod' }, prefix: 'eu' },
    expected: { backend: 'filesystem', path: '/backups', prefix: 'eu' },
  },
  s3: {
    spec: {
      backend: 's3',
      bucket: 'my-bucket',
      prefix: 'prod/eu',
      region: 'eu-central-1',
      endpoint: 'https://minio:9000',
      pathStyle: true,
      accessKeyIdSecret: secret('id'),
      secretAccessKeySecret: secret('key'),
      sessionTokenSecret: secret('token'),
      caCertConfigMap: { name: 'ca', key: 'ca.crt' },
      proxySecret: secret('proxy'),
      sse: 'aws:kms',
      sseKmsKeyId: 'alias/backups',
      sseBucketKey: true,
      checksum: 'sha256',
      signPayload: false,
      partSize: '8MiB',
      uploads: 2,
      connectTimeout: '3s',
      idleTimeout: '2m',
    },
    expected: {
      backend: 's3',
      bucket: 'my-bucket',
      prefix: 'prod/eu',
      region: 'eu-central-1',
      endpoint: 'https://minio:9000',
      pathStyle: true,
      accessKeyId: 'sig=credentials/id',
      secretAccessKey: 'sig=credentials/key',
      sessionToken: 'sig=credentials/token',
      caCert: `${fileFolder}/storage.ca_cert`,
      proxy: 'http://user:pass@proxy:3128',
      sse: 'aws:kms',
      sseKmsKeyId: 'alias/backups',
      sseBucketKey: true,
      checksum: 'sha256',
      signPayload: false,
      partSizeBytes: 8 * 2 ** 20,
      uploads: 2,
      connectTimeoutMs: 3000,
      idleTimeoutMs: 120_000,
    },
  },
  'azure with a key': {
    spec: { backend: 'azure', container: 'backups', account: 'acme', accountKeySecret: secret('key') },
    expected: { backend: 'azure', container: 'backups', account: 'acme', accountKey: 'sig=credentials/key' },
  },
  'azure with a SAS': {
    spec: { backend: 'azure', container: 'backups', account: 'acme', sasTokenSecret: secret('sas') },
    expected: { sasToken: 'sig=credentials/sas' },
  },
  'azure with a principal': {
    spec: { backend: 'azure', container: 'backups', tenantId: 't', clientId: 'c', clientSecret: secret('s') },
    expected: { tenantId: 't', clientId: 'c', clientSecret: 'sig=credentials/s' },
  },
  'azure with a workload identity': {
    spec: { backend: 'azure', container: 'backups', tenantId: 't', clientId: 'c', federatedTokenFile: '/var/token' },
    expected: { federatedTokenFile: '/var/token' },
  },
  'gcs with a key': {
    spec: { backend: 'gcs', bucket: 'my-bucket', keySecret: secret('key.json'), userProject: 'acme-backups' },
    expected: { backend: 'gcs', keyFile: `${fileFolder}/storage.key_file`, userProject: 'acme-backups' },
  },
  'gcs at an emulator': {
    spec: { backend: 'gcs', bucket: 'my-bucket', anonymous: true, endpoint: 'http://gcs:4443' },
    expected: { anonymous: true, endpoint: 'http://gcs:4443' },
  },
}

const login = { username: 'u', passwordSecret: secret('password') }

/** All over TLS with a client certificate. */
export const tls = {
  caCertSecret: secret('ca'),
  clientCertSecret: secret('crt'),
  clientKeySecret: secret('key'),
  clientKeyPasswordSecret: secret('pw'),
}

export const mechanisms: Record<string, { sasl: object; expected: object }> = {
  PLAIN: {
    sasl: { mechanism: 'PLAIN', usernameSecret: secret('user'), passwordSecret: secret('password') },
    expected: {
      mechanism: 'PLAIN',
      username: 'sig=credentials/user',
      passwordFile: `${fileFolder}/source.security.sasl.password_file`,
    },
  },
  'SCRAM-SHA-256': { sasl: { mechanism: 'SCRAM-SHA-256', ...login }, expected: { username: 'u' } },
  'SCRAM-SHA-512': { sasl: { mechanism: 'SCRAM-SHA-512', ...login }, expected: { mechanism: 'SCRAM-SHA-512' } },
  OAUTHBEARER: {
    sasl: {
      mechanism: 'OAUTHBEARER',
      oauth: {
        tokenUrl: 'https://idp/token',
        clientId: 'backup',
        clientSecret: secret('client'),
        scope: 'kafka',
        extensions: { logicalCluster: 'lkc-1' },
        caCertSecret: secret('ca'),
      },
    },
    expected: {
      oauth: {
        tokenUrl: 'https://idp/token',
        clientId: 'backup',
        clientSecretFile: `${fileFolder}/source.security.sasl.oauth.client_secret_file`,
        clientAuth: 'basic',
        scope: 'kafka',
        extensions: { logicalCluster: 'lkc-1' },
        caCert: `${fileFolder}/source.security.sasl.oauth.ca_cert`,
      },
    },
  },
  AWS_MSK_IAM: {
    sasl: { mechanism: 'AWS_MSK_IAM', aws: { region: 'eu-central-1' } },
    expected: { aws: { region: 'eu-central-1' } },
  },
}

export const auths: Record<string, { spec: object; expected: object }> = {
  'the credentials of the specification': {
    spec: { credentialsSecret: { name: 'registry', usernameKey: 'user', passwordKey: 'pass' } },
    expected: { auth: { type: 'basic', username: 'sig=registry/user', password: 'sig=registry/pass' } },
  },
  basic: {
    spec: { auth: { type: 'basic', username: 'u', passwordSecret: secret('p') } },
    expected: { auth: { type: 'basic', username: 'u', password: 'sig=credentials/p' } },
  },
  mtls: {
    spec: {
      auth: { type: 'mtls' },
      tls: { caCertConfigMap: secret('ca'), clientCertSecret: secret('crt'), clientKeySecret: secret('key') },
    },
    expected: {
      auth: { type: 'mtls' },
      tls: {
        caCert: `${fileFolder}/enterprise.schema_registry.tls.ca_cert`,
        clientCert: `${fileFolder}/enterprise.schema_registry.tls.client_cert`,
        clientKey: `${fileFolder}/enterprise.schema_registry.tls.client_key`,
      },
    },
  },
  oauth: {
    spec: {
      auth: { type: 'oauth', tokenUrl: 'https://idp/t', clientId: 'c', clientSecret: secret('s'), scope: 'registry' },
    },
    expected: {
      auth: {
        type: 'oauth',
        tokenUrl: 'https://idp/t',
        clientId: 'c',
        clientSecret: 'sig=credentials/s',
        scope: 'registry',
      },
    },
  },
}
