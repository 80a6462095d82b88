import { KafkaBackupError } from '../../errors.ts'
import { parsePrefix } from '../key.ts'
import type { S3Options } from './options.ts'

const example =
  'Write `s3://bucket/prefix`, with `?endpoint=https://…`, `region=`, `path_style=` or `ca_cert=` where needed.'

/** `s3://bucket/prefix?endpoint=…`. Everything else of a bucket comes from the AWS environment, or needs a job file. */
export function parseS3Location(text: string): S3Options {
  const [, bucket = '', path = '', query = ''] = /^s3:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i.exec(text) ?? []
  // What stands before an @ may be a secret, so it is not shown.
  if (/@/.test(bucket))
    throw invalid(
      'an `s3://` address takes no credentials',
      'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a job file.',
    )
  if (bucket === '') throw invalid('the `s3:` address names no bucket')
  if (!isBucketName(bucket)) throw invalid(`${JSON.stringify(bucket)} is not the name of a bucket`)
  const prefix = parsePrefix(decode(path).replace(/^\//, ''))
  return { bucket, ...(prefix !== '' && { prefix }), ...parseQuery(query) }
}

/** The text that `parseS3Location` reads back as the same place. */
export function formatS3Location(options: S3Options): string {
  const { bucket, prefix = '', region, endpoint, pathStyle, caCert } = options
  // Of AWS's own endpoint the rest follows from the bucket.
  const settings =
    endpoint === undefined
      ? []
      : [
          `endpoint=${endpoint}`,
          ...(region === undefined || region === 'us-east-1' ? [] : [`region=${encodeURIComponent(region)}`]),
          ...(pathStyle === false ? ['path_style=false'] : []),
          ...(caCert === undefined ? [] : [`ca_cert=${encodeURI(caCert).replace(/[?#&+]/g, encodeURIComponent)}`]),
        ]
  const path = prefix === '' ? '' : `/${prefix.split('/').map(encodePart).join('/')}`
  return `s3://${bucket}${path}${settings.length === 0 ? '' : `?${settings.join('&')}`}`
}

export function isBucketName(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/.test(text) && !text.includes('..')
}

function parseQuery(query: string): Partial<S3Options> {
  const options: Partial<S3Options> = {}
  for (const [name, value] of new URLSearchParams(query.replaceAll('+', '%2B'))) {
    if (value === '') throw invalid(`\`${name}\` of the \`s3:\` address has no value`)
    if (name === 'region') options.region = value
    else if (name === 'endpoint') options.endpoint = parseEndpoint(value)
    else if (name === 'ca_cert') options.caCert = value
    else if (name === 'path_style' && /^(true|false)$/.test(value)) options.pathStyle = value === 'true'
    else if (name === 'path_style') throw invalid('`path_style` of the `s3:` address is neither true nor false')
    else throw invalid(`\`${name}\` of the \`s3:\` address is not known; endpoint, region, path_style, ca_cert are`)
  }
  return options
}

function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:\/\//i.test(text))
    throw invalid('`endpoint` is no `https://` or `http://` address')
  if (url.username !== '' || url.password !== '') throw invalid('`endpoint` takes no credentials')
  return text.replace(/\/+$/, '')
}

function encodePart(part: string): string {
  return part.replace(/[%?#]/g, encodeURIComponent)
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw invalid('the `s3:` address holds a % that begins no character', 'Write a literal % as %25.')
  }
}

function invalid(message: string, help = example): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', message, { help })
}
