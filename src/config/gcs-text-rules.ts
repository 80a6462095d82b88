import { GCS_BUCKET_PATTERN } from '../lib/name-patterns.ts'
import { endpointUrl, wrongEndpoint } from './s3-text-rules.ts'
import type { TextRule } from './text-rules.ts'

export const gcsBucketName: TextRule = {
  type: 'text',
  allowed: 'the name of a bucket: 3 to 222 of a-z 0-9 . _ -',
  pattern: GCS_BUCKET_PATTERN,
  wrong: text => {
    if (text === '') return 'is empty'
    if (text.includes('://')) return 'is an address'
    if (text.includes('/')) return 'has a slash (folders go to `prefix`)'
    if (text.includes('..')) return 'has two dots in a row'
    if (/[A-Z]/.test(text)) return 'has a capital letter'
    return new RegExp(GCS_BUCKET_PATTERN).test(text) ? undefined : 'is not the name of a bucket'
  },
}

export const gcsEndpointUrl: TextRule = {
  ...endpointUrl,
  allowed: 'an https or http URL without a path, such as https://storage-psc.p.googleapis.com',
  wrong: text => wrongEndpoint(text, 'as key_file'),
}

const domainPattern = '^[a-z0-9-]+(\\.[a-z0-9-]+)+$'

export const universeDomain: TextRule = {
  type: 'text',
  allowed: 'a domain, such as googleapis.com',
  pattern: domainPattern,
  wrong: text => (new RegExp(domainPattern).test(text) ? undefined : 'is not a domain'),
}

const projectPattern = '^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$|^[0-9]+$'

export const projectId: TextRule = {
  type: 'text',
  allowed: 'the id or number of a project, such as acme-backups',
  pattern: projectPattern,
  wrong: text => (new RegExp(projectPattern).test(text) ? undefined : 'is not the id of a project'),
}

const keyPattern = '^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$'

export const kmsKeyName: TextRule = {
  type: 'text',
  allowed: 'the name of a key: projects/…/locations/…/keyRings/…/cryptoKeys/…',
  pattern: keyPattern,
  wrong: text => (new RegExp(keyPattern).test(text) ? undefined : 'is not the name of a key'),
}
