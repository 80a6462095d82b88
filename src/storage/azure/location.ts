import { KafkaBackupError } from '../../errors.ts'
import { parsePrefix } from '../key.ts'
import type { AzureOptions } from './options.ts'

const names = 'account, endpoint, endpoint_suffix, ca_cert'
const example = `Write \`az://container/prefix?account=…\`; of the settings behind the \`?\` there are ${names}.`

/** `az://container/prefix?account=…`. Everything else comes from the environment, or needs a job file. */
export function parseAzureLocation(text: string): AzureOptions {
  const [, container = '', path = '', query = ''] = /^az:\/\/([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/i.exec(text) ?? []
  // What stands before an @ may be a secret, so it is not shown.
  if (/@/.test(container)) {
    throw invalid('an `az://` address takes no credentials', 'Set AZURE_STORAGE_KEY, or use a job file.')
  }
  if (container === '') throw invalid('the `az:` address names no container')
  if (!isContainerName(container)) throw invalid(`${JSON.stringify(container)} is not the name of a container`)
  const prefix = parsePrefix(decode(path).replace(/^\//, ''))
  return { container, ...(prefix !== '' && { prefix }), ...parseQuery(query) }
}

/** The text that `parseAzureLocation` reads back as the same place. */
export function formatAzureLocation(options: AzureOptions): string {
  const { container, prefix = '', account, endpoint, endpointSuffix, caCert } = options
  const settings = [
    ...(account === undefined ? [] : [`account=${encodeURIComponent(account)}`]),
    ...(endpoint === undefined ? [] : [`endpoint=${endpoint}`]),
    ...(endpointSuffix === undefined ? [] : [`endpoint_suffix=${endpointSuffix}`]),
    ...(caCert === undefined ? [] : [`ca_cert=${encodeURI(caCert).replace(/[?#&+]/g, encodeURIComponent)}`]),
  ]
  const path = prefix === '' ? '' : `/${prefix.split('/').map(encodePart).join('/')}`
  return `az://${container}${path}${settings.length === 0 ? '' : `?${settings.join('&')}`}`
}

/** `$root` and `$web` are containers of their own kind, in which keys with slashes, or any reader, have no place. */
export function isContainerName(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9](-?[a-z0-9]){2,}$/.test(text)
}

function parseQuery(query: string): Partial<AzureOptions> {
  const options: Partial<AzureOptions> = {}
  for (const [name, value] of new URLSearchParams(query.replaceAll('+', '%2B'))) {
    // The parameters of a shared access signature: an address that was copied with it holds a secret.
    if (/^(sig|sv|se|sp|sr)$/.test(name)) {
      throw invalid('an `az://` address takes no SAS token', 'Set AZURE_STORAGE_SAS_TOKEN, or use a job file.')
    }
    if (value === '') throw invalid(`\`${name}\` of the \`az:\` address has no value`)
    if (name === 'account') options.account = value
    else if (name === 'endpoint') options.endpoint = parseEndpoint(value)
    else if (name === 'endpoint_suffix') options.endpointSuffix = value
    else if (name === 'ca_cert') options.caCert = value
    else throw invalid(`\`${name}\` of the \`az:\` address is not known; ${names} are`)
  }
  return options
}

function parseEndpoint(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:\/\//i.test(text))
    throw invalid('`endpoint` is no `https://` or `http://` address')
  if (url.username !== '' || url.password !== '') throw invalid('`endpoint` takes no credentials')
  // What follows a ? may be a SAS token, so it is not shown.
  if (url.search !== '' || url.hash !== '') throw invalid('`endpoint` of the `az:` address has more than a path')
  return text.replace(/\/+$/, '')
}

function encodePart(part: string): string {
  return part.replace(/[%?#]/g, encodeURIComponent)
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw invalid('the `az:` address holds a % that begins no character', 'Write a literal % as %25.')
  }
}

function invalid(message: string, help = example): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', message, { help })
}
