import * as fs from 'node:fs/promises'

/** The file calls of the filesystem backend; tests replace them to record or fail calls. */
export type FileCalls = Pick<
  typeof fs,
  'chmod' | 'link' | 'lstat' | 'mkdir' | 'open' | 'opendir' | 'realpath' | 'rename' | 'rmdir' | 'unlink'
>

export const nodeFileCalls: FileCalls = fs
