import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KafkaBackupError } from '../errors.ts'
import { formatAzureLocation, parseAzureLocation } from './azure/location.ts'
import type { AzureOptions } from './azure/options.ts'
import type { FilesystemOptions } from './file/filesystem.ts'
import { formatGcsLocation, parseGcsLocation } from './gcs/location.ts'
import type { GcsOptions } from './gcs/options.ts'
import { formatS3Location, parseS3Location } from './s3/location.ts'
import type { S3Options } from './s3/options.ts'

/** Which backend, and what it needs to be opened. */
export type StorageOptions =
  | ({ backend: 'filesystem' } & FilesystemOptions)
  | ({ backend: 's3' } & S3Options)
  | ({ backend: 'azure' } & AzureOptions)
  | ({ backend: 'gcs' } & GcsOptions)

/**
 * A bucket as an `s3://`, `az://` or `gs://` address, or a folder, as a path or as a `file:///` address. A colon in the first part of a path
 * is taken for a scheme: a mistyped or unsupported address must not become a folder called `ftp:` that looks like a backup.
 */
export function parseLocation(text: string, workingFolder: string = process.cwd()): StorageOptions {
  if (text.trim() === '') throw invalid('the location is empty')
  if (text.trim() !== text) throw invalid('the location starts or ends with a blank')
  if (/\p{Cc}/u.test(text)) throw invalid('the location holds a control character')
  if (/^~(\/|$)/.test(text)) {
    throw invalid(
      '`~` in the location is not expanded',
      'Write the whole path of the home folder; `./~` is one called `~`.',
    )
  }
  const scheme = /^([^./\\][^/\\]*?):/.exec(text)?.[1]
  if (scheme === undefined) return { backend: 'filesystem', path: resolve(workingFolder, text) }
  if (scheme.toLowerCase() === 'file') return { backend: 'filesystem', path: parseFileAddress(text) }
  if (/^s3:\/\//i.test(text)) return { backend: 's3', ...parseS3Location(text) }
  if (/^az:\/\//i.test(text)) return { backend: 'azure', ...parseAzureLocation(text) }
  if (/^gs:\/\//i.test(text)) return { backend: 'gcs', ...parseGcsLocation(text) }
  throw refuseScheme(scheme)
}

/** The text that `parseLocation` reads back as the same place. */
export function formatLocation(options: StorageOptions): string {
  if (options.backend === 's3') return formatS3Location(options)
  if (options.backend === 'azure') return formatAzureLocation(options)
  if (options.backend === 'gcs') return formatGcsLocation(options)
  return join(resolve(options.path), options.prefix ?? '')
}

function parseFileAddress(text: string): string {
  const example = 'A `file:` address is absolute: `file:///backups`.'
  if (!/^file:\/\/(localhost)?\//i.test(text)) throw invalid('the `file:` address names no absolute path', example)
  if (/[?#]/.test(text)) throw invalid('the `file:` address holds `?` or `#`', 'Write them as `%3F` and `%23`.')
  try {
    const path = fileURLToPath(new URL(text))
    if (!path.includes('\0')) return resolve(path)
  } catch {
    // Refused below: the address does not decode to a path.
  }
  throw invalid('the `file:` address does not decode to a path', example)
}

/** Names the scheme only: what follows it may hold credentials. */
function refuseScheme(scheme: string): KafkaBackupError {
  if (/^[a-z]$/i.test(scheme)) {
    return invalid(`\`${scheme}:\` looks like a Windows drive`, 'Give a POSIX path, such as `/backups`.')
  }
  return invalid(
    `locations of the scheme \`${scheme}:\` are not supported; a path, \`file:///\`, \`s3://\`, \`az://\` or \`gs://\` is`,
    `Give a folder (\`/backups\`, \`./backups\`, \`file:///backups\`) or a bucket (\`s3://bucket/prefix\`, \`az://container/prefix\`, \`gs://bucket/prefix\`); a folder of that name is \`./${scheme}:\`.`,
  )
}

function invalid(message: string, help?: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', message, help === undefined ? {} : { help })
}
