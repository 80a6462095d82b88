/** The permissions of what is created: only the owner may read records unless the job says otherwise. */
export interface FileModes {
  file: number
  folder: number
  /** The job names them, so they are set whatever the umask of the process is. */
  isExplicit: boolean
}

const OWNER_ONLY = 0o600

export function fileModes(fileMode: string | undefined): FileModes {
  const file = fileMode === undefined ? OWNER_ONLY : Number.parseInt(fileMode, 8)
  // Who may read a file may enter its folder.
  return { file, folder: file | ((file & 0o444) >> 2), isExplicit: fileMode !== undefined }
}
