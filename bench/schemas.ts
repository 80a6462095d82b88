import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_CONTEXT } from '../src/registry/model.ts'
import type { RegistryStore } from '../src/registry/server/registry-store.ts'
import type { KafkaDriver } from '../test/servers/driver.ts'
import type { KafkaServer } from '../test/servers/kafka.ts'
import { cli, measureProcess } from './measure.ts'
import { type BenchRegistry, openBenchRegistry } from './registries.ts'
import type { Row } from './row.ts'

const SUBJECTS = 1000
const VERSIONS = 10
const TOPIC = 'empty'

/** A registry of many versions to a folder and from there to an empty one, with a topic without records. */
export class Schemas {
  readonly #server: KafkaServer
  readonly #driver: KafkaDriver
  readonly #folder: string

  constructor(server: KafkaServer, driver: KafkaDriver, folder: string) {
    this.#server = server
    this.#driver = driver
    this.#folder = folder
  }

  async backUpAndRestore(): Promise<Row[]> {
    await this.#driver.createTopic(TOPIC, { partitions: 1 })
    await using source = await openBenchRegistry()
    fill(source.store)
    const taken = await this.#run('backup', { source: this.#cluster({ topics: { include: [TOPIC] } }) }, source)
    await using target = await openBenchRegistry()
    const job = { target: this.#cluster(), restore: { topic_mapping: { [TOPIC]: `restored-${TOPIC}` } } }
    const put = await this.#run('restore', job, target)
    // All are different, so that each has got an id.
    const held = target.store.maxId(DEFAULT_CONTEXT)
    if (held !== SUBJECTS * VERSIONS) throw new Error(`the target has ${held} versions`)
    await Promise.all([TOPIC, `restored-${TOPIC}`].map(topic => this.#driver.deleteTopic(topic)))
    return [...taken, ...put]
  }

  /** The program as users run it, from its start to its end. */
  async #run(mode: 'backup' | 'restore', job: object, registry: BenchRegistry): Promise<Row[]> {
    const config = join(this.#folder, 'schemas.json')
    const storage = { backend: 'filesystem', path: join(this.#folder, 'schemas') }
    const enterprise = { schema_registry: registry.section }
    await writeFile(config, JSON.stringify({ mode, backup_id: 'schemas', storage, ...job, enterprise }))
    registry.takeRequests()
    const { wallMs, peakBytes } = await measureProcess(process.execPath, [cli, mode, '--config', config])
    const requests = registry.takeRequests()
    const detail = { ours_ms: wallMs, requests, subjects: SUBJECTS, versions: SUBJECTS * VERSIONS }
    const name = `${mode} of ${SUBJECTS * VERSIONS} schema versions`
    return [
      { name, measure: 'requests to the registry', value: requests, unit: 'requests', detail },
      { name, measure: 'wall time', value: wallMs / 1000, unit: 's', detail },
      { name, measure: 'peak memory', value: peakBytes / 1e6, unit: 'MB', detail },
    ]
  }

  #cluster(more: object = {}) {
    return { bootstrap_servers: this.#server.bootstrapServers, ...more }
  }
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
