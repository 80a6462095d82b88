import { createHash } from 'node:crypto'

/** The keys of a backup, relative to the storage's root. docs/format.md is the prose of this file. */
const MANIFEST_COPY = 'manifest.json'

export function backupPrefix(backupId: string): string {
  return `${backupId}/`
}

export function manifestCopyKey(backupId: string): string {
  return `${backupId}/${MANIFEST_COPY}`
}

export function manifestsPrefix(backupId: string): string {
  return `${backupId}/manifests/`
}

export function manifestKey(backupId: string, generation: number): string {
  return `${manifestsPrefix(backupId)}${String(generation).padStart(8, '0')}.json`
}

/** The generation a key of `manifests/` stands for; undefined where it is something else. */
export function parseGeneration(key: string): number | undefined {
  const match = /\/manifests\/(\d+)\.json$/.exec(key)
  return match ? Number(match[1]) : undefined
}

/** The folder of a topic or a subject in place of its name, where names are hidden. */
export type FolderOf = (name: string) => string

export interface PartitionPlace {
  backupId: string
  topic: string
  folderOf?: FolderOf | undefined
  partition: number
}

/** Kafka allows only letters, digits, `.`, `_` and `-` in a topic's name, so that it is a safe segment of a key as it is. */
function partitionPrefix({ backupId, topic, partition, folderOf = name => name }: PartitionPlace): string {
  return `${backupId}/kafka/${folderOf(topic)}/${partition}/`
}

/** Kafka names its own segments by their base offset in 20 digits; `run` keeps the files of two runs apart. */
export function segmentKey(place: PartitionPlace, baseOffset: bigint, run: string, compressed: boolean): string {
  const digits = baseOffset.toString().padStart(20, '0')
  return `${partitionPrefix(place)}${digits}.${run}.log${compressed ? '.zst' : ''}`
}

/** What stands for the run in keys of lists that are read again: two lists may have segments at the same offset. */
export function rereadRun(run: string): string {
  return `${run}-reread`
}

export function indexKey(place: PartitionPlace, generation: number, run: string): string {
  return `${partitionPrefix(place)}index-${generation}.${run}.json`
}

/** The key of an index in the folder of another one of the same partition. */
export function siblingIndexKey(key: string, generation: number, run: string): string {
  return `${key.slice(0, key.lastIndexOf('/') + 1)}index-${generation}.${run}.json`
}

/** The positions of consumer groups. */
export function groupsKey(backupId: string, generation: number, run: string): string {
  return `${backupId}/kafka/groups-${generation}.${run}.json`
}

/** Rules of access: ACLs, quotas, users. */
export function accessKey(backupId: string, generation: number, run: string): string {
  return `${backupId}/kafka/access-${generation}.${run}.json`
}

/** What several processes have done towards a generation. */
export function shardsPrefix(backupId: string, generation: number): string {
  return `${backupId}/shards/${String(generation).padStart(8, '0')}/`
}

export function shardKey(
  { backup_id, generation, shard, shards }: { backup_id: string; generation: number; shard: number; shards: number },
  writer: string,
): string {
  return `${shardsPrefix(backup_id, generation)}shard-${shard}-of-${shards}.${writer}.json`
}

/** `file` is relative to the folder of the registry, as manifests name it. */
export function registryKey(backupId: string, file: string): string {
  return `${backupId}/schema-registry/${file}`
}

/** Where a run writes the files of the registry that generations name; they are never changed. */
export function registryFile(generation: number, run: string, path: string): string {
  return `generations/${generation}.${run}/${path}`
}

/** The path, relative to the folder of the registry, where the current content of a file is copied to. */
export function currentRegistryPath(file: string): string | undefined {
  const path = /^generations\/[^/]+\/(.+)$/.exec(file)?.[1]
  return path !== undefined && isCurrentRegistryPath(path) ? path : undefined
}

/** Only these are replaced and removed, whatever a document in the store names. */
export function isCurrentRegistryPath(path: string): boolean {
  return /^(_schemas\.json|config\/global\.json|subjects\/[^/]+\/(metadata\.json|v-?\d+\.(avsc|json|proto)))$/.test(
    path,
  )
}

/** Which copies of the current files of the registry are there, and of what content. */
export function registryCopiesKey(backupId: string): string {
  return registryKey(backupId, 'current.json')
}

/** The report of a run, for people and programs; nothing of a backup depends on it. `stamp` sorts by time. */
export function reportKey(backupId: string, stamp: string, run: string): string {
  return `${reportsPrefix(backupId)}${stamp}-${run}.json`
}

export function isReportKey(backupId: string, key: string): boolean {
  return !key.slice(reportsPrefix(backupId).length).includes('/')
}

export function reportsPrefix(backupId: string): string {
  return `${backupId}/reports/`
}

/** What verifications found. Prunes of every version keep what is in the folder of reports. */
export function verificationsPrefix(backupId: string): string {
  return `${reportsPrefix(backupId)}verified/`
}

export function verificationKey(
  backupId: string,
  { deep, startedAt, run }: { deep: boolean; startedAt: string; run: string },
): string {
  return `${verificationsPrefix(backupId)}${preciseStampOf(startedAt)}-${run}.${deep ? 'deep' : 'quick'}.json`
}

/** To the millisecond: the times of a store may tell seconds only. */
export function preciseStampOf(time: string): string {
  return time.replaceAll(/[-:.]/g, '').toLowerCase()
}

/** Undefined for every other key. Names sort by time. */
export function parseVerificationKey(backupId: string, key: string): { name: string; deep: boolean } | undefined {
  const name = key.slice(verificationsPrefix(backupId).length)
  const depth = /^\d{8}t\d{9}z-[\w-]+\.(deep|quick)\.json$/.exec(name)?.[1]
  return depth === undefined ? undefined : { name, deep: depth === 'deep' }
}

/** What drills found, next to what verifications found. */
export function drillsPrefix(backupId: string): string {
  return `${reportsPrefix(backupId)}drilled/`
}

export function drillKey(
  backupId: string,
  { proven, startedAt, run }: { proven: boolean; startedAt: string; run: string },
): string {
  return `${drillsPrefix(backupId)}${preciseStampOf(startedAt)}-${run}.${proven ? 'proven' : 'failed'}.json`
}

/** Undefined for every other key. Names sort by time. */
export function parseDrillKey(backupId: string, key: string): { name: string; proven: boolean } | undefined {
  const name = key.slice(drillsPrefix(backupId).length)
  const verdict = /^\d{8}t\d{9}z-[\w-]+\.(proven|failed)\.json$/.exec(name)?.[1]
  return verdict === undefined ? undefined : { name, proven: verdict === 'proven' }
}

/** `20260131t080000z` of a time in UTC: the names of objects sort by time. */
export function stampOf(time: string): string {
  const [seconds = ''] = time.split('.')
  return `${seconds.replaceAll(/[-:]/g, '').toLowerCase()}z`
}

/** The journals of restores, for the run that resumes them. */
export function restoresPrefix(backupId: string): string {
  return `${backupId}/restores/`
}

/** Who works with the backup at the moment. */
export function leasesPrefix(backupId: string): string {
  return `${backupId}/leases/`
}

/** Renewals are separate objects if none can be replaced. */
export function leaseKey(backupId: string, run: string, renewal = 0): string {
  return `${leasesPrefix(backupId)}${run}${renewal === 0 ? '' : `.${renewal}`}.json`
}

/** The lease of a writer that works alone. Of two that create the same number one wins. */
export function writerLeaseKey(backupId: string, number: number): string {
  return `${leasesPrefix(backupId)}writer-${String(number).padStart(8, '0')}.json`
}

/** Who restores schemas into the registry at this address. The dot keeps it from being the ID of a backup. */
export function registryLeaseFolder(url: string): string {
  return `.registry-${createHash('sha256').update(url).digest('hex').slice(0, 12)}`
}

/** The number of a writer's lease; 0 for every other key. */
export function parseWriterNumber(key: string): number {
  return Number(/\/leases\/writer-(\d{8})\.json$/.exec(key)?.[1] ?? 0)
}

/** The number for the next writer: the one after the highest, or the lowest free one when a forged lease has the last number. */
export function nextWriterNumber(taken: ReadonlySet<number>): number {
  let highest = 0
  for (const number of taken) highest = Math.max(highest, number)
  if (highest < LAST_WRITER) return highest + 1
  let free = 1
  while (taken.has(free)) free++
  return free
}

const LAST_WRITER = 99_999_999

/** Next to the manifests, because every reader lists these first. */
export function prunedMarkKey(backupId: string): string {
  return `${manifestsPrefix(backupId)}pruned.json`
}

/** A folder that stands for a name: `hideName` of the encryption. */
export const hiddenName = /^[0-9a-f]{32}$/

/** The topic that the key of a segment names; undefined for another object, and where names are hidden. */
export function topicOfKey(key: string): string | undefined {
  const [, folder = ''] = /^[^/]+\/kafka\/([^/]+)\/[0-9]+\/[0-9]{20}\.[^/]+\.log(?:\.zst)?$/.exec(key) ?? []
  return folder === '' || hiddenName.test(folder) ? undefined : folder
}
