import * as z from 'zod'
import { camelKeys } from './camel-keys.ts'
import { fields } from './leaf.ts'
import { bucketName, endpointUrl, proxyUrl, regionName } from './s3-text-rules.ts'
import { choice, duration, flag, integer, size } from './scalar-leaves.ts'
import { text } from './text-leaves.ts'
import { anyText, file, keyPrefix } from './text-rules.ts'

const MiB = 2 ** 20

/** The field names of the storage's own options, with units where the file leaves them to the value. */
export const s3Schema = fields({
  backend: z
    .literal('s3')
    .meta({ description: 'The kind of storage.', 'x-type': 'text', 'x-allowed': 'filesystem, s3, azure, gcs' }),
  bucket: text(bucketName, { description: 'The bucket that holds the backups. It must exist.' }),
  prefix: text(keyPrefix, { description: 'A sub-folder under which this job keeps its backups.' }).exactOptional(),
  region: text(regionName, {
    description: 'The region of the bucket; otherwise AWS_REGION or the profile says it.',
  }).exactOptional(),
  endpoint: text(endpointUrl, {
    description: 'Where a store other than AWS answers; otherwise AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL may say it.',
  }).exactOptional(),
  path_style: flag({
    description: 'The bucket stands in the path, not in the host name. By default so at every `endpoint`.',
  }).exactOptional(),
  access_key_id: text(anyText, {
    description: 'The access key. Without it the chain of the AWS SDK finds credentials.',
    hidden: true,
  }).exactOptional(),
  secret_access_key: text(anyText, { description: 'The secret of the access key.', secret: true }).exactOptional(),
  session_token: text(anyText, { description: 'The token of temporary credentials.', secret: true }).exactOptional(),
  ca_cert: text(file, {
    description: 'CA certificates in PEM form that are trusted instead of the public ones.',
  }).exactOptional(),
  proxy: text(proxyUrl, {
    description: 'A proxy for all requests; otherwise HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply.',
    secret: true,
  }).exactOptional(),
  sse: choice(['none', 'AES256', 'aws:kms', 'aws:kms:dsse'], {
    description: 'The encryption to ask the store for. With `none` the default of the bucket applies.',
  }).prefault('none'),
  sse_kms_key_id: text(anyText, {
    description: 'The KMS key for `aws:kms`; without it the key of the account.',
  }).exactOptional(),
  sse_bucket_key: flag({
    description: 'Whether `aws:kms` uses a bucket key, which saves calls to KMS.',
  }).exactOptional(),
  checksum: choice(['crc32c', 'crc32', 'sha256', 'md5', 'none'], {
    description: 'What the store checks each body with. `md5` and `none` are for stores that refuse newer ones.',
  }).prefault('crc32c'),
  sign_payload: flag({
    description: 'Whether the signature covers the bodies, which costs time. By default so over http only.',
  }).exactOptional(),
  part_size: size({
    description: 'The size of the parts of large objects. Each open segment holds one in memory.',
    minBytes: 5 * MiB,
    maxBytes: 512 * MiB,
  }).prefault('5MiB'),
  uploads: integer({
    description: 'Parts that are uploaded at the same time; each is held in memory until it has arrived.',
    min: 1,
    max: 64,
  }).prefault(4),
  connect_timeout: duration({ description: 'How long a connection may take.', min: '1s', max: '10m' }).prefault('10s'),
  idle_timeout: duration({
    description: 'How long the store may be silent while an answer is due.',
    min: '1s',
    max: '1h',
  }).prefault('60s'),
}).transform(s3 =>
  camelKeys(s3, {
    part_size: 'partSizeBytes',
    connect_timeout: 'connectTimeoutMs',
    idle_timeout: 'idleTimeoutMs',
  }),
)
