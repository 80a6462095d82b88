import { S3_BUCKET_PATTERN } from '../lib/name-patterns.ts'
import { httpUrl, type TextRule, wrongUrl } from './text-rules.ts'

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

export const proxyUrl: TextRule = {
  ...httpUrl,
  allowed: 'an http or https URL, such as http://proxy:3128',
  wrong: text => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    return url !== undefined && /^https?:\/\//i.test(text) ? undefined : 'is not a URL of http or https'
  },
}
