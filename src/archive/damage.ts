import { hasCode, KafkaBackupError, type KafkaBackupErrorOptions } from '../errors.ts'
import type { Storage } from '../storage/storage.ts'

/** An object that is not what it has to be. `predicate` completes the sentence that its key begins: `is missing`. */
export function damaged(key: string, predicate: string, options: KafkaBackupErrorOptions = {}): KafkaBackupError {
  return objectError('ARCHIVE_DAMAGED', key, predicate, options)
}

export function tooNew(key: string, predicate: string): KafkaBackupError {
  return objectError('ARCHIVE_TOO_NEW', key, predicate)
}

/** Damage inside an object. `problem` is a clause with its own subject: `frame 3 does not open`. */
export function damagedInside(key: string, problem: string, options: KafkaBackupErrorOptions = {}): KafkaBackupError {
  const details = { ...options.details, key, problem }
  return new KafkaBackupError('ARCHIVE_DAMAGED', `${key}: ${problem}`, { ...options, details })
}

function objectError(
  code: 'ARCHIVE_DAMAGED' | 'ARCHIVE_TOO_NEW',
  key: string,
  predicate: string,
  options: KafkaBackupErrorOptions = {},
): KafkaBackupError {
  const details = { ...options.details, key, problem: `it ${predicate}` }
  return new KafkaBackupError(code, `${key} ${predicate}`, { ...options, details })
}

/** The bytes of an object that another one names: a missing one is damage. */
export async function readNamed(storage: Pick<Storage, 'read'>, key: string, signal: AbortSignal): Promise<Buffer> {
  try {
    return await storage.read(key, signal)
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    throw damaged(key, 'is missing', { cause: error })
  }
}

/** Undefined where the object that is read is damaged or of a newer version. */
export async function unlessDamaged<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!hasCode(error, 'ARCHIVE_DAMAGED', 'ARCHIVE_TOO_NEW')) throw error
    return undefined
  }
}

/** Undefined where the store does not have what is read. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (!hasCode(error, 'STORAGE_NOT_FOUND')) throw error
    return undefined
  }
}

/** A damaged object that a reader did without, because others hold the same. */
export interface AvoidedDamage {
  key: string
  problem: string
  /** False where a later prune removes it, and nothing needs it until then. */
  isNeeded: boolean
}

/** What is wrong, for a report that names the object `key` itself. */
export function problemOf({ details, message }: KafkaBackupError, key: string): string {
  return details.key === key ? (details.problem ?? message) : message
}
