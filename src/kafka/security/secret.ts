import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../../errors.ts'

/** A secret given as a value or as a file. The file is read each time, so that a new secret needs no new run. */
export async function readSecret(value: string | undefined, file: string | undefined, what: string): Promise<string> {
  if (value !== undefined) return value
  if (file === undefined)
    throw new KafkaBackupError('CONFIG_INVALID', `there is no ${what}: neither a value nor a file`)
  const text = await readText(file, what)
  // An editor or `echo` ends the file with a line break that is not part of the secret.
  const secret = text.replace(/\r?\n$/, '')
  if (secret === '') throw unusable(`the file ${file} for the ${what} is empty`)
  return secret
}

export async function readText(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    const why = code === 'ENOENT' ? 'is not there' : code === 'EACCES' ? 'may not be read' : `cannot be read (${code})`
    throw unusable(`the file ${file} for the ${what} ${why}`, cause)
  }
}

function unusable(message: string, cause?: unknown): KafkaBackupError {
  return new KafkaBackupError('CONFIG_UNREADABLE', message, {
    cause,
    help: 'Check the path and the permissions of the file.',
  })
}
