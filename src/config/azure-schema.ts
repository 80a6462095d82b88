import * as z from 'zod'
import { accountName, authorityUrl, blobEndpoint, containerName, endpointSuffix, sasToken } from './azure-text-rules.ts'
import { camelKeys } from './camel-keys.ts'
import { fields } from './leaf.ts'
import { proxyUrl } from './s3-text-rules.ts'
import { duration, integer, size } from './scalar-leaves.ts'
import { text } from './text-leaves.ts'
import { anyText, file, keyPrefix } from './text-rules.ts'

const MiB = 2 ** 20

/** The field names of the storage's own options, with units where the file leaves them to the value. */
export const azureSchema = fields({
  backend: z
    .literal('azure')
    .meta({ description: 'The kind of storage.', 'x-type': 'text', 'x-allowed': 'filesystem, s3, azure, gcs' }),
  container: text(containerName, { description: 'The container that holds the backups. It must exist.' }),
  prefix: text(keyPrefix, { description: 'A sub-folder under which this job keeps its backups.' }).exactOptional(),
  account: text(accountName, {
    description: 'The storage account; otherwise `endpoint`, AZURE_STORAGE_ACCOUNT or a connection string name it.',
  }).exactOptional(),
  endpoint: text(blobEndpoint, {
    description: 'The address of the blob service, where it does not follow from the account.',
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
  }).exactOptional(),
  ca_cert: text(file, {
    description: 'CA certificates in PEM form that are trusted instead of the public ones.',
  }).exactOptional(),
  proxy: text(proxyUrl, {
    description: 'A proxy for all requests; otherwise HTTPS_PROXY, HTTP_PROXY and NO_PROXY apply.',
    secret: true,
  }).exactOptional(),
  part_size: size({
    description: 'The size of the parts of large objects. Each open segment holds one in memory.',
    minBytes: MiB,
    maxBytes: 512 * MiB,
  }).prefault('5MiB'),
  uploads: integer({
    description: 'Parts that are uploaded at the same time; each is held in memory until it has arrived.',
    min: 1,
    max: 64,
  }).prefault(4),
  connect_timeout: duration({ description: 'How long a connection may take.', min: '1s', max: '10m' }).prefault('10s'),
  idle_timeout: duration({
    description: 'How long the store may be silent while an answer is due.',
    min: '1s',
    max: '1h',
  }).prefault('60s'),
}).transform(azure =>
  camelKeys(azure, {
    part_size: 'partSizeBytes',
    connect_timeout: 'connectTimeoutMs',
    idle_timeout: 'idleTimeoutMs',
  }),
)
