import { AZURE_CONTAINER_PATTERN } from '../lib/name-patterns.ts'
import { backendField, connectionFields, prefixField, transferFields, transferNames } from './bucket-fields.ts'
import { camelKeys } from './camel-keys.ts'
import { any, checkRules, type FieldRule, forbidden, has, not, required } from './field-rules.ts'
import { fields, type TextRule } from './leaf.ts'
import { isMap, type Problem, valueAt } from './problem.ts'
import { anyText, file, httpUrl, text, wrongUrl } from './text-leaves.ts'

const containerName: TextRule = {
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

const accountName: TextRule = {
  type: 'text',
  allowed: 'the name of a storage account: 3 to 24 of a-z 0-9',
  pattern: '^[a-z0-9]{3,24}$',
  wrong: text => {
    if (text.includes('.')) return 'is a host (that goes to `endpoint`)'
    return /^[a-z0-9]{3,24}$/.test(text) ? undefined : 'is not the name of a storage account'
  },
}

const blobEndpoint: TextRule = {
  ...httpUrl,
  allowed: 'an https or http URL, such as https://acme.blob.core.windows.net',
  wrong: text => {
    const wrong = wrongUrl(text, 'as account_key or sas_token')
    if (wrong !== undefined) return wrong
    const { search, hash } = new URL(text)
    return search === '' && hash === '' ? undefined : 'has more than a path (a SAS goes to `sas_token`)'
  },
}

const endpointSuffix: TextRule = {
  type: 'text',
  allowed: 'the suffix of a cloud, such as core.usgovcloudapi.net',
  pattern: '^[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+$',
  wrong: text => (/^[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+$/.test(text) ? undefined : 'is not a suffix of host names'),
}

/** The token that the portal shows; the URL next to it is refused. */
const sasToken: TextRule = {
  type: 'text',
  allowed: 'a SAS token, as sv=…&sp=…&sig=…',
  pattern: '[\\s\\S]',
  wrong: text => {
    if (text.includes('://')) return 'is an address (give what follows its ?)'
    return new URLSearchParams(text.replace(/^[?]/, '')).has('sig') ? undefined : 'has no signature (sig=)'
  },
}

const authorityUrl: TextRule = {
  ...httpUrl,
  allowed: 'an https URL, such as https://login.microsoftonline.us',
  wrong: text => {
    const wrong = wrongUrl(text)
    if (wrong !== undefined) return wrong
    return new URL(text).protocol === 'https:' ? undefined : 'is not https, and secrets would be sent in the clear'
  },
}

/** The field names of the storage's own options, with units where the file leaves them to the value. */
export const azureSchema = fields({
  backend: backendField('azure'),
  container: text(containerName, { description: 'The container that holds the backups. It must exist.' }),
  prefix: prefixField,
  account: text(accountName, {
    description: 'The storage account; otherwise `endpoint`, AZURE_STORAGE_ACCOUNT or a connection string name it.',
  }).exactOptional(),
  endpoint: text(blobEndpoint, {
    description: 'The address of the blob service, where it does not follow from the account.',
    hidden: true,
  }).exactOptional(),
  endpoint_suffix: text(endpointSuffix, {
    description: 'The cloud: core.windows.net unless given.',
  }).exactOptional(),
  account_key: text(anyText, { description: 'A key of the account.', secret: true }).exactOptional(),
  sas_token: text(sasToken, {
    description: 'A SAS token of the container or the account.',
    secret: true,
  }).exactOptional(),
  tenant_id: text(anyText, { description: 'The tenant of a service principal.' }).exactOptional(),
  client_id: text(anyText, {
    description: 'The service principal; alone it is the user-assigned managed identity.',
  }).exactOptional(),
  client_secret: text(anyText, { description: 'The secret of the service principal.', secret: true }).exactOptional(),
  federated_token_file: text(file, {
    description: 'The token of a workload identity, in the place of a secret.',
  }).exactOptional(),
  authority_host: text(authorityUrl, {
    description: 'Where Entra answers in another cloud; otherwise AZURE_AUTHORITY_HOST or the public one.',
    hidden: true,
  }).exactOptional(),
  ...connectionFields,
  ...transferFields({ minPartMiB: 1 }),
}).transform(azure => camelKeys(azure, transferNames))

/** Ways to log in, of which a job has at most one. */
export const azureLogins = ['account_key', 'sas_token', 'client_secret', 'federated_token_file']

const hasPrincipal = any(has('client_secret'), has('federated_token_file'))

export const azureRules: readonly FieldRule[] = [
  ...['tenant_id', 'client_id'].map(name =>
    required(name, not(hasPrincipal), 'is required with {client_secret} or {federated_token_file}'),
  ),
  forbidden('tenant_id', hasPrincipal, 'has no effect without {client_secret} or {federated_token_file}'),
  forbidden(
    'client_id',
    not(any(has('account_key'), has('sas_token'))),
    'has no effect together with {account_key} or {sas_token}',
  ),
  forbidden('endpoint_suffix', not(has('endpoint')), 'has no effect together with {endpoint}'),
]

export function checkAzureRules(tree: unknown): Problem[] {
  const storage = valueAt(tree, ['storage'])
  if (!isMap(storage) || storage.backend !== 'azure') return []
  const [first, ...others] = azureLogins.filter(name => storage[name] !== undefined)
  return [
    ...others.map((name): Problem => {
      return {
        path: ['storage', name],
        about: 'field',
        wrong: `is given together with ${first}; keep one way to log in`,
      }
    }),
    ...checkRules(azureRules, storage, ['storage']),
  ]
}
