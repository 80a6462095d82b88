import { type Answer, htmlAnswer, jsonAnswer } from './answer.ts'
import type { ArchiveReader } from './archive-reader.ts'
import type { BackupPlace } from './links.ts'
import { numberIn, type PageRequest } from './page-request.ts'
import { backupPages } from './pages/backup-pages.ts'
import { backupsPage } from './pages/backups-page.ts'

/** Finds the page of a path and makes it. Undefined where there is none. */
export async function answerPage(reader: ArchiveReader, request: PageRequest): Promise<Answer | undefined> {
  const { path, query, signal } = request
  if (path.length === 0) return htmlAnswer(await backupsPage(reader, request))
  const [root, at = '', backupId = '', ...rest] = path
  if (root !== 'at' || !/^\d{1,4}$/.test(at) || backupId === '') return undefined
  const place: BackupPlace = { at: Number(at), backupId, generation: numberIn(query, 'generation') }
  if (rest.length === 1 && rest[0] === 'newest') return jsonAnswer({ generation: await reader.newest(place, signal) })
  const page = backupPages(rest)
  if (!page) return undefined
  return reader.read(place, signal, backup => page(reader, backup, request))
}
