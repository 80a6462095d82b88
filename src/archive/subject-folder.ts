import { createHash } from 'node:crypto'

const maxFolderBytes = 200
const maxPrefixBytes = 130

/**
 * The folder of a subject. Lower-case letters, digits, `-`, `_` and dots that do not come first stay as they are; every
 * other byte of the name in UTF-8 becomes `%` and two lower-case digits, so that no two names meet where a store does not
 * tell case or forms of Unicode apart, and none leads out of its folder. The empty name is `%`.
 */
export function subjectFolder(subject: string): string {
  if (subject === '') return '%'
  const bytes = Buffer.from(subject, subject.isWellFormed() ? 'utf8' : 'utf16le')
  const folder = [...bytes].map(escapeByte).join('')
  if (folder.length <= maxFolderBytes && subject.isWellFormed()) return folder
  // Cut before an escape, never inside one.
  const prefix = folder.slice(0, maxPrefixBytes).replace(/%[0-9a-f]?$/, '')
  return `${prefix}%~${createHash('sha256').update(bytes).digest('hex')}`
}

/** The subject of a folder; undefined where the name is too long to stand in it, and only the metadata have it. */
export function parseSubjectFolder(folder: string): string | undefined {
  if (folder === '%') return ''
  return folder.includes('%~') ? undefined : decodeURIComponent(folder)
}

function escapeByte(byte: number, at: number): string {
  const character = String.fromCharCode(byte)
  const isSafe = /[a-z0-9_-]/.test(character) || (character === '.' && at > 0)
  return isSafe ? character : `%${byte.toString(16).padStart(2, '0')}`
}
