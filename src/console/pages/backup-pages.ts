import { type Answer, htmlAnswer } from '../answer.ts'
import type { ArchiveReader, OpenedBackup } from '../archive-reader.ts'
import type { Html } from '../html.ts'
import type { RecordPlace } from '../links.ts'
import type { PageRequest } from '../page-request.ts'
import { rawPart } from '../read-record.ts'
import { backupPage } from './backup-page.ts'
import { groupPage, groupsPage } from './groups-page.ts'
import { recordPage } from './record-page.ts'
import { recordsPage } from './records-page.ts'
import { restorePage } from './restore-page.ts'
import { schemasPage } from './schemas-page.ts'
import { subjectPage } from './subject-page.ts'
import { topicPage } from './topic-page.ts'

type BackupPage = (reader: ArchiveReader, backup: OpenedBackup, request: PageRequest) => Promise<Answer>

/** Pure. The page of a backup under a path; undefined where there is none. */
export function backupPages(path: readonly string[]): BackupPage | undefined {
  const [section, name = '', ...rest] = path
  if (section === undefined) return shown(backupPage)
  if (section === 'topics' && name !== '') return topicPages(name, rest)
  return Object.hasOwn(sections, path.join('/')) ? sections[path.join('/')] : undefined
}

const sections: Readonly<Record<string, BackupPage>> = {
  schemas: shown(async (_, backup, request) => schemasPage(backup, request)),
  'schemas/subject': shown((_, backup, request) => subjectPage(backup, request)),
  groups: shown(groupsPage),
  'groups/group': shown(groupPage),
  restore: shown(restorePage),
}

function topicPages(topic: string, [section, ...rest]: readonly string[]): BackupPage | undefined {
  if (section === undefined) return shown(async (_, backup, request) => topicPage(backup, topic, request))
  if (section !== 'records') return undefined
  if (rest.length === 0) return shown((_, backup, request) => recordsPage(backup, topic, request))
  const [partition = '', offset = '', part, ...more] = rest
  if (!/^\d{1,9}$/.test(partition) || !/^\d{1,19}$/.test(offset) || more.length > 0) return undefined
  const place: RecordPlace = { topic, partition: Number(partition), offset: BigInt(offset) }
  if (part === undefined) return shown((_, backup, request) => recordPage(backup, place, request))
  if (part !== 'key' && part !== 'value') return undefined
  return (_, backup, request) => rawPart(backup, place, part, request)
}

function shown(page: (...args: Parameters<BackupPage>) => Promise<Html>): BackupPage {
  return async (...args) => htmlAnswer(await page(...args))
}
