import * as z from 'zod'
import { camelKeys } from './camel-keys.ts'
import { gcsBucketName, gcsEndpointUrl, kmsKeyName, projectId, universeDomain } from './gcs-text-rules.ts'
import { fields } from './leaf.ts'
import { proxyUrl } from './s3-text-rules.ts'
import { duration, flag, integer, size } from './scalar-leaves.ts'
import { text } from './text-leaves.ts'
import { file, keyPrefix } from './text-rules.ts'

const MiB = 2 ** 20

/** The field names of the storage's own options, with units where the file leaves them to the value. */
export const gcsSchema = fields({
  backend: z
    .literal('gcs')
    .meta({ description: 'The kind of storage.', 'x-type': 'text', 'x-allowed': 'filesystem, s3, azure, gcs' }),
  bucket: text(gcsBucketName, { description: 'The bucket that holds the backups. It must exist.' }),
  prefix: text(keyPrefix, { description: 'A sub-folder under which this job keeps its backups.' }).exactOptional(),
  endpoint: text(gcsEndpointUrl, {
    description: 'Where another than Google answers, or Google on a private way; STORAGE_EMULATOR_HOST may say it too.',
  }).exactOptional(),
  universe_domain: text(universeDomain, {
    description: 'The domain of a sovereign cloud of Google’s kind; without it googleapis.com.',
  }).exactOptional(),
  key_file: text(file, {
    description:
      'JSON of a service account key or of a workload identity federation. Without it the application default credentials.',
  }).exactOptional(),
  anonymous: flag({ description: 'No credentials at all, for an emulator at `endpoint`.' }).exactOptional(),
  user_project: text(projectId, {
    description: 'The project that pays for the requests, where the bucket asks for one.',
  }).exactOptional(),
  kms_key_name: text(kmsKeyName, {
    description: 'The KMS key for new objects; without it the default of the bucket.',
  }).exactOptional(),
  ca_cert: text(file, {
    description: 'CA certificates in PEM form that are trusted instead of the public ones.',
  }).exactOptional(),
  proxy: text(proxyUrl, {
    description: 'A proxy for all requests; otherwise HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply.',
    secret: true,
  }).exactOptional(),
  part_size: size({
    description: 'The size of the parts of large objects. Each open segment holds one in memory.',
    minBytes: MiB,
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
}).transform(gcs =>
  camelKeys(gcs, {
    part_size: 'partSizeBytes',
    connect_timeout: 'connectTimeoutMs',
    idle_timeout: 'idleTimeoutMs',
  }),
)
