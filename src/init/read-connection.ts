import { readFile } from 'node:fs/promises'
import { KafkaBackupError } from '../errors.ts'
import { readClientProperties } from './client-properties.ts'
import { type Connection, unreadable } from './connection.ts'
import { isOsoJob, type OsoJob, readOsoJob } from './oso-job.ts'
import { isStrimziConfig, readStrimziConfig } from './strimzi-config.ts'

/** The connection in a file of a Java client, of librdkafka (kcat) or of Strimzi; its content tells which. */
export async function readConnectionFile(path: string, listener: string | undefined): Promise<Connection> {
  return readConnection(await readText(path), path, listener)
}

/** Undefined where the file is not a job of OSO kafka-backup. */
export async function readOsoJobFile(path: string): Promise<OsoJob | undefined> {
  const text = await readText(path)
  return isOsoJob(text) ? readOsoJob(text, path) : undefined
}

/** Pure. */
export function readConnection(text: string, source: string, listener: string | undefined): Connection {
  if (isStrimziConfig(text)) return readStrimziConfig(text, source, listener)
  if (listener !== undefined) throw unreadable(source, 'it has no listeners', '--listener is for resources of Strimzi.')
  if (/^(apiVersion|mode):/m.test(text)) {
    const wrong = 'this is neither a Kafka resource of Strimzi, nor a job of OSO kafka-backup, nor a properties file'
    const help =
      'Pass client.properties, a configuration of kcat, a Kafka resource of Strimzi, or a job of OSO kafka-backup.'
    throw unreadable(source, wrong, help)
  }
  return readClientProperties(text, source)
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    const why = code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})`
    const help = 'Check the path and the permissions of the file of --from.'
    throw new KafkaBackupError('CONFIG_UNREADABLE', `${path}: ${why}`, { help, cause })
  }
}
