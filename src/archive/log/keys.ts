/** The keys of version 2, relative to the storage's root. */
const FOLDER = 1000

export function commitsPrefix(backupId: string): string {
  return `${backupId}/commits/`
}

/** The folder of a generation below `commits/`. A reader lists the folders, and then one of them. */
export function commitFolder(generation: number): string {
  return String(Math.floor(generation / FOLDER)).padStart(9, '0')
}

export function commitKey(backupId: string, generation: number): string {
  return `${commitsPrefix(backupId)}${commitFolder(generation)}/${digits(generation)}.json.zst`
}

/** The generation that the key of a commit stands for; undefined where it is something else. */
export function parseCommitKey(key: string): number | undefined {
  const match = /\/commits\/([0-9]{9})\/([0-9]{12})\.json\.zst$/.exec(key)
  const generation = Number(match?.[2])
  return match && match[1] === commitFolder(generation) ? generation : undefined
}

export function keptPrefix(backupId: string): string {
  return `${backupId}/kept/`
}

/** The commit of a generation that retention keeps for longer than those around it. */
export function keptKey(backupId: string, generation: number): string {
  return `${keptPrefix(backupId)}${digits(generation)}.json.zst`
}

/** The generation that such a key stands for; undefined where it is something else. */
export function parseKeptKey(backupId: string, key: string): number | undefined {
  const generation = Number(/\/kept\/([0-9]{12})\.json\.zst$/.exec(key)?.[1])
  return key === keptKey(backupId, generation) ? generation : undefined
}

/** A document of a change that is too large for one. */
export function changeKey(backupId: string, generation: number, writer: string, number: number): string {
  return `${backupId}/changes/${digits(generation)}.${writer}-${number}.json.zst`
}

export function rollupKey(backupId: string, from: number, to: number, writer: string, number: number): string {
  return `${backupId}/rollups/${digits(from)}-${digits(to)}.${writer}-${number}.json.zst`
}

export function checkpointKey(backupId: string, generation: number, writer: string): string {
  return `${backupId}/checkpoints/${digits(generation)}.${writer}.json.zst`
}

/** A page of a checkpoint, or a part of its state. */
export function pageKey(backupId: string, generation: number, writer: string, number: number): string {
  return `${backupId}/checkpoints/${digits(generation)}.${writer}-${number}.json.zst`
}

export function packKey(backupId: string, run: string, number: number): string {
  return `${backupId}/packs/${run}-${number}.pack`
}

/** What a document of the log is, by its key, and the newest generation that it belongs to. A page is one of its checkpoint. */
export function parseLogKey(
  backupId: string,
  key: string,
): { kind: 'commit' | 'kept' | 'change' | 'rollup' | 'checkpoint' | 'page'; to: number } | undefined {
  const generation = parseCommitKey(key)
  if (generation !== undefined && key === commitKey(backupId, generation)) return { kind: 'commit', to: generation }
  const kept = parseKeptKey(backupId, key)
  if (kept !== undefined) return { kind: 'kept', to: kept }
  for (const kind of ['change', 'rollup', 'checkpoint'] as const) {
    if (!isLogKey(key, backupId, kind)) continue
    const [, number = ''] = /\/(?:[0-9]{12}-)?([0-9]{12})\.[^/]+$/.exec(key) ?? []
    const isPage = kind === 'checkpoint' && /-[0-9]+\.json\.zst$/.test(key)
    return { kind: isPage ? 'page' : kind, to: Number(number) }
  }
  return undefined
}

const classes = {
  change: /^changes\/[0-9]{12}\.[A-Za-z0-9-]+\.json\.zst$/,
  rollup: /^rollups\/[0-9]{12}-[0-9]{12}\.[A-Za-z0-9-]+\.json\.zst$/,
  checkpoint: /^checkpoints\/[0-9]{12}\.[A-Za-z0-9-]+\.json\.zst$/,
  pack: /^packs\/[A-Za-z0-9-]+\.pack$/,
}
export type LogObject = keyof typeof classes

/** Whether a key is of this class, in this backup. A document may be written by anyone who can write to the store. */
export function isLogKey(key: string, backupId: string, kind: LogObject): boolean {
  return key.startsWith(`${backupId}/`) && classes[kind].test(key.slice(backupId.length + 1))
}

function digits(generation: number): string {
  return String(generation).padStart(12, '0')
}
