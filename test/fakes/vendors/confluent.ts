import { splitSubject } from '../../../src/archive/registry-model.ts'
import { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { serializing } from './serialized-protobuf.ts'
import { pass, readBody, refuse, type VendorOptions, type VendorRequest, type VendorScript } from './vendor-script.ts'

/** The largest record that Kafka takes with default settings. */
const MAX_RECORD_BYTES = 1_048_576

/** Confluent's community server 8.0.0, as compared with the real one: docs/registries.md. */
export function scriptConfluent({ start, firstId }: VendorOptions): VendorScript {
  const store = new RegistryStore({ ...(firstId !== undefined && { firstId }) }, start)
  return {
    store,
    answer: serializing(request => {
      const subject = postedSubject(request)
      if (subject === undefined) return pass(store, request)
      return pass(store, request, JSON.stringify(readSchema(request, subject)))
    }),
  }
}

/** The subject of a registration or of a lookup. */
function postedSubject({ method, path }: VendorRequest): string | undefined {
  const found = /^(?:\/contexts\/([^/]+))?\/subjects\/([^/]+)(?:\/versions)?\/?$/.exec(path)
  if (method !== 'POST' || !found) return undefined
  const [context, subject = ''] = found.slice(1).map(part => part && decodeURIComponent(part))
  return context === undefined || subject.startsWith(':.') ? subject : `:${context}:${subject}`
}

function readSchema(request: VendorRequest, subject: string) {
  // Rule sets are for Enterprise and Cloud; this server drops them without an error.
  const { ruleSet: _, ...body } = readBody(request)
  const { context } = splitSubject(subject)
  const references = Array.isArray(body.references) ? body.references : []
  for (const reference of references) {
    const name = String(Object(reference).subject)
    // A name of the default context is read as a plain one, of the context of the referrer.
    if (context !== '.' && name.startsWith(':.:'))
      refuse(42201, `No schema reference found for subject ":${context}:${name}"`)
  }
  const stored = JSON.stringify({ subject, version: 1, id: 1, ...body })
  if (Buffer.byteLength(stored) > MAX_RECORD_BYTES) refuse(42209, 'Write failed because schema is too large')
  return body
}
