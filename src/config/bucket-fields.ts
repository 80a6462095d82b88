import * as z from 'zod'
import { S3_BUCKET_PATTERN } from '../lib/name-patterns.ts'
import type { TextRule } from './leaf.ts'
import { duration, integer, size } from './scalar-leaves.ts'
import { file, httpUrl, keyPrefix, text, wrongUrl } from './text-leaves.ts'

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

const proxyUrl: TextRule = {
  ...httpUrl,
  allowed: 'an http or https URL, such as http://proxy:3128',
  wrong: text => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    return url !== undefined && /^https?:\/\//i.test(text) ? undefined : 'is not a URL of http or https'
  },
}

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
    }).prefault(9),
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

export const bucketName: TextRule = {
  type: 'text',
  allowed: 'the name of a bucket: 3 to 255 of a-z A-Z 0-9 . _ -',
  pattern: S3_BUCKET_PATTERN,
  wrong: text => {
    if (text === '') return 'is empty'
    if (text.includes('://')) return 'is an address'
    if (text.includes('/')) return 'has a slash (folders go to `prefix`)'
    if (text.includes('..')) return 'has two dots in a row'
    return new RegExp(S3_BUCKET_PATTERN).test(text) ? undefined : 'is not the name of a bucket'
  },
}

export const regionName: TextRule = {
  type: 'text',
  allowed: 'a region, such as eu-central-1',
  pattern: '^[A-Za-z0-9-]{1,63}$',
  wrong: text => (/^[A-Za-z0-9-]{1,63}$/.test(text) ? undefined : 'is not a region'),
}

export const endpointUrl: TextRule = {
  ...httpUrl,
  allowed: 'an https or http URL without a path, such as https://minio:9000',
  wrong: text => wrongEndpoint(text, 'as access_key_id and secret_access_key'),
}

export function wrongEndpoint(text: string, credentialsGo: string): string | undefined {
  const wrong = wrongUrl(text, credentialsGo)
  if (wrong !== undefined) return wrong
  const { pathname, search, hash } = new URL(text)
  return pathname === '/' && search === '' && hash === '' ? undefined : 'has a path (bucket and prefix have fields)'
}
