import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { buildDefinitions } from '../../../src/operator/crd/definitions.ts'
import type { FieldSchema } from '../../../src/operator/crd/field-schema.ts'
import type { PodTemplate } from '../../../src/operator/crd/resource.ts'
import { type JobLimits, resourceKinds } from '../../../src/operator/crd/resource.ts'
import type {
  Condition,
  DrillStatus,
  EndedRun,
  RunProgress,
  RunStatus,
  StorageStatus,
} from '../../../src/operator/crd/status.ts'

const crds = join(import.meta.dirname, '../../../deploy/crds')
const definitions = buildDefinitions()
const schemas = definitions.map(({ spec }) => spec.versions[0]?.schema.openAPIV3Schema ?? {})
const [backup = {}] = schemas
const storage = schemas.at(-1) ?? {}
const ofRuns = schemas.slice(0, -1)

/** One entry a key of the type, which the compiler checks. */
type AllOf<T> = Record<keyof T, true>

test('deploy/crds has the definitions of the code', () => {
  const files = readdirSync(crds).sort()
  assert.deepEqual(files, definitions.map(({ spec }) => `${spec.names.plural}.yaml`).sort())
  for (const definition of definitions) {
    const written = parse(readFileSync(join(crds, `${definition.spec.names.plural}.yaml`), 'utf8'))
    assert.deepEqual(written, JSON.parse(JSON.stringify(definition)), 'run make docs')
  }
})

test('kinds, names and API group match what the operator requests', () => {
  for (const group of ['kafka-backup.dev', 'backups.example.com']) {
    const named = buildDefinitions(group).map(({ spec, metadata }) => ({
      apiVersion: `${spec.group}/${spec.versions[0]?.name}`,
      kind: spec.names.kind,
      plural: metadata.name.replace(`.${group}`, ''),
    }))
    assert.deepEqual(named, Object.values(resourceKinds(group)))
  }
})

test('the short names do not collide with those of Strimzi', () => {
  const strimzi = ['k', 'kt', 'ku', 'kc', 'kctr', 'kmm2', 'kb', 'kr', 'knp', 'sps']
  const own = definitions.flatMap(({ spec }) => spec.names.shortNames)
  assert.equal(new Set(own).size, 5)
  assert.deepEqual(
    own.filter(name => strimzi.includes(name)),
    [],
  )
})

test('the status has all fields that the operator writes, and no others', () => {
  const status: AllOf<RunStatus> = {
    phase: true,
    reason: true,
    message: true,
    observedGeneration: true,
    conditions: true,
    startTime: true,
    completionTime: true,
    restarts: true,
    records: true,
    bytes: true,
    storedBytes: true,
    schedules: true,
    storageLocation: true,
    gaps: true,
    mayHoldDeletedKeys: true,
    estimate: true,
    backupId: true,
    snapshotId: true,
    report: true,
    lastSuccessfulTime: true,
    lastFailedTime: true,
    lastScheduleTime: true,
    nextScheduleTime: true,
    lastVerifyTime: true,
    nextVerifyTime: true,
    drill: true,
    lastTrigger: true,
    progress: true,
    active: true,
    history: true,
  }
  const condition: AllOf<Condition> = {
    type: true,
    status: true,
    reason: true,
    message: true,
    lastTransitionTime: true,
    observedGeneration: true,
  }
  const progress: AllOf<RunProgress> = {
    phase: true,
    percent: true,
    records: true,
    bytes: true,
    remainingSeconds: true,
    topicsDone: true,
    activeTopics: true,
    storedBytes: true,
    gaps: true,
  }
  const ended: AllOf<EndedRun> = {
    run: true,
    purpose: true,
    job: true,
    startTime: true,
    backupId: true,
    generation: true,
    specHash: true,
    phase: true,
    completionTime: true,
    reason: true,
    message: true,
    records: true,
    bytes: true,
    storedBytes: true,
    groups: true,
    gaps: true,
    mayHoldDeletedKeys: true,
    estimate: true,
    recoverySeconds: true,
    snapshotId: true,
    report: true,
    dryRun: true,
  }
  const drill: AllOf<DrillStatus> = {
    lastTime: true,
    result: true,
    reason: true,
    message: true,
    records: true,
    recoverySeconds: true,
    lastProvenTime: true,
    evidence: true,
    nextTime: true,
  }
  assertFields(fieldAt(backup, 'status', 'drill'), drill)
  const storageStatus: AllOf<StorageStatus> = {
    reason: true,
    message: true,
    observedGeneration: true,
    conditions: true,
    lastValidationTime: true,
    nextValidationTime: true,
    validationJob: true,
    users: true,
    lastTrigger: true,
  }
  assertFields(fieldAt(storage, 'status'), storageStatus)
  assertFields(fieldAt(backup, 'status'), status)
  assertFields(fieldAt(backup, 'status', 'conditions').items, condition)
  assertFields(fieldAt(backup, 'status', 'progress'), progress)
  assertFields(fieldAt(backup, 'status', 'history').items, ended)
})

test('the schema allows the Job limits and pod fields that the operator accepts', () => {
  const limits: AllOf<JobLimits> = {
    backoffLimit: true,
    activeDeadlineSeconds: true,
    terminationGracePeriodSeconds: true,
    successfulJobsHistoryLimit: true,
    failedJobsHistoryLimit: true,
  }
  const pod: AllOf<NonNullable<PodTemplate['spec']>> = {
    serviceAccountName: true,
    nodeSelector: true,
    tolerations: true,
    affinity: true,
    topologySpreadConstraints: true,
    priorityClassName: true,
    runtimeClassName: true,
    schedulerName: true,
    imagePullSecrets: true,
    securityContext: true,
    hostAliases: true,
    dnsPolicy: true,
    dnsConfig: true,
    env: true,
    envFrom: true,
    volumes: true,
    volumeMounts: true,
  }
  for (const schema of ofRuns) assertFields(fieldAt(schema, 'spec', 'job'), limits)
  for (const schema of schemas) {
    assertFields(fieldAt(schema, 'spec', 'podTemplate', 'spec'), pod)
  }
})

test('lists, maps and strings of a spec are bounded, which bounds the cost of CEL rules', () => {
  const open = schemas.flatMap(schema =>
    listFields(fieldAt(schema, 'spec'), 'spec').filter(
      ({ field }) =>
        (field.type === 'array' && field.maxItems === undefined) ||
        (field.additionalProperties && field.maxProperties === undefined) ||
        (field.type === 'string' && field.maxLength === undefined && field.enum === undefined),
    ),
  )
  assert.deepEqual([...new Set(open.map(({ path }) => path))], [])
})

test('every rule has a message', () => {
  const rules = schemas.flatMap(schema =>
    listFields(schema, '').flatMap(({ path, field }) =>
      (field['x-kubernetes-validations'] ?? []).map(rule => ({ path, ...rule })),
    ),
  )
  assert.ok(rules.length > 100)
  assert.deepEqual(
    rules.filter(({ message }) => message.length < 20 || message.length > 2048 || message.includes('\n')),
    [],
  )
})

test('every field on the operator page has a description', () => {
  const silent = schemas.flatMap(schema =>
    listFields(fieldAt(schema, 'spec'), 'spec').filter(({ path, field }) => {
      const isOwn = !/podTemplate\.spec\.|\{\}|(Secret|ConfigMap|Ref)\.\w+$/.test(path)
      return isOwn && /\.\w+$/.test(path) && (field.description ?? '') === ''
    }),
  )
  assert.deepEqual([...new Set(silent.map(({ path }) => path))], [])
})

function assertFields(schema: FieldSchema | undefined, fields: Record<string, true>): void {
  assert.deepEqual(Object.keys(schema?.properties ?? {}).sort(), Object.keys(fields).sort())
}

function fieldAt(schema: FieldSchema, ...path: string[]): FieldSchema {
  return path.reduce((at, name) => at.properties?.[name] ?? {}, schema)
}

/** The field itself and all below it: `spec.encryption.recipients[].name`, `spec.resources.limits{}`. */
function listFields(field: FieldSchema, path: string): { path: string; field: FieldSchema }[] {
  return [
    { path, field },
    ...Object.entries(field.properties ?? {}).flatMap(([name, inner]) => listFields(inner, `${path}.${name}`)),
    ...(field.items ? listFields(field.items, `${path}[]`) : []),
    ...(field.additionalProperties ? listFields(field.additionalProperties, `${path}{}`) : []),
  ]
}
