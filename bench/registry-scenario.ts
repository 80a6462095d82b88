import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_CONTEXT } from '../src/archive/registry-model.ts'
import { defaultConcurrency } from '../src/registry/client/client-options.ts'
import type { RegistryStore } from '../src/registry/serve/registry-store.ts'
import { cli, measureProcess } from './measure.ts'
import { type BenchRegistry, openBenchRegistry } from './registries.ts'
import type { Row } from './row.ts'
import { openSlowLink } from './slow-link.ts'

const SUBJECTS = 1000
const VERSIONS = 10
const ANSWER_MS = 50

interface Run {
  wallMs: number
  peakBytes: number
  requests: number
}

/** A registry of many versions to a folder, and from there to an empty one, with `schemas backup` and `schemas restore`. */
export class RegistryScenario {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async backUpAndRestore(): Promise<Row[]> {
    const rows: Row[] = []
    {
      await using source = await openBenchRegistry()
      fill(source.store)
      rows.push(...rowsOf('backup', await this.#run('backup', source), {}))
    }
    await using target = await openBenchRegistry()
    rows.push(...rowsOf('restore', await this.#restore(target), { requests: 12_000, memoryMb: 250 }))
    return rows
  }

  /** Against the time that the requests take where as many as the client allows are always under way. */
  async restoreSlowly(): Promise<Row[]> {
    await using target = await openBenchRegistry()
    await using link = await openSlowLink(target.section.url, ANSWER_MS)
    const { wallMs, requests } = await this.#restore({ ...target, section: { enabled: true, url: link.url } })
    const idealMs = (requests * ANSWER_MS) / defaultConcurrency
    const detail = {
      ours_ms: wallMs,
      ideal_ms: idealMs,
      requests,
      answer_ms: ANSWER_MS,
      concurrency: defaultConcurrency,
    }
    const name = `restore of ${SUBJECTS * VERSIONS} schema versions, answers after ${ANSWER_MS} ms`
    const measure = `wall time against ${defaultConcurrency} requests under way at all times`
    return [{ name, measure, value: wallMs / idealMs, unit: 'ratio', limit: 1.2, detail }]
  }

  async #restore(target: Pick<BenchRegistry, 'section' | 'store' | 'takeRequests'>): Promise<Run> {
    const run = await this.#run('restore', target)
    // All are different, so that each has got an id.
    const held = target.store.maxId(DEFAULT_CONTEXT)
    if (held !== SUBJECTS * VERSIONS) throw new Error(`the target has ${held} versions`)
    return run
  }

  /** The program as users run it, from its start to its end. */
  async #run(mode: 'backup' | 'restore', registry: Pick<BenchRegistry, 'section' | 'takeRequests'>): Promise<Run> {
    const config = join(this.#folder, `registry-${mode}.json`)
    const storage = { backend: 'filesystem', path: join(this.#folder, 'registry') }
    const enterprise = { schema_registry: registry.section }
    await writeFile(config, JSON.stringify({ mode, backup_id: 'schemas', storage, enterprise }))
    registry.takeRequests()
    const { wallMs, peakBytes } = await measureProcess(process.execPath, [cli, 'schemas', mode, '--config', config])
    return { wallMs, peakBytes, requests: registry.takeRequests() }
  }
}

function rowsOf(
  mode: string,
  { wallMs, peakBytes, requests }: Run,
  limits: { requests?: number; memoryMb?: number },
): Row[] {
  const detail = { ours_ms: wallMs, requests, subjects: SUBJECTS, versions: SUBJECTS * VERSIONS }
  const name = `${mode} of ${SUBJECTS * VERSIONS} schema versions`
  const limit = (most: number | undefined) => (most === undefined ? {} : { limit: most })
  return [
    { name, measure: 'requests to the registry', value: requests, unit: 'requests', ...limit(limits.requests), detail },
    { name, measure: 'wall time', value: wallMs / 1000, unit: 's', detail },
    { name, measure: 'peak memory', value: peakBytes / 1e6, unit: 'MB', ...limit(limits.memoryMb), detail },
  ]
}

/** Records that get one field more with every version. */
function fill(store: RegistryStore): void {
  for (let subject = 0; subject < SUBJECTS; subject++) {
    const fields: object[] = []
    for (let version = 0; version < VERSIONS; version++) {
      fields.push({ name: `field_${version}`, type: ['null', 'string'], default: null })
      const schema = JSON.stringify({ type: 'record', name: `Event${subject}`, namespace: 'bench', fields })
      const content = { schemaType: 'AVRO' as const, schema, references: [], metadata: null, ruleSet: null }
      store.register(`events-${subject}-value`, { id: null, version: 0, ...content })
    }
  }
}
