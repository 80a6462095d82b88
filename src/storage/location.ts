import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KafkaBackupError } from '../errors.ts'
import { type AzureOptions, formatAzureLocation, parseAzureLocation } from './azure/azure-options.ts'
import type { FilesystemOptions } from './file/filesystem.ts'
import { formatGcsLocation, type GcsOptions, parseGcsLocation } from './gcs/gcs-options.ts'
import { formatS3Location, parseS3Location, type S3Options } from './s3/s3-options.ts'

/** Which backend, and what it needs to be opened. */
export type StorageOptions =
  | ({ backend: 'filesystem' } & FilesystemOptions)
  | ({ backend: 's3' } & S3Options)
  | ({ backend: 'azure' } & AzureOptions)
  | ({ backend: 'gcs' } & GcsOptions)

/**
 * A bucket as an `s3://`, `az://` or `gs://` address, or a folder as a path or a `file:///` address. A colon in the first
 * part of a path counts as a scheme: a mistyped address must not become a folder called `ftp:`.
 */
export function parseLocation(text: string, workingFolder: string = process.cwd()): StorageOptions {
  if (text.trim() === '') throw invalid('the location is empty')
  if (text.trim() !== text) throw invalid('the location starts or ends with a space')
  if (/\p{Cc}/u.test(text)) throw invalid('the location contains a control character')
  if (/^~(\/|$)/.test(text)) {
    throw invalid(
      '`~` in the location is not expanded',
      'Write the full path of the home folder; `./~` names a folder called `~`.',
    )
  }
  const scheme = /^([^./\\][^/\\]*?):/.exec(text)?.[1]
  if (scheme === undefined) return { backend: 'filesystem', path: resolve(workingFolder, text) }
  if (scheme.toLowerCase() === 'file') return { backend: 'filesystem', path: parseFileAddress(text) }
  if (/^s3:\/\//i.test(text)) return { backend: 's3', ...parseS3Location(text) }
  if (/^az:\/\//i.test(text)) return { backend: 'azure', ...parseAzureLocation(text) }
  if (/^gs:\/\//i.test(text)) return { backend: 'gcs', ...parseGcsLocation(text) }
  throw unsupportedScheme(scheme)
}

/** The text that `parseLocation` reads back. */
export function formatLocation(options: StorageOptions): string {
  if (options.backend === 's3') return formatS3Location(options)
  if (options.backend === 'azure') return formatAzureLocation(options)
  if (options.backend === 'gcs') return formatGcsLocation(options)
  return join(resolve(options.path), options.prefix ?? '')
}

function parseFileAddress(text: string): string {
  const example = 'A `file:` address is absolute: `file:///backups`.'
  if (!/^file:\/\/(localhost)?\//i.test(text)) throw invalid('the `file:` address has no absolute path', example)
  if (/[?#]/.test(text)) throw invalid('the `file:` address contains `?` or `#`', 'Write them as `%3F` and `%23`.')
  try {
    const path = fileURLToPath(new URL(text))
    if (!path.includes('\0')) return resolve(path)
  } catch {
    // Rejected below: the address does not decode to a path.
  }
  throw invalid('the `file:` address does not decode to a path', example)
}

/** Shows the scheme only: the rest may contain credentials. */
function unsupportedScheme(scheme: string): KafkaBackupError {
  if (/^[a-z]$/i.test(scheme)) {
    return invalid(`\`${scheme}:\` looks like a Windows drive`, 'Give a POSIX path, such as `/backups`.')
  }
  return invalid(
    `unsupported location scheme \`${scheme}:\`; supported: a path, \`file:///\`, \`s3://\`, \`az://\`, \`gs://\``,
    `Give a folder (\`/backups\`, \`./backups\`, \`file:///backups\`) or a bucket (\`s3://bucket/prefix\`, \`az://container/prefix\`, \`gs://bucket/prefix\`); a folder with that name is \`./${scheme}:\`.`,
  )
}

function invalid(message: string, help?: string): KafkaBackupError {
  return new KafkaBackupError('LOCATION_INVALID', message, help === undefined ? {} : { help })
}
