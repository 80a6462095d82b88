import { DEFAULT_CONTEXT, type SchemaVersion } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'
import { encodeSegment } from './address.ts'
import type { RegistryClient } from './client.ts'
import { asList, asRecord, parseVersion } from './parse-answers.ts'

/** Its list of subjects ends there, whatever offset and limit are asked for. */
const MAX_SUBJECTS = 1000
const PAGE_SIZE = 500
const schemaTypes = new Set<unknown>(['AVRO', 'JSON', 'PROTOBUF'])

/** Apicurio has its own API next to the Confluent one: `/apis/ccompat/v7` and `/apis/registry/v3`. */
export function apicurioNative(version: 'v2' | 'v3'): (basePath: string) => string {
  return basePath => basePath.replace(/\/apis\/ccompat\/v\d+$/, `/apis/registry/${version}`)
}

/** The subjects by its native API, soft-deleted ones too; undefined where that does not answer. */
export async function listArtifacts(
  client: RegistryClient,
  signal: AbortSignal,
  pageSize = PAGE_SIZE,
): Promise<string[] | undefined> {
  const names = new Set<string>()
  const seen = new Set<string>()
  for (let offset = 0; ; ) {
    const query = { offset, limit: pageSize, orderby: 'artifactId', order: 'asc' }
    const call = { path: '/groups/default/artifacts', query, basePath: apicurioNative('v3') }
    const page = asRecord(await client.probe(call, signal))?.artifacts
    if (!Array.isArray(page)) return undefined
    const before = seen.size
    for (const row of page) {
      seen.add(JSON.stringify(row))
      const { artifactId, artifactType } = asRecord(row) ?? {}
      if (typeof artifactId === 'string' && schemaTypes.has(artifactType)) names.add(artifactId)
    }
    // A server that gives the same page again, whatever it is asked for, has no more.
    if (seen.size === before) return [...names]
    offset += page.length
  }
}

/** A list of subjects by the Confluent API must be shorter than what that shows at most. */
export function refuseCutList(client: RegistryClient, subjects: readonly string[]): void {
  if (subjects.length < MAX_SUBJECTS) return
  throw new KafkaBackupError(
    'REGISTRY_PROTOCOL',
    `the registry ${client.name} shows ${MAX_SUBJECTS} subjects and may have more, which Apicurio lists only by its native API`,
    { help: 'Let `enterprise.schema_registry.url` reach `/apis/registry/v3` as well as `/apis/ccompat/v7`.' },
  )
}

/**
 * A version of a subject that is deleted as a whole, which the Confluent API lists and does not give. Its schema is
 * still found by its id, which is that of the content or, with old settings, that of the version.
 */
export async function findHiddenVersion(
  client: RegistryClient,
  subject: string,
  version: number,
  signal: AbortSignal,
): Promise<SchemaVersion | undefined> {
  const path = `/groups/default/artifacts/${encodeSegment(subject)}/versions/${version}`
  const found = asRecord(await client.probe({ path, subject, basePath: apicurioNative('v3') }, signal))
  for (const id of [found?.contentId, found?.globalId].filter(each => typeof each === 'number')) {
    const users = await client.find({ path: `/schemas/ids/${id}/versions`, query: { deleted: true }, subject }, signal)
    if (!asList(users)?.some(isOf(subject, version))) continue
    const schema = asRecord(await client.find({ path: `/schemas/ids/${id}`, subject }, signal))
    return schema && parseVersion({ ...schema, subject, version, id }, DEFAULT_CONTEXT)
  }
  return undefined
}

function isOf(subject: string, version: number): (row: unknown) => boolean {
  return row => {
    const named = asRecord(row)
    return named?.subject === subject && named.version === version
  }
}
