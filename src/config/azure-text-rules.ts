import { AZURE_CONTAINER_PATTERN } from '../lib/name-patterns.ts'
import { httpUrl, type TextRule, wrongUrl } from './text-rules.ts'

export const containerName: TextRule = {
  type: 'text',
  allowed: 'the name of a container: 3 to 63 of a-z 0-9 and single - between them',
  pattern: AZURE_CONTAINER_PATTERN,
  wrong: text => {
    if (text === '') return 'is empty'
    if (text.includes('://')) return 'is an address'
    if (text.includes('/')) return 'has a slash (folders go to `prefix`)'
    if (text.length > 63) return 'is too long'
    return new RegExp(AZURE_CONTAINER_PATTERN).test(text) ? undefined : 'is not the name of a container'
  },
}

export const accountName: TextRule = {
  type: 'text',
  allowed: 'the name of a storage account: 3 to 24 of a-z 0-9',
  pattern: '^[a-z0-9]{3,24}$',
  wrong: text => {
    if (text.includes('.')) return 'is a host (that goes to `endpoint`)'
    return /^[a-z0-9]{3,24}$/.test(text) ? undefined : 'is not the name of a storage account'
  },
}

export const endpointSuffix: TextRule = {
  type: 'text',
  allowed: 'the suffix of a cloud, such as core.usgovcloudapi.net',
  pattern: '^[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+$',
  wrong: text => (/^[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+$/.test(text) ? undefined : 'is not a suffix of host names'),
}

export const blobEndpoint: TextRule = {
  ...httpUrl,
  allowed: 'an https or http URL, such as https://acme.blob.core.windows.net',
  wrong: text => {
    const wrong = wrongUrl(text, 'as account_key or sas_token')
    if (wrong !== undefined) return wrong
    const { search, hash } = new URL(text)
    return search === '' && hash === '' ? undefined : 'has more than a path (a SAS goes to `sas_token`)'
  },
}

export const authorityUrl: TextRule = {
  ...httpUrl,
  allowed: 'an https URL, such as https://login.microsoftonline.us',
  wrong: text => {
    const wrong = wrongUrl(text)
    if (wrong !== undefined) return wrong
    return new URL(text).protocol === 'https:' ? undefined : 'is not https, and secrets would be sent in the clear'
  },
}

/** What the portal shows as token; the address that it shows beside it is refused. */
export const sasToken: TextRule = {
  type: 'text',
  allowed: 'a SAS token, as sv=…&sp=…&sig=…',
  pattern: '[\\s\\S]',
  wrong: text => {
    if (text.includes('://')) return 'is an address (give what follows its ?)'
    return new URLSearchParams(text.replace(/^[?]/, '')).has('sig') ? undefined : 'has no signature (sig=)'
  },
}
