import { KafkaBackupError } from '../../errors.ts'
import { parsePrefix } from '../key.ts'
import type { GcsOptions } from './options.ts'

const example = 'Write `gs://bucket/prefix`, with `?endpoint=https://…`, `anonymous=`, `user_project=` or `ca_cert=`.'

/** `gs://bucket/prefix?endpoint=…`. Everything else of a bucket comes from the environment, or needs a job file. */
export function parseGcsLocation(text: string): GcsOptions {
  const [, bucket = '', path = '', query = ''] = /^gs:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i.exec(text) ?? []
  // What stands before an @ may be a secret, so it is not shown.
  if (/@/.test(bucket))
    throw invalid('a `gs://` address takes no credentials', 'Set GOOGLE_APPLICATION_CREDENTIALS, or use a job file.')
  if (bucket === '') throw invalid('the `gs:` address names no bucket')
  if (!isBucketName(bucket)) throw invalid(`${JSON.stringify(bucket)} is not the name of a bucket`)
  const prefix = parsePrefix(decode(path).replace(/^\//, ''))
  return { bucket, ...(prefix !== '' && { prefix }), ...parseQuery(query) }
}

/** The text that `parseGcsLocation` reads back as the same place. */
export function formatGcsLocation(options: GcsOptions): string {
  const { bucket, prefix = '', endpoint, anonymous, universeDomain, userProject, caCert } = options
  const settings = [
    ...(endpoint === undefined ? [] : [`endpoint=${endpoint}`]),
    ...(anonymous ? ['anonymous=true'] : []),
    ...(universeDomain === undefined ? [] : [`universe_domain=${universeDomain}`]),
    ...(userProject === undefined ? [] : [`user_project=${encodeURIComponent(userProject)}`]),
    ...(caCert === undefined ? [] : [`ca_cert=${encodeURI(caCert).replace(/[?#&+]/g, encodeURIComponent)}`]),
  ]
  const path = prefix === '' ? '' : `/${prefix.split('/').map(encodePart).join('/')}`
  return `gs://${bucket}${path}${settings.length === 0 ? '' : `?${settings.join('&')}`}`
}

function isBucketName(text: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$/.test(text) && !text.includes('..')
}

function parseQuery(query: string): Partial<GcsOptions> {
  const options: Partial<GcsOptions> = {}
  for (const [name, value] of new URLSearchParams(query.replaceAll('+', '%2B'))) {
    if (value === '') throw invalid(`\`${name}\` of the \`gs:\` address has no value`)
    if (name === 'endpoint') options.endpoint = parseEndpoint(value)
    else if (name === 'ca_cert') options.caCert = value
    else if (name === 'user_project') options.userProject = value
    else if (name === 'universe_domain') options.universeDomain = value
    else if (name === 'anonymous' && /^(true|false)$/.test(value)) options.anonymous = value === 'true'
    else if (name === 'anonymous') throw invalid('`anonymous` of the `gs:` address is neither true nor false')
    else
      throw invalid(
        `\`${name}\` of the \`gs:\` address is not known; endpoint, anonymous, universe_domain, user_project, ca_cert are`,
      )
  }
  return options
}

function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:\/\//i.test(text))
    throw invalid('`endpoint` is no `https://` or `http://` address')
  if (url.username !== '' || url.password !== '') throw invalid('`endpoint` takes no credentials')
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    throw invalid('`endpoint` of the `gs:` address has a path')
  return text.replace(/\/+$/, '')
}

function encodePart(part: string): string {
  return part.replace(/[%?#]/g, encodeURIComponent)
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw invalid('the `gs:` address holds a % that begins no character', 'Write a literal % as %25.')
  }
}

function invalid(message: string, help = example): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', message, { help })
}
