import * as z from 'zod'
import { proxyUrl } from './s3-text-rules.ts'
import { duration, integer, size } from './scalar-leaves.ts'
import { text } from './text-leaves.ts'
import { file, keyPrefix } from './text-rules.ts'

const MiB = 2 ** 20

/** The field that says which storage a section is about. */
export function backendField<const T extends string>(name: T) {
  return z
    .literal(name)
    .meta({ description: 'The kind of storage.', 'x-type': 'text', 'x-allowed': 'filesystem, s3, azure, gcs' })
}

export const prefixField = text(keyPrefix, {
  description: 'A sub-folder under which this job keeps its backups.',
}).exactOptional()

/** How the service of a bucket is reached; the same for all of them. */
export const connectionFields = {
  ca_cert: text(file, {
    description: 'CA certificates in PEM form that are trusted instead of the public ones.',
  }).exactOptional(),
  proxy: text(proxyUrl, {
    description: 'A proxy for all requests; otherwise HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply.',
    secret: true,
  }).exactOptional(),
}

/** How large objects travel. `minPartMiB` is the least that the service takes. */
export function transferFields({ minPartMiB }: { minPartMiB: number }) {
  return {
    part_size: size({
      description: 'The size of the parts of large objects. Each open segment holds one in memory.',
      minBytes: minPartMiB * MiB,
      maxBytes: 512 * MiB,
    }).prefault('5MiB'),
    uploads: integer({
      description: 'Parts that are uploaded at the same time; each is held in memory until it has arrived.',
      min: 1,
      max: 64,
    }).prefault(4),
    connect_timeout: duration({ description: 'How long a connection may take.', min: '1s', max: '10m' }).prefault(
      '10s',
    ),
    idle_timeout: duration({
      description: 'How long the store may be silent while an answer is due.',
      min: '1s',
      max: '1h',
    }).prefault('60s'),
  }
}

/** The names of the storage's own options, with units where the file leaves them to the value. */
export const transferNames = {
  part_size: 'partSizeBytes',
  connect_timeout: 'connectTimeoutMs',
  idle_timeout: 'idleTimeoutMs',
} as const
