import { createHash } from 'node:crypto'

/** Maps ids of the source to ids of the target. An id means something within its context only. */
export interface IdMap {
  /** Undefined where the target has no such schema. */
  get(context: string, id: number): number | undefined
  /**
   * The GUID of the target, both as 32 hex digits, where it is another one: the content of a schema makes its GUID, and
   * that differs where references were renamed or the target writes the text its own way.
   */
  getGuid(guid: string): string | undefined
  /**
   * Whether the target cannot find a schema by this GUID. In a header it is known to be a GUID; in front of a payload, where
   * any other bytes are possible, only one of the source is.
   */
  isUnknownGuid(guid: string, isInHeader: boolean): boolean
  /**
   * No id of the context, and no GUID, is another one on the target: records need not be looked into. Not so where the
   * context has none: whatever its records carry is unknown then.
   */
  isIdentity(context: string): boolean
  /** The same for the same pairs: a resumed restore continues with the map that it started with. */
  readonly digest: string
  /** What it was made of. */
  readonly pairs: readonly IdPair[]
  readonly guids: readonly GuidPair[]
}

export interface IdPair {
  context: string
  source: number
  target: number
}

/** A GUID as registries write it, `8-4-4-4-12` hex digits. */
export interface GuidPair {
  source: string
  /** Null where the target has none for the schema: the registry does not give GUIDs, or does not have the schema. */
  target: string | null
}

/** Of a pair that is given twice both must say the same; the caller has seen to that. */
export function createIdMap(pairsOfIds: Iterable<IdPair>, pairsOfGuids: Iterable<GuidPair> = []): IdMap {
  const [pairs, guids] = [[...pairsOfIds], [...pairsOfGuids]]
  const byContext = new Map<string, Map<number, number>>()
  for (const { context, source, target } of pairs) {
    const ids = byContext.get(context) ?? new Map<number, number>()
    byContext.set(context, ids.set(source, target))
  }
  const changed = new Set(
    [...byContext].filter(([, ids]) => [...ids].some(([id, other]) => id !== other)).map(([context]) => context),
  )
  const hexGuids = guids.flatMap(({ source, target }) =>
    target === null ? [] : [[hexOf(source), hexOf(target)] as const],
  )
  const otherGuids = new Map(hexGuids.filter(([source, target]) => source !== target))
  const knownGuids = new Set(hexGuids.flat())
  const sourceGuids = new Set(guids.map(({ source }) => hexOf(source)))
  return {
    get: (context, id) => byContext.get(context)?.get(id),
    getGuid: guid => otherGuids.get(guid),
    isUnknownGuid: (guid, isInHeader) => !knownGuids.has(guid) && (isInHeader || sourceGuids.has(guid)),
    isIdentity: context => byContext.has(context) && !changed.has(context) && otherGuids.size === 0,
    digest: digestOf(byContext, otherGuids),
    pairs,
    guids,
  }
}

function hexOf(guid: string): string {
  return guid.replaceAll('-', '').toLowerCase()
}

function digestOf(
  byContext: ReadonlyMap<string, ReadonlyMap<number, number>>,
  guids: ReadonlyMap<string, string>,
): string {
  const sorted = [...byContext]
    .map(([context, ids]) => [context, [...ids].sort(([a], [b]) => a - b)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  const all = [sorted, [...guids].sort(([a], [b]) => (a < b ? -1 : 1))]
  return createHash('sha256').update(JSON.stringify(all)).digest('hex').slice(0, 16)
}
