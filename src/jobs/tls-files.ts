import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import type { TlsFiles } from '../lib/listen.ts'

/** The content of the files that the options of a server name. */
export async function readTlsFiles({ cert, key, ca }: TlsFiles): Promise<TlsFiles> {
  return {
    cert: await readPem('--tls-cert', cert),
    key: await readPem('--tls-key', key),
    ...(ca !== undefined && { ca: await readPem('--tls-ca', ca) }),
  }
}

async function readPem(option: string, path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw new KafkaBackupError('USAGE', `${option} ${path} cannot be read: ${cause.message}`, { cause })
  })
  // Node takes an empty text as if it was not given: without a key no client could connect, without a CA any client could.
  if (!text.includes('-----BEGIN ')) throw new KafkaBackupError('USAGE', `${option} ${path} is not a PEM file`)
  return text
}
