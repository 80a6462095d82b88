import { type BackupJob, parseJob, type RestoreJob } from '../../src/config/load-job.ts'
import { KafkaBackupError } from '../../src/errors.ts'

export const minimalJob = `mode: backup
backup_id: nightly
source:
  bootstrap_servers: [kafka-1:9092]
  topics:
    include: ['*']
storage:
  backend: filesystem
  path: /backups
`

export const minimalRestore = `mode: restore
backup_id: nightly
target:
  bootstrap_servers: [kafka-2:9092]
storage:
  backend: filesystem
  path: /backups
`

export const s3Job = minimalJob.replace(/backend: filesystem\n.*\n/, 'backend: s3\n  bucket: my-bucket\n')

/** To be put below `s3Job`. */
export const s3Fields = `  prefix: prod/eu
  region: eu-central-1
  endpoint: https://minio:9000
  path_style: true
  access_key_id: \${KEY}
  secret_access_key: \${SECRET}
  session_token: \${SECRET}
  ca_cert: /etc/ca.pem
  proxy: http://user:pass@proxy:3128
  sse: aws:kms
  sse_kms_key_id: alias/backups
  sse_bucket_key: true
  checksum: sha256
  sign_payload: false
  part_size: 16MiB
  uploads: 9
  connect_timeout: 5s
  idle_timeout: 2m
`

export const azureJob = minimalJob.replace(/backend: filesystem\n.*\n/, 'backend: azure\n  container: my-container\n')

/** To be put below `azureJob`. Of the ways to log in only one may be there; these are for all. */
export const azureFields = `  prefix: prod/eu
  account: acme
  endpoint: https://acme.blob.core.windows.net
  authority_host: https://login.microsoftonline.us
  ca_cert: /etc/ca.pem
  proxy: http://user:pass@proxy:3128
  part_size: 16MiB
  uploads: 9
  connect_timeout: 5s
  idle_timeout: 2m
`

export const gcsJob = s3Job.replace('backend: s3', 'backend: gcs')

/** To be put below `gcsJob`. */
export const gcsFields = `  prefix: prod/eu
  endpoint: https://storage-x.p.googleapis.com
  universe_domain: googleapis.com
  key_file: /etc/key.json
  anonymous: false
  user_project: acme-billing
  kms_key_name: projects/p/locations/l/keyRings/r/cryptoKeys/k
  ca_cert: /etc/ca.pem
  proxy: http://user:pass@proxy:3128
  part_size: 16MiB
  uploads: 9
  connect_timeout: 5s
  idle_timeout: 2m
`

export interface Given {
  env?: Record<string, string | undefined>
  set?: readonly string[]
}

export function parse(text: string, given: Given = {}): BackupJob {
  return parseJob(text, { ...options(given), mode: 'backup' })
}

export function parseRestore(text: string, given: Given = {}): RestoreJob {
  return parseJob(text, { ...options(given), mode: 'restore' })
}

function options({ env = {}, set }: Given) {
  return { source: 'job.yaml', env, set }
}

/** The lines of the error after its first, free of indentation; fails where the job is accepted. */
export function errorsOf(text: string, given: Given = {}): string[] {
  return errorOf(text, given)
    .message.split('\n')
    .slice(1)
    .map(line => line.trim())
}

export function errorOf(text: string, given: Given = {}): KafkaBackupError {
  try {
    parseJob(text, options(given))
  } catch (error) {
    if (error instanceof KafkaBackupError && error.code === 'CONFIG_INVALID') return error
    throw error
  }
  throw new Error('the job was accepted')
}
