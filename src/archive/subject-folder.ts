import { createHash } from 'node:crypto'

const maxFolderBytes = 200
const maxPrefixBytes = 130

/** Bytes of a name that stand in its folder as they are. */
type IsKept = (character: string, at: number, length: number) => boolean

/**
 * Pure. A folder for each subject; no two differ in case alone, because a store may not distinguish them. A subject keeps
 * the folder that it has in `known`. Of new ones, in the order given, the first keeps its letters and the others are escaped.
 */
export function assignSubjectFolders(
  subjects: readonly string[],
  known: ReadonlyMap<string, string>,
): Map<string, string> {
  const folders = new Map<string, string>()
  const taken = new Set<string>()
  const assign = (subject: string, folder: string) => {
    folders.set(subject, folder)
    taken.add(folder.toLowerCase())
  }
  for (const subject of subjects) {
    const folder = known.get(subject)
    if (folder !== undefined) assign(subject, folder)
  }
  for (const subject of subjects.filter(one => !folders.has(one))) {
    const folder = subjectFolder(subject)
    assign(subject, taken.has(folder.toLowerCase()) ? escapedSubjectFolder(subject) : folder)
  }
  return folders
}

/**
 * Pure. The folder of a subject. Letters, digits, `-`, `_` and dots that come neither first nor last stay as they are; every
 * other byte of the name in UTF-8 becomes `%` and two lower-case digits, so that no name leads out of its folder and forms
 * of Unicode do not matter. The empty name is `%`.
 */
export function subjectFolder(subject: string): string {
  return encodeFolder(subject, isSafe)
}

/**
 * Pure. The folder of a subject whose name differs from another one in case alone: its capital letters are escaped as well,
 * or its first letter where it has none. No other subject has this folder, in whatever case.
 */
export function escapedSubjectFolder(subject: string): string {
  const firstLetter = /[A-Z]/.test(subject) ? -1 : Buffer.from(subject).findIndex(byte => isLetter(byte))
  return encodeFolder(
    subject,
    (character, at, length) => isSafe(character, at, length) && !/[A-Z]/.test(character) && at !== firstLetter,
  )
}

function encodeFolder(subject: string, isKept: IsKept): string {
  if (subject === '') return '%'
  const bytes = Buffer.from(subject, subject.isWellFormed() ? 'utf8' : 'utf16le')
  const folder = [...bytes]
    .map((byte, at) => {
      const character = String.fromCharCode(byte)
      return isKept(character, at, bytes.length) ? character : `%${byte.toString(16).padStart(2, '0')}`
    })
    .join('')
  if (folder.length <= maxFolderBytes && subject.isWellFormed()) return folder
  // Cut before an escape, never inside one.
  const prefix = folder.slice(0, maxPrefixBytes).replace(/%[0-9a-f]?$/, '')
  return `${prefix}%~${createHash('sha256').update(bytes).digest('hex')}`
}

function isSafe(character: string, at: number, length: number): boolean {
  return /[A-Za-z0-9_-]/.test(character) || (character === '.' && at > 0 && at < length - 1)
}

function isLetter(byte: number): boolean {
  return /[A-Za-z]/.test(String.fromCharCode(byte))
}
