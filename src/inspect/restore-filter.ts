import type { Manifest } from '../archive/manifest.ts'
import { readRegistryOfRestore } from '../archive/registry-at.ts'
import { DEFAULT_CONTEXT, type RegistrySnapshot } from '../archive/registry-model.ts'
import type { EncodedRecord } from '../batch/record-cursor.ts'
import { RecordParts } from '../batch/record-parts.ts'
import type { KafkaRecord } from '../batch/records.ts'
import { hasCode, KafkaBackupError } from '../errors.ts'
import type { PathCondition } from '../lib/path-condition.ts'
import type { FilterCounts, OpenFilter, RecordFilter, RecordPlace } from '../restore/record-filter.ts'
import type { Storage } from '../storage/storage.ts'
import { hasDecodedText, jsonOf, keyForms } from './condition-forms.ts'
import { type HeaderCondition, hasHeaders } from './conditions.ts'
import { fitsPath } from './json-path.ts'
import type { SchemaDecoder } from './schema-decoder.ts'

/** What a record must meet to be restored: one of the keys or prefixes where there are any, all headers, all texts, and all paths. */
export interface FilterConditions {
  keys: readonly string[]
  keyPrefixes: readonly string[]
  headers: readonly HeaderCondition[]
  /** Are in the value: in its bytes, or in its decoded form as it is shown. */
  texts: readonly string[]
  paths: readonly PathCondition[]
  /** What becomes of a record that the filter cannot tell about. */
  notDecoded: 'fail' | 'skip' | 'take'
}

interface FilterParts {
  /** The context of the registry that the IDs of a topic belong to. */
  contextOf?: ((topic: string) => string) | undefined
  /** What `contextOf` goes by, where nothing else of the request tells it. */
  contexts?: readonly (readonly [topic: string, context: string])[]
  warnings?: readonly string[]
}

export function restoreFilter(
  conditions: FilterConditions,
  { contextOf = () => DEFAULT_CONTEXT, contexts = [], warnings = [] }: FilterParts = {},
): RecordFilter {
  const { keys, keyPrefixes, headers, texts, paths, notDecoded } = conditions
  const needsSchemas = keys.length + keyPrefixes.length + texts.length + paths.length > 0
  const asked = {
    ...{ keys: keys.toSorted(), keyPrefixes: keyPrefixes.toSorted(), headers },
    ...(texts.length > 0 && { texts: texts.toSorted() }),
    // With the schemas of another context, other records are selected.
    ...(needsSchemas && contexts.length > 0 && { contexts }),
  }
  const opened = new Map<string, Promise<OpenFilter>>()
  const open = async (storage: Storage, manifest: Manifest, began: string | undefined, signal: AbortSignal) => {
    // Only a restore with a filter pays for loading the decoders.
    const { SchemaDecoder } = await import('./schema-decoder.ts')
    const schemas = needsSchemas ? await readSchemas(storage, manifest, began, signal) : undefined
    const versions = [...(schemas?.versions ?? [])]
    const source = { ofId: async () => [], all: async () => versions }
    const decoders = new Map<string, SchemaDecoder>()
    for (const context of new Set(manifest.topics.map(({ name }) => contextOf(name)))) {
      const decoder = new SchemaDecoder(source, context)
      await decoder.prepareAll(signal)
      decoders.set(context, decoder)
    }
    const decoderOf = (topic: string) => decoders.get(contextOf(topic)) ?? new SchemaDecoder(source)
    return new ConditionFilter(conditions, decoderOf, schemas)
  }
  return {
    // A restore that failed at a record may continue and leave it out; one that took such records cannot.
    request: { ...asked, where: paths.map(({ text }) => text), ...(notDecoded === 'take' && { notDecoded }) },
    splitsKeys: headers.length + texts.length + paths.length > 0,
    warnings,
    open: (storage, manifest, began, signal) => {
      const key = `${manifest.generation} ${began}`
      const known = opened.get(key) ?? open(storage, manifest, began, signal)
      opened.set(key, known)
      return known
    },
  }
}

/** All of them: which ones records name is not known before they are read. */
async function readSchemas(...args: Parameters<typeof readRegistryOfRestore>): Promise<RegistrySnapshot | undefined> {
  try {
    return await readRegistryOfRestore(...args)
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED')) throw error
    throw new KafkaBackupError('ARCHIVE_DAMAGED', `restore.filter needs the schemas of the backup: ${error.message}`)
  }
}

type Verdict = 'yes' | 'no' | { unclear: string }

class ConditionFilter implements OpenFilter {
  readonly counts: FilterCounts = { examined: 0, selected: 0, notDecoded: 0 }
  readonly schemas: OpenFilter['schemas']
  readonly #conditions: FilterConditions
  readonly #keys: ReadonlySet<string>
  readonly #maxKeyChars: number
  readonly #decoderOf: (topic: string) => SchemaDecoder
  readonly #parts = new RecordParts()
  /** By partition: several readers may go through one, and of a restore that continues each from another offset on. */
  readonly #counted = new Map<string, SeenOffsets>()

  constructor(
    conditions: FilterConditions,
    decoderOf: (topic: string) => SchemaDecoder,
    schemas: OpenFilter['schemas'],
  ) {
    this.schemas = schemas
    this.#conditions = conditions
    this.#keys = new Set(conditions.keys)
    this.#maxKeyChars = [...conditions.keys, ...conditions.keyPrefixes].reduce(
      (max, { length }) => Math.max(max, length),
      0,
    )
    this.#decoderOf = decoderOf
  }

  selects(encoded: EncodedRecord, place: RecordPlace): boolean {
    const record = this.#decode(encoded)
    const verdict = this.#judge(record, this.#decoderOf(place.topic))
    const isSelected = typeof verdict === 'string' ? verdict === 'yes' : this.#decide(record, place, verdict.unclear)
    this.#count(record.offset, place, isSelected, typeof verdict !== 'string')
    return isSelected
  }

  mayWant(record: KafkaRecord | EncodedRecord, topic: string): boolean {
    const verdict = this.#judge('buffer' in record ? this.#decode(record) : record, this.#decoderOf(topic))
    return verdict === 'yes' || (verdict !== 'no' && this.#conditions.notDecoded !== 'skip')
  }

  #judge(record: KafkaRecord, decoder: SchemaDecoder): Verdict {
    const { headers, texts, paths } = this.#conditions
    if (!hasHeaders(record, headers)) return 'no'
    const verdicts = [
      this.#judgeKey(record, decoder),
      judgeTexts(record, texts, decoder),
      judgePaths(record, paths, decoder),
    ]
    if (verdicts.includes('no')) return 'no'
    return verdicts.find(one => typeof one !== 'string') ?? 'yes'
  }

  #judgeKey(record: KafkaRecord, decoder: SchemaDecoder): Verdict {
    const { keyPrefixes } = this.#conditions
    if (this.#keys.size + keyPrefixes.length === 0) return 'yes'
    if (record.key === null) return 'no'
    const { forms, reason } = keyForms(record, 'auto', decoder, this.#maxKeyChars)
    const texts = [...forms, record.key.toString('utf8')]
    if (texts.some(form => this.#keys.has(form) || keyPrefixes.some(prefix => form.startsWith(prefix)))) return 'yes'
    return reason === undefined ? 'no' : { unclear: `its key cannot be decoded: ${reason}` }
  }

  #decide({ offset }: KafkaRecord, { label, topic, partition }: RecordPlace, why: string): boolean {
    if (this.#conditions.notDecoded !== 'fail') return this.#conditions.notDecoded === 'take'
    const message = `${label}/${partition}: restore.filter cannot tell whether the record at offset ${offset} is meant: ${why}`
    throw new KafkaBackupError('RESTORE_REFUSED', message, {
      details: { topic, partition, offset },
      help:
        'Set restore.filter.not_decoded: skip and run the same command to continue without such records, which the report counts. To restore ' +
        'them, set it to take and delete the topics first, because that is another restore.',
    })
  }

  #count(offset: bigint, place: RecordPlace, isSelected: boolean, isUnclear: boolean): void {
    const key = `${place.label}/${place.partition}`
    const seen = this.#counted.get(key) ?? new SeenOffsets()
    this.#counted.set(key, seen)
    if (!seen.add(offset, place)) return
    this.counts.examined++
    if (isSelected) this.counts.selected++
    if (isUnclear) this.counts.notDecoded++
  }

  #decode(encoded: EncodedRecord): KafkaRecord {
    const parts = this.#parts
    const { buffer } = encoded
    parts.locate(encoded)
    const bytes = (start: number, end: number) => (start < 0 ? null : buffer.subarray(start, end))
    const headers: [string, Buffer | null][] = []
    parts.eachHeader((nameStart, nameEnd, start, end) => {
      headers.push([buffer.toString('utf8', nameStart, nameEnd), bytes(start, end)])
    })
    return {
      offset: encoded.offsetBase + BigInt(encoded.offsetDelta),
      timestamp: 0n,
      key: bytes(parts.keyStart, parts.keyEnd),
      value: bytes(parts.valueStart, parts.valueEnd),
      headers,
    }
  }
}

/** What readers have seen of a partition. Each goes through it in the order of offsets, so a few ranges tell it. */
class SeenOffsets {
  readonly #ranges: { from: bigint; to: bigint }[] = []
  readonly #last = new WeakMap<object, bigint>()

  /** False for a record that was seen before. */
  add(offset: bigint, reader: object): boolean {
    const last = this.#last.get(reader)
    this.#last.set(reader, offset)
    if (this.#ranges.some(({ from, to }) => from <= offset && offset <= to)) return false
    // There is no record between the last one of the reader and this one.
    const own = this.#ranges.find(({ to }) => to === last && to < offset)
    if (own) own.to = offset
    else this.#ranges.push({ from: offset, to: offset })
    return true
  }
}

/** A tombstone has no text. */
function judgeTexts(record: KafkaRecord, texts: readonly string[], decoder: SchemaDecoder): Verdict {
  if (texts.length === 0) return 'yes'
  const { value } = record
  if (value === null) return 'no'
  const missing = texts.filter(text => !value.includes(Buffer.from(text, 'utf8')))
  if (missing.length === 0) return 'yes'
  const decoded = decoder.decode(record, 'value')
  if (decoded.kind === 'raw') return { unclear: `its value cannot be decoded: ${decoded.reason}` }
  const answers = missing.map(text => hasDecodedText(decoded, text))
  if (answers.includes('no')) return 'no'
  return answers.includes('unclear') ? { unclear: 'its decoded value is too long to be searched' } : 'yes'
}

/** A tombstone has no field. */
function judgePaths(record: KafkaRecord, paths: readonly PathCondition[], decoder: SchemaDecoder): Verdict {
  if (paths.length === 0) return 'yes'
  if (record.value === null) return 'no'
  const decoded = decoder.decode(record, 'value')
  const json = jsonOf(decoded)
  if (json) return paths.every(one => fitsPath(one, json.value)) ? 'yes' : 'no'
  const reason = decoded.kind === 'raw' ? decoded.reason : 'it names no schema and is not JSON'
  return { unclear: `its value cannot be decoded: ${reason}` }
}
