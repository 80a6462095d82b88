import type { Section } from './translate-oso-options.ts'

/** By backend: the names of its fields here. */
const names: Record<string, Record<string, string>> = {
  filesystem: { path: 'path' },
  s3: {
    ...{ bucket: 'bucket', region: 'region', prefix: 'prefix', endpoint: 'endpoint', path_style: 'path_style' },
    ...{ access_key: 'access_key_id', access_key_id: 'access_key_id' },
    ...{ secret_key: 'secret_access_key', secret_access_key: 'secret_access_key' },
  },
  azure: {
    ...{ account_name: 'account', container_name: 'container', prefix: 'prefix', endpoint: 'endpoint' },
    ...{ account_key: 'account_key', sas_token: 'sas_token' },
    ...{ client_id: 'client_id', tenant_id: 'tenant_id', client_secret: 'client_secret' },
  },
  gcs: { bucket: 'bucket', prefix: 'prefix', service_account_path: 'key_file', credentials_file: 'key_file' },
}

/** Pure. */
export function translateStorage(storage: Section, notes: string[]): Section {
  const { backend, ...fields } = storage
  const known = typeof backend === 'string' ? names[backend] : undefined
  if (!known) {
    notes.push(`storage.backend: ${String(backend)} is not known; docs/storage.md lists the backends`)
    return storage
  }
  const translated: Section = { backend }
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || value === undefined || value === '') continue
    const own = known[name]
    if (own === undefined) notes.push(`storage.${name}: not translated; it has no counterpart`)
    else translated[own] = name === 'prefix' && typeof value === 'string' ? value.replace(/\/+$/, '') : value
  }
  if (typeof translated.prefix === 'string' && translated.prefix === '') delete translated.prefix
  notes.push(
    'storage: use another location for new backups, because both programs write to `<backup_id>/manifest.json`',
  )
  return translated
}
