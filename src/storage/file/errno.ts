import { type ErrorCode, KafkaBackupError } from '../../errors.ts'

/**
 * What the operating system's refusals mean here. A number that is not in the table becomes STORAGE_UNAVAILABLE: network
 * and FUSE file systems pass on whatever their server said, most of that is passing trouble, and the tries are few, so
 * taking a lasting fault for a passing one costs seconds where the reverse would end a backup of hours.
 */
const errnoTable: Record<string, { code: ErrorCode; meaning: string; help?: string }> = {
  ENOENT: { code: 'STORAGE_NOT_FOUND', meaning: 'it is not there' },
  EEXIST: { code: 'STORAGE_EXISTS', meaning: 'it is there already' },

  EACCES: { code: 'STORAGE_DENIED', meaning: 'permission denied' },
  EPERM: { code: 'STORAGE_DENIED', meaning: 'operation not permitted' },
  EROFS: { code: 'STORAGE_DENIED', meaning: 'the file system is read-only', help: 'Mount the location writable.' },

  ENOSPC: { code: 'STORAGE_FULL', meaning: 'no space (or no inode) is left on the device' },
  EDQUOT: { code: 'STORAGE_FULL', meaning: 'the disk quota is used up' },
  EFBIG: {
    code: 'STORAGE_FULL',
    meaning: 'the file exceeds a size limit of the process or the file system',
    help: 'Raise the limit (`ulimit -f`) or use a file system that holds larger files.',
  },

  ENOTDIR: { code: 'LOCATION_INVALID', meaning: 'a part of the path is a file, not a folder' },
  EISDIR: { code: 'LOCATION_INVALID', meaning: 'it is a folder' },
  ENAMETOOLONG: { code: 'LOCATION_INVALID', meaning: 'the path is too long for the file system' },
  ELOOP: {
    code: 'LOCATION_INVALID',
    meaning: 'it is a symbolic link, and links below the location are not followed',
    help: 'Put the object itself in the place of the link.',
  },
  EINVAL: { code: 'LOCATION_INVALID', meaning: 'the file system does not take such a name or call' },
  ENOTSUP: { code: 'LOCATION_INVALID', meaning: 'the file system does not offer this call' },
  EOPNOTSUPP: { code: 'LOCATION_INVALID', meaning: 'the file system does not offer this call' },
  ENOSYS: { code: 'LOCATION_INVALID', meaning: 'the file system does not offer this call' },

  EIO: { code: 'STORAGE_UNAVAILABLE', meaning: 'the device reports an input/output error', help: 'Check the disk.' },
  EAGAIN: { code: 'STORAGE_UNAVAILABLE', meaning: 'it is busy for the moment' },
  EBUSY: { code: 'STORAGE_UNAVAILABLE', meaning: 'it is in use' },
  EINTR: { code: 'STORAGE_UNAVAILABLE', meaning: 'the call was interrupted' },
  ESTALE: { code: 'STORAGE_UNAVAILABLE', meaning: 'the file server no longer knows the file' },
  ETIMEDOUT: { code: 'STORAGE_UNAVAILABLE', meaning: 'the file server did not answer in time' },
  EMFILE: {
    code: 'STORAGE_UNAVAILABLE',
    meaning: 'the process has too many open files',
    help: 'Raise the limit of open files (`ulimit -n`).',
  },
  ENFILE: { code: 'STORAGE_UNAVAILABLE', meaning: 'the machine has too many open files' },
}

export interface ErrnoContext {
  /** What was tried, to follow "cannot": `read`, `create`. */
  action: string
  key: string
  location: string
}

/** The error of a file call as one of the table; anything that is not an error of the system is returned as it is. */
export function mapErrno(error: unknown, context: ErrnoContext): unknown {
  const errno = errnoOf(error)
  if (errno === undefined) return error
  const row = errnoTable[errno] ?? { code: 'STORAGE_UNAVAILABLE', meaning: 'the system call failed' }
  const what = context.key === '' ? '' : ` ${JSON.stringify(context.key)}`
  const message = `cannot ${context.action}${what} in ${context.location}: ${row.meaning} (${errno})`
  return new KafkaBackupError(
    row.code,
    message,
    row.help === undefined ? { cause: error } : { cause: error, help: row.help },
  )
}

export function hasErrno(error: unknown, ...names: readonly string[]): boolean {
  const errno = errnoOf(error)
  return errno !== undefined && names.includes(errno)
}

function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
