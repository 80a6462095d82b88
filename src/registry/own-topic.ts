/** By default: Confluent, Karapace and Redpanda keep their schemas in `_schemas`, Apicurio with kafkasql storage in the others. */
const STORES: ReadonlySet<string> = new Set(['_schemas', 'kafkasql-journal', 'kafkasql-snapshots'])

/** Confluent's further topics: their contents are in no registry API, so they are backed up like any other topic. */
const COMPANIONS: ReadonlySet<string> = new Set([
  '_schema_encoders',
  '_dek_registry_keys',
  '_exporter_configs',
  '_exporter_states',
])

const KEY_TYPES: ReadonlySet<unknown> = new Set([
  'SCHEMA',
  'CONFIG',
  'MODE',
  'NOOP',
  'DELETE_SUBJECT',
  'CLEAR_SUBJECT',
  'CONTEXT',
])

/** Pure. The topic has the default name of one in which a schema registry stores its schemas. */
export function isRegistryStoreName(topic: string): boolean {
  return STORES.has(topic)
}

/** Pure. The topic has the default name of one that a running schema registry reads: new records there change or break it. */
export function isRegistryTopicName(topic: string): boolean {
  return STORES.has(topic) || COMPANIONS.has(topic)
}

/**
 * Pure. Whether these first keys of a topic are those in which Confluent, Karapace and Redpanda store schemas:
 * `{"keytype":"SCHEMA","subject":"orders-value","version":1,"magic":1}`. Kafka Connect and others have different keys.
 */
export function areRegistryKeys(keys: readonly (Uint8Array | null)[]): boolean {
  return keys.length > 0 && keys.every(key => key !== null && KEY_TYPES.has(keyTypeOf(key)))
}

function keyTypeOf(key: Uint8Array): unknown {
  const text = Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('utf8')
  if (!text.startsWith('{')) return undefined
  try {
    return (JSON.parse(text) as { keytype?: unknown }).keytype
  } catch {
    return undefined
  }
}
