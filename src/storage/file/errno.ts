import { type ErrorMeaning, type FailedRequest, requestError } from '../request-error.ts'

/**
 * What the errors of the operating system mean here. An error that is not in the table becomes STORAGE_UNAVAILABLE:
 * network and FUSE file systems pass on any error of their server, and most of these are temporary. Retrying a permanent
 * one costs seconds; failing on a temporary one would end a backup of hours.
 */
const errnoTable: Record<string, ErrorMeaning> = {
  ENOENT: { code: 'STORAGE_NOT_FOUND', meaning: 'it does not exist' },
  EEXIST: { code: 'STORAGE_EXISTS', meaning: 'it already exists' },

  EACCES: {
    code: 'STORAGE_DENIED',
    meaning: 'permission denied',
    help: 'Give the user of this process access to the folder, or choose another location; `kafka-backup check` tests it.',
  },
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
    help: 'Replace the link with the object itself.',
  },
  EINVAL: { code: 'LOCATION_INVALID', meaning: 'the file system does not support such a name or call' },
  ENOTSUP: { code: 'LOCATION_INVALID', meaning: 'the file system does not support this call' },
  EOPNOTSUPP: { code: 'LOCATION_INVALID', meaning: 'the file system does not support this call' },
  ENOSYS: { code: 'LOCATION_INVALID', meaning: 'the file system does not support this call' },

  EIO: { code: 'STORAGE_UNAVAILABLE', meaning: 'the device reports an input/output error', help: 'Check the disk.' },
  EAGAIN: { code: 'STORAGE_UNAVAILABLE', meaning: 'it is busy' },
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

/** Classifies the error of a file call. Errors that do not come from the system are returned unchanged. */
export function mapErrno(error: unknown, request: FailedRequest): unknown {
  const errno = errnoOf(error)
  if (errno === undefined) return error
  const row = errnoTable[errno] ?? { code: 'STORAGE_UNAVAILABLE', meaning: 'the system call failed' }
  return requestError(error, request, row, errno)
}

export function hasErrno(error: unknown, ...names: readonly string[]): boolean {
  const errno = errnoOf(error)
  return errno !== undefined && names.includes(errno)
}

function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
