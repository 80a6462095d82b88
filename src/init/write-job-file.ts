import { access, writeFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'

const EXISTS_HELP = 'Pass --overwrite to replace it, or --out with another name.'

/** Fails where the file is there and must not be replaced, before anything is asked. */
export async function assertFree(path: string): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  )
  if (isThere) throw existing(path)
}

/** Creates the file; replaces an existing one only if `overwrite` says so. */
export async function writeJobFile(path: string, text: string, overwrite: boolean): Promise<void> {
  try {
    await writeFile(path, text, { flag: overwrite ? 'w' : 'wx' })
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    if (code === 'EEXIST') throw existing(path)
    const help = 'Pass --out with a file in a folder that exists and can be written.'
    throw new KafkaBackupError('USAGE', `${path}: the file cannot be written (${code})`, { help, cause })
  }
}

function existing(path: string): KafkaBackupError {
  return new KafkaBackupError('USAGE', `${path} already exists; nothing was changed`, { help: EXISTS_HELP })
}
