import { asList } from '../client/parse-answers.ts'
import { type FeatureCheck, found, type ProbeScope, record } from './probe-scope.ts'

export const contract = {
  metadata: { properties: { owner: 'kafka-backup' } },
  ruleSet: { domainRules: [{ name: 'probe', kind: 'CONDITION', mode: 'WRITE', type: 'CEL', expr: 'true' }] },
}
const SPACED = '{ "type" : "record", "name" : "ProbeText", "doc" : "\\u00e9", "fields" : [ ] }'
const names = ['odd $+@=&:,; name', 'odd/slash.proto']

/** What a registry does with schemas that get their IDs from it. */
export const schemaChecks: readonly FeatureCheck[] = [
  {
    name: 'exact_texts',
    label: 'schema text, byte for byte',
    without: 'the registry rewrites texts; their meaning is the same',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('text')
      await scope.register(subject, { schema: SPACED })
      return found((await scope.version(subject, 1))?.schema === SPACED)
    },
  },
  {
    name: 'avro_docs',
    label: 'Avro versions differing in docs',
    without: 'such versions are merged into one; lossy',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('docs')
      await scope.register(subject, { schema: record('ProbeDocs', { doc: 'one' }) })
      await scope.register(subject, { schema: record('ProbeDocs', { doc: 'two' }) })
      return found((await numbersOf(scope, subject, true)).length === 2)
    },
  },
  ...names.map(
    (name): FeatureCheck => ({
      name: name.includes('/') ? 'slashes_in_names' : 'odd_names',
      label: name.includes('/') ? 'slashes in subject names' : 'special characters in names',
      without: 'such subjects need other names: `restore.subject_mapping`',
      isWrite: true,
      run: async scope => {
        const subject = scope.subject(name)
        await scope.register(subject, { schema: record('ProbeName') })
        const seen = await scope.version(subject, 1)
        return found(typeof seen?.subject === 'string' && seen.subject.endsWith(name))
      },
    }),
  ),
  {
    name: 'references',
    label: 'references, Avro',
    without: 'schemas that refer to others cannot be restored',
    isWrite: true,
    run: async scope => {
      const base = scope.subject('ref-base')
      await scope.register(base, { schema: record('ProbeBase') })
      const { isOk } = await scope.register(scope.subject('ref'), {
        schema: '{"type":"record","name":"ProbeRef","fields":[{"name":"a","type":"ProbeBase"}]}',
        references: [{ name: 'ProbeBase', subject: scope.plain('ref-base'), version: 1 }],
      })
      return found(isOk)
    },
  },
  {
    name: 'json_references',
    label: 'references, JSON Schema',
    without: 'JSON Schemas that refer to others cannot be restored',
    isWrite: true,
    run: async scope => {
      const schema = '{"$schema":"http://json-schema.org/draft-07/schema#","$id":"probe-base.json","type":"string"}'
      const base = { schema, schemaType: 'JSON' }
      if (!(await scope.register(scope.subject('json-base'), base)).isOk) return undefined
      const { isOk } = await scope.register(scope.subject('json-ref'), {
        schema: schema.replace('probe-base', 'probe-ref').replace('"type":"string"', '"$ref":"probe-base.json"'),
        schemaType: 'JSON',
        references: [{ name: 'probe-base.json', subject: scope.plain('json-base'), version: 1 }],
      })
      return found(isOk)
    },
  },
  {
    name: 'metadata',
    label: 'schema metadata',
    without: 'metadata is not kept; lossy',
    isWrite: true,
    run: async scope => found(await keeps(scope, 'metadata', { metadata: contract.metadata })),
  },
  {
    name: 'rule_sets',
    label: 'schema rule sets',
    without: 'rule sets are not kept; lossy',
    isWrite: true,
    run: async scope => found(await keeps(scope, 'ruleSet', { ruleSet: contract.ruleSet })),
  },
  {
    name: 'soft_deletes',
    label: 'soft-deleted versions',
    without: 'deleted versions are not kept; messages with them cannot be read',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('soft')
      await scope.register(subject, { schema: record('ProbeSoft') })
      await scope.remove(subject, '/versions/1')
      const [live, all] = [await numbersOf(scope, subject, false), await numbersOf(scope, subject, true)]
      return found(live.length === 0 && all.length === 1)
    },
  },
  {
    name: 'deleted_chains',
    label: 'soft-deleted referrers',
    without: 'what a deleted version refers to stays live; lossy',
    isWrite: true,
    run: async scope => {
      const base = scope.subject('chain-base')
      const referrer = scope.subject('chain')
      await scope.register(base, { schema: record('ProbeChainBase') })
      const { isOk } = await scope.register(referrer, {
        schema: '{"type":"record","name":"ProbeChain","fields":[{"name":"a","type":"ProbeChainBase"}]}',
        references: [{ name: 'ProbeChainBase', subject: scope.plain('chain-base'), version: 1 }],
      })
      if (!isOk) return undefined
      await scope.remove(referrer, '/versions/1')
      return found((await scope.remove(base, '/versions/1')).isOk)
    },
  },
  {
    name: 'numbers_restart',
    label: 'version numbers restart',
    without: 'with `overwrite`, versions may get other numbers; references follow',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('numbers')
      await scope.register(subject, { schema: record('ProbeNumbers') })
      await scope.remove(subject, '/versions/1')
      await scope.remove(subject, '/versions/1', { permanent: true })
      if ((await numbersOf(scope, subject, true)).length > 0) return undefined
      await scope.register(subject, { schema: record('ProbeNumbersAgain') })
      return found((await numbersOf(scope, subject, false)).includes(1))
    },
  },
  {
    name: 'forced_registration',
    label: 'registration with force=true',
    without: '`restore.force_register` sets the level NONE temporarily instead',
    isWrite: true,
    run: async scope => {
      const subject = scope.subject('forced')
      await scope.register(subject, { schema: record('ProbeForced') })
      await scope.put('config', subject, { compatibility: 'FULL_TRANSITIVE' })
      const { isOk } = await scope.register(subject, { schema: '"int"' }, { force: true })
      return found(isOk)
    },
  },
]

async function keeps(
  scope: ProbeScope,
  part: 'metadata' | 'ruleSet',
  some: Partial<typeof contract>,
): Promise<boolean> {
  const subject = scope.subject(part)
  await scope.register(subject, { schema: record(`Probe_${part}`), ...some })
  return JSON.stringify((await scope.version(subject, 1))?.[part] ?? '').includes(
    part === 'ruleSet' ? 'probe' : 'owner',
  )
}

export async function numbersOf(scope: ProbeScope, subject: string, deleted: boolean): Promise<readonly unknown[]> {
  const { body } = await scope.get('subjects', subject, '/versions', deleted ? { deleted } : {})
  return asList(body ?? null) ?? []
}
