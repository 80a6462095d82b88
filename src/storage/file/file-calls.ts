import * as fs from 'node:fs/promises'

/** The file calls that the filesystem backend is made of; tests put their own in front to see the order and to fail. */
export type FileCalls = Pick<
  typeof fs,
  'chmod' | 'link' | 'lstat' | 'mkdir' | 'open' | 'opendir' | 'realpath' | 'rename' | 'rmdir' | 'unlink'
>

export const nodeFileCalls: FileCalls = fs
