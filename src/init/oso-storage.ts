import { formatLocation, type StorageOptions } from '../storage/location.ts'
import { type SecretVariable, secretOf } from './connection.ts'
import { type Section, textOr } from './oso-options.ts'

/** By backend: the names of its fields here. */
const names: Record<string, Record<string, string>> = {
  filesystem: { path: 'path' },
  s3: {
    ...{ bucket: 'bucket', region: 'region', prefix: 'prefix', endpoint: 'endpoint', path_style: 'path_style' },
    ...{ access_key: 'access_key_id', access_key_id: 'access_key_id' },
    ...{ secret_key: 'secret_access_key', secret_access_key: 'secret_access_key' },
    session_token: 'session_token',
  },
  azure: {
    ...{ account_name: 'account', container_name: 'container', prefix: 'prefix', endpoint: 'endpoint' },
    ...{ account_key: 'account_key', sas_token: 'sas_token' },
    ...{ client_id: 'client_id', tenant_id: 'tenant_id', client_secret: 'client_secret' },
  },
  gcs: { bucket: 'bucket', prefix: 'prefix', service_account_path: 'key_file', credentials_file: 'key_file' },
}

/** Secrets that a job file takes from the environment, by their names here. */
const variables: Record<string, string> = {
  access_key_id: 'AWS_ACCESS_KEY_ID',
  secret_access_key: 'AWS_SECRET_ACCESS_KEY',
  session_token: 'AWS_SESSION_TOKEN',
  account_key: 'AZURE_STORAGE_KEY',
  sas_token: 'AZURE_STORAGE_SAS_TOKEN',
  client_secret: 'AZURE_CLIENT_SECRET',
}

/** Settings that are decided without a field. */
const decided: Record<string, string> = {
  allow_http: 'plain HTTP is used if `storage.endpoint` begins with http://',
  use_workload_identity: 'AZURE_FEDERATED_TOKEN_FILE of the environment decides',
  use_emulator: 'set storage.endpoint and storage.account_key of the emulator',
}

export interface OsoStorage {
  /** The section `storage` of a job file: a folder of its own next to the archives. */
  storage: Section
  /** Where the archives are, as `kafka-backup import` takes it; undefined where that is not known. */
  archives: string | undefined
  secrets: SecretVariable[]
}

/** Pure. Both programs write `<backup_id>/manifest.json`: `folder` keeps the new backups apart from the archives. */
export function translateStorage(section: Section, folder: string, source: string, notes: string[]): OsoStorage {
  const { backend, ...fields } = section
  const known = typeof backend === 'string' ? names[backend] : undefined
  if (!known) {
    notes.push(`storage.backend: ${textOr(backend, 'it')} is not known; pass --path with the location of the backups`)
    return { storage: {}, archives: undefined, secrets: [] }
  }
  const secrets: SecretVariable[] = []
  const storage: Section = { backend }
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || value === undefined || value === '') continue
    const own = known[name]
    if (own === undefined) notes.push(`storage.${name}: not translated; ${decided[name] ?? 'it has no counterpart'}`)
    else storage[own] = hideSecret(own, value, `storage.${name} in ${source}`, secrets)
  }
  const { prefix: written, ...rest } = storage
  const prefix = typeof written === 'string' ? written.replace(/^\/+|\/+$/g, '') : ''
  notes.push(`storage: the job uses the folder ${folder} in it, because both programs write <backup_id>/manifest.json`)
  return {
    storage: { ...rest, prefix: [prefix, folder].filter(Boolean).join('/') },
    archives: locationOf({ ...rest, ...(prefix !== '' && { prefix }) }),
    secrets,
  }
}

function hideSecret(name: string, value: unknown, origin: string, secrets: SecretVariable[]): unknown {
  const variable = variables[name]
  if (variable === undefined) return value
  // Digits without quotes are a number, and a secret all the same.
  const secret = secretOf(textOr(value, ''), variable, origin)
  secrets.push(secret)
  return `\${${secret.variable}}`
}

/** As the command line takes it; undefined where the section names no place, or takes a part of it from a variable. */
export function locationOf(storage: Section): string | undefined {
  const { backend, path, bucket, container, prefix, region, endpoint, path_style: pathStyle, account } = storage
  const place = backend === 'filesystem' ? path : backend === 'azure' ? container : bucket
  if (typeof place !== 'string' || place === '') return undefined
  const location = { backend, path, bucket, container, prefix, region, endpoint, pathStyle, account }
  return JSON.stringify(location).includes('${') ? undefined : formatLocation(location as StorageOptions)
}
