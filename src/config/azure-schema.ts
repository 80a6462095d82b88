import { accountName, authorityUrl, blobEndpoint, containerName, endpointSuffix, sasToken } from './azure-text-rules.ts'
import { backendField, connectionFields, prefixField, transferFields, transferNames } from './bucket-fields.ts'
import { camelKeys } from './camel-keys.ts'
import { fields } from './leaf.ts'
import { text } from './text-leaves.ts'
import { anyText, file } from './text-rules.ts'

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
