import { openRegistryServer } from '../src/registry/serve/open-registry-server.ts'
import { RegistryStore } from '../src/registry/serve/registry-store.ts'
import { SCHEMA_ID } from './payload.ts'

/** The embedded registry over HTTP, with a count of what is asked of it. */
export interface BenchRegistry {
  store: RegistryStore
  /** For `enterprise.schema_registry` of a job. */
  section: { enabled: true; url: string }
  /** The requests since the last call. */
  takeRequests(): number
  [Symbol.asyncDispose](): Promise<void>
}

export async function openBenchRegistry(store = new RegistryStore()): Promise<BenchRegistry> {
  let requests = 0
  const onRequest = () => {
    requests++
  }
  const { url, close } = await openRegistryServer({ store, host: '127.0.0.1', port: 0, onRequest })
  return {
    store,
    section: { enabled: true, url },
    takeRequests: () => {
      const taken = requests
      requests = 0
      return taken
    },
    [Symbol.asyncDispose]: close,
  }
}

/** Has the schema of the payload as the value of the topic, under the ID that the payload carries. */
export function fillWithPayload(store: RegistryStore, topic: string): void {
  for (let id = 1; id < SCHEMA_ID; id++) register(store, `earlier-${id}`, `earlier-${id}`)
  register(store, `${topic}-value`, 'order')
}

/** Has given as many IDs already that no schema gets the one that it has elsewhere. */
export function fillWithOthers(store: RegistryStore, count: number): void {
  for (let i = 0; i < count; i++) register(store, `other-${i}`, `other-${i}`)
}

function register(store: RegistryStore, subject: string, title: string): void {
  const schema = JSON.stringify({ title, type: 'object' })
  store.register(subject, {
    id: null,
    version: 0,
    schemaType: 'JSON',
    schema,
    references: [],
    metadata: null,
    ruleSet: null,
  })
}
